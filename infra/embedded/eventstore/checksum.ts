/**
 * The checksum behind every value of format 2: CRC-32 over key and value, of an event over its record.
 * LevelDB does not check its own when it reads, and a compaction gives a damaged block a good one.
 */

import { crc32 } from 'node:zlib'
import { describeKey, isEventKey } from './keys.ts'
import { LogError } from './types.ts'

const CHECKSUM_BYTES = 4

/**
 * The checksum of the key, which that of the value continues; an event's record has its position
 * itself.
 */
function sumOf(key: Buffer): number {
  return isEventKey(key) ? 0 : crc32(key)
}

/** A stored value. */
export function withChecksum(key: Buffer, value: Buffer): Buffer {
  const stored = Buffer.allocUnsafe(value.length + CHECKSUM_BYTES)
  value.copy(stored)
  stored.writeUInt32BE(crc32(value, sumOf(key)), value.length)
  return stored
}

/** The value that is stored, as a view; undefined where it is not as it was written. */
function valueIn(stored: Buffer, keySum: number): Buffer | undefined {
  const end = stored.length - CHECKSUM_BYTES
  if (end < 0) return undefined
  const value = stored.subarray(0, end)
  return stored.readUInt32BE(end) === crc32(value, keySum) ? value : undefined
}

/** The value without its checksum, as a view. @throws {LogError} `damaged` */
export function checked(key: Buffer, stored: Buffer): Buffer {
  const value = valueIn(stored, sumOf(key))
  if (value === undefined) throw damaged(describeKey(key))
  return value
}

/** Whether a stored entry has the checksum of its key and value. */
export function isAsWritten(key: Buffer, stored: Buffer): boolean {
  return valueIn(stored, sumOf(key)) !== undefined
}

/** The record of an event that was read without its key; undefined where it is damaged. */
export function checkedRecord(stored: Buffer): Buffer | undefined {
  return valueIn(stored, 0)
}

/** `what` is damaged: its bytes differ from those that were written. */
export function damaged(what: string): LogError {
  return new LogError('damaged', `the log is damaged: ${what} is not as it was written`)
}
