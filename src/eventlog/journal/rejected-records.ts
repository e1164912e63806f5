import { appendFile, open, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type PlacedBatch, scanRecords } from './spool-record.ts'
import type { NewEvent } from '../log/types.ts'

/**
 * The file of batches that the log refused for good and the drain set aside. Only the gateway
 * writes it.
 */
export const REJECTED_FILE = 'rejected.batches'
/**
 * The file of the operator's decisions about rejected records: one line `<event id> <what>` each,
 * appended and never changed, so that a command and the gateway can work on one directory. It is
 * kept, because a spool file that cannot be cut is drained again at every start and must not settle
 * what the operator has already settled or given up.
 */
export const HANDLED_FILE = 'rejected.handled'
const OWNER_ONLY = 0o600
const HANDLED_LINE = /^([0-9a-f-]{36}) (begun|settled|written-off)$/

/**
 * `begun` is written before the append, so that the drain leaves the event alone. The other
 * decisions are final: the event is in the log, or given up.
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

/** The content of a file; empty where there is none. */
export async function readIfThere(path: string): Promise<Buffer> {
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

/**
 * Reads the rejected records, also while a gateway uses the directory: oldest first, each event
 * once. Settled and given-up ones are included only with `withEnded`.
 */
export async function readRejected(
  directory: string,
  { withEnded = false }: { readonly withEnded?: boolean } = {},
): Promise<{ readonly items: readonly RejectedRecord[]; readonly isDamaged: boolean }> {
  const handled = await readHandled(directory)
  const items = new Map<string, RejectedRecord>()
  const { records, damaged } = scanRecords(await readIfThere(join(directory, REJECTED_FILE)))
  for (const { record } of records) {
    const { batch, spooledAtMs: rejectedAtMs } = record
    for (const event of batch.events) {
      const handling = handled.get(event.id)
      const isEnded = handling !== undefined && handling !== 'begun'
      if (items.has(event.id) || (isEnded && !withEnded)) continue
      items.set(event.id, { event, batch, rejectedAtMs, isBegun: handling !== undefined })
    }
  }
  return { items: [...items.values()], isDamaged: damaged.length > 0 }
}

/** Deletes the files once every batch is handled; for the process that owns the directory. */
export async function removeIfHandled(directory: string): Promise<void> {
  const { items, isDamaged } = await readRejected(directory)
  if (items.length > 0 || isDamaged) return
  await unlink(join(directory, REJECTED_FILE)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}
