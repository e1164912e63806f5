import type { Catalog } from '../../domain/catalog/catalog.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { AccountReads } from './account-reads.ts'
import type { QueryReads } from './reads.ts'

/** What the routes of balances, logs, tasks and usage need. */
export interface AccountRouteDeps {
  readonly accounts: AccountReads
  readonly ledgerPosition: QueryReads['ledgerPosition']
  readonly catalog: Catalog
  /** Paths by the names under which the ledger knows what was asked for there. */
  readonly endpoints: Readonly<Record<string, string>>
  readonly clock: Clock
}
