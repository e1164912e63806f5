import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolders, replaceFile } from '../../platform/durable-files.ts'
import { pause } from '../../kernel/pause.ts'
import { keepDamaged } from './damaged-records.ts'
import { LINE_FEED, scanRecords } from './spool-record.ts'

const MODE = 0o700
/** A gateway finishes the record that it is writing within moments. */
const MAX_LOOKS = 20
const LOOK_AGAIN_MS = 100

/** A last record that is incomplete, and that no process finishes. */
interface CutRecord {
  /** The file of the copy that keeps its bytes, as a gateway that opened the spool would. */
  readonly kept: string
  readonly sizeBytes: number
}

interface CopiedSpool {
  readonly bytes: number
  readonly cut: readonly CutRecord[]
}

/**
 * Copies the spool's files, also while a gateway uses them. Records that it drains meanwhile are in
 * the log, which is copied afterwards: a record that is in both is appended once. The copy moves an
 * incomplete last record into a file next to it; it does not change any other damage.
 */
export async function copySpool(directory: string, to: string): Promise<CopiedSpool> {
  await makeFolders(to, MODE)
  let bytes = 0
  const cut: CutRecord[] = []
  for (const name of await namesIn(directory)) {
    const content = await settledContent(join(directory, name))
    if (content === undefined) continue
    const copy = join(to, name)
    const end = endOf(name, content)
    if (end < content.length) {
      const left = content.subarray(end)
      cut.push({ kept: await keepDamaged(copy, left), sizeBytes: left.length })
    }
    await replaceFile(copy, content.subarray(0, end))
    bytes += content.length
  }
  return { bytes, cut }
}

/** The file, once no record of it is being written; undefined where it is gone. */
async function settledContent(path: string): Promise<Buffer | undefined> {
  for (let looks = 1; ; looks += 1) {
    const content = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      return undefined
    })
    if (content === undefined || endOf(path, content) === content.length || looks === MAX_LOOKS)
      return content
    await pause(LOOK_AGAIN_MS)
  }
}

async function namesIn(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return []
  })
}

/** Where a last record without its end begins; the length of a file that has none. */
function endOf(name: string, content: Buffer): number {
  if (!name.endsWith('.spool') || content.at(-1) === LINE_FEED) return content.length
  const last = scanRecords(content).damaged.at(-1)
  const isEnd = last !== undefined && last.offset + last.length === content.length
  return isEnd ? last.offset : content.length
}
