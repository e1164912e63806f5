import type { TextFrame } from '../../text/calls/types.ts'
import { tellingAtTheEnd, withCost } from '../../../api/kit/answer-headers.ts'
import { oneLine, type StreamDialect } from '../../../api/kit/event-stream.ts'
import { v1Error } from '../../../api/v1/envelope.ts'

function sequenceOf(data: string): number | undefined {
  const found = /"sequence_number"\s*:\s*(\d{1,15})/.exec(data)?.[1]
  return found === undefined ? undefined : Number(found)
}

/**
 * How responses streams are written: every event as it comes, known or not. What callers of this
 * surface get beside it is in it already.
 */
export function responsesDialect(): StreamDialect<TextFrame> {
  let last = ''
  return {
    ...tellingAtTheEnd((frame, cost) => {
      if (frame.data === '[DONE]') return undefined
      last = frame.data
      const data = oneLine(withCost(frame.data, cost))
      return frame.event === undefined || frame.event === ''
        ? `data: ${data}\n\n`
        : `event: ${frame.event}\ndata: ${data}\n\n`
    }),
    failure: (error) => {
      const { code, message, param } = v1Error(error)
      const sequence_number = (sequenceOf(last) ?? -1) + 1
      const data = { type: 'error', sequence_number, code, message, param }
      return `event: error\ndata: ${JSON.stringify(data)}\n\n`
    },
    end: '',
  }
}
