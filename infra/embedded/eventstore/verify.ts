/**
 * Reads the end of the log at start: where it ends, which ids were last written, and that the
 * indexes agree with it.
 */

import type { Database } from './database.ts'
import type { SeenEvent } from './decide.ts'
import { STARTUP_CHECK_BYTES, STARTUP_CHECK_EVENTS, STARTUP_CHECK_POSITIONS } from './limits.ts'
import { readAllPage, readHeads, readLastPositions, readPositions } from './reads.ts'
import { recordId, recordPosition, recordRevision, recordStream } from './record.ts'
import { OpenError } from './types.ts'

/** The end of a log. */
interface LogEnd {
  readonly lastPosition: number
  /** Newest last. */
  readonly recent: readonly (readonly [string, SeenEvent])[]
}

/** Verifies and describes the end of the log. @throws {OpenError} `corrupt` */
export async function verifyEnd(database: Database): Promise<LogEnd> {
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
