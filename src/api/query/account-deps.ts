import type { Catalog } from '../../domain/catalog/catalog.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { AccountReads } from './account-reads.ts'
import type { QueryReads } from './reads.ts'

/** The dependencies of the routes of balances, logs, tasks and usage. */
export interface AccountRouteDeps {
  readonly accounts: AccountReads
  readonly ledgerPosition: QueryReads['ledgerPosition']
  readonly catalog: Catalog
  /** Paths by the ledger's names of their requests. */
  readonly endpoints: Readonly<Record<string, string>>
  readonly clock: Clock
}
