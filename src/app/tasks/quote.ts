import type { RequestQuote } from '../finance/prices/request-quote.ts'
import { modelFor } from './create-task.ts'
import type { TaskDeps } from './deps.ts'
import type { PricedTask } from './types.ts'

/**
 * What a creation would hold and may be settled at. Nothing is held, written or sent.
 * @throws DomainError `unknown_model`, `model_not_allowed`, `price_not_configured`, those of `CheckAssets`
 */
export async function quoteTask(
  { catalog, prices, checkAssets }: Pick<TaskDeps, 'catalog' | 'prices' | 'checkAssets'>,
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
