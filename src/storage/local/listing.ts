import type { Stats } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isObjectKey } from '../object-key.ts'
import type { ListedObject } from '../types.ts'
import { codeOf, onDisk } from './disk.ts'
import { objectBytesIn, WITH_SUMS } from './object-file.ts'

/** The files and folders of a folder, in the order of the keys that they stand for. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    // With its slash, the name of a folder sorts like the keys of its objects.
    const names = entries
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : keyPartOf(entry.name)))
    return [...new Set(names)].sort((a, b) => (a < b ? -1 : 1))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

function keyPartOf(name: string): string {
  return name.endsWith(WITH_SUMS) ? name.slice(0, -WITH_SUMS.length) : name
}

async function seen(root: string, key: string): Promise<ListedObject | undefined> {
  const path = join(root, key)
  const found = await statIfThere(path + WITH_SUMS)
  if (found !== undefined)
    return { key, sizeBytes: Math.max(0, objectBytesIn(found.size)), modifiedAtMs: found.mtimeMs }
  const earlier = await statIfThere(path)
  return earlier && { key, sizeBytes: earlier.size, modifiedAtMs: earlier.mtimeMs }
}

async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
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
