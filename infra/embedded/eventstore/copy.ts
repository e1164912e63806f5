/**
 * Copies a log, also while its process writes: LevelDB never changes a table, and only lengthens
 * its other files. So the manifest is copied first, and the files it names get a hard link, which
 * survives when a compaction deletes them; if a compaction was faster, the copy begins again. Then
 * the linked files are copied.
 */

import { existsSync } from 'node:fs'
import { link, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { copyDurably, makeFolders, syncFolder } from '../../../src/platform/durable-files.ts'
import { pause } from '../../../src/kernel/pause.ts'
import { pathIn } from './database.ts'
import { manifestIn, numberOf, POINTER, TABLE, WRITE_AHEAD_LOG } from './folder.ts'
import { OpenError } from './types.ts'
import { liveFilesOf, readWritten } from './write-ahead-log.ts'

const MODE = 0o700
/** Linking takes milliseconds, so that few compactions end in between. */
const MAX_TRIES = 200
const TRY_AGAIN_MS = 20
/** The folder of second names, with the process that made it. */
const HELD = 'copying-'

/** Called with how many bytes are copied. */
type OnProgress = (bytes: number) => void

/**
 * Copies the log in `dir` durably into the new folder `to`, in its state at some moment of the
 * copying.
 *
 * @throws {OpenError} where a file is damaged or missing; what the file system throws
 */
export async function copyLog(dir: string, to: string, onProgress: OnProgress): Promise<void> {
  if (!existsSync(join(pathIn(dir), POINTER)))
    throw new OpenError('unusable', `there is no log in ${dir}`)
  await removeLeft(dir)
  const held = join(dir, `${HELD}${process.pid}`)
  try {
    await makeFolders(pathIn(to), MODE)
    const pointer = await hold(pathIn(dir), held, pathIn(to))
    let bytes = 0
    for (const name of await readdir(held)) {
      bytes += await copyDurably(join(held, name), join(pathIn(to), name))
      if (WRITE_AHEAD_LOG.test(name)) await cutToWhole(join(pathIn(to), name))
      onProgress(bytes)
    }
    await writeFile(join(pathIn(to), POINTER), pointer, { mode: 0o600, flush: true })
    await syncFolder(pathIn(to))
  } finally {
    await rm(held, { recursive: true, force: true })
  }
}

/** Removes the remains of a copy whose process died. */
async function removeLeft(dir: string): Promise<void> {
  for (const name of (await readdir(dir)).filter((one) => one.startsWith(HELD)))
    try {
      process.kill(Number(name.slice(HELD.length)), 0)
    } catch (error) {
      // A process of another account is alive.
      if (Object(error).code !== 'EPERM')
        await rm(join(dir, name), { recursive: true, force: true })
    }
}

/** Copies the manifest, and links all files that it names; returns the file that points to it. */
async function hold(from: string, held: string, to: string): Promise<Buffer> {
  for (let tries = 1; ; tries += 1)
    try {
      await rm(held, { recursive: true, force: true })
      await makeFolders(held, MODE)
      return await holdOnce(from, held, to)
    } catch (error) {
      if (Object(error).code !== 'ENOENT') throw error
      if (tries === MAX_TRIES)
        throw new OpenError('corrupt', `${from} lacks a file: ${String(Object(error).message)}`)
      await pause(TRY_AGAIN_MS)
    }
}

async function holdOnce(from: string, held: string, to: string): Promise<Buffer> {
  const pointer = await readFile(join(from, POINTER))
  const manifest = await manifestIn(from)
  await copyDurably(join(from, manifest), join(to, manifest))
  const { log, tables } = liveFilesOf(await cutToWhole(join(to, manifest)))
  const names = await readdir(from)
  const namesOf = new Map(
    names.filter((name) => TABLE.test(name)).map((name) => [numberOf(name), name]),
  )
  const live = [...tables].map((number) => namesOf.get(number) ?? gone(number))
  // A file that is followed by another one is written no more, so no gap can be between two of
  // them.
  const logs = names.filter((one) => WRITE_AHEAD_LOG.test(one) && numberOf(one) >= log)
  if (log > 0 && !logs.some((one) => numberOf(one) === log)) gone(log)
  for (const name of [...live, ...logs]) await link(join(from, name), join(held, name))
  return pointer
}

function gone(number: number): never {
  throw Object.assign(new Error(`file ${number} is missing`), { code: 'ENOENT' })
}

/** Cuts off the record that was being written during the copy; returns the records before it. */
async function cutToWhole(path: string): Promise<readonly Buffer[]> {
  const { records, damage } = await readWritten(path)
  if (damage === undefined) return records
  if (!damage.isLast) throw new OpenError('corrupt', `${path} is damaged at byte ${damage.at}`)
  const file = await open(path, 'r+')
  try {
    await file.truncate(damage.at)
    await file.sync()
  } finally {
    await file.close()
  }
  return records
}
