import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { readTime, TIME_WORDS } from '../../kernel/read-time.ts'
import { CommandError } from '../output.ts'

/** Where a state is wanted: everything up to a position or a time counts. */
export type Moment = { readonly position: bigint } | { readonly atMs: number }

/** Reads `--as-of`. @throws CommandError when it is neither a time nor a position */
export function parseMoment(text: string | undefined): Moment | undefined {
  if (text === undefined) return undefined
  if (/^\d+$/.test(text)) return { position: BigInt(text) }
  return { atMs: parseTime('--as-of', text) }
}

/** Reads a position of the log. @throws CommandError */
export function parsePosition(option: string, text: string): bigint {
  if (!/^\d{1,19}$/.test(text)) throw new CommandError(`${option} must be a log position`)
  return BigInt(text)
}

/** Reads a time in unix milliseconds. @throws CommandError */
export function parseTime(option: string, text: string): number {
  const unixMs = readTime(text)
  if (unixMs === undefined) throw new CommandError(`${option} must be ${TIME_WORDS}`)
  return unixMs
}

/** Whether an event came only after that moment. */
export function isAfter(event: RecordedEvent, moment: Moment): boolean {
  if ('position' in moment) return event.position > moment.position
  return event.recordedAt.getTime() > moment.atMs
}
