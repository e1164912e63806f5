/**
 * The folder of a LevelDB, looked at before LevelDB opens it: it makes a new database where its pointer is
 * missing, and deletes the tables of the old one.
 */

import { createHash } from 'node:crypto'
import { link, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolders, syncFolder } from '../../../src/platform/durable-files.ts'
import { damageOf } from './table.ts'
import { liveFilesOf, readWritten } from './write-ahead-log.ts'
import { OpenError } from './types.ts'

export const POINTER = 'CURRENT'
const MANIFEST = /^MANIFEST-\d+$/
export const WRITE_AHEAD_LOG = /^\d+\.log$/
export const TABLE = /^\d+\.(?:ldb|sst)$/
/**
 * LevelDB writes this file without a sync, opens the new database, and then replaces the file. So
 * while it is in effect, no write was ever answered.
 */
const FIRST_MANIFEST = 'MANIFEST-000001'
/** Larger than the manifest of a database that was just made. */
const MOST_NEW_MANIFEST_BYTES = 128
/** The hash in the name of a second folder has this many digits. */
const HASH_DIGITS = 12

/** A folder that may be opened. */
interface CheckedFolder {
  /** No database was made here yet. */
  readonly isNew: boolean
  /**
   * Files of a database that was being created when the power failed, to be deleted first: it has
   * no data yet.
   */
  readonly unfinished?: readonly string[]
  /** Names the files whose end is not read, and where they were kept first; undefined where there are none. */
  readonly kept: string | undefined
}

/**
 * Checks that all files of a database exist. It changes none: if the end of a file cannot be read,
 * which may also be left by a process that died in a write, the file is linked into a second folder
 * first, with all files that LevelDB would delete. With `deeply` all blocks of the tables are read.
 * @throws {OpenError} `corrupt`
 */
export async function checkFolder(
  path: string,
  { deeply }: { readonly deeply: boolean },
): Promise<CheckedFolder> {
  const names = await namesIn(path)
  const manifests = names.filter((name) => MANIFEST.test(name))
  const logs = names.filter((name) => WRITE_AHEAD_LOG.test(name))
  const data = [...names.filter((name) => TABLE.test(name)), ...logs]
  if (!names.includes(POINTER)) {
    if (data.length === 0 && (await areNew(path, manifests)))
      return { isNew: true, kept: undefined }
    const found = [...data, ...manifests].slice(0, 3).join(', ')
    return refuse(path, `it holds ${found} and no ${POINTER}, without which all would be deleted`)
  }
  const manifest = await manifestOf(path, manifests)
  const { records, damage } = await readWritten(join(path, manifest))
  if (manifest === FIRST_MANIFEST && (records.length === 0 || damage !== undefined)) {
    const written = await Promise.all(logs.map(async (name) => readWritten(join(path, name))))
    if (!names.some((name) => TABLE.test(name)) && written.every((one) => one.records.length === 0))
      return { isNew: true, kept: undefined, unfinished: [POINTER, ...manifests, ...logs] }
  }
  const live = liveFilesOf(records)
  const read = logs.filter((name) => numberOf(name) >= live.log)
  if (live.log > 0 && !read.some((name) => numberOf(name) === live.log))
    return refuse(path, `${live.log}.log, which has what was written last, is missing`)
  // Other tables may be unfinished: their process died while it made them.
  for (const name of data.filter((one) => TABLE.test(one) && live.tables.has(numberOf(one)))) {
    const damage = await damageOf(join(path, name), { deeply })
    if (damage !== undefined) return refuse(path, `${name}: ${damage}`)
  }
  const damaged = new Map(damage && [[manifest, damage]])
  for (const name of read) {
    const found = (await readWritten(join(path, name))).damage
    if (found !== undefined) damaged.set(name, found)
  }
  for (const [name, { at, isLast }] of damaged)
    if (!isLast)
      return refuse(path, `${name} is damaged at byte ${at}, and more stands behind that`)
  if (damaged.size === 0) return { isNew: false, kept: undefined }
  // LevelDB deletes the tables that its manifest does not name, and each log that it has read.
  const copy = await keep(path, damaged.has(manifest) ? names : [...damaged.keys()])
  const unread = [...damaged].map(([name, { at }]) => `${name} from byte ${at} on`)
  return {
    isNew: false,
    kept: `${path}: ${unread.join(', ')} cannot be read and is left out; ${copy} keeps it`,
  }
}

async function namesIn(path: string): Promise<readonly string[]> {
  try {
    return await readdir(path)
  } catch (error) {
    if (Object(error).code === 'ENOENT') return []
    throw new OpenError('unusable', `cannot read ${path}: ${String(Object(error).message)}`)
  }
}

/** A process that died while it made the database has left a manifest at most. */
async function areNew(path: string, manifests: readonly string[]): Promise<boolean> {
  const sizes = await Promise.all(
    manifests.map(async (name) => (await stat(join(path, name))).size),
  )
  return sizes.length <= 1 && sizes.every((size) => size <= MOST_NEW_MANIFEST_BYTES)
}

/** The name of the manifest in effect. @throws {OpenError} `corrupt` */
export async function manifestIn(path: string): Promise<string> {
  return manifestOf(
    path,
    (await namesIn(path)).filter((name) => MANIFEST.test(name)),
  )
}

async function manifestOf(path: string, manifests: readonly string[]): Promise<string> {
  const text = await readFile(join(path, POINTER), 'latin1')
  const name = text.slice(0, -1)
  if (!text.endsWith('\n') || !MANIFEST.test(name))
    refuse(path, `its ${POINTER} names no manifest; there is ${manifests.join(', ') || 'none'}`)
  if (!manifests.includes(name)) refuse(path, `its ${POINTER} names ${name}, which is missing`)
  return name
}

/** Files are named by numbers: `000028.ldb`, and logs and tables share the count. */
export function numberOf(name: string): number {
  return Number.parseInt(name, 10)
}

/**
 * Links the files into a second folder, whose name ends in a hash of them: the same damage is kept once.
 * @returns the path of that folder
 */
async function keep(path: string, names: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const name of names.filter((one) => MANIFEST.test(one) || WRITE_AHEAD_LOG.test(one)))
    hash.update(name).update(await readFile(join(path, name)))
  const copy = `${path}.corrupt-${hash.digest('hex').slice(0, HASH_DIGITS)}`
  await makeFolders(copy, 0o700)
  for (const name of names)
    await link(join(path, name), join(copy, name)).catch((error: unknown) => {
      if (Object(error).code !== 'EEXIST') throw error
    })
  await syncFolder(copy)
  return copy
}

function refuse(path: string, why: string): never {
  throw new OpenError(
    'corrupt',
    `${path} is damaged: ${why}. Nothing was changed: put the folder back from a backup, whole`,
  )
}
