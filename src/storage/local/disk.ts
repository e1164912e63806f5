import { type FileHandle, open, rename, rm, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolders, syncFolder } from '../../platform/durable-files.ts'
import { storageUnavailable } from '../errors.ts'
import { DomainError } from '../../kernel/errors.ts'
import { memoizeFor } from '../../platform/memoize.ts'

/** Durable steps on the file system; failures become storage errors. */

const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])
const REFUSED: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EROFS'])
/** Another process may remove an empty folder while an object is moved into it. */
const MAX_MOVES = 5

export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

/** Whether a step failed because there is no room. */
export function isDiskFull(error: unknown): boolean {
  return FULL.has(codeOf(error))
}

export function diskErrorOf(error: unknown): Error {
  const code = codeOf(error)
  if (isDiskFull(error)) return storageUnavailable('full', error)
  return storageUnavailable(REFUSED.has(code) ? 'refused' : 'away', error)
}

/** The result of a step. @throws DomainError `storage_unavailable` */
export async function onDisk<Result>(step: Promise<Result>): Promise<Result> {
  try {
    return await step
  } catch (error) {
    throw diskErrorOf(error)
  }
}

async function move(from: string, to: string): Promise<void> {
  for (let moves = 1; ; moves += 1) {
    try {
      await makeFolders(dirname(to), 0o700)
      await rename(from, to)
      await syncFolder(dirname(to))
      return
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || moves === MAX_MOVES) throw error
    }
  }
}

async function writeAll(handle: FileHandle, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of chunks) {
    let written = 0
    while (written < chunk.length)
      written += (await onDisk(handle.write(chunk, written))).bytesWritten
  }
}

/**
 * Writes a temporary file and moves it to its place once the disk has all of it.
 *
 * @throws what the chunks throw, and DomainError `storage_unavailable`
 */
export async function writeWhole(
  { path, beside }: { readonly path: string; readonly beside: string },
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  try {
    const handle = await onDisk(open(beside, 'wx', 0o600))
    try {
      await writeAll(handle, chunks)
      await onDisk(handle.sync())
    } finally {
      await onDisk(handle.close())
    }
    await onDisk(move(beside, path))
  } catch (error) {
    await rm(beside, { force: true }).catch(() => undefined)
    throw error
  }
}

/** Concurrent uploads share one check of the disk for so long. */
const LOOK_FOR_MS = 200

/**
 * Refuses while the disk of a folder has less free space than the floor: the spool, which may hold
 * the only copy of a settlement, is on the same disk. @throws DomainError `storage_full`,
 * `storage_unavailable`
 */
export function createDiskFloor(options: {
  readonly directory: string
  readonly floorBytes: number
  /** Reads the free space on the disk of a directory; by default from the file system. */
  readonly freeBytes?: (directory: string) => Promise<number>
}): () => Promise<void> {
  const { directory, floorBytes, freeBytes = freeBytesOf } = options
  const look = memoizeFor(LOOK_FOR_MS, () => freeBytes(directory))
  return async () => {
    if (floorBytes > 0 && (await look()) < floorBytes)
      throw new DomainError('storage_full', 'Storage is full at the moment', {})
  }
}

async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await onDisk(statfs(directory))
  return bavail * bsize
}
