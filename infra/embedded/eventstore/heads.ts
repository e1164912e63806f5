/** The writer's knowledge of a stream, without reading its events. */

/** `truncateBefore` at or above this means the stream is deleted (and may be written to again). */
export const SOFT_DELETED = 2 ** 63

/** State of one stream. `last` is -1 while it has no event. */
export interface StreamHead {
  readonly last: number
  readonly truncateBefore: number
  readonly tombstoned: boolean
}

/** A stream without any event. */
export const EMPTY_HEAD: StreamHead = { last: -1, truncateBefore: 0, tombstoned: false }

export function isSoftDeleted(head: StreamHead): boolean {
  return head.truncateBefore >= SOFT_DELETED
}

/** First revision a reader may see, or undefined when the stream shows no events. */
export function firstVisible(head: StreamHead): number | undefined {
  return head.truncateBefore > head.last ? undefined : head.truncateBefore
}

export function encodeHead(head: StreamHead): Buffer {
  const value = Buffer.allocUnsafe(17)
  value.writeDoubleBE(head.last, 0)
  value.writeDoubleBE(head.truncateBefore, 8)
  value[16] = head.tombstoned ? 1 : 0
  return value
}

export function decodeHead(value: Buffer): StreamHead {
  return {
    last: value.readDoubleBE(0),
    truncateBefore: value.readDoubleBE(8),
    tombstoned: value[16] === 1,
  }
}
