/**
 * Copies a log, also while its process writes: LevelDB never changes a table, and only lengthens its other
 * files. So the manifest is copied first, then what it names; where a compaction was faster and has
 * deleted a file of that, the copy begins again.
 */

import { existsSync } from 'node:fs'
import { open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { copyDurably, makeFolders, syncFolder } from '../../../src/kernel/durable-files.ts'
import { pause } from '../../../src/kernel/pause.ts'
import { pathIn } from './database.ts'
import { manifestIn, numberOf, POINTER, TABLE, WRITE_AHEAD_LOG } from './folder.ts'
import { OpenError } from './types.ts'
import { liveFilesOf, readWritten } from './write-ahead-log.ts'

const MODE = 0o700
/** A compaction ends within a few of them. */
const MAX_TRIES = 50
const TRY_AGAIN_MS = 200

/** Called with how many bytes are copied. */
type OnProgress = (bytes: number) => void

/**
 * Copies the log in `dir` into the new folder `to`, as it is at a moment of the copying, durably.
 *
 * @throws {OpenError} where a file is damaged or missing; what the file system throws
 */
export async function copyLog(dir: string, to: string, onProgress: OnProgress): Promise<void> {
  if (!existsSync(join(pathIn(dir), POINTER)))
    throw new OpenError('unusable', `there is no log in ${dir}`)
  for (let tries = 1; ; tries += 1)
    try {
      await makeFolders(pathIn(to), MODE)
      return await copyFiles(pathIn(dir), pathIn(to), onProgress)
    } catch (error) {
      const isGone = Object(error).code === 'ENOENT'
      if (!isGone) throw error
      if (tries === MAX_TRIES)
        throw new OpenError('corrupt', `${dir} lacks a file: ${String(Object(error).message)}`)
      await rm(to, { recursive: true, force: true })
      await pause(TRY_AGAIN_MS)
    }
}

async function copyFiles(from: string, to: string, onProgress: OnProgress): Promise<void> {
  let bytes = 0
  const copy = async (name: string): Promise<void> => {
    bytes += await copyDurably(join(from, name), join(to, name))
    onProgress(bytes)
  }
  const pointer = await readFile(join(from, POINTER))
  const manifest = await manifestIn(from)
  await copy(manifest)
  const { log, tables } = liveFilesOf(await cutToWhole(join(to, manifest)))
  const names = await readdir(from)
  for (const number of tables)
    await copy(names.find((one) => TABLE.test(one) && numberOf(one) === number) ?? gone(number))
  // One that is followed by another is written no more, so no gap can be between two of them.
  const logs = names.filter((one) => WRITE_AHEAD_LOG.test(one) && numberOf(one) >= log)
  if (log > 0 && !logs.some((one) => numberOf(one) === log)) gone(log)
  for (const name of logs) {
    await copy(name)
    await cutToWhole(join(to, name))
  }
  await writeFile(join(to, POINTER), pointer, { mode: 0o600, flush: true })
  await syncFolder(to)
}

function gone(number: number): never {
  throw Object.assign(new Error(`file ${number} is missing`), { code: 'ENOENT' })
}

/** Cuts off what was being written while the file was copied; returns the records before it. */
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
