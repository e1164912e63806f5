import { hash } from 'node:crypto'
import { lineMembers, type LedgerLine } from '../line.ts'

/** Hash to which the first line is chained: 32 zero bytes. */
export const GENESIS = Buffer.alloc(32)

/** Members that lines had from the beginning; later ones are hashed only if they are not null. */
const FIRST_MEMBERS = 21

/**
 * The bytes that are hashed: every member of the line, in order. Members that were added later are
 * left out where they are null, so that earlier lines keep their hashes.
 */
export function canonicalBytes(line: LedgerLine): string {
  return canonicalText(
    lineMembers.map((member) => {
      const value = line[member]
      return typeof value === 'bigint' ? value.toString() : value
    }),
  )
}

/** The text of these bytes, from the values of all members in their order; positions are texts. */
export function canonicalText(values: (string | number | null)[]): string {
  let length = values.length
  while (length > FIRST_MEMBERS && values[length - 1] === null) length -= 1
  return JSON.stringify(length === values.length ? values : values.slice(0, length))
}

/** Hash of a line given the hash of the line before it in the order of the log. */
export function chainHash(previous: Uint8Array, line: LedgerLine): Buffer {
  const text = canonicalBytes(line)
  const bytes = Buffer.allocUnsafe(previous.length + Buffer.byteLength(text))
  bytes.set(previous)
  bytes.write(text, previous.length)
  return hash('sha256', bytes, 'buffer')
}
