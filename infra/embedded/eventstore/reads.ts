/**
 * Bounded reads of the database. Each opens an iterator for one page only, so that a slow reader
 * holds no snapshot and does not notice a reopened database.
 */

import type { Database } from './database.ts'
import { decodeHead, EMPTY_HEAD, type StreamHead } from './heads.ts'
import { damaged } from './checksum.ts'
import {
  decodeEventKey,
  decodeStreamEntry,
  decodeStreamRevision,
  describeKey,
  eventKey,
  headKey,
  streamKey,
} from './keys.ts'
import { PAGE_BYTES, PAGE_EVENTS } from './limits.ts'
import { recordId, recordPosition } from './record.ts'

/** Inclusive bounds of a page in reading order: `from` first. */
export interface Range {
  readonly from: number
  readonly to: number
}

/**
 * Heads of streams; one that was never written to has the empty head. A stream that has an event and no head
 * has lost it.
 * @throws {LogError} `damaged`, as all of these
 */
export async function readHeads(
  database: Database,
  streams: readonly string[],
): Promise<Map<string, StreamHead>> {
  const names = streams.map((stream) => Buffer.from(stream))
  const keys = names.flatMap((name) => [headKey(name), streamKey(name, 0)])
  const values = await database.read((entries) => entries.getMany(keys))
  return new Map(
    streams.map((stream, index) => {
      const [head, first] = values.slice(2 * index)
      if (head === undefined && first !== undefined)
        throw damaged(`the head of stream ${stream} is missing, and the stream`)
      return [stream, head === undefined ? EMPTY_HEAD : decodeHead(head)]
    }),
  )
}

/** Id and position of a stream's event at a revision. */
export async function readEventAt(
  database: Database,
  stream: string,
  revision: number,
): Promise<{ id: string; position: number } | undefined> {
  return await database.read(async (entries) => {
    const entry = await entries.get(streamKey(Buffer.from(stream), revision))
    if (entry === undefined) return undefined
    const { position } = decodeStreamEntry(entry)
    const record = await entries.get(eventKey(position))
    if (record === undefined) throw damaged(`event ${position}`)
    return { id: recordId(record), position }
  })
}

/** Positions of events named by stream and revision; undefined for missing ones. */
export async function readPositions(
  database: Database,
  events: readonly { readonly stream: string; readonly revision: number }[],
): Promise<(number | undefined)[]> {
  const keys = events.map(({ stream, revision }) => streamKey(Buffer.from(stream), revision))
  const values = await database.read((entries) => entries.getMany(keys))
  return values.map((value) =>
    value === undefined ? undefined : decodeStreamEntry(value).position,
  )
}

/** The last positions in the log, newest first. */
export async function readLastPositions(database: Database, limit: number): Promise<number[]> {
  const range = { gte: eventKey(0), lte: eventKey(MAX_KEY), reverse: true, limit }
  const keys = await database.read((entries) => entries.keys(range))
  return keys.map(decodeEventKey)
}

const MAX_KEY = Number.MAX_SAFE_INTEGER

/** One page of the log between two positions; forwards when `from <= to`. Empty at the end. */
export async function readAllPage(
  database: Database,
  range: Range,
  limit: number,
  backwards: boolean,
): Promise<Buffer[]> {
  const [low, high] = backwards ? [range.to, range.from] : [range.from, range.to]
  if (low > high || limit <= 0) return []
  const page = await database.read((entries) =>
    entries.records({
      gte: eventKey(Math.max(low, 0)),
      lte: eventKey(Math.min(high, MAX_KEY)),
      reverse: backwards,
      limit: Math.min(limit, PAGE_EVENTS),
      fillCache: false,
    }),
  )
  requireUnbroken(page.map(recordPosition), backwards, (position) => `event ${position}`)
  return page
}

/** One page of a stream between two revisions. Empty at the end. */
export async function readStreamPage(
  database: Database,
  stream: string,
  range: Range,
  limit: number,
  backwards: boolean,
): Promise<Buffer[]> {
  const [low, high] = backwards ? [range.to, range.from] : [range.from, range.to]
  if (low > high || limit <= 0) return []
  const name = Buffer.from(stream)
  return await database.read(async (entries) => {
    const places = await entries.page({
      gte: streamKey(name, Math.max(low, 0)),
      lte: streamKey(name, Math.min(high, MAX_KEY)),
      reverse: backwards,
      limit: Math.min(limit, PAGE_EVENTS),
    })
    requireUnbroken(
      places.map(([key]) => decodeStreamRevision(key)),
      backwards,
      (revision) => `the place of event ${revision} of stream ${stream}`,
    )
    const keys: Buffer[] = []
    let pageBytes = 0
    for (const [, value] of places) {
      const entry = decodeStreamEntry(value)
      pageBytes += entry.sizeBytes
      if (keys.length > 0 && pageBytes > PAGE_BYTES) break
      keys.push(eventKey(entry.position))
    }
    const records = await entries.getMany(keys)
    return records.map((record, index) => {
      if (record !== undefined) return record
      throw damaged(describeKey(keys[index] ?? Buffer.alloc(0)))
    })
  })
}

/** Numbers have no gaps, so that one betrays an entry that cannot be found any more. */
function requireUnbroken(
  numbers: readonly number[],
  backwards: boolean,
  nameOf: (missing: number) => string,
): void {
  const step = backwards ? -1 : 1
  for (const [index, number] of numbers.entries()) {
    const expected = (numbers[index - 1] ?? number - step) + step
    if (number !== expected) throw damaged(nameOf(expected))
  }
}
