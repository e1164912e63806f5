import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../../platform/durable-files.ts'
import { sha256Hex } from '../../kernel/ids.ts'
import { readIfThere, REJECTED_FILE } from './rejected-records.ts'
import { LINE_FEED, scanRecords } from './spool-record.ts'

/**
 * Records of a spool that are not as they were written. Their calls may have been delivered, and are
 * not billed: the bytes are kept in `<file>.corrupt-<hash>` until an operator deletes that file.
 */

const KEPT = '.corrupt-'
const NAME_DIGITS = 16

/** Copies bytes of a file to another one in its folder, once, however many processes find them. */
export async function keepDamaged(path: string, bytes: Buffer): Promise<string> {
  const kept = `${path}${KEPT}${sha256Hex(bytes).slice(0, NAME_DIGITS)}`
  const isKept = await access(kept).then(
    () => true,
    () => false,
  )
  if (!isKept) await replaceFile(kept, bytes)
  return kept
}

/** The readable parts of an event in a damaged record; any of them may be damaged as well. */
interface ReadableEvent {
  readonly type: string
  readonly callId: string | undefined
  readonly tenantId: string | undefined
  readonly model: string | undefined
  readonly currency: string | undefined
  /** Decimal string. */
  readonly amount: string | undefined
}

/** A damaged part of a spool's files. */
export interface DamagedPart {
  /** File name in the spool's directory. */
  readonly file: string
  readonly sizeBytes: number
  readonly events: readonly ReadableEvent[]
}

/** The files in which damage is kept: names in the directory. */
export async function filesWithDamage(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return []
  })
  return names.filter((name) => name.includes(KEPT) || name === REJECTED_FILE).sort()
}

/** Reads damaged records, also while a gateway uses the directory. */
export async function readDamaged(directory: string): Promise<readonly DamagedPart[]> {
  const parts: DamagedPart[] = []
  for (const file of await filesWithDamage(directory)) {
    const read = await readIfThere(join(directory, file))
    // The text after the last line feed of this one is still being written.
    const bytes = file === REJECTED_FILE ? read.subarray(0, read.lastIndexOf(LINE_FEED) + 1) : read
    for (const { offset, length } of scanRecords(bytes).damaged) {
      const events = eventsIn(bytes.subarray(offset, offset + length))
      parts.push({ file, sizeBytes: length, events })
    }
  }
  return parts
}

function eventsIn(part: Buffer): readonly ReadableEvent[] {
  const [, ...events] = part.toString('utf8').split(/(?=\{"type":")/)
  return events.map((text) => {
    const member = (name: string): string | undefined =>
      new RegExp(String.raw`"${name}":"([\w.:/-]{1,128})"`).exec(text)?.[1]
    const settled = text.slice(text.indexOf('"settlement":'))
    const money = /"currency":"([A-Z]{3})","amount":"([\d.]{1,40})"/.exec(settled)
    return {
      type: member('type') ?? '',
      callId: member('callId'),
      tenantId: member('tenantId'),
      model: member('model'),
      currency: money?.[1],
      amount: money?.[2],
    }
  })
}
