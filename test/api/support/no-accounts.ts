import type { AccountReads } from '../../../src/api/query/account-reads.ts'

/** Accounts of a gateway that nobody has used. */
export const noAccounts: AccountReads = {
  balances: () => Promise.resolve({ byTenant: new Map(), asOf: undefined }),
  tenants: () => Promise.resolve([]),
  openLogs: () => Promise.resolve({ total: 0, page: () => Promise.resolve([]) }),
  logFacts: () =>
    Promise.resolve({ tokenNames: new Map(), events: new Map(), requestedAtMs: new Map() }),
  sourcesOf: (taskId) => Promise.resolve([taskId]),
  tasks: () => Promise.resolve({ rows: [], total: 0 }),
  tasksBehind: () => Promise.resolve([]),
  settledAmounts: () => Promise.resolve(new Map()),
  usage: () => Promise.resolve([]),
  usageExtent: () => Promise.resolve(undefined),
}
