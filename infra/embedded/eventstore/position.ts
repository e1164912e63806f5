/**
 * Positions in `$all`: pairs of commit and prepare. Both numbers of an event's position are equal;
 * a checkpoint's may be `c/0`, which is just before the event at `c/c`.
 */

import { handlerFailure } from './errors.ts'

/** A place in the log. Beyond 2^53 it is only known to be behind everything that is stored. */
export interface LogPosition {
  readonly commit: number
  readonly prepare: number
}

/** Before everything, even before 0/0; on the wire it looks the same as the end. */
export const BEFORE_START: LogPosition = { commit: -1, prepare: -1 }

/** 2^64-1 in both numbers is the end of the log. */
const WIRE_END = '18446744073709551615'
const MAX_INT64 = 2n ** 63n - 1n

/** The position of the event with a number. */
export function atEvent(position: number): LogPosition {
  return { commit: position, prepare: position }
}

/** The position just before the event with a number. */
export function beforeEvent(position: number): LogPosition {
  return { commit: position, prepare: 0 }
}

/** Whether the event at `position` comes after `from`. */
export function isEventBehind(position: number, from: LogPosition): boolean {
  return position > from.commit || (position === from.commit && position > from.prepare)
}

/** Below zero if `a` is before `b`, zero if they are the same. */
export function comparePositions(a: LogPosition, b: LogPosition): number {
  return a.commit === b.commit ? a.prepare - b.prepare : a.commit - b.commit
}

/**
 * A 64-bit number of a request; a number that no double can hold becomes the largest one that it
 * can.
 */
export function readNumber(decimal: string): number {
  return Math.min(Number(decimal), Number.MAX_SAFE_INTEGER)
}

/**
 * The pair of a request, or `end`. The real server fails on a prepare behind its commit and on
 * numbers beyond 2^63. @throws {WireError} UNKNOWN
 */
export function readPosition(commit: string, prepare: string): LogPosition | 'end' {
  if (commit === WIRE_END && prepare === WIRE_END) return 'end'
  const [committed, prepared] = [BigInt(commit), BigInt(prepare)]
  if (prepared > committed || committed > MAX_INT64) throw handlerFailure()
  const position = { commit: readNumber(commit), prepare: readNumber(prepare) }
  // Rounding to doubles must not make two different numbers equal.
  if (position.commit === position.prepare && prepared < committed)
    return { ...position, prepare: 0 }
  return position
}

/** Whether a revision of a request is its way to say the end. */
export function isWireEnd(decimal: string): boolean {
  return decimal === WIRE_END
}

/** A number as the protocol carries it. */
export function wireNumber(value: number): string {
  return value < 0 ? WIRE_END : String(value)
}
