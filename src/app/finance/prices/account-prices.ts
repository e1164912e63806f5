import {
  booksFrom,
  currentPriceBook,
  type PublishedPriceBook,
} from '../../../../projections/prices/query.ts'
import {
  accountPricesFromDocument,
  type WantedAccountPrices,
} from '../../../domain/account/prices.ts'
import { invalidSetting } from '../../../domain/account/setting.ts'
import type { AccountPrices } from '../../../domain/pricing/account-prices.ts'
import { unitFault } from '../../../domain/pricing/price-book.ts'
import type { Catalog, ServedModel } from '../../../domain/catalog/catalog.ts'
import type { EventLog, RecordedEvent } from '../../../eventlog/log/types.ts'
import { accountStream } from '../../../domain/account/events.ts'
import { readPages } from '../../../eventlog/log/pages.ts'
import type { ManagedSetting } from '../../accounts/settings.ts'
import { requireCaughtUp } from '../../read-models/catch-up.ts'
import { parsedYaml } from './publish.ts'

/** The prices a tenant's account ever had, the oldest first. */
export async function accountPriceHistory(
  log: Pick<EventLog, 'readStream'>,
  tenantId: string,
): Promise<readonly Extract<RecordedEvent, { readonly type: 'AccountPricesSet' }>[]> {
  const sets: Extract<RecordedEvent, { readonly type: 'AccountPricesSet' }>[] = []
  for await (const event of readPages(log, accountStream(tenantId)))
    if (event.type === 'AccountPricesSet') sets.push(event)
  return sets
}

/** A tenant's prices with the list prices. */
export interface ShownAccountPrices extends AccountPrices {
  /** The book in effect; undefined: none is. */
  readonly book: PublishedPriceBook | undefined
}

/** The API shows the list prices beside a tenant's prices. */
export const managedAccountPrices: ManagedSetting<'prices', ShownAccountPrices> = {
  name: 'prices',
  check: async ({ catalog, servedModels }, _tenantId, wanted, now) =>
    checkedPrices(catalog, wanted, now, await servedModels()),
  compared: async ({ log, db, clock }, wanted) => {
    await requireCaughtUp({ log, db }, 'prices')
    return { ...wanted, books: await booksFrom(db, clock.nowMs()) }
  },
  prepare: async (deps) => {
    await requireCaughtUp(deps, 'prices')
    const book = await currentPriceBook(deps.db, deps.clock.nowMs())
    return (prices) => ({ ...prices, book })
  },
}

const refuse = invalidSetting('account_prices')

/**
 * Warnings about prices in a document for SKUs that are not sold: of a future model, or with a typing error.
 * SKUs for which the tenant already has a price are not looked for.
 *
 * @throws DomainError `setting_invalid` for a SKU that differs from a sold one in a letter
 *   or two, and for a price in another unit than its SKU counts
 */
function checkedPrices(
  catalog: Catalog,
  { prices }: WantedAccountPrices,
  before: AccountPrices,
  served: readonly ServedModel[] | undefined,
): readonly string[] {
  for (const price of prices) {
    const fault = unitFault(price, catalog.unitOf)
    if (fault !== undefined) refuse(price.sku, `it ${fault}`)
  }
  const had = new Set(before.prices.map(({ sku }) => sku))
  const unsold = catalog.unsoldSkus(
    prices.map(({ sku }) => sku).filter((sku) => !had.has(sku)),
    served,
  )
  for (const { sku, meant } of unsold)
    if (meant !== undefined)
      refuse(sku, `no model or tool is sold at this SKU: did you mean \`${meant}\`?`)
  return unsold.map(
    ({ sku }) => `no model or tool is sold at ${sku}: the price has no effect until one is`,
  )
}

/** Parses a file of prices. @throws DomainError `price_book_invalid`, `setting_invalid` */
export function accountPricesOfFile(yamlText: string): WantedAccountPrices {
  return accountPricesFromDocument(parsedYaml(yamlText, 'the file of account prices'))
}
