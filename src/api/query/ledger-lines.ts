import type { Static } from 'typebox'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { CsvRow } from '../kit/csv.ts'
import type { LedgerFilter, LedgerLine, QueryReads } from './reads.ts'
import { MAX_PAGE_LINES, type LedgerLineSchema } from './schemas.ts'

type Line = Static<typeof LedgerLineSchema>

/** Columns of the CSV, in the order in which the API shows them. */
export const lineColumns = [
  'line_id',
  'settled_at',
  'tenant_id',
  'user_id',
  'token_id',
  'source_id',
  'native_id',
  'surface',
  'model',
  'sku',
  'rule',
  'quantity',
  'unit',
  'price',
  'per',
  'currency',
  'amount',
  'price_book_version',
  'measurement',
  'request_id',
  'position',
  'adjusted',
] as const satisfies readonly (keyof Line)[]

/** A line as the API shows it. */
export function toLine(line: LedgerLine): Line {
  return {
    line_id: line.lineId,
    settled_at: toTimestamp(line.settledAtMs),
    tenant_id: line.tenantId,
    user_id: line.userId,
    token_id: line.tokenId,
    source_id: line.sourceId,
    native_id: line.nativeId,
    surface: line.surface,
    model: line.model,
    sku: line.sku,
    rule: line.rule,
    quantity: line.quantity,
    unit: line.unit,
    price: line.price,
    per: line.per,
    currency: line.currency,
    amount: line.amount,
    price_book_version: line.priceBookVersion,
    measurement: line.measurement,
    request_id: line.requestId,
    position: line.position,
    adjusted: line.adjusted,
  }
}

/** Writes the place after which the next page begins; opaque to callers. */
export function toCursor(after: string): string {
  return Buffer.from(after, 'utf8').toString('base64url')
}

/** @throws DomainError `invalid_cursor` on anything that is not the shape of one of ours */
export function fromCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined
  const after = /^[\w-]{1,256}$/.test(cursor) ? Buffer.from(cursor, 'base64url').toString() : ''
  if (!/^[\x21-\x7e]{1,160}$/.test(after) || toCursor(after) !== cursor)
    throw new DomainError('invalid_cursor', 'cursor must be a next_cursor of this query', {
      param: 'cursor',
    })
  return after
}

/** All lines of a filter, page by page, up to `limit` where there is one. */
export async function* linePages(
  reads: QueryReads,
  filter: LedgerFilter,
  start: { readonly after: string | undefined; readonly limit: number | undefined },
): AsyncGenerator<readonly CsvRow[]> {
  let after = start.after
  let left = start.limit ?? Number.POSITIVE_INFINITY
  while (left > 0) {
    const limit = Math.min(left, MAX_PAGE_LINES)
    const page = await reads.listLines(filter, { after, limit })
    yield page.items.map((each) => {
      const line = toLine(each)
      return lineColumns.map((column) => line[column])
    })
    left -= page.items.length
    if (page.next === undefined) return
    after = page.next
  }
}
