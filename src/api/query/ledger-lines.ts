import type { Static } from 'typebox'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { CsvRow } from '../kit/csv.ts'
import type { LedgerFilter, LedgerLine, QueryReads } from './reads.ts'
import { LedgerLineSchema, MAX_PAGE_LINES } from './schemas.ts'

type Line = Static<typeof LedgerLineSchema>

/** Columns of the CSV, in the order in which the API shows them. */
export const lineColumns = Object.keys(LedgerLineSchema.properties) as readonly (keyof Line)[]

/** Each column and the member of a line that it shows, which has the same name. */
const shown = lineColumns.map((column) => {
  const member = column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  return [column, member as keyof LedgerLine] as const
})

/** A line as the API shows it. */
export function toLine(line: LedgerLine): Line {
  const members = Object.fromEntries(shown.map(([column, member]) => [column, line[member]]))
  return { ...(members as Line), settled_at: toTimestamp(line.settledAtMs) }
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
