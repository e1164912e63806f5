import { DomainError } from '../../kernel/errors.ts'

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
