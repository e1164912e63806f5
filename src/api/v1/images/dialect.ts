import type { ImageFrame } from '../../../app/image-ports.ts'
import { tellingAtTheEnd, withCost } from '../../kit/cost.ts'
import { oneLine, type StreamDialect } from '../../kit/event-stream.ts'
import { v1Error } from '../envelope.ts'

/** How streams of images are written: named events, `[DONE]` at the end. */
export function imagesDialect(): StreamDialect<ImageFrame> {
  return {
    ...tellingAtTheEnd(
      ({ event, data }, cost) => `event: ${event}\ndata: ${oneLine(withCost(data, cost))}\n\n`,
    ),
    failure: (error) => `data: ${JSON.stringify({ error: v1Error(error) })}\n\n`,
    end: 'data: [DONE]\n\n',
  }
}
