import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import {
  priceBookFromDocument,
  type PriceBookDocument,
} from '../../../src/domain/pricing/price-book-document.ts'
import { priceBookFromPublished, type PriceBook } from '../../../src/domain/pricing/price-book.ts'
import { catalog } from '../../../src/families/index.ts'

/** The shipped price book, as the tests of pricing and of tasks use it. */
export const shippedYaml: unknown = parse(
  readFileSync(new URL('../../../infra/pricebook.yaml', import.meta.url), 'utf8'),
)
export const shippedDocument: PriceBookDocument = priceBookFromDocument(shippedYaml, catalog.unitOf)
export const shippedBook: PriceBook = priceBookFromPublished(shippedDocument)
