import { crc32 } from 'node:zlib'
import type { NewEvent } from '../log/types.ts'

/** `<length> <crc32> <json>\n`: JSON has no raw line feed, so a damaged record ends at the next one. */
const HEADER = /^(\d{1,8}) ([0-9a-f]{8}) /
const HEADER_MAX_BYTES = 18
export const LINE_FEED = 0x0a

/** An append with its place in the log: repeated exactly, it happens once. */
export interface PlacedBatch {
  readonly stream: string
  readonly expected: bigint | 'no_stream'
  readonly events: readonly NewEvent[]
}

/** A batch as it lies in the spool. */
interface SpoolRecord {
  readonly batch: PlacedBatch
  /** Unix milliseconds; absent in files of older releases. */
  readonly spooledAtMs: number | undefined
}

interface PersistedRecord {
  readonly stream: string
  readonly expected: string
  readonly spooledAtMs?: number
  readonly events: readonly NewEvent[]
}

/** A record with its line feed. */
export function encodeRecord(batch: PlacedBatch, spooledAtMs: number): Buffer {
  const { stream, events } = batch
  const persisted: PersistedRecord = {
    stream,
    expected: String(batch.expected),
    spooledAtMs,
    events,
  }
  const body = Buffer.from(JSON.stringify(persisted))
  const header = `${body.length} ${crc32(body).toString(16).padStart(8, '0')} `
  return Buffer.concat([Buffer.from(header), body, Buffer.of(LINE_FEED)])
}

/** A part of a file. */
export interface Extent {
  readonly offset: number
  readonly length: number
}

/** The parts of a file of records, in order. */
interface Scanned {
  /** Complete records, without their line feeds. */
  readonly records: readonly (Extent & { readonly record: SpoolRecord })[]
  /**
   * A part that is not a complete record, with its line feed if it has one; adjacent ones are one
   * part.
   */
  readonly damaged: readonly Extent[]
}

/**
 * Finds the records in a file. A complete record is found by its length, even if the line feed
 * after it is damaged; after a damaged record the search continues after the next line feed.
 */
export function scanRecords(bytes: Buffer): Scanned {
  const records: (Extent & { readonly record: SpoolRecord })[] = []
  const damaged: { offset: number; length: number }[] = []
  let offset = 0
  while (offset < bytes.length) {
    const { length, record } = partAt(bytes, offset)
    const end = Math.min(offset + length + 1, bytes.length)
    if (record !== undefined) records.push({ offset, length, record })
    else {
      const last = damaged.at(-1)
      if (last !== undefined && last.offset + last.length === offset) last.length += end - offset
      else damaged.push({ offset, length: end - offset })
    }
    offset = end
  }
  return { records, damaged }
}

/** The record that begins there; a damaged one is as long as it says, or goes to the next line feed. */
function partAt(
  bytes: Buffer,
  offset: number,
): { readonly length: number; readonly record?: SpoolRecord | undefined } {
  const start = bytes.subarray(offset, offset + HEADER_MAX_BYTES).toString('latin1')
  const header = HEADER.exec(start)
  if (header !== null) {
    const length = header[0].length + Number(header[1])
    const record = decodeRecord(bytes.subarray(offset, offset + length))
    if (record !== undefined || bytes[offset + length] === LINE_FEED) return { length, record }
  }
  const lineFeed = bytes.indexOf(LINE_FEED, offset)
  return { length: (lineFeed === -1 ? bytes.length : lineFeed) - offset }
}

/** The record in these bytes, without its line feed; undefined where length or checksum disagree. */
export function decodeRecord(line: Buffer): SpoolRecord | undefined {
  const header = HEADER.exec(line.subarray(0, HEADER_MAX_BYTES).toString('latin1'))
  if (header === null) return undefined
  const body = line.subarray(header[0].length)
  if (body.length !== Number(header[1]) || crc32(body) !== parseInt(header[2] ?? '', 16))
    return undefined
  const { stream, expected, spooledAtMs, events } = parse(body) ?? {}
  if (stream === undefined || expected === undefined || events === undefined) return undefined
  return {
    batch: { stream, expected: expected === 'no_stream' ? expected : BigInt(expected), events },
    spooledAtMs,
  }
}

/** The checksum matched, so the body is as it was written; only an empty body is not JSON. */
function parse(body: Buffer): Partial<PersistedRecord> | undefined {
  try {
    return JSON.parse(body.toString('utf8')) as Partial<PersistedRecord>
  } catch {
    return undefined
  }
}
