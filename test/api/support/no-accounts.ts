import type { AccountReads } from '../../../src/api/query/account-reads.ts'
import type { QueryDeps } from '../../../src/api/query/plugin.ts'

/** Accounts of an unused gateway. */
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

const everything = {
  noun: 'name',
  isKnown: () => Promise.resolve(true),
  others: () => Promise.resolve([]),
}

/** Takes every name for one that is there. */
export const everyName: QueryDeps['knownNames'] = {
  tenant_id: everything,
  user_id: everything,
  token_id: everything,
  model: everything,
  sku: everything,
}
