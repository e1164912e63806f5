import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { isDate, readTime, TIME_WORDS } from '../../kernel/read-time.ts'
import { readZone } from '../../kernel/read-zone.ts'
import type { TimeZone } from '../../kernel/time-zone.ts'
import { UsageError } from '../output.ts'

/** Where a state is wanted: everything up to a position or a time counts. */
export type Moment = { readonly position: bigint } | { readonly atMs: number }

/** Reads `--as-of`. @throws UsageError when it is neither a time nor a position */
export function parseMoment(text: string | undefined): Moment | undefined {
  if (text === undefined) return undefined
  if (/^\d+$/.test(text)) return { position: BigInt(text) }
  return { atMs: parseTime('--as-of', text) }
}

/** Reads a position of the log. @throws UsageError */
export function parsePosition(option: string, text: string): bigint {
  if (!/^\d{1,19}$/.test(text)) throw new UsageError(`${option} must be a log position`)
  return BigInt(text)
}

/** Reads `--tz`. @throws UsageError for a zone that is not known */
export function parseZone(name: string): TimeZone {
  const read = readZone(name)
  if ('fault' in read) throw new UsageError(`--tz ${read.fault}`)
  return read.zone
}

/** Reads a time, or the beginning of a day of a zone, in Unix milliseconds. @throws UsageError */
export function parseTime(option: string, text: string, zone?: TimeZone): number {
  const unixMs = zone !== undefined && isDate(text) ? zone.startOf(text) : readTime(text)
  if (unixMs === undefined) throw new UsageError(`${option} must be ${TIME_WORDS}`)
  return unixMs
}

/** Whether an event came only after that moment. */
export function isAfter(event: RecordedEvent, moment: Moment): boolean {
  if ('position' in moment) return event.position > moment.position
  return event.recordedAt.getTime() > moment.atMs
}
