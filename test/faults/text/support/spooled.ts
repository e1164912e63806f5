import { existsSync, readdirSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'

/** Looks into a spool directory from outside: `<length> <crc32> <json>\n` a record. */

/** A whole record: where it lies and whose settlements it holds. */
export interface SpooledRecord {
  readonly start: number
  readonly end: number
  readonly callIds: readonly string[]
}

function files(directory: string): readonly string[] {
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .filter((name) => name.endsWith('.spool'))
    .map((name) => join(directory, name))
}

/** The whole records of a spool file, oldest first. */
export function recordsOf(path: string): readonly SpooledRecord[] {
  const bytes = readFileSync(path)
  const records: SpooledRecord[] = []
  let start = 0
  for (let end = bytes.indexOf('\n'); end !== -1; end = bytes.indexOf('\n', start)) {
    const text = bytes.subarray(start, end).toString()
    const batch = JSON.parse(text.slice(text.indexOf('{'))) as {
      readonly events: readonly { readonly data: { readonly callId: string } }[]
    }
    records.push({ start, end: end + 1, callIds: batch.events.map(({ data }) => data.callId) })
    start = end + 1
  }
  return records
}

/** Whether a whole record of a call is on disk now. */
export function isSpooled(directory: string, callId: string): boolean {
  return files(directory).some((path) =>
    recordsOf(path).some(({ callIds }) => callIds.includes(callId)),
  )
}

/** Bytes of all files; one that is gone by now, as drained ones go, has none. */
export function sizeOf(directory: string): number {
  return files(directory)
    .map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0)
    .reduce((total, size) => total + size, 0)
}

/** Whether nothing waits. */
export function isEmpty(directory: string): boolean {
  return sizeOf(directory) === 0
}

/** The one spool file that holds something. @throws when there is none, or more than one */
export function fullFile(directory: string): string {
  const [path, ...more] = files(directory).filter((file) => statSync(file).size > 0)
  if (path === undefined || more.length > 0) throw new Error('not one spool file in use')
  return path
}

/** Cuts a file off, as a write does that a power cut ended. */
export function tear(path: string, atByte: number): void {
  truncateSync(path, atByte)
}
