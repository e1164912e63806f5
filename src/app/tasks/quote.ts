import type { Catalog } from '../../domain/families/catalog.ts'
import type { RequestQuote } from '../pricing/request-quote.ts'
import { modelFor } from './create.ts'
import type { TenantPrices } from '../pricing/tenant-prices.ts'
import type { AssetsWanted, CheckAssets } from '../assets/types.ts'
import type { TaskOrder } from './types.ts'

/** What a task is priced by. */
export interface PricedTask extends Pick<TaskOrder, 'principal' | 'family' | 'model' | 'facts'> {
  readonly assets?: Pick<AssetsWanted, 'assets' | 'projectName'> | undefined
}

/**
 * What a creation would hold and may be settled at. Nothing is held, written or sent.
 * @throws DomainError `unknown_model`, `model_not_allowed`, `price_not_configured`, those of `CheckAssets`
 */
export async function quoteTask(
  {
    catalog,
    prices,
    checkAssets,
  }: {
    readonly catalog: Catalog
    readonly prices: Pick<TenantPrices, 'of'>
    readonly checkAssets: CheckAssets
  },
  order: PricedTask,
): Promise<RequestQuote> {
  const { name, region } = modelFor({ catalog }, order)
  const { principal, assets } = order
  if (assets !== undefined && region !== undefined)
    await checkAssets({ principal, region, ...assets })
  return catalog
    .taskFamily(order.family)
    .quote(name, order.facts, await prices.of(order.principal.tenantId))
}
