import type { TextRequest } from '../../../app/text-ports.ts'
import type { TextUsage } from '../../../domain/families/text/usage.ts'
import { malformed } from '../../kit/http/failures.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { objectOf, objectsOf, parseObject, textOf } from '../../kit/http/fields.ts'
import { answeredWith } from '../../kit/text/answered.ts'
import { expectedChoices } from '../../kit/text/output.ts'
import { createMemberRewriter } from '../../kit/text/rewrite.ts'
import type { Scrubber } from '../../kit/http/scrub.ts'
import { fromStreamError } from '../../kit/http/refusals.ts'
import { readNativeError } from '../../kit/http/native-errors.ts'
import type { TextReader } from '../../kit/text/wire.ts'
import { addSearches, nativeAnsweredWith, nativeOutputBytes, nativeUsage } from './usage.ts'

/** Follows a native stream: usage is cumulative, the last one counts. */
export function nativeFrameReader(request: TextRequest, scrub: Scrubber): TextReader {
  const rewriteModel = createMemberRewriter('modelVersion', request.model)
  let usage: TextUsage | undefined
  const said = answeredWith(request)
  const searches = new Set<string>()
  let outputBytes = 0
  const expected = expectedChoices(objectOf(request.body['generationConfig'])['candidateCount'])
  const ended = new Set<unknown>()
  let blocked = false
  let failure: { readonly code: string; readonly message: string } | undefined
  return {
    read: ({ data }) => {
      const body = parseObject(data)
      if (body === undefined) throw malformed()
      const error = readNativeError(body)
      if (error !== undefined) {
        const thrown = fromStreamError(error, scrub)
        failure = { code: thrown.code ?? 'UNKNOWN', message: thrown.message }
        throw thrown
      }
      outputBytes += nativeOutputBytes(body)
      addSearches(body, searches)
      usage = nativeUsage(body['usageMetadata'], searches.size) ?? usage
      said.note(nativeAnsweredWith(body))
      blocked ||= isBlocked(body)
      for (const candidate of objectsOf(body['candidates']))
        if (textOf(candidate['finishReason']) !== undefined) ended.add(candidate['index'] ?? 0)
      return {
        event: undefined,
        data: rewriteModel(data, body),
        usageOnly: false,
        terminal: blocked || ended.size > 0,
      }
    },
    tally: () => {
      const finished = blocked || ended.size >= expected
      return { usage, outputBytes, finished, failure, ...said.otherwise() }
    },
    // There is no end mark; figures may follow the reason until the connection ends.
    over: () => false,
  }
}

/** Whether the prompt was held back: then that is the whole result. */
function isBlocked(body: JsonObject): boolean {
  return textOf(objectOf(body['promptFeedback'])['blockReason']) !== undefined
}
