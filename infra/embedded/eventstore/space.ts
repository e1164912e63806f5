import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { spaceLack } from '../disk-space.ts'
import { WRITE_AHEAD_LOG } from './folder.ts'
import { RECOVERY_SPARE_BYTES } from './limits.ts'

/**
 * Bytes that the database of a log needs to be opened again after a failed write: LevelDB first
 * writes the content of its files of writes into tables.
 */
export function bytesToReopen(path: string): number {
  const logs = readdirSync(path).filter((name) => WRITE_AHEAD_LOG.test(name))
  return logs.reduce((sum, name) => sum + sizeOf(join(path, name)), RECOVERY_SPARE_BYTES)
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** Describes the space that the disk of the log in `dir` lacks; undefined if it has enough. */
export function logSpaceLack(dir: string): string | undefined {
  try {
    return spaceLack(dir, bytesToReopen(join(dir, 'db')))
  } catch {
    return undefined
  }
}
