import { hash } from 'node:crypto'
import { lineMembers, type LedgerLine } from '../line.ts'

/** What the first line is chained to: 32 zero bytes. */
export const GENESIS = Buffer.alloc(32)

/** The bytes that are hashed: every member of the line, in order. */
export function canonicalBytes(line: LedgerLine): string {
  return JSON.stringify(
    lineMembers.map(([member]) => {
      const value = line[member]
      return typeof value === 'bigint' ? value.toString() : value
    }),
  )
}

/** Hash of a line given the hash of the line before it in the order of the log. */
export function chainHash(previous: Uint8Array, line: LedgerLine): Buffer {
  return hash('sha256', Buffer.concat([previous, Buffer.from(canonicalBytes(line))]), 'buffer')
}
