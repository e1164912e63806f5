import { chmodSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The creation mask of processes that write into the data directory: what they make is for their account alone. */
export const PRIVATE_UMASK = 0o077

/** The permissions of the owner, and the bits that are no permissions. */
const OWN_BITS = 0o7700
const ALL_BITS = 0o7777

/**
 * Takes every permission of other accounts away from a folder and all below it, the outermost folder first, so that
 * no other account can exchange what is below meanwhile. What a link leads to is left alone. A folder of another
 * account, as the database's is when this process is root, is closed and not searched.
 *
 * @param others what other accounts may do with the outermost folder.
 * @throws file system errors as they are.
 */
export function closeToOthers(path: string, others = 0): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined || found.isSymbolicLink()) return
  const self = process.getuid?.()
  if (found.uid !== self && self !== 0) return
  const mode = (found.mode & OWN_BITS) | others
  if ((found.mode & ALL_BITS) !== mode) chmodSync(path, mode)
  if (found.uid !== self || !found.isDirectory()) return
  for (const name of readdirSync(path)) closeToOthers(join(path, name))
}
