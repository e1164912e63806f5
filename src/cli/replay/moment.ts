import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
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
  if (!/^\d{1,19}$/.test(text)) throw new CommandError(`${option} must be a position of the log`)
  return BigInt(text)
}

/** Reads a time in unix milliseconds. @throws CommandError */
export function parseTime(option: string, text: string): number {
  const asked = /^\d{4}-\d{2}-\d{2}([Tt]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}:\d{2}))?$/
  try {
    if (asked.test(text)) return fromTimestamp(text)
  } catch {
    // Of the right shape and yet no time.
  }
  throw new CommandError(`${option} must be an RFC 3339 time such as ${toTimestamp(0)}`)
}

/** Whether an event came only after that moment. */
export function isAfter(event: RecordedEvent, moment: Moment): boolean {
  if ('position' in moment) return event.position > moment.position
  return event.recordedAt.getTime() > moment.atMs
}
