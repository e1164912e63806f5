/**
 * The LevelDB under the log: opening it with its checks, gating readers while it is reopened.
 */

import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { makeFolders } from '../../../src/kernel/durable-files.ts'
import { checkFolder } from './folder.ts'
import { FORMAT_KEY } from './keys.ts'
import {
  DB_BLOCK_BYTES,
  DB_CACHE_BYTES,
  DB_WRITE_BUFFER_BYTES,
  RECOVERY_PROBE_BYTES,
} from './limits.ts'
import { OpenError } from './types.ts'

/** Version of the key and record layout. */
export const FORMAT_VERSION = 1

type Level = ClassicLevel<Buffer, Buffer>

/** One entry of a write batch. */
export interface Put {
  readonly type: 'put'
  readonly key: Buffer
  readonly value: Buffer
}

/** Called where the end of a file cannot be read, with what an operator should know. */
type OnKept = (what: string) => void

export class Database {
  readonly #dir: string
  #level: Level
  #readers = 0
  #reopening: Promise<void> | undefined
  #reopened: () => void = () => undefined
  #idle: (() => void) | undefined

  private constructor(dir: string, level: Level) {
    this.#dir = dir
    this.#level = level
  }

  /** Opens the database under `dir`, or creates it where nothing is. @throws {OpenError} */
  static async open(dir: string, onKept: OnKept = () => undefined): Promise<Database> {
    try {
      await makeFolders(dir, 0o777)
    } catch (cause) {
      throw new OpenError('unusable', `cannot create ${dir}: ${messageOf(cause)}`, { cause })
    }
    const { isNew, kept } = await checkFolder(pathIn(dir))
    if (kept !== undefined) onKept(kept)
    const level = await openLevel(dir, isNew)
    try {
      await checkFormat(level, dir)
    } catch (error) {
      await level.close()
      throw error
    }
    return new Database(dir, level)
  }

  /** Runs a read; waits while the database is being reopened. Keep it short. */
  async read<T>(action: (level: Level) => Promise<T>): Promise<T> {
    while (this.#reopening !== undefined) await this.#reopening
    this.#readers += 1
    try {
      return await action(this.#level)
    } finally {
      this.#readers -= 1
      if (this.#readers === 0) this.#idle?.()
    }
  }

  /** Writes a batch durably: when this returns it survives power loss. One at a time. */
  async write(batch: Put[]): Promise<void> {
    await this.#level.batch(batch, { sync: true })
  }

  /** Whether the disk takes and keeps as much as a reopened database will need. */
  async hasSpace(): Promise<boolean> {
    const path = join(this.#dir, 'probe.tmp')
    try {
      const file = await open(path, 'w')
      try {
        const chunk = Buffer.alloc(RECOVERY_PROBE_BYTES / 32)
        for (let written = 0; written < RECOVERY_PROBE_BYTES; written += chunk.length) {
          const { bytesWritten } = await file.write(chunk)
          if (bytesWritten < chunk.length) return false
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

const pathIn = (dir: string): string => join(dir, 'db')

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

async function checkFormat(level: Level, dir: string): Promise<void> {
  const stored = await level.get(FORMAT_KEY)
  if (stored === undefined) {
    const first = await level.keys({ limit: 1 }).all()
    if (first.length > 0) {
      throw new OpenError('corrupt', `${dir} holds data of an unknown kind; it is left untouched`)
    }
    await level.put(FORMAT_KEY, Buffer.from(String(FORMAT_VERSION)), { sync: true })
    return
  }
  const version = Number(stored.toString())
  if (version > FORMAT_VERSION) {
    throw new OpenError(
      'newer_format',
      `${dir} was written by a newer version (format ${version}, this one knows ${FORMAT_VERSION}); ` +
        'start the newer version or name another data directory',
    )
  }
  if (version !== FORMAT_VERSION) {
    throw new OpenError('corrupt', `${dir} names the impossible format "${stored.toString()}"`)
  }
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
