import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isObjectKey } from '../object-key.ts'
import type { ListedObject } from '../types.ts'
import { codeOf, onDisk } from './disk.ts'

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    // With its slash a folder sorts where its objects' keys do.
    return entries
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      .sort((a, b) => (a < b ? -1 : 1))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

async function seen(root: string, key: string): Promise<ListedObject | undefined> {
  try {
    const { size, mtimeMs } = await stat(join(root, key))
    return { key, sizeBytes: size, modifiedAtMs: mtimeMs }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Walks the folders in the order of keys; objects that are added or deleted meanwhile may be listed
 * or not.
 */
export async function* listFolder(
  root: string,
  prefix: string,
  after: string,
  folder = '',
): AsyncGenerator<ListedObject, void> {
  for (const name of await onDisk(namesIn(join(root, folder)))) {
    const key = `${folder}${name}`
    if (key.endsWith('/')) {
      const wanted = key.startsWith(prefix) || prefix.startsWith(key)
      if (wanted && (key > after || after.startsWith(key)))
        yield* listFolder(root, prefix, after, key)
    } else if (key > after && key.startsWith(prefix) && isObjectKey(key)) {
      const found = await onDisk(seen(root, key))
      if (found !== undefined) yield found
    }
  }
}
