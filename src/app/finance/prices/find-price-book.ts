import {
  listPriceBooks,
  priceBookVersion,
  type PublishedPriceBook,
} from '../../../../projections/prices/query.ts'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { MAX_NAMED } from './named.ts'

/** Of a version that is not there, so much is repeated. */
const MAX_SHOWN_CHARACTERS = 128

/** A published book. @throws DomainError `price_book_not_found`, naming the latest there are */
export async function findPriceBook(
  db: Queryable,
  version: string,
  param = 'version',
): Promise<PublishedPriceBook> {
  const book = await priceBookVersion(db, version)
  if (book !== undefined) return book
  const known = (await listPriceBooks(db, { limit: MAX_NAMED })).map((one) => one.version)
  throw new DomainError(
    'price_book_not_found',
    `no price book ${version.slice(0, MAX_SHOWN_CHARACTERS)}; there are ${known.join(', ') || 'none'}`,
    { param },
  )
}
