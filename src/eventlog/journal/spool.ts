import { mkdir, readdir, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile, syncFolder } from '../../platform/durable-files.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { keepDamaged } from './damaged-records.ts'
import { readHandled, REJECTED_FILE, removeIfHandled } from './rejected-records.ts'
import type { PlacedBatch } from './spool-record.ts'
import {
  type KeepDamaged,
  openSegment,
  type SegmentState,
  type SpoolSegment,
} from './spool-segment.ts'
import { createRoom, removeRoom } from './spool-room.ts'
import { ulid } from 'ulid'

const SUFFIX = '.spool'
const OWNER_ONLY = 0o700
const DEFAULT_MAX_BYTES = 256 << 20
/**
 * A file is deleted as a whole once all of it is in the log. This size is small enough that files
 * are deleted even under load.
 */
const DEFAULT_SEGMENT_BYTES = 8 << 20
const NUMBER_DIGITS = 6

/** The records on disk, including those that earlier processes left. */
export interface SpoolState extends SegmentState {
  /** Size at which the spool accepts no more. */
  readonly maxBytes: number
  /** Why the last failed write failed; undefined once there is room for a batch again. */
  readonly fault?: string | undefined
}

/** The oldest batches, in order; `drop` removes the given number of them. */
interface OldestBatches {
  readonly batches: readonly PlacedBatch[]
  readonly drop: (count: number) => Promise<void>
}

/**
 * Settlements that wait on the local disk while the log is unavailable. A directory belongs to one
 * process at a time.
 */
export interface Spool {
  /**
   * Resolves once the batch is on disk. Rejects (disk full, bound reached) when it is not.
   * @throws SpoolUncertainError when it may be
   */
  readonly append: (batch: PlacedBatch) => Promise<void>
  readonly state: () => SpoolState
  readonly fault: () => SpoolState['fault']
  /** After a failed write, looks whether there is room again for a batch. Never rejects. */
  readonly lookForRoom: () => Promise<void>
  /** The oldest batches within `maxBytes`, at least one; undefined when empty. */
  readonly oldest: (maxBytes: number) => Promise<OldestBatches | undefined>
  /**
   * Sets aside a batch that the log refuses for good; it stays on disk until the operator decides.
   */
  readonly reject: (batch: PlacedBatch) => Promise<void>
  /** Whether this batch was set aside before and the operator decides on one of its events. */
  readonly isHandled: (batch: PlacedBatch) => Promise<boolean>
  readonly close: () => Promise<void>
}

export interface SpoolOptions {
  readonly directory: string
  readonly instanceId: string
  readonly logger: Log
  readonly clock: Clock
  /** The most that all files may have together. */
  readonly maxBytes?: number
  /** A file that has reached it is followed by another. */
  readonly segmentBytes?: number
}

/** Saves damaged bytes in a file of the spool, and logs its name. */
function keeping(path: string, { logger }: Pick<SpoolOptions, 'logger'>): KeepDamaged {
  return async (bytes, isLast) => {
    const sizeBytes = bytes.length
    try {
      const kept = await keepDamaged(path, bytes)
      if (isLast) logger.warn({ path, kept, sizeBytes }, 'spool ended in a torn record')
      else logger.error({ path, kept, sizeBytes }, 'spool has a damaged record')
    } catch (error) {
      logger.error({ err: error, path, sizeBytes }, 'a damaged record of the spool cannot be kept')
      throw error
    }
  }
}

function totalOf(segments: readonly SpoolSegment[]): SegmentState {
  const states = segments.map((segment) => segment.state())
  const sum = (of: (state: SegmentState) => number) =>
    states.reduce((total, state) => total + of(state), 0)
  const times = states.flatMap(({ oldestAtMs }) => (oldestAtMs === undefined ? [] : [oldestAtMs]))
  return {
    batches: sum(({ batches }) => batches),
    records: sum(({ records }) => records),
    sizeBytes: sum(({ sizeBytes }) => sizeBytes),
    oldestAtMs: times.length === 0 ? undefined : Math.min(...times),
  }
}

/** Files of this process, in the order they are written; no name is used twice. */
function ownNames(instanceId: string, existing: readonly string[]): () => string {
  const prefix = `${instanceId}-`
  const numbers = existing
    .filter((name) => name.startsWith(prefix))
    .map((name) => Number.parseInt(name.slice(prefix.length), 10) || 0)
  let last = Math.max(0, ...numbers)
  return () => {
    last += 1
    return `${prefix}${String(last).padStart(NUMBER_DIGITS, '0')}${SUFFIX}`
  }
}

/** The files of a spool, oldest first; the last one is written to. */
class SpoolFiles {
  readonly #segments: SpoolSegment[]
  #active: SpoolSegment
  readonly #begin: () => Promise<SpoolSegment>
  readonly #segmentBytes: number

  constructor(
    left: readonly SpoolSegment[],
    active: SpoolSegment,
    begin: () => Promise<SpoolSegment>,
    segmentBytes: number,
  ) {
    this.#segments = [...left, active]
    this.#active = active
    this.#begin = begin
    this.#segmentBytes = segmentBytes
  }

  total(): SegmentState {
    return totalOf(this.#segments)
  }

  async append(batch: PlacedBatch, nowMs: number): Promise<void> {
    if (!this.#active.writable() || this.#active.state().sizeBytes >= this.#segmentBytes) {
      this.#active = await this.#begin()
      this.#segments.push(this.#active)
    }
    await this.#active.append(batch, nowMs)
  }

  async oldest(maxBytes: number): Promise<OldestBatches | undefined> {
    for (let [first] = this.#segments; first !== undefined; [first] = this.#segments) {
      const segment = first
      const batches = await segment.oldest(maxBytes)
      if (batches.length > 0) return { batches, drop: (count) => segment.drop(count) }
      // Checked again without a pause: another batch may have arrived meanwhile.
      if (segment.state().batches > 0) continue
      if (segment === this.#active) return undefined
      await this.#discard(segment)
    }
    return undefined
  }

  /** Removes empty files. */
  async close(): Promise<void> {
    for (const segment of this.#segments) {
      const empty = segment.state().batches === 0 && segment.writable()
      await segment.close()
      if (empty) await unlink(segment.path)
    }
  }

  async #discard(segment: SpoolSegment): Promise<void> {
    this.#segments.splice(this.#segments.indexOf(segment), 1)
    await segment.close()
    if (segment.writable()) await unlink(segment.path)
  }
}

/**
 * Opens the spool of this process and the files that earlier ones left. Incomplete records are
 * saved and reported before they are cut off: no caller got an answer for a partial last one,
 * unless the disk lost its end.
 */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  const { directory, clock } = options
  const { maxBytes = DEFAULT_MAX_BYTES, segmentBytes = DEFAULT_SEGMENT_BYTES } = options
  await mkdir(directory, { recursive: true, mode: OWNER_ONLY })
  await removeIfHandled(directory)
  await removeRoom(directory)
  const existing = (await readdir(directory)).filter((name) => name.endsWith(SUFFIX)).sort()
  const nextName = ownNames(options.instanceId, existing)
  const begin = async (): Promise<SpoolSegment> => {
    const path = join(directory, nextName())
    const segment = await openSegment(path, keeping(path, options))
    await syncFolder(directory)
    return segment
  }
  const left: SpoolSegment[] = []
  for (const name of existing) {
    const path = join(directory, name)
    left.push(await openSegment(path, keeping(path, options)))
  }
  const files = new SpoolFiles(left, await begin(), begin, segmentBytes)

  const room = createRoom(directory, () => {
    if (files.total().sizeBytes >= maxBytes) throw new Error('the spool is full')
  })
  const append = (batch: PlacedBatch): Promise<void> =>
    room.write(() => files.append(batch, clock.nowMs()))
  let appending: Promise<unknown> = Promise.resolve()
  return {
    append: (batch) => {
      const turn = appending.then(() => append(batch))
      appending = turn.catch(() => undefined)
      return turn
    },
    state: () => ({ ...files.total(), maxBytes, fault: room.fault() }),
    fault: room.fault,
    lookForRoom: room.look,
    oldest: (bytes) => files.oldest(bytes),
    reject: async (batch) => {
      const path = join(directory, REJECTED_FILE)
      const keep = keeping(path, options)
      // A damaged part in the middle of this file stays in it.
      const segment = await openSegment(path, async (bytes, isLast) =>
        isLast ? keep(bytes, isLast) : undefined,
      )
      try {
        if (segment.state().sizeBytes >= maxBytes) throw new Error('too much was rejected')
        await segment.append(batch, clock.nowMs())
        await syncFolder(directory)
      } finally {
        await segment.close()
      }
    },
    isHandled: async ({ events }) => {
      const handled = await readHandled(directory)
      return handled.size > 0 && events.some(({ id }) => handled.has(id))
    },
    close: async () => {
      await appending
      await files.close()
    },
  }
}

const FILE = 'spool-id'
const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/

/**
 * The name of a spool's directory, the same for every process: a ULID in a file there. The
 * directory exists and belongs to this process.
 */
export async function spoolIdentity(directory: string, nowMs: number): Promise<string> {
  const path = join(directory, FILE)
  const known = (await readFile(path, 'utf8').catch(() => '')).trim()
  if (ULID.test(known)) return known
  const made = ulid(nowMs)
  await replaceFile(path, `${made}\n`)
  return made
}
