import { existsSync, realpathSync, statSync } from 'node:fs'
import { mkdtemp, open, readFile, rm, rmdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { makeFolders, replaceFile } from '../../src/platform/durable-files.ts'
import { DirectoryLockedError, lockDirectory } from './directory-lock.ts'
import { closeToOthers, PRIVATE_UMASK } from './file-modes.ts'

/** Layout version of the data directory that this program writes and understands. */
export const DATA_DIR_VERSION = 1

const MODE = 0o700
/** Root runs the database under another account, which must be able to pass through to its own folder. */
const MODE_AS_ROOT = 0o711
/** Permissions of a group, or of all, to list and to change a folder. */
const OPEN_TO_OTHERS = 0o066

/** Why a data directory cannot be used; the message is meant for the operator. */
export class DataDirError extends Error {
  readonly code:
    | 'data_dir_unwritable'
    | 'data_dir_full'
    | 'data_dir_in_use'
    | 'data_dir_newer'
    | 'data_dir_invalid'

  constructor(code: DataDirError['code'], message: string) {
    super(message)
    this.name = 'DataDirError'
    this.code = code
  }
}

/** A data directory that this process alone may use until `release` or its death. */
interface DataDir {
  /** Absolute path. */
  readonly path: string
  release(): Promise<void>
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  ENOENT: 'its file system takes no folders',
  ENOTDIR: 'a part of the path is a file, not a directory',
  EEXIST: 'it is a file, not a directory',
  ENOSPC: 'no space is left on the device',
  EDQUOT: 'the disk quota is used up',
}

const FULL = /no space|quota/

/** LevelDB reports operating system errors as text only, hence the look into the message. */
function explain(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const known = EXPLANATIONS[code]
  if (known !== undefined) return known
  if (/permission denied/i.test(message)) return 'permission denied'
  if (/read-only file system/i.test(message)) return 'the file system is read-only'
  if (/no space left/i.test(message)) return 'no space is left on the device'
  return message
}

function unwritable(path: string, error: unknown): DataDirError {
  const why = explain(error)
  const isFull = FULL.test(why)
  const remedy = isFull ? 'free some space' : 'let this account write it'
  return new DataDirError(
    isFull ? 'data_dir_full' : 'data_dir_unwritable',
    `the data directory ${path} cannot be written: ${why}; ${remedy}, or set DATA_DIR to another directory`,
  )
}

/** Whether the directory has a layout version, which is one that this program knows. */
async function checkVersion(path: string): Promise<boolean> {
  let text: string
  try {
    text = await readFile(join(path, 'version'), 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw unwritable(path, error)
  }
  if (!/^[0-9]{1,9}\s*$/.test(text)) {
    throw new DataDirError(
      'data_dir_invalid',
      `${join(path, 'version')} does not hold a version number`,
    )
  }
  const version = Number.parseInt(text, 10)
  if (version > DATA_DIR_VERSION) {
    throw new DataDirError(
      'data_dir_newer',
      `the data directory ${path} was written by a newer release (layout ${version}, this one knows up to ${DATA_DIR_VERSION}); run that release or choose another DATA_DIR`,
    )
  }
  return true
}

/** Proves that files can be written and kept, which a directory's mode alone does not say. */
async function probe(path: string): Promise<void> {
  const file = join(path, `.probe.${process.pid}`)
  const handle = await open(file, 'w', 0o600)
  try {
    await handle.writeFile('probe')
  } finally {
    await handle.close()
    await rm(file, { force: true })
  }
}

/**
 * Checks that a start could use the directory, which another process may hold; leaves nothing behind.
 * @throws DataDirError
 */
export async function checkDataDir(directory: string): Promise<void> {
  const path = resolve(directory)
  if (existsSync(path)) {
    await probe(path).catch((error: unknown) => {
      throw unwritable(path, error)
    })
    await checkVersion(path)
    return
  }
  let above = dirname(path)
  while (!existsSync(above)) above = dirname(above)
  try {
    await rmdir(await mkdtemp(join(above, '.probe.')))
  } catch (error) {
    throw unwritable(path, error)
  }
}

/** Why other accounts can still reach into the directory; undefined where they cannot. */
function reachOfOthers(path: string): string | undefined {
  const { uid, mode } = statSync(path)
  const self = process.getuid?.()
  if (uid !== self && uid !== 0)
    return `it belongs to another account (user ${uid}), which can exchange what is in it`
  if ((mode & OPEN_TO_OTHERS) !== 0)
    return `this account cannot change its mode ${(mode & 0o7777).toString(8)}, which lets others list it or exchange what is in it`
  return undefined
}

/**
 * Creates (where missing), locks and version-checks the directory that holds everything a single
 * machine stores, and closes it and all of its content to other accounts. Files that this process
 * and its children create from now on are closed to other accounts too.
 *
 * @param onExposed called where the directory cannot be closed, with why.
 * @throws DataDirError with a message for the operator: unwritable, in use by another process (its
 *   pid is named), written by a newer release, or not a data directory of this program.
 */
export async function prepareDataDir(
  directory: string,
  onExposed: (why: string) => void = () => undefined,
): Promise<DataDir> {
  const path = resolve(directory)
  try {
    await makeFolders(path, process.getuid?.() === 0 ? MODE_AS_ROOT : MODE)
    process.umask(PRIVATE_UMASK)
    await probe(path)
  } catch (error) {
    throw unwritable(path, error)
  }
  const lock = await lockDirectory(path).catch((error: unknown) => {
    if (!(error instanceof DirectoryLockedError)) throw unwritable(path, error)
    const holder = error.holderPid === undefined ? 'another process' : `process ${error.holderPid}`
    throw new DataDirError(
      'data_dir_in_use',
      `the data directory ${path} is in use by ${holder}; stop it, or give this one its own DATA_DIR`,
    )
  })
  try {
    if (!(await checkVersion(path)))
      await replaceFile(join(path, 'version'), `${DATA_DIR_VERSION}\n`)
    // The directory may be a link to where there is room.
    closeToOthers(realpathSync(path), process.getuid?.() === 0 ? MODE_AS_ROOT & ~MODE : 0)
    const reach = reachOfOthers(path)
    if (reach !== undefined) onExposed(reach)
  } catch (error) {
    await lock.release()
    throw error
  }
  return { path, release: () => lock.release() }
}
