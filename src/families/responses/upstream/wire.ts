import type { TextRequest } from '../../../app/text-ports.ts'
import { bearerHeaders } from '../../kit/http/credential.ts'
import { objectsOf } from '../../kit/http/fields.ts'
import { readPlainError } from '../../kit/http/plain-errors.ts'
import { answeredWith } from '../../kit/text/answered.ts'
import type { TextWire } from '../../kit/text/wire.ts'
import { failureOf, outputBytes, responseView } from './convert.ts'
import { responsesFrameReader } from './frames.ts'
import { responsesUsage, toolCounts } from './usage.ts'

/** Responses. */
export const responsesWire: TextWire = {
  family: 'responses',
  credentialHeaders: bearerHeaders,
  path: () => '/responses',
  requestBody,
  readError: readPlainError,
  readAnswer: (body, request, scrub) => {
    if (!Array.isArray(body['output'])) return undefined
    const output = objectsOf(body['output'])
    const tools = toolCounts(output)
    return {
      body: responseView(body, request, tools, scrub),
      tally: () => {
        const usage = responsesUsage(body['usage'], tools)
        const said = answeredWith(request)
        said.note({ model: body['model'], serviceTier: body['service_tier'] })
        return {
          usage,
          outputBytes: usage ? 0 : outputBytes(output),
          finished: true,
          failure: failureOf(body, scrub),
          ...said.otherwise(),
        }
      },
    }
  },
  frameReader: responsesFrameReader,
}

function requestBody(request: TextRequest, streamed: boolean): string {
  const { stream: _stream, ...body } = request.body
  return JSON.stringify({
    ...body,
    model: request.upstreamModel,
    ...(streamed ? { stream: true } : {}),
  })
}
