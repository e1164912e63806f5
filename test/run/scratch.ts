import { mkdirSync, statfsSync, statSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'

/** A file system in memory, where Linux has one; containers often give it very little. */
const IN_MEMORY = '/dev/shm'
/** Several times what a whole run was seen to need at a time. */
const ROOM_BYTES = 4 * 1024 ** 3

/**
 * Where tests keep their files, databases included: in memory where there is room, unless `TMPDIR` says otherwise. A
 * run makes and drops hundreds of databases of a thousand files each, and ext4 passes over every file deleted in the
 * last seconds for each new one: a fifth of a run's processor time.
 */
export function scratchFolder(): string {
  if ((process.env['TMPDIR'] ?? '') !== '') return tmpdir()
  const uid = process.getuid?.()
  if (uid === undefined || freeBytes() < ROOM_BYTES) return tmpdir()
  const folder = `${IN_MEMORY}/tollgate-tests-${uid}`
  // Postgres passes through it with an account of its own.
  mkdirSync(folder, { recursive: true, mode: 0o711 })
  return statSync(folder).uid === uid ? folder : tmpdir()
}

function freeBytes(): number {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY)
    return Math.min(bavail * bsize, freemem())
  } catch {
    return 0
  }
}
