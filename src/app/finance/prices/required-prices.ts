import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Catalog, ServedModel } from '../../../domain/catalog/catalog.ts'
import { lackingPrices, type LackingModel } from '../../../domain/pricing/coverage.ts'
import type { PriceEntry } from '../../../domain/pricing/events.ts'
import { priceBookFromPublished, type BilledSku } from '../../../domain/pricing/price-book.ts'
import { programFile } from '../../../platform/program-files.ts'
import { bookOf } from './publish.ts'

/** The models of a channel file need prices: without one a model can only be refused. */

const SHIPPED_PRICE_BOOK = 'infra/pricebook.yaml'

/** The price book of a configuration. */
export interface ConfiguredBook {
  readonly path: string
  /** Whether it is the book that the program comes with, which an update replaces. */
  readonly isShipped: boolean
  readonly yamlText: string
}

/** Reads the configured price book, or the built-in one. */
export async function readConfiguredBook(
  priceBookFile: string | undefined,
): Promise<ConfiguredBook> {
  const path = priceBookFile ?? fileURLToPath(programFile(SHIPPED_PRICE_BOOK))
  return { path, isShipped: priceBookFile === undefined, yamlText: await readFile(path, 'utf8') }
}

/** Says which prices are missing, and where they go. */
export class UnpricedModelsError extends Error {
  override readonly name = 'UnpricedModelsError'
}

interface PricedBy {
  readonly catalog: Catalog
  readonly served: readonly ServedModel[]
  readonly book: ConfiguredBook
  /** Entries of books that were published; the prices of any of them count, past or future. */
  readonly published: readonly PriceEntry[]
  /** Whether a model may lack some of its prices: requests that need these are refused. */
  readonly inPart: boolean
}

/**
 * Refuses models for which neither the price book of the configuration nor a published one has a
 * price. A model that lost its price, or gets it later, is no fault of the configuration: the
 * readiness report names it. Demonstration prices do not count.
 * @throws UnpricedModelsError
 */
export function requirePrices({ catalog, served, book, published, inPart }: PricedBy): void {
  const own = bookOf(catalog, { yamlText: book.yamlText, demonstrations: false })
  const entries = [...published, ...own.entries].filter(({ demonstration }) => !demonstration)
  const known = priceBookFromPublished({ version: own.version, entries })
  const lacking = lackingPrices(catalog, served, known).filter(({ hasNone }) => hasNone || !inPart)
  if (lacking.length > 0) throw new UnpricedModelsError(wordsFor(lacking, book))
}

function wordsFor(models: readonly LackingModel[], { path, isShipped }: ConfiguredBook): string {
  const names = new Set(models.map(({ model }) => model))
  const place = isShipped
    ? `Copy ${path}, set PRICEBOOK_FILE to the copy, and add these lines below its \`prices:\``
    : `Add these lines below \`prices:\` of ${path}`
  const lines = new Set(models.flatMap(({ lacking }) => lacking.map(lineOf)))
  return [
    `the channel file has models that lack prices: ${[...names].join(', ')}`,
    `${place}, with your prices ('0' where a model is free).`,
    'Give the book another `version` if it was published before.',
    '',
    ...lines,
  ].join('\n')
}

/** Units of which a single one costs too little to be priced. */
const SMALL_UNITS: ReadonlySet<string> = new Set(['token', 'character'])

function lineOf({ sku, currency, unit }: BilledSku): string {
  const per = SMALL_UNITS.has(unit) ? 1_000_000 : 1
  return `  - { sku: ${sku}, currency: ${currency}, unit: ${unit}, per: ${per}, price: 'PRICE' }`
}
