import { statfs } from 'node:fs/promises'
import { DomainError } from '../../kernel/errors.ts'
import { remembered } from '../../kernel/remembered.ts'
import { onDisk } from './disk.ts'

/** Uploads at once share a look at the disk for so long. */
const LOOK_FOR_MS = 200

/**
 * Refuses while the disk of a folder has less free than the floor: the spool, which may be all that has
 * a settlement, is on it as well. @throws DomainError `storage_full`, `storage_unavailable`
 */
export function createDiskFloor(options: {
  readonly directory: string
  readonly floorBytes: number
  /** Of the directory; its default asks the file system. */
  readonly freeBytes?: (directory: string) => Promise<number>
}): () => Promise<void> {
  const { directory, floorBytes, freeBytes = freeBytesOf } = options
  const look = remembered(LOOK_FOR_MS, () => freeBytes(directory))
  return async () => {
    if (floorBytes > 0 && (await look()) < floorBytes)
      throw new DomainError('storage_full', 'There is no room for uploads at the moment', {})
  }
}

async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await onDisk(statfs(directory))
  return bavail * bsize
}
