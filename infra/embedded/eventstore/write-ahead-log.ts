/**
 * The files in which LevelDB writes first (its `log_format.md`): blocks of 32 KiB with pieces of records,
 * each with a header of checksum, length and kind. LevelDB skips a damaged one without a word.
 */

import { readFile } from 'node:fs/promises'

const BLOCK_BYTES = 32 * 1024
const HEADER_BYTES = 7
/** Kinds of pieces: a whole record, or its first, a further, its last one. */
const FULL = 1
const LAST = 4

/** Place of the damage in a file. */
interface Damage {
  /** Byte of the first piece that is not whole. */
  readonly at: number
  /** Whether no complete record follows it. */
  readonly isLast: boolean
}

/** The readable part of a file. */
interface WrittenFile {
  readonly records: readonly Buffer[]
  /**
   * The first damage. A process that dies in a write leaves a piece that the file ends within; a damaged
   * length looks the same.
   */
  readonly damage: Damage | undefined
}

export async function readWritten(path: string): Promise<WrittenFile> {
  const bytes = await readFile(path)
  const records: Buffer[] = []
  let begun: Buffer[] = []
  let first: number | undefined
  for (let at = 0; at < bytes.length;) {
    const left = BLOCK_BYTES - (at % BLOCK_BYTES)
    if (left < HEADER_BYTES) {
      at += left
      continue
    }
    const piece = pieceAt(bytes, at, left)
    if (piece.kind === undefined) first ??= at
    else if (first !== undefined) return { records, damage: { at: first, isLast: false } }
    begun.push(bytes.subarray(at + HEADER_BYTES, piece.end))
    if (piece.kind === FULL || piece.kind === LAST) records.push(Buffer.concat(begun.splice(0)))
    at = piece.end
  }
  return { records, damage: first === undefined ? undefined : { at: first, isLast: true } }
}

interface Piece {
  /** Undefined where it is not as it was written. */
  readonly kind: number | undefined
  /** Offset from which the next record is searched. */
  readonly end: number
}

/** `left` are the bytes of the block from there. */
function pieceAt(bytes: Buffer, at: number, left: number): Piece {
  if (at + HEADER_BYTES > bytes.length) return { kind: undefined, end: bytes.length }
  const length = bytes.readUInt16LE(at + 4)
  const kind = bytes.readUInt8(at + HEADER_BYTES - 1)
  const end = at + HEADER_BYTES + length
  // If the length is wrong, the next piece can be found only at the next block.
  if (HEADER_BYTES + length > left || kind < FULL || kind > LAST)
    return { kind: undefined, end: at + left }
  if (end > bytes.length) return { kind: undefined, end: bytes.length }
  const sum = storedSum(bytes.subarray(at + HEADER_BYTES - 1, end))
  return { kind: bytes.readUInt32LE(at) === sum ? kind : undefined, end }
}

/** A checksum as LevelDB stores it: masked, so that one over data with checksums stays a good one. */
export function storedSum(bytes: Uint8Array): number {
  const crc = crc32c(bytes)
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

/** Castagnoli's polynomial, reversed. */
const POLYNOMIAL = 0x82f63b78

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
  return crc
})

function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (let at = 0; at < bytes.length; at += 1)
    crc = (table[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0) ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}

/** A number in pieces of seven bits, the lowest first, and where the next byte is. */
export function numberAt(
  bytes: Buffer,
  from: number,
): { readonly value: number; readonly next: number } {
  let value = 0
  let next = from
  for (let scale = 1; next < bytes.length; scale *= 128) {
    const byte = bytes.readUInt8(next)
    next += 1
    value += (byte & 0x7f) * scale
    if (byte < 0x80) break
  }
  return { value, next }
}

/** The first four numbers: the places in the end of a table. */
export function fourNumbersIn(bytes: Buffer): readonly number[] {
  const numbers: number[] = []
  for (let at = 0; numbers.length < 4;) {
    const { value, next } = numberAt(bytes, at)
    numbers.push(value)
    at = next
  }
  return numbers
}

/** Fields of a manifest's record (LevelDB's `version_edit.cc`), and their parts. */
const fields: Readonly<Record<number, readonly ('number' | 'bytes')[]>> = {
  1: ['bytes'],
  2: ['number'],
  3: ['number'],
  4: ['number'],
  5: ['number', 'bytes'],
  6: ['number', 'number'],
  7: ['number', 'number', 'number', 'bytes', 'bytes'],
  9: ['number'],
}
const LOG_NUMBER = 2
const DELETED_TABLE = 6
const NEW_TABLE = 7

/** The files that a database is made of, by number. */
interface LiveFiles {
  /** The file with the last writes; earlier ones are in tables. 0: there was no write yet. */
  readonly log: number
  readonly tables: ReadonlySet<number>
}

/** Computes which files a database has after the records of its manifest. */
export function liveFilesOf(records: readonly Buffer[]): LiveFiles {
  let log = 0
  const tables = new Set<number>()
  for (const record of records)
    for (const { field, numbers } of fieldsOf(record)) {
      const [first, second] = numbers
      if (field === LOG_NUMBER) log = first ?? 0
      else if (field === NEW_TABLE && second !== undefined) tables.add(second)
      else if (field === DELETED_TABLE && second !== undefined) tables.delete(second)
    }
  return { log, tables }
}

function* fieldsOf(
  record: Buffer,
): Generator<{ readonly field: number; readonly numbers: readonly number[] }, void> {
  let at = 0
  const number = (): number => {
    const { value, next } = numberAt(record, at)
    at = next
    return value
  }
  while (at < record.length) {
    const field = number()
    const parts = fields[field]
    if (parts === undefined) return
    const numbers: number[] = []
    for (const part of parts) {
      const value = number()
      if (part === 'bytes') at += value
      else numbers.push(value)
    }
    yield { field, numbers }
  }
}
