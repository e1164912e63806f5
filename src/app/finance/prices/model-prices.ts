import type { Catalog } from '../../../domain/catalog/catalog.ts'
import type { PriceEntry } from '../../../domain/pricing/events.ts'
import type { BilledSku, PriceBook } from '../../../domain/pricing/price-book.ts'
import { isDomainError } from '../../../kernel/errors.ts'
import { formatAmount, lineAmount } from '../../../kernel/money.ts'
import type { Channel } from '../../ports/provider.ts'
import type { TenantPrices } from './tenant-prices.ts'

/** Prices say what a tenant pays now for each SKU that a model may be billed by. */

/** The price of one SKU, as a settlement would use it now. */
export interface ModelPrice extends Readonly<PriceEntry> {
  readonly model: string
  /** The price of the book for as many units; undefined where the book has none of the same unit. */
  readonly listPrice: string | undefined
  readonly priceBookVersion: string
  /** The revision of the tenant's prices that it comes from; undefined for a price of the book. */
  readonly accountPrices: number | undefined
}

interface ModelPriceDeps {
  readonly catalog: Pick<Catalog, 'billedSkus'>
  readonly channels: readonly Pick<Channel, 'family' | 'models' | 'settings'>[]
  readonly prices: Pick<TenantPrices, 'of'>
}

/**
 * The prices of a tenant for models that channels serve, in the order of the models. SKUs without a
 * price are left out: requests that need one are refused. Before any book there is no price.
 *
 * @throws as `TenantPrices.of`
 */
export type ReadModelPrices = (
  tenantId: string,
  models: readonly string[],
) => Promise<readonly ModelPrice[]>

/** Reads prices by the book that admits the calls of the tenant. */
export function createReadModelPrices(deps: ModelPriceDeps): ReadModelPrices {
  return async (tenantId, models) => {
    const book = await deps.prices.of(tenantId).catch((error: unknown) => {
      if (isDomainError(error, 'price_not_configured')) return undefined
      throw error
    })
    return book === undefined ? [] : models.flatMap((model) => pricesOf(deps, book, model))
  }
}

function pricesOf(
  { catalog, channels }: ModelPriceDeps,
  book: PriceBook,
  model: string,
): readonly ModelPrice[] {
  const serving = channels.filter(({ models }) => Object.hasOwn(models, model))
  const families = [...new Set(serving.map(({ family }) => family))].toSorted()
  const billed = families.flatMap((family) => {
    const settings = serving.filter((one) => one.family === family).map((one) => one.settings)
    return catalog.billedSkus({ family, model }, book, settings)
  })
  const unique = new Map(billed.map((one) => [`${one.currency} ${one.sku}`, one]))
  return [...unique.values()].flatMap((one) => priceOf(book, model, one) ?? [])
}

function priceOf(
  book: PriceBook,
  model: string,
  { sku, currency }: BilledSku,
): ModelPrice | undefined {
  const sold = book.lookup(sku, currency)
  if (sold === undefined) return undefined
  const { unit, per, price, accountPrice } = sold
  return {
    model,
    sku,
    unit,
    per,
    price,
    currency,
    listPrice: listPriceOf((book.list ?? book).lookup(sku, currency), { unit, per }),
    priceBookVersion: book.version,
    accountPrices: accountPrice?.revision,
  }
}

/** A price of the list for the units of another price, exact: both are for powers of ten of units. */
function listPriceOf(
  list: PriceEntry | undefined,
  { unit, per }: Pick<PriceEntry, 'unit' | 'per'>,
): string | undefined {
  if (list?.unit !== unit) return undefined
  return list.per === per ? list.price : formatAmount(lineAmount(per, list.price, list.per))
}
