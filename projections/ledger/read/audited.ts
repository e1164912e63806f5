import type { StandingTable } from '../../engine/standing.ts'
import { lineKinds } from '../line.ts'

/** What of the ledger an auditor compares with the log: all of it. */
export const ledgerTables = {
  lines: {
    name: 'ledger.lines',
    columns: {
      seq: 'text',
      ...lineKinds,
      hash: 'hex',
    },
  },
  settlements: {
    name: 'ledger.settlements',
    columns: {
      source_id: 'text',
      tenant_id: 'text',
      currency: 'text',
      amount: 'amount',
      lines: 'text',
      position: 'text',
    },
  },
  entries: {
    name: 'ledger.entries',
    columns: {
      position: 'text',
      n: 'text',
      kind: 'text',
      source_id: 'text',
      tenant_id: 'text',
      currency: 'text',
      debit: 'text',
      credit: 'text',
      amount: 'amount',
    },
  },
  adjustments: {
    name: 'ledger.adjustments',
    columns: {
      position: 'text',
      adjustment_id: 'text',
      tenant_id: 'text',
      currency: 'text',
      amount: 'amount',
      line_id: 'text',
      grant_id: 'text',
      reason: 'text',
      actor: 'text',
      posted_at: 'time',
    },
  },
  grants: {
    name: 'ledger.grants',
    columns: {
      position: 'text',
      grant_id: 'text',
      tenant_id: 'text',
      currency: 'text',
      amount: 'amount',
      reason: 'text',
      actor: 'text',
      granted_at: 'time',
    },
  },
  holds: {
    name: 'ledger.holds',
    columns: {
      source_id: 'text',
      tenant_id: 'text',
      currency: 'text',
      amount: 'amount',
      state: 'text',
      placed_at: 'time',
      closed_at: 'time',
      position: 'text',
    },
  },
  balances: {
    name: 'ledger.balances',
    columns: {
      tenant_id: 'text',
      currency: 'text',
      granted: 'amount',
      adjusted: 'amount',
      credit_limit: 'amount',
      settled: 'amount',
      held: 'amount',
      position: 'text',
    },
  },
  chain: { name: 'ledger.chain', columns: { id: 'text', seq: 'text', hash: 'hex' } },
} as const satisfies Readonly<Record<string, StandingTable>>
