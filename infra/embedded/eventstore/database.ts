/**
 * The LevelDB under the log: opening it with its checks, gating readers while it is reopened.
 */

import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { makeFolders, syncFolder } from '../../../src/platform/durable-files.ts'
import { withChecksum } from './checksum.ts'
import { Entries, type Entry, type Level } from './entries.ts'
import { checkFolder } from './folder.ts'
import { CONVERTED_KEY, FACTS_BEGIN, FACTS_END, FORMAT_KEY } from './keys.ts'
import { DB_BLOCK_BYTES, DB_CACHE_BYTES, DB_WRITE_BUFFER_BYTES, PAGE_BYTES } from './limits.ts'
import { bytesToReopen, logSpaceLack } from './space.ts'
import { OpenError } from './types.ts'

/** Version of the key and record layout: the values of version 2 have checksums. */
export const FORMAT_VERSION = 2
const WITHOUT_CHECKSUMS = 1

const PROBE_CHUNK_BYTES = 1024 * 1024

/** One entry of a write batch. */
export interface Put {
  readonly type: 'put'
  readonly key: Buffer
  readonly value: Buffer
}

/** Called if the end of a file cannot be read, with a message for the operator. */
type OnKept = (what: string) => void

export class Database {
  readonly #dir: string
  #level: Level
  #entries: Entries
  #readers = 0
  #reopening: Promise<void> | undefined
  #reopened: () => void = () => undefined
  #idle: (() => void) | undefined

  private constructor(dir: string, level: Level, hasChecksums: boolean) {
    this.#dir = dir
    this.#level = level
    this.#entries = new Entries(level, hasChecksums)
  }

  /** Whether damage is noticed when it is read. */
  get hasChecksums(): boolean {
    return this.#entries.hasChecksums
  }

  /**
   * Opens the database under `dir`, or creates it if there is none. `deeply`: reads all of its
   * tables first.
   * @throws {OpenError}
   */
  static async open(
    dir: string,
    onKept: OnKept = () => undefined,
    { deeply = false } = {},
  ): Promise<Database> {
    try {
      await makeFolders(dir, 0o777)
    } catch (cause) {
      throw new OpenError('unusable', `cannot create ${dir}: ${messageOf(cause)}`, { cause })
    }
    const { isNew, kept, unfinished = [] } = await checkFolder(pathIn(dir), { deeply })
    if (kept !== undefined) onKept(kept)
    for (const name of unfinished) await rm(join(pathIn(dir), name), { force: true })
    const level = await openLevel(dir, isNew)
    try {
      // The names of new files are durable before any write.
      await syncFolder(pathIn(dir))
      const format = await formatOf(level, dir)
      return new Database(dir, level, format !== WITHOUT_CHECKSUMS)
    } catch (error) {
      await level.close()
      throw error instanceof OpenError ? error : describeOpenError(error, dir)
    }
  }

  /** Runs a read; waits while the database is being reopened. Keep it short. */
  async read<T>(action: (entries: Entries) => Promise<T>): Promise<T> {
    while (this.#reopening !== undefined) await this.#reopening
    this.#readers += 1
    try {
      return await action(this.#entries)
    } finally {
      this.#readers -= 1
      if (this.#readers === 0) this.#idle?.()
    }
  }

  /** Writes a batch durably: when this returns it survives power loss. One at a time. */
  async write(batch: readonly Put[]): Promise<void> {
    const stored = batch.map((put) => ({ ...put, value: this.#entries.stored(put.key, put.value) }))
    await this.#level.batch(stored, { sync: true })
  }

  /** Describes the space that the disk lacks for a reopening, by the file system. */
  spaceLack(): string | undefined {
    return logSpaceLack(this.#dir)
  }

  /** Whether the disk takes and keeps as much as a reopened database will need: a quota is seen by writing only. */
  async takesWrites(): Promise<boolean> {
    const path = join(this.#dir, 'probe.tmp')
    try {
      const file = await open(path, 'w')
      try {
        const chunk = Buffer.alloc(PROBE_CHUNK_BYTES)
        for (let left = bytesToReopen(pathIn(this.#dir)); left > 0; left -= chunk.length) {
          const { bytesWritten } = await file.write(chunk, 0, Math.min(left, chunk.length))
          if (bytesWritten < Math.min(left, chunk.length)) return false
        }
        await file.sync()
      } finally {
        await file.close()
      }
      return true
    } catch {
      return false
    } finally {
      await rm(path, { force: true })
    }
  }

  /**
   * Closes and opens again, which is the only way LevelDB takes writes after a failed one.
   * Readers wait meanwhile. @throws {OpenError} and stays closed to readers until a later call
   * succeeds.
   */
  async reopen(): Promise<void> {
    this.#reopening ??= new Promise((resolve) => (this.#reopened = resolve))
    if (this.#readers > 0) await new Promise<void>((resolve) => (this.#idle = resolve))
    this.#idle = undefined
    if (this.#level.status === 'open') await this.#level.close()
    this.#level = await openLevel(this.#dir, false)
    this.#entries = new Entries(this.#level, this.hasChecksums)
    this.#endReopening()
  }

  #endReopening(): void {
    this.#reopening = undefined
    this.#reopened()
  }

  /** Closes for good; readers still waiting for a reopening fail. */
  async close(): Promise<void> {
    this.#endReopening()
    await this.#level.close()
  }
}

/** Folder of LevelDB's files of a log. */
export const pathIn = (dir: string): string => join(dir, 'db')

async function openLevel(dir: string, isNew: boolean): Promise<Level> {
  const level: Level = new ClassicLevel(pathIn(dir), {
    createIfMissing: isNew,
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
    writeBufferSize: DB_WRITE_BUFFER_BYTES,
    cacheSize: DB_CACHE_BYTES,
    blockSize: DB_BLOCK_BYTES,
  })
  try {
    await level.open()
  } catch (error) {
    throw describeOpenError(error, dir)
  }
  return level
}

/** The format of a database; for a new one it is written. @throws {OpenError} */
async function formatOf(level: Level, dir: string): Promise<number> {
  const [stored, converted] = await level.getMany([FORMAT_KEY, CONVERTED_KEY])
  if (converted !== undefined)
    throw new OpenError(
      'unusable',
      `the conversion of ${dir} was not finished: run tollgate convert-log again`,
    )
  if (stored === undefined) {
    const first = await level.keys({ limit: 1 }).all()
    if (first.length > 0) {
      throw new OpenError('corrupt', `${dir} holds data of an unknown kind; it is left untouched`)
    }
    await level.put(FORMAT_KEY, Buffer.from(String(FORMAT_VERSION)), { sync: true })
    return FORMAT_VERSION
  }
  const version = Number(stored.toString())
  if (version > FORMAT_VERSION) {
    throw new OpenError(
      'newer_format',
      `${dir} was written by a newer version (format ${version}, this one knows ${FORMAT_VERSION}); ` +
        'start the newer version or name another data directory',
    )
  }
  if (version !== FORMAT_VERSION && version !== WITHOUT_CHECKSUMS) {
    throw new OpenError('corrupt', `${dir} names the impossible format "${stored.toString()}"`)
  }
  return version
}

/** Refuses a folder without a log, where opening it would make one, and a damaged block. @throws {OpenError} */
export async function requireLog(dir: string): Promise<void> {
  const { isNew } = await checkFolder(pathIn(dir), { deeply: true })
  if (isNew) throw new OpenError('unusable', `there is no log in ${dir}`)
}

/** Entries that are converted per write. */
const CONVERTED_AT_ONCE = 2_000

/**
 * Writes the checksums of a database that has none, durably piece by piece: after a crash it
 * continues. `onProgress` gets the number of converted entries.
 * @returns false if it already has them. @throws {OpenError}
 */
export async function convertDatabase(
  dir: string,
  onProgress: (entries: number) => void,
): Promise<boolean> {
  await requireLog(dir)
  const level = await openLevel(dir, false)
  try {
    const after = await level.get(CONVERTED_KEY)
    if (after === undefined && (await formatOf(level, dir)) !== WITHOUT_CHECKSUMS) return false
    let from = after ?? Buffer.from([0])
    for (let done = 0; ;) {
      const page = await nextEntries(level, from)
      const last = page.at(-1)?.[0]
      if (last === undefined) break
      const puts = page.map(([key, value]) => put(key, withChecksum(key, value)))
      await level.batch([...puts, put(CONVERTED_KEY, last)], { sync: true })
      from = last
      done += page.length
      onProgress(done)
    }
    const format = put(FORMAT_KEY, Buffer.from(String(FORMAT_VERSION)))
    await level.batch([format, { type: 'del', key: CONVERTED_KEY }], { sync: true })
    return true
  } finally {
    await level.close()
  }
}

/** Entries behind a key, without the facts; none at the end. */
async function nextEntries(level: Level, behind: Buffer): Promise<readonly Entry[]> {
  const bounds = { highWaterMarkBytes: PAGE_BYTES, fillCache: false }
  for (const range of [
    { gt: behind, lt: FACTS_BEGIN },
    { gt: Buffer.compare(behind, FACTS_END) < 0 ? FACTS_END : behind },
  ]) {
    const iterator = level.iterator({ ...range, ...bounds })
    try {
      const page = await iterator.nextv(CONVERTED_AT_ONCE)
      if (page.length > 0) return page
    } finally {
      await iterator.close()
    }
  }
  return []
}

function put(key: Buffer, value: Buffer): Put {
  return { type: 'put', key, value }
}

function describeOpenError(error: unknown, dir: string): OpenError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'LEVEL_LOCKED') {
    return new OpenError('locked', `${dir} is in use by another process`, { cause: error })
  }
  if (code === 'LEVEL_CORRUPTION') {
    return new OpenError('corrupt', `${dir} is damaged: ${messageOf(cause)}`, { cause: error })
  }
  return new OpenError('unusable', `cannot open ${dir}: ${messageOf(cause)}`, { cause: error })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
