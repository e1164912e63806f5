import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { monotonicClock } from '../../src/kernel/clock.ts'

/** Pause between two attempts at a lock that is held, in milliseconds. */
const RETRY_INTERVAL_MS = 100

/** A directory is already in use by a living process. */
export class DirectoryLockedError extends Error {
  readonly code = 'directory_locked'
  /**
   * The process that holds the directory, by the pid that it wrote; undefined before it wrote one.
   */
  readonly holderPid: number | undefined

  constructor(directory: string, holderPid: number | undefined) {
    const holder = holderPid === undefined ? 'another process' : `process ${holderPid}`
    super(`${directory} is in use by ${holder}; stop that first or choose another directory`)
    this.name = 'DirectoryLockedError'
    this.holderPid = holderPid
  }
}

/** A held lock. It also ends, without any clean-up, when the process dies in any way. */
interface DirectoryLock {
  release(): Promise<void>
}

function holderOf(holderFile: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(holderFile, 'utf8'), 10)
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}

function isLocked(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === 'LEVEL_LOCKED'
}

async function openExclusively(path: string): Promise<ClassicLevel> {
  const level = new ClassicLevel(path)
  await level.open()
  return level
}

/**
 * Takes the exclusive lock of a directory, waiting up to `waitMs` for a holder to release it.
 *
 * A pid file cannot be right here: pids are reused, are the same in every container, and two starters can both
 * judge one stale. Node has no `flock`, but an (empty) LevelDB holds a kernel file lock while it is open, and the
 * kernel frees that however the process ends.
 *
 * @throws DirectoryLockedError when a living process holds it after `waitMs`; the abort reason when aborted
 *   meanwhile; file system errors as they are.
 */
export async function lockDirectory(
  directory: string,
  waitMs = 0,
  signal?: AbortSignal,
): Promise<DirectoryLock> {
  const path = join(directory, 'lock')
  const holderFile = join(directory, 'lock.pid')
  const deadline = monotonicClock.nowMs() + waitMs
  let discarded = false
  for (;;) {
    try {
      const level = await openExclusively(path)
      await writeFile(holderFile, `${process.pid}\n`, { mode: 0o600 })
      let released: Promise<void> | undefined
      return {
        release() {
          released ??= rm(holderFile, { force: true }).then(() => level.close())
          return released
        },
      }
    } catch (error) {
      if (isLocked(error)) {
        if (monotonicClock.nowMs() >= deadline)
          throw new DirectoryLockedError(directory, holderOf(holderFile))
        await new Promise((resolve) => setTimeout(resolve, RETRY_INTERVAL_MS))
        signal?.throwIfAborted()
        continue
      }
      // The lock database stores nothing: one that a power cut left unreadable is deleted, once.
      const cause = error instanceof Error ? error.cause : undefined
      const corrupt = cause instanceof Error && 'code' in cause && cause.code === 'LEVEL_CORRUPTION'
      if (!corrupt || discarded) throw cause instanceof Error ? cause : error
      discarded = true
      await rm(path, { recursive: true, force: true })
    }
  }
}
