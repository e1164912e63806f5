/**
 * A place in `$all`, as the server's checkpoints name it. An event's own place has commit =
 * prepare; a checkpoint may lie between events: `(L, 0)` is behind everything before `L` and before
 * the event at `(L, L)`. Only the pair may be resumed from.
 */
export interface LogPosition {
  readonly commit: bigint
  readonly prepare: bigint
}

/**
 * The position (2⁶⁴−1) that a server sends if it has no position to name yet: it is behind every
 * future event.
 */
const NOWHERE = 2n ** 64n - 1n

/** The place of an event. */
export function placeOf(position: bigint): LogPosition {
  return { commit: position, prepare: position }
}

/** The greatest position that an event up to a place can have. */
export function eventsThrough({ commit, prepare }: LogPosition): bigint {
  return prepare < commit ? commit - 1n : commit
}

/** Whether `a` is behind `b`, i.e. later in the log. */
export function isBehind(a: LogPosition, b: LogPosition): boolean {
  return a.commit === b.commit ? a.prepare > b.prepare : a.commit > b.commit
}

/** Whether a subscription can resume from a position that a server sent. */
export function isPlace({ commit, prepare }: LogPosition): boolean {
  return commit !== NOWHERE && prepare !== NOWHERE
}
