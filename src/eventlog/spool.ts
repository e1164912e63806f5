import { copyFile, mkdir, open, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../kernel/log.ts'
import { openSpoolFile, type SpoolFile } from './spool-file.ts'
import type { NewEvent } from './types.ts'

const SUFFIX = '.spool'
const OWNER_ONLY = 0o700
const DEFAULT_MAX_BYTES = 256 << 20

/** An append with its place: tried again exactly, it happens once (ledger.md §3.1). */
export interface PlacedBatch {
  readonly stream: string
  readonly expected: bigint | 'no_stream'
  readonly events: readonly NewEvent[]
}

/** The oldest batch of the spool; `done` takes it off for good. */
export interface SpooledBatch {
  readonly batch: PlacedBatch
  readonly done: () => Promise<void>
}

/**
 * Where settlements wait on local disk while the log is away (design §4.2). A directory belongs to
 * one process at a time.
 */
export interface Spool {
  /** Resolves once the batch is on disk. Rejects (disk full, bound reached) when it is not. */
  readonly append: (batch: PlacedBatch) => Promise<void>
  /** Batches of this process that wait. */
  readonly pending: () => number
  /** Batches that wait, those left behind by earlier processes included. */
  readonly pendingTotal: () => number
  readonly sizeBytes: () => number
  /** The oldest batch, earlier processes first. */
  readonly head: () => Promise<SpooledBatch | undefined>
  /** Sets a batch aside that the log will never take; it stays on disk for a person to look at. */
  readonly reject: (batch: PlacedBatch) => Promise<void>
  readonly close: () => Promise<void>
}

export interface SpoolOptions {
  readonly directory: string
  readonly instanceId: string
  readonly logger: Log
  readonly maxBytes?: number
}

function encodeBatch(batch: PlacedBatch): string {
  return JSON.stringify({ ...batch, expected: String(batch.expected) })
}

function decodeBatch(json: string): PlacedBatch {
  const batch = JSON.parse(json) as Omit<PlacedBatch, 'expected'> & { readonly expected: string }
  return {
    stream: batch.stream,
    events: batch.events,
    expected: batch.expected === 'no_stream' ? 'no_stream' : BigInt(batch.expected),
  }
}

/** A new name in a directory is durable only once the directory is. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function openReported(path: string, maxBytes: number, logger: Log): Promise<SpoolFile> {
  const { file, damage } = await openSpoolFile(path, maxBytes)
  if (damage.tornBytes > 0)
    logger.warn({ path, tornBytes: damage.tornBytes }, 'spool ended in a torn record')
  if (damage.corruptRecords > 0) {
    const kept = `${path}.corrupt-${Date.now()}`
    await copyFile(path, kept)
    logger.error({ path, kept, records: damage.corruptRecords }, 'spool holds corrupt records')
  }
  return file
}

/**
 * Opens the spool of this process and those that earlier ones left behind. A torn last record is
 * cut off and reported: nobody was told that it was durable.
 */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  const { directory, logger } = options
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES
  await mkdir(directory, { recursive: true, mode: OWNER_ONLY })
  const ownName = `${options.instanceId}${SUFFIX}`
  const leftovers: SpoolFile[] = []
  for (const name of (await readdir(directory)).sort())
    if (name.endsWith(SUFFIX) && name !== ownName)
      leftovers.push(await openReported(join(directory, name), maxBytes, logger))
  const own = await openReported(join(directory, ownName), maxBytes, logger)
  await syncDirectory(directory)

  const discard = async (file: SpoolFile) => {
    leftovers.splice(leftovers.indexOf(file), 1)
    await file.close()
    await unlink(file.path)
  }
  const headOf = async (file: SpoolFile): Promise<SpooledBatch | undefined> => {
    const json = await file.head()
    return json === undefined ? undefined : { batch: decodeBatch(json), done: () => file.shift() }
  }
  return {
    append: (batch) => own.append(encodeBatch(batch)),
    pending: () => own.pending(),
    pendingTotal: () => leftovers.reduce((total, file) => total + file.pending(), own.pending()),
    sizeBytes: () => leftovers.reduce((total, file) => total + file.sizeBytes(), own.sizeBytes()),
    head: async () => {
      for (let [oldest] = leftovers; oldest !== undefined; [oldest] = leftovers) {
        const head = await headOf(oldest)
        if (head !== undefined) return head
        await discard(oldest)
      }
      return headOf(own)
    },
    reject: async (batch) => {
      const { file } = await openSpoolFile(join(directory, 'rejected.batches'), maxBytes)
      try {
        await file.append(encodeBatch(batch))
        await syncDirectory(directory)
      } finally {
        await file.close()
      }
    },
    close: async () => {
      for (const file of leftovers) await file.close()
      const empty = own.pending() === 0
      await own.close()
      if (empty) await unlink(own.path)
    },
  }
}
