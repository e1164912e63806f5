import type { PlacedBatch } from './spool-record.ts'
import type { NewEvent } from '../log/types.ts'

/** Who brings a batch into the log: the journal at once, or the spool later. */
export type Carrier = 'journal' | 'spool'

/** Where the next batch of a series of streams goes. */
export interface Placement {
  /**
   * The place of the next batch; the same until `advance` or `leave`. Both carriers never write to
   * one stream: neither waits for the other, and what is in a stream stays certain.
   */
  readonly place: (events: readonly NewEvent[], carrier: Carrier) => PlacedBatch
  /** The batch placed last is, or will certainly be, in its stream. */
  readonly advance: (events: number) => void
  /** Leaves the stream for a new one: what is in it is not certain any more. */
  readonly leave: () => void
}

export function createPlacement(
  streamName: (n: number) => string,
  rotateAfterEvents: number,
): Placement {
  let n = 0
  let written = 0
  let carriedBy: Carrier = 'journal'
  const leave = () => {
    n += 1
    written = 0
  }
  return {
    place: (events, carrier) => {
      if (carrier !== carriedBy && written > 0) leave()
      carriedBy = carrier
      return {
        stream: streamName(n),
        expected: written === 0 ? 'no_stream' : BigInt(written - 1),
        events,
      }
    },
    advance: (events) => {
      written += events
      if (written >= rotateAfterEvents) leave()
    },
    leave,
  }
}
