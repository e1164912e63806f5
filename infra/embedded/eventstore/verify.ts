/**
 * Reads the end of the log at start: where it ends, which ids were last written, and that the
 * indexes agree with it.
 */

import { Database, requireLog } from './database.ts'
import { decodeEventKey, describeKey, entryRanges, isEventKey, isStreamKey } from './keys.ts'
import type { SeenEvent } from './decide.ts'
import { STARTUP_CHECK_BYTES, STARTUP_CHECK_EVENTS, STARTUP_CHECK_POSITIONS } from './limits.ts'
import { readAllPage, readHeads, readLastPositions, readPositions } from './reads.ts'
import { recordId, recordPosition, recordRevision, recordStream } from './record.ts'
import { LogError, OpenError } from './types.ts'

/** The end of a log. */
interface LogEnd {
  readonly lastPosition: number
  /** Newest last. */
  readonly recent: readonly (readonly [string, SeenEvent])[]
}

/** Verifies and describes the end of the log. @throws {OpenError} `corrupt` */
export async function verifyEnd(database: Database): Promise<LogEnd> {
  try {
    return await readEnd(database)
  } catch (error) {
    if (error instanceof LogError && error.code === 'damaged')
      throw new OpenError('corrupt', error.message, { cause: error })
    throw error
  }
}

async function readEnd(database: Database): Promise<LogEnd> {
  await verifyPositions(database)
  const recent: [string, SeenEvent][] = []
  let from = Number.MAX_SAFE_INTEGER
  let bytes = 0
  while (recent.length < STARTUP_CHECK_EVENTS && bytes < STARTUP_CHECK_BYTES) {
    const limit = STARTUP_CHECK_EVENTS - recent.length
    const page = await readAllPage(database, { from, to: 0 }, limit, true)
    if (page.length === 0) break
    await verifyPage(database, page, recent)
    for (const record of page) bytes += record.length
    from = (recent.at(-1)?.[1].position ?? 0) - 1
  }
  recent.reverse()
  return { lastPosition: recent.at(-1)?.[1].position ?? 0, recent }
}

/** Positions have no gaps, so one betrays lost events: LevelDB drops damaged writes silently. */
async function verifyPositions(database: Database): Promise<void> {
  const positions = await readLastPositions(database, STARTUP_CHECK_POSITIONS)
  for (const [index, position] of positions.entries()) {
    const newer = positions[index - 1] ?? position + 1
    if (position === newer - 1) continue
    throw new OpenError(
      'corrupt',
      `the log is damaged: between events ${position} and ${newer} something is missing`,
    )
  }
}

async function verifyPage(
  database: Database,
  page: readonly Buffer[],
  found: [string, SeenEvent][],
): Promise<void> {
  const seen = page.map((record) => ({
    stream: recordStream(record).toString(),
    revision: recordRevision(record),
    position: recordPosition(record),
  }))
  const heads = await readHeads(database, [...new Set(seen.map(({ stream }) => stream))])
  const positions = await readPositions(database, seen)
  for (const [index, event] of seen.entries()) {
    const record = page[index]
    if (record === undefined) continue
    const last = heads.get(event.stream)?.last ?? -1
    if (positions[index] !== event.position || last < event.revision) {
      throw new OpenError(
        'corrupt',
        `the log is damaged: event ${event.position} is not where its stream expects it`,
      )
    }
    found.push([recordId(record), event])
  }
}

/** The result of `verifyAll`. */
export interface Verified {
  readonly events: number
  /** Whether damage that changes no length and no key can be seen at all. */
  readonly hasChecksums: boolean
  /** In words for people, the first ones. */
  readonly damaged: readonly string[]
  readonly damagedInAll: number
}

/** Looked at together. */
const PAGE = 2_000
const MOST_NAMED = 100

/**
 * Reads every entry, and continues after damage. `onProgress` gets the number of checked entries.
 * @throws {OpenError}
 */
export async function verifyAll(
  dir: string,
  onProgress: (entries: number) => void,
): Promise<Verified> {
  await requireLog(dir)
  const database = await Database.open(dir)
  try {
    const found: string[] = []
    let damagedInAll = 0
    const note = (what: string): void => {
      damagedInAll += 1
      if (found.length < MOST_NAMED) found.push(what)
    }
    let [entries, events, places, next] = [0, 0, 0, 1]
    for (const [from, end] of entryRanges) {
      for (let gte = from; ;) {
        const range = { gte, lte: end, limit: PAGE, fillCache: false }
        const page = await database.read((read) => read.inspect(range))
        for (const { key, isWhole } of page) {
          const position = isEventKey(key) ? decodeEventKey(key) : undefined
          if (position === undefined) places += isStreamKey(key) ? 1 : 0
          else {
            events += 1
            if (position !== next) note(`events ${next} to ${position - 1} are missing`)
            next = position + 1
          }
          if (!isWhole) note(`${describeKey(key)} is not as it was written`)
        }
        entries += page.length
        onProgress(entries)
        const last = page.at(-1)?.key
        if (last === undefined) break
        gte = Buffer.concat([last, Buffer.from([0])])
      }
    }
    if (places !== events) note(`${events} events have ${places} places in their streams`)
    return { events, hasChecksums: database.hasChecksums, damaged: found, damagedInAll }
  } finally {
    await database.close()
  }
}
