/**
 * The checksum behind every value of format 2: CRC-32 over key and value, of an event over its record. LevelDB's own are not checked
 * when it reads, and a compaction gives a damaged block a good one.
 */

import { crc32 } from 'node:zlib'
import { describeKey, isEventKey } from './keys.ts'
import { LogError } from './types.ts'

const CHECKSUM_BYTES = 4

/** An event's record has its position, so that its key is in the sum of its value. */
function checksumOf(key: Buffer, value: Buffer): number {
  return isEventKey(key) ? crc32(value) : crc32(value, crc32(key))
}

/** A value as it is stored. */
export function withChecksum(key: Buffer, value: Buffer): Buffer {
  const stored = Buffer.allocUnsafe(value.length + CHECKSUM_BYTES)
  value.copy(stored)
  stored.writeUInt32BE(checksumOf(key, value), value.length)
  return stored
}

/** The value without its checksum, as a view. @throws {LogError} `damaged` */
export function checked(key: Buffer, stored: Buffer): Buffer {
  if (!isAsWritten(key, stored)) throw damaged(describeKey(key))
  return stored.subarray(0, stored.length - CHECKSUM_BYTES)
}

/** Whether what is stored has the checksum of its key and value. */
export function isAsWritten(key: Buffer, stored: Buffer): boolean {
  const end = stored.length - CHECKSUM_BYTES
  return end >= 0 && stored.readUInt32BE(end) === checksumOf(key, stored.subarray(0, end))
}

/** The record of an event that was read without its key; undefined where it is damaged. */
export function checkedRecord(stored: Buffer): Buffer | undefined {
  const end = stored.length - CHECKSUM_BYTES
  if (end < 0) return undefined
  const record = stored.subarray(0, end)
  return stored.readUInt32BE(end) === crc32(record) ? record : undefined
}

/** `what` is damaged: it was written and is not what it was. */
export function damaged(what: string): LogError {
  return new LogError('damaged', `the log is damaged: ${what} is not as it was written`)
}
