import { chmodSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The creation mask of processes that write into the data directory: only their account may use
 * their files.
 */
export const PRIVATE_UMASK = 0o077

/** The permissions of the owner, and the bits that are no permissions. */
const OWN_BITS = 0o7700
const ALL_BITS = 0o7777

/** Errors that are passed over: this account may not change modes, or the file system has none. The caller checks the outermost folder. */
const IMPOSSIBLE: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'ENOTSUP'])

function ifPossible<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof Error && IMPOSSIBLE.has(Reflect.get(error, 'code'))) return undefined
    throw error
  }
}

/**
 * Removes every permission of other accounts from a folder and all of its content, the outermost
 * folder first, so that no other account can exchange files in it meanwhile. Targets of links are
 * left alone. A folder below it that belongs to a third account, as the database's does when this
 * process is root, is closed and not searched.
 *
 * @param kept what other accounts may still do with the outermost folder, if they might before.
 * @throws file system errors as they are.
 */
export function closeToOthers(path: string, kept = 0, owner = lstatSync(path).uid): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined || found.isSymbolicLink()) return
  const mode = found.mode & (OWN_BITS | kept)
  if ((found.mode & ALL_BITS) !== mode) ifPossible(() => chmodSync(path, mode))
  if (!found.isDirectory() || (found.uid !== process.getuid?.() && found.uid !== owner)) return
  for (const name of ifPossible(() => readdirSync(path)) ?? [])
    closeToOthers(join(path, name), 0, owner)
}
