import { withExactIntegers } from '../../../kernel/exact-integers.ts'
import type { TextWire } from '../../text/upstream/client.ts'
import { wholeTally } from '../../text/upstream/report.ts'
import { objectsOf } from '../../kit/http/fields.ts'
import { OutputCount } from '../../text/upstream/answer-differences.ts'
import { noTools, responsesUsage, responseView } from './convert.ts'
import { responsesWire } from './wire.ts'

/** Compacts a conversation: the answer has what is left of its items, and the summary of the rest. */
export const compactWire: TextWire = {
  ...responsesWire,
  path: () => '/responses/compact',
  // The provider bounds a summary itself, and does not stream it.
  requestBody: ({ body, upstreamModel: model }) => {
    const { max_output_tokens: _bound, stream: _stream, ...rest } = body
    return { ...rest, model }
  },
  readAnswer: (body, request, scrub, text) => {
    if (!Array.isArray(body['output'])) return undefined
    const output = objectsOf(body['output'])
    // Items that are left were billed when they were made, so no tool is counted here.
    const { tool_calls: _left, ...shown } = responseView(
      withExactIntegers(body, text),
      request,
      noTools,
      scrub,
    )
    return {
      body: shown,
      tally: () =>
        wholeTally(body['usage'], responsesUsage(body['usage'], noTools), {
          output: () => {
            const count = new OutputCount()
            for (const { type, encrypted_content: summary } of output)
              if (type === 'compaction') count.add(summary)
            return count.size(1)
          },
          failure: undefined,
        }),
    }
  },
}
