import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { ledgerTenants, pricedLines } from '../../../../projections/ledger/query.ts'
import { type AccountPrices, bookForAccount } from '../../../domain/pricing/account-prices.ts'
import type { PriceBook, SoldPrice } from '../../../domain/pricing/price-book.ts'
import { percentOf, priceChangePercent } from '../../../domain/pricing/price-change.ts'
import { type Rerated, Rerating } from '../../../domain/pricing/rerate.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import { type Currency, formatAmount } from '../../../kernel/money.ts'
import { accountPriceHistory } from './account-prices.ts'
import type { PublishedPriceBook } from '../../../../projections/prices/query.ts'
import type { PriceEntry } from '../../../domain/pricing/events.ts'

/** Cost of the settled lines of one tenant and SKU under another book; decimal strings. */
export interface WhatIfRow {
  readonly tenantId: string
  readonly currency: Currency
  readonly sku: string
  readonly unit: string
  readonly lines: number
  readonly quantity: string
  readonly recorded: string
  /** Null: the other book has no price for it, and would have refused it. */
  readonly whatIf: string | null
  readonly difference: string | null
  /** Signed, two decimals; null also when the recorded amount is zero. */
  readonly percent: string | null
}

/** Cost of all settled lines in one currency under another book. */
export interface WhatIfTotal extends Pick<
  WhatIfRow,
  'currency' | 'lines' | 'recorded' | 'percent'
> {
  readonly whatIf: string
  readonly difference: string
  /** Lines without a price in the other book; the other figures exclude them. */
  readonly unpriced: { readonly lines: number; readonly recorded: string }
}

export interface WhatIfInput {
  readonly book: PriceBook
  /** Settled from then on; unix milliseconds. */
  readonly fromMs: number
  /** Settled before; unix milliseconds. */
  readonly toMs: number
  /** Tenant to include; undefined: all. */
  readonly tenantId: string | undefined
  readonly onProgress?: (lines: number) => void
  /** Stops between two reads. */
  readonly signal?: AbortSignal
}

interface WhatIfDeps {
  readonly pool: Queryable
  readonly log: Pick<EventLog, 'readStream'>
}

/**
 * Prices settled usage again under another book, one tenant at a time, and writes nothing. Each
 * line keeps the tenant's prices it was settled by: a tenant's price of a SKU stays, and a
 * multiplier applies to the other book. For the book by which lines were settled, the result is
 * exactly the recorded amount.
 */
export class WhatIf {
  readonly #deps: WhatIfDeps
  readonly #input: WhatIfInput
  readonly #totals = new Map<Currency, Total>()
  #lines = 0

  constructor(deps: WhatIfDeps, input: WhatIfInput) {
    this.#deps = deps
    this.#input = input
  }

  /**
   * One row per tenant, currency, SKU and unit; memory holds the rows of one tenant.
   *
   * @throws the reason of the signal
   */
  async *rows(): AsyncGenerator<WhatIfRow> {
    const { tenantId } = this.#input
    if (tenantId !== undefined) return yield* this.#ofTenant(tenantId)
    for await (const tenant of ledgerTenants(this.#deps.pool)) yield* this.#ofTenant(tenant)
  }

  /** Totals of the rows so far, one per currency: currencies are never added. */
  totals(): readonly WhatIfTotal[] {
    return [...this.#totals]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([currency, total]) => ({
        currency,
        lines: total.lines,
        recorded: formatAmount(total.recordedPico),
        whatIf: formatAmount(total.otherPico),
        difference: formatAmount(total.otherPico - total.recordedPico),
        percent: percentOf(total.recordedPico, total.otherPico) ?? null,
        unpriced: {
          lines: total.unpricedLines,
          recorded: formatAmount(total.unpricedPico),
        },
      }))
  }

  async *#ofTenant(tenantId: string): AsyncGenerator<WhatIfRow> {
    const { fromMs, toMs, onProgress, signal } = this.#input
    signal?.throwIfAborted()
    const rerating = new Rerating()
    let views: ReadonlyMap<number, PriceBook> | undefined
    for await (const page of pricedLines(this.#deps.pool, { tenantId, fromMs, toMs })) {
      if (views === undefined && page.some(({ accountPrices }) => accountPrices !== null))
        views = await this.#viewsOf(tenantId)
      for (const equal of page)
        rerating.add(
          equal,
          equal.accountPrices === null ? this.#input.book : views?.get(equal.accountPrices),
        )
      signal?.throwIfAborted()
      this.#lines += page.reduce((sum, { lines }) => sum + lines, 0)
      onProgress?.(this.#lines)
    }
    for (const sum of rerating.sums()) {
      this.#count(sum)
      yield rowOf(tenantId, sum)
    }
  }

  /** Reads the book that is tried under each set of prices the tenant ever had. */
  async #viewsOf(tenantId: string): Promise<ReadonlyMap<number, PriceBook>> {
    const sets = await accountPriceHistory(this.#deps.log, tenantId)
    return new Map(sets.map(({ data }) => [data.revision, bookForAccount(this.#input.book, data)]))
  }

  #count(sum: Rerated): void {
    const total = this.#totals.get(sum.currency) ?? emptyTotal()
    this.#totals.set(sum.currency, total)
    if (sum.otherPico === undefined) {
      total.unpricedLines += sum.lines
      total.unpricedPico += sum.recordedPico
      return
    }
    total.lines += sum.lines
    total.recordedPico += sum.recordedPico
    total.otherPico += sum.otherPico
  }
}

interface Total {
  lines: number
  recordedPico: bigint
  otherPico: bigint
  unpricedLines: number
  unpricedPico: bigint
}

function emptyTotal(): Total {
  return { lines: 0, recordedPico: 0n, otherPico: 0n, unpricedLines: 0, unpricedPico: 0n }
}

function rowOf(tenantId: string, sum: Rerated): WhatIfRow {
  const { currency, sku, unit, lines, quantity, recordedPico, otherPico } = sum
  const common = { tenantId, currency, sku, unit, lines, quantity: quantity.toString() }
  const recorded = formatAmount(recordedPico)
  if (otherPico === undefined)
    return { ...common, recorded, whatIf: null, difference: null, percent: null }
  return {
    ...common,
    recorded,
    whatIf: formatAmount(otherPico),
    difference: formatAmount(otherPico - recordedPico),
    percent: percentOf(recordedPico, otherPico) ?? null,
  }
}

/** A tenant's price for a SKU, with the list price. */
interface ComparedPrice {
  readonly sku: string
  readonly currency: Currency
  /** Undefined: the list has none. */
  readonly list: PriceEntry | undefined
  /** Undefined: the list price times the multiplier exceeds the largest price. */
  readonly tenant: SoldPrice | undefined
  /** Increase for the tenant in per cent; undefined if it cannot be expressed. */
  readonly percent: string | undefined
}

/**
 * A tenant's prices next to those of the book in effect; with `all` every price of the book as
 * well.
 *
 * @param book undefined: none is in effect
 */
export function comparedPrices(
  book: PublishedPriceBook | undefined,
  prices: AccountPrices,
  all: boolean,
): readonly ComparedPrice[] {
  const ofBook = book?.entries ?? []
  const known = new Set(ofBook.map(keyOf))
  const others = prices.prices.filter((entry) => !known.has(keyOf(entry)))
  const tenants = bookForAccount(book ?? { version: '', lookup: () => undefined }, prices)
  return (all ? [...ofBook, ...others] : prices.prices).map(({ sku, currency }) => {
    const list = book?.lookup(sku, currency)
    const tenant = tenants.lookup(sku, currency)
    const percent = list && tenant && priceChangePercent(list, tenant)
    return { sku, currency, list, tenant, percent }
  })
}

function keyOf({ sku, currency }: PriceEntry): string {
  return `${currency} ${sku}`
}
