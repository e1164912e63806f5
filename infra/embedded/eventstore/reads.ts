/**
 * Bounded reads of the database. Each opens an iterator for one page only, so that a slow reader
 * holds no snapshot and does not notice a reopened database.
 */

import type { Database } from './database.ts'
import { decodeHead, EMPTY_HEAD, type StreamHead } from './heads.ts'
import { decodeEventKey, decodeStreamEntry, eventKey, headKey, streamKey } from './keys.ts'
import { PAGE_BYTES, PAGE_EVENTS } from './limits.ts'
import { recordId } from './record.ts'

/** Inclusive bounds of a page in reading order: `from` first. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** Heads of streams; one that was never written to has the empty head. */
export async function readHeads(
  database: Database,
  streams: readonly string[],
): Promise<Map<string, StreamHead>> {
  const keys = streams.map((stream) => headKey(Buffer.from(stream)))
  const values = await database.read((level) => level.getMany(keys))
  return new Map(
    streams.map((stream, index) => {
      const value = values[index]
      return [stream, value === undefined ? EMPTY_HEAD : decodeHead(value)]
    }),
  )
}

/** Id and position of a stream's event at a revision. */
export async function readEventAt(
  database: Database,
  stream: string,
  revision: number,
): Promise<{ id: string; position: number } | undefined> {
  return await database.read(async (level) => {
    const entry = await level.get(streamKey(Buffer.from(stream), revision))
    if (entry === undefined) return undefined
    const { position } = decodeStreamEntry(entry)
    const record = await level.get(eventKey(position))
    return record === undefined ? undefined : { id: recordId(record), position }
  })
}

/** Positions of events named by stream and revision; undefined where there is none. */
export async function readPositions(
  database: Database,
  events: readonly { readonly stream: string; readonly revision: number }[],
): Promise<(number | undefined)[]> {
  const keys = events.map(({ stream, revision }) => streamKey(Buffer.from(stream), revision))
  const values = await database.read((level) => level.getMany(keys))
  return values.map((value) =>
    value === undefined ? undefined : decodeStreamEntry(value).position,
  )
}

/** The last positions in the log, newest first. */
export async function readLastPositions(database: Database, limit: number): Promise<number[]> {
  const range = { gte: eventKey(0), lte: eventKey(MAX_KEY), reverse: true, limit }
  const keys = await database.read((level) => level.keys(range).all())
  return keys.map(decodeEventKey)
}

const MAX_KEY = Number.MAX_SAFE_INTEGER

/** One page of the log between two positions; forwards when `from <= to`. Empty means none left. */
export async function readAllPage(
  database: Database,
  range: Range,
  limit: number,
  backwards: boolean,
): Promise<Buffer[]> {
  const [low, high] = backwards ? [range.to, range.from] : [range.from, range.to]
  if (low > high || limit <= 0) return []
  return await database.read(async (level) => {
    const values = level.values({
      gte: eventKey(Math.max(low, 0)),
      lte: eventKey(Math.min(high, MAX_KEY)),
      reverse: backwards,
      fillCache: false,
      highWaterMarkBytes: PAGE_BYTES,
    })
    try {
      const page = await values.nextv(Math.min(limit, PAGE_EVENTS))
      // A closed iterator keeps a copy of its last page, unseen by the garbage collector, until it
      // is collected itself: hundreds of megabytes in a replay. Reading nothing clears it.
      values.seek(eventKey(backwards ? 0 : MAX_KEY))
      await values.nextv(1)
      return page
    } finally {
      await values.close()
    }
  })
}

/** One page of a stream between two revisions. Empty means none left. */
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
  return await database.read(async (level) => {
    const entries = await level
      .values({
        gte: streamKey(name, Math.max(low, 0)),
        lte: streamKey(name, Math.min(high, MAX_KEY)),
        reverse: backwards,
        limit: Math.min(limit, PAGE_EVENTS),
      })
      .all()
    const keys: Buffer[] = []
    let pageBytes = 0
    for (const value of entries) {
      const entry = decodeStreamEntry(value)
      pageBytes += entry.sizeBytes
      if (keys.length > 0 && pageBytes > PAGE_BYTES) break
      keys.push(eventKey(entry.position))
    }
    const records = await level.getMany(keys)
    return records.filter((record) => record !== undefined)
  })
}
