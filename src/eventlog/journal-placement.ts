import type { PlacedBatch } from './spool.ts'
import type { NewEvent } from './types.ts'

/** Where the single writer of a series of streams stands. */
export interface Placement {
  /** The place of the next batch; the same until `advance` or `rotate`. */
  readonly place: (events: readonly NewEvent[]) => PlacedBatch
  /** The batch placed last is, or will certainly be, in its stream. */
  readonly advance: (events: number) => void
  /** Leaves the stream for a new one: what is in it is not certain any more. */
  readonly rotate: () => void
}

export function createPlacement(
  streamName: (n: number) => string,
  rotateAfterEvents: number,
): Placement {
  let n = 0
  let written = 0
  const rotate = () => {
    n += 1
    written = 0
  }
  return {
    place: (events) => ({
      stream: streamName(n),
      expected: written === 0 ? 'no_stream' : BigInt(written - 1),
      events,
    }),
    advance: (events) => {
      written += events
      if (written >= rotateAfterEvents) rotate()
    },
    rotate,
  }
}
