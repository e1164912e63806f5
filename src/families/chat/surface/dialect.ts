import type { TextFrame } from '../../../app/calls/text/types.ts'
import type { Cost } from '../../../domain/pricing/cost.ts'
import { isJsonObject } from '../../../kernel/json.ts'
import { costMember } from '../../../api/kit/cost.ts'
import { oneLine, type StreamDialect } from '../../../api/kit/event-stream.ts'
import { chatChunk } from './chunk.ts'
import { v1Error } from '../../../api/v1/envelope.ts'

/**
 * A chunk of ours that says what the call cost, named like the one before it. It has no `usage`:
 * clients that gather chunks would take a null for the figures.
 */
function costChunk(before: string, cost: Cost): string {
  const chunk: unknown = JSON.parse(before)
  const { id, created, model } = isJsonObject(chunk) ? chunk : {}
  const object = 'chat.completion.chunk'
  return JSON.stringify({ id, object, created, model, choices: [], cost: costMember(cost) })
}

/** How chat streams are written: `data:` lines alone, `[DONE]` at the end. */
export function chatDialect(includeUsage: boolean): StreamDialect<TextFrame> {
  let before = '{}'
  return {
    frame: (frame) => {
      const data = chatChunk(frame, includeUsage)
      if (data === undefined) return undefined
      before = data
      return `data: ${oneLine(data)}\n\n`
    },
    last: (cost) => `data: ${costChunk(before, cost)}\n\n`,
    failure: (error) => `data: ${JSON.stringify({ error: v1Error(error) })}\n\n`,
    end: 'data: [DONE]\n\n',
  }
}
