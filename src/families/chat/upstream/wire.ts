import type { TextRequest } from '../../../app/text-ports.ts'
import { objectOf, objectsOf } from '../../kit/http/fields.ts'
import { readPlainError } from '../../kit/http/plain-errors.ts'
import { bearerHeaders } from '../../kit/http/credential.ts'
import { answeredWith } from '../../kit/text/answered.ts'
import type { TextWire } from '../../kit/text/wire.ts'
import { chatFrameReader } from './frames.ts'
import { chatOutputBytes } from './output.ts'
import { chatUsage, citesPages, countedSearches, withSearches } from './usage.ts'
import { withShownUsage } from './usage-view.ts'

/** Chat completions. */
export const chatWire: TextWire = {
  family: 'chat',
  credentialHeaders: bearerHeaders,
  path: () => '/chat/completions',
  requestBody,
  readError: readPlainError,
  readAnswer: (body, request) => {
    const choices = objectsOf(body['choices'])
    // Without choices it is no answer; nothing may be delivered or billed for it (P5).
    if (choices.length === 0) return undefined
    return {
      body: withShownUsage({ ...body, model: request.model }),
      tally: () => {
        const usage = withSearches(
          chatUsage(body['usage']),
          countedSearches(body['usage']),
          choices.some((choice) => citesPages(choice['message'])),
        )
        const said = answeredWith(request)
        said.note({ model: body['model'], serviceTier: body['service_tier'] })
        const outputBytes = usage
          ? 0
          : choices.reduce((sum, choice) => sum + chatOutputBytes(choice['message']), 0)
        return { usage, outputBytes, finished: true, failure: undefined, ...said.otherwise() }
      },
    }
  },
  frameReader: chatFrameReader,
}

function requestBody(request: TextRequest, streamed: boolean): string {
  const { stream: _stream, stream_options: options, ...body } = request.body
  if (!streamed) return JSON.stringify({ ...body, model: request.upstreamModel })
  return JSON.stringify({
    ...body,
    model: request.upstreamModel,
    stream: true,
    // Without it the stream would end without figures to bill.
    stream_options: { ...objectOf(options), include_usage: true },
  })
}
