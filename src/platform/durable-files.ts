import { constants, existsSync, statSync } from 'node:fs'
import { copyFile, mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Files and folders that a power cut leaves whole or not at all. */

/**
 * Makes a folder durably, and those above it, one after the other: below `/proc` a recursive mkdir tries
 * for ever, and on a read-only file system it does not say why.
 */
export async function makeFolders(path: string, mode: number): Promise<void> {
  const missing: string[] = []
  for (let at = path; !existsSync(at); at = dirname(at)) missing.unshift(at)
  for (const folder of missing)
    await mkdir(folder, { mode }).catch((error: unknown) => {
      // Another process made it first, unless it is a file, or a link without a target.
      if (!isFolder(folder)) throw error
    })
  if (!isFolder(path)) throw Object.assign(new Error('the path is no folder'), { code: 'EEXIST' })
  for (const folder of missing)
    await syncFolder(dirname(folder)).catch((error: unknown) => {
      // The account may pass through the folder without the right to read it.
      if (Object(error).code !== 'EACCES') throw error
    })
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Makes the names in a folder durable; a new file is durable only after this. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Writes the content of a file for this account alone to the disk; its name is durable once the folder is synced. */
export async function writeSynced(path: string, content: string | Uint8Array): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * Writes a file for this account alone, in place of one that is there: it is replaced when all of the new
 * one is on the disk. Its former content is lost only then. @param next where it is written first, another for each
 * process that may write at the same time
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  next = `${path}.new`,
): Promise<void> {
  await writeSynced(next, content)
  await rename(next, path)
  await syncFolder(dirname(path))
}

/**
 * Copies a file into a new one for this account alone, durably once the folder is synced. @returns how
 * many bytes it has
 */
export async function copyDurably(from: string, to: string): Promise<number> {
  await copyFile(from, to, constants.COPYFILE_FICLONE)
  const file = await open(to, 'r+')
  try {
    await file.chmod(0o600)
    await file.sync()
    return (await file.stat()).size
  } finally {
    await file.close()
  }
}
