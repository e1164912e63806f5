import { isJsonObject } from '../../../kernel/json.ts'
import { answeredWith } from '../../kit/text/answered.ts'
import type { TextWire } from '../../kit/text/wire.ts'
import { keyHeaders } from '../../kit/http/credential.ts'
import { readNativeError } from '../../kit/http/native-errors.ts'
import { nativeFrameReader } from './frames.ts'
import { addSearches, nativeAnsweredWith, nativeOutputBytes, nativeUsage } from './usage.ts'

/** Native content generation. */
export const nativeWire: TextWire = {
  family: 'native',
  credentialHeaders: keyHeaders,
  path: (request, streamed) => {
    const model = encodeURIComponent(request.upstreamModel)
    return streamed
      ? `/models/${model}:streamGenerateContent?alt=sse`
      : `/models/${model}:generateContent`
  },
  requestBody: (request) => JSON.stringify(request.body),
  readError: readNativeError,
  readAnswer: (body, request) => {
    if (!Array.isArray(body['candidates']) && !isJsonObject(body['promptFeedback']))
      return undefined
    return {
      body: 'modelVersion' in body ? { ...body, modelVersion: request.model } : body,
      tally: () => {
        const searches = new Set<string>()
        addSearches(body, searches)
        const usage = nativeUsage(body['usageMetadata'], searches.size)
        const outputBytes = usage ? 0 : nativeOutputBytes(body)
        const said = answeredWith(request)
        said.note(nativeAnsweredWith(body))
        return { usage, outputBytes, finished: true, failure: undefined, ...said.otherwise() }
      },
    }
  },
  frameReader: nativeFrameReader,
}
