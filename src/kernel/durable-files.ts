import { existsSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder and those above it, one after the other: below `/proc` a recursive mkdir tries for
 * ever, and on a read-only file system it does not say why.
 */
export async function makeFolders(path: string, mode: number): Promise<void> {
  const missing: string[] = []
  for (let at = path; !existsSync(at); at = dirname(at)) missing.unshift(at)
  for (const folder of missing)
    await mkdir(folder, { mode }).catch((error: unknown) => {
      // Another process was first, unless it is a file, or a link that leads nowhere.
      if (!isFolder(folder)) throw error
    })
  if (!isFolder(path)) throw Object.assign(new Error('it is no folder'), { code: 'EEXIST' })
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
