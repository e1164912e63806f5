import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolders, replaceFile } from '../../kernel/durable-files.ts'
import { scanRecords } from './spool-record.ts'

const MODE = 0o700

/**
 * Copies the spool's files, also while a gateway uses them. Records that it drains meanwhile are in
 * the log, which is copied afterwards: a record that is in both is appended once. A record that is
 * being written is left out.
 *
 * @returns how many bytes were copied
 */
export async function copySpool(directory: string, to: string): Promise<number> {
  await makeFolders(to, MODE)
  let bytes = 0
  for (const name of await namesIn(directory)) {
    const content = await readFile(join(directory, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      return undefined
    })
    if (content === undefined) continue
    const whole = name.endsWith('.spool') ? withoutEnd(content) : content
    await replaceFile(join(to, name), whole)
    bytes += whole.length
  }
  return bytes
}

async function namesIn(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return []
  })
}

/** The part of a file before a last record that is incomplete. */
function withoutEnd(content: Buffer): Buffer {
  const last = scanRecords(content).damaged.at(-1)
  const isEnd = last !== undefined && last.offset + last.length === content.length
  return isEnd ? content.subarray(0, last.offset) : content
}
