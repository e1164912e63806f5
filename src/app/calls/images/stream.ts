import { IMAGES } from '../../../domain/catalog/image-rules.ts'
import type { AnswerStream } from '../../ports/provider.ts'
import type { ImageEvent, ImageFrame, ImageStream, ImageTally } from '../../ports/images.ts'
import {
  type DeliverDeps,
  deliverPicture,
  itemErrorOf,
  type DeliveryRoute,
  withoutLost,
} from './deliver.ts'

/** An event as its caller gets it. */
export interface DeliveredEvent extends ImageFrame {
  readonly terminal: boolean
}

/**
 * A stream of pictures for a caller: each is fetched and stored before its frame is sent. A picture
 * that cannot be delivered is reported as not made, and is not settled.
 */
export function deliveredStream(
  deps: DeliverDeps,
  way: DeliveryRoute,
  source: ImageStream,
): AnswerStream<DeliveredEvent, ImageTally> {
  const leaving = new AbortController()
  const signal = AbortSignal.any([way.signal, leaving.signal])
  let waiting: readonly ImageEvent[] = []
  let lost = 0
  let why: { readonly code: string } | undefined

  const deliver = async (event: ImageEvent): Promise<DeliveredEvent> => {
    const { terminal } = event
    if (event.kind === 'frame') return { ...event.frame, terminal }
    try {
      const fields = await deliverPicture(deps, { ...way, signal }, event.item)
      return { ...event.delivered(fields), terminal }
    } catch (error) {
      const itemError = itemErrorOf(error)
      lost += 1
      why = { code: itemError.code }
      return { ...event.lost(itemError), terminal }
    }
  }

  return {
    upstreamRequestId: source.upstreamRequestId,
    restMs: source.restMs,
    read: async () => {
      if (waiting.length === 0) {
        const events = await source.read()
        if (events === undefined) return undefined
        waiting = events
      }
      const [event, ...rest] = waiting
      waiting = rest
      // One at a time: a finished picture does not wait until the next is fetched.
      return event === undefined ? [] : [await deliver(event)]
    },
    tally: () => {
      const seen = withoutLost(source.tally(), lost)
      const nothingLeft = lost > 0 && seen.finished && seen.usage[IMAGES] === 0
      return nothingLeft ? { ...seen, failure: seen.failure ?? why } : seen
    },
    receivedBytes: () => source.receivedBytes(),
    endedBy: () => source.endedBy(),
    cancel: () => {
      leaving.abort()
      source.cancel()
    },
  }
}
