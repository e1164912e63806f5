import type { Queryable } from '../../../projections/engine/queryable.ts'
import { createReadBalances } from '../../app/finance/balances.ts'
import type { ReadModels } from '../../app/read-models/read-models.ts'
import type { Funds } from '../../app/spending/funds.ts'
import { type AccountReads, accountReads } from './account-reads.ts'
import { type Looks, createKnownNames } from './known-names.ts'
import type { Catalog, ServedModel } from '../../domain/catalog/catalog.ts'
import type { Clock } from '../../kernel/clock.ts'
import { projectionReads } from './projection-reads.ts'
import type { QueryReads } from './reads.ts'

/** Everything that finance, support and consoles read, over one database. */
export function readsOver(deps: {
  /** Its statements end by themselves after a while. */
  readonly db: Queryable
  readonly logEnd: () => Promise<bigint | undefined>
  readonly readModels: Pick<ReadModels, 'requireCurrent'>
  readonly funds: Pick<Funds, 'tell'>
  readonly catalog: Catalog
  readonly clock: Clock
  readonly served: readonly ServedModel[]
}): { readonly reads: QueryReads; readonly accounts: AccountReads; readonly knownNames: Looks } {
  const balances = createReadBalances(deps)
  return {
    reads: projectionReads(deps),
    accounts: accountReads({ ...deps, balances }),
    knownNames: createKnownNames(deps),
  }
}
