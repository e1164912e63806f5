import type { PriceEntry } from '../domain/pricing/events.ts'
import type { PriceBookDifference } from '../domain/pricing/price-book-difference.ts'
import type { Publication } from '../domain/pricing/publication.ts'
import { unsoldInWords } from '../domain/catalog/catalog.ts'
import { table } from './output.ts'

/** A price for people: `46 per 1000000 token`, with a word where it only demonstrates. */
export function priceText({ price, per, unit, demonstration }: PriceEntry): string {
  const what = per === 1 ? unit : `${per} ${unit}`
  return `${price} per ${what}${demonstration === true ? ' (demonstration)' : ''}`
}

/** A difference for people: a row for each price that comes, goes or changes. */
export function differenceLines(difference: PriceBookDifference): readonly string[] {
  const { added, removed, changed, unchanged } = difference
  const rows = [
    ...removed.map((entry) => ['removed', entry.sku, entry.currency, priceText(entry), '']),
    ...changed.map(({ before, after, percent }) => [
      'changed',
      after.sku,
      after.currency,
      priceText(before),
      priceText(after),
      percent === undefined ? '' : `${percent} %`,
    ]),
    ...added.map((entry) => ['added', entry.sku, entry.currency, '', priceText(entry)]),
  ]
  return [
    ...(rows.length === 0
      ? []
      : table(['change', 'sku', 'currency', 'before', 'after', 'by'], rows)),
    `${removed.length} removed, ${changed.length} changed, ${added.length} added, ${unchanged} unchanged`,
  ]
}

/** What publishing a book brings about, for people. */
export function publicationLines(publication: Publication): readonly string[] {
  const { version, replaces, difference } = publication
  return [
    `${version}: ${whenText(publication)}; it replaces ${replaces ?? 'no other book'}`,
    ...differenceLines(difference),
    ...servedLines(publication),
    ...publication.unsold.map(
      (one) => `has a price, but nothing is sold at it: ${unsoldInWords(one)}`,
    ),
  ]
}

function whenText({ takesEffect, effectiveFrom, replaces }: Publication): string {
  switch (takesEffect) {
    case 'at_once':
      return `takes effect immediately, ${effectiveFrom} being past`
    case 'later':
      return `takes effect at ${effectiveFrom}`
    case 'never':
      return `never takes effect, as ${replaces ?? 'another book'} begins later`
  }
}

function servedLines({ unpriced }: Publication): readonly string[] {
  if (unpriced === undefined) return ['served models are unknown: CHANNELS_FILE is not set']
  if (unpriced.length === 0) return ['every served model has all its prices']
  return unpriced.map(
    ({ model, skus, soldNow }) =>
      `served without a price, ${soldNow ? 'though sold now' : 'as now'}: ${model} (${skus.join(', ')})`,
  )
}
