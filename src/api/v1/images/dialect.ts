import type { ImageFrame } from '../../../app/ports.ts'
import { oneLine, type StreamDialect } from '../../kit/event-stream.ts'
import { v1Error } from '../envelope.ts'

/** How streams of images are written: named events, `[DONE]` at the end. */
export const imagesDialect: StreamDialect<ImageFrame> = {
  frame: ({ event, data }) => `event: ${event}\ndata: ${oneLine(data)}\n\n`,
  failure: (error) => `data: ${JSON.stringify({ error: v1Error(error) })}\n\n`,
  end: 'data: [DONE]\n\n',
}
