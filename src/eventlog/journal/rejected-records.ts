import { appendFile, open, readFile, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeRecord, LINE_FEED, type PlacedBatch } from './spool-record.ts'
import type { NewEvent } from '../log/types.ts'

/**
 * The file of batches that the log refused for good and the drain set aside. Only the gateway
 * writes it.
 */
export const REJECTED_FILE = 'rejected.batches'
/**
 * The file of the operator's decisions about them: one line `<event id> <what>` each, appended and
 * never changed, so that a command and the gateway can work on one directory. It is kept, because a
 * damaged spool file is drained again at every start and must not settle what the operator has
 * already settled or given up.
 */
const HANDLED_FILE = 'rejected.handled'
const OWNER_ONLY = 0o600
const HANDLED_LINE = /^([0-9a-f-]{36}) (begun|settled|written-off)$/

/**
 * `begun` is written before the append, and keeps the drain away from the event. The others end the
 * handling: the event is in the log, or given up.
 */
export type Handling = 'begun' | 'settled' | 'written-off'

/** A settlement, or the record of a failure, that the log refused for good. */
export interface RejectedRecord {
  readonly event: NewEvent
  /** The refused batch, with all its events. */
  readonly batch: PlacedBatch
  /** Unix milliseconds. */
  readonly rejectedAtMs: number | undefined
  /** The operator began to settle it or to give it up, and may not have finished. */
  readonly isBegun: boolean
}

/** What is set aside in a spool's directory. */
interface RejectedList {
  /** Oldest first, each event once, without the settled and the given-up ones. */
  readonly items: readonly RejectedRecord[]
  /** Lines that cannot be read: the disk changed them. */
  readonly unreadable: number
}

async function readIfThere(path: string): Promise<Buffer> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return Buffer.alloc(0)
  })
}

/** The operator's last decision by event id. */
export async function readHandled(directory: string): Promise<ReadonlyMap<string, Handling>> {
  const handled = new Map<string, Handling>()
  for (const line of (await readIfThere(join(directory, HANDLED_FILE))).toString().split('\n')) {
    const [, id, handling] = HANDLED_LINE.exec(line) ?? []
    if (id === undefined || handling === undefined) continue
    // An ended handling stays ended, even if two operators work on the same event.
    if (handling !== 'begun' || !handled.has(id)) handled.set(id, handling as Handling)
  }
  return handled
}

/** Resolves once it is on disk. */
export async function writeHandled(
  directory: string,
  eventId: string,
  handling: Handling,
): Promise<void> {
  const path = join(directory, HANDLED_FILE)
  // Ends the line first in case a process died while it wrote one; readers skip empty lines.
  await appendFile(path, `\n${eventId} ${handling}\n`, { mode: OWNER_ONLY, flush: true })
  // The name of a new file is durable only after its directory is.
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Reads what is set aside; also while a gateway has the directory. `withEnded` keeps what was decided. */
export async function readRejected(
  directory: string,
  { withEnded = false }: { readonly withEnded?: boolean } = {},
): Promise<RejectedList> {
  const handled = await readHandled(directory)
  const items = new Map<string, RejectedRecord>()
  const bytes = await readIfThere(join(directory, REJECTED_FILE))
  let unreadable = 0
  let from = 0
  // Text after the last line feed is still being written.
  for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, from)) {
    const record = decodeRecord(bytes.subarray(from, end))
    from = end + 1
    if (record === undefined) {
      unreadable += 1
      continue
    }
    const { batch, spooledAtMs: rejectedAtMs } = record
    for (const event of batch.events) {
      const handling = handled.get(event.id)
      const isEnded = handling !== undefined && handling !== 'begun'
      if (items.has(event.id) || (isEnded && !withEnded)) continue
      items.set(event.id, { event, batch, rejectedAtMs, isBegun: handling !== undefined })
    }
  }
  return { items: [...items.values()], unreadable }
}

/** Deletes the files once every batch is handled; for the process that owns the directory. */
export async function removeIfHandled(directory: string): Promise<void> {
  const { items, unreadable } = await readRejected(directory)
  if (items.length > 0 || unreadable > 0) return
  await unlink(join(directory, REJECTED_FILE)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}

/**
 * Counts the settlements and failures that are set aside; reads the files again only when they
 * changed.
 */
export function createRejectedCount(directory: string): () => Promise<number> {
  let known: { readonly versions: string; readonly count: number } | undefined
  const versionOf = async (name: string): Promise<string> => {
    const found = await stat(join(directory, name)).catch(() => undefined)
    return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeMs}`
  }
  return async () => {
    const versions = `${await versionOf(REJECTED_FILE)}, ${await versionOf(HANDLED_FILE)}`
    if (known?.versions !== versions) {
      const { items, unreadable } = await readRejected(directory)
      known = { versions, count: items.length + unreadable }
    }
    return known.count
  }
}
