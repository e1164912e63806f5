import type { PriceEntry } from './events.ts'
import { priceChangePercent } from './price-change.ts'

/** The difference between two books, by SKU and currency. */
export interface PriceBookDifference {
  readonly added: readonly PriceEntry[]
  readonly removed: readonly PriceEntry[]
  readonly changed: readonly {
    readonly before: PriceEntry
    readonly after: PriceEntry
    /** Increase in per cent: signed, two decimals; absent if the earlier price is zero. */
    readonly percent?: string
  }[]
  /** Number of prices that are equal in both. */
  readonly unchanged: number
}

/** The changes from the entries of one book to those of another, each in the order of its book. */
export function priceBookDifference(
  before: readonly PriceEntry[],
  after: readonly PriceEntry[],
): PriceBookDifference {
  const earlier = new Map(before.map((entry) => [keyOf(entry), entry]))
  const later = new Map(after.map((entry) => [keyOf(entry), entry]))
  const kept = after.flatMap((entry) => {
    const was = earlier.get(keyOf(entry))
    return was === undefined ? [] : [{ before: was, after: entry }]
  })
  const changed = kept
    .filter((pair) => !isSame(pair.before, pair.after))
    .map((pair) => {
      const percent = priceChangePercent(pair.before, pair.after)
      return percent === undefined ? pair : { ...pair, percent }
    })
  return {
    added: after.filter((entry) => !earlier.has(keyOf(entry))),
    removed: before.filter((entry) => !later.has(keyOf(entry))),
    changed,
    unchanged: kept.length - changed.length,
  }
}

function keyOf({ sku, currency }: PriceEntry): string {
  return `${currency} ${sku}`
}

/** Prices in a book are canonical: equal ones read the same. */
function isSame(a: PriceEntry, b: PriceEntry): boolean {
  return (
    a.price === b.price &&
    a.per === b.per &&
    a.unit === b.unit &&
    (a.demonstration === true) === (b.demonstration === true)
  )
}
