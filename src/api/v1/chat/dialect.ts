import type { TextFrame } from '../../../app/calls/text/types.ts'
import { oneLine, type StreamDialect } from '../../kit/event-stream.ts'
import { chatChunk } from './chunk.ts'
import { v1Error } from '../envelope.ts'

/** How chat streams are written: `data:` lines alone, `[DONE]` at the end. */
export function chatDialect(includeUsage: boolean): StreamDialect<TextFrame> {
  return {
    frame: (frame) => {
      const data = chatChunk(frame, includeUsage)
      return data === undefined ? undefined : `data: ${oneLine(data)}\n\n`
    },
    failure: (error) => `data: ${JSON.stringify({ error: v1Error(error) })}\n\n`,
    end: 'data: [DONE]\n\n',
  }
}
