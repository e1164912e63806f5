import type { TextRequest } from '../../../app/text-ports.ts'
import type { TextUsage } from '../../../domain/families/text/usage.ts'
import { malformed } from '../../kit/http/failures.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { objectsOf, parseObject } from '../../kit/http/fields.ts'
import { answeredWith } from '../../kit/text/answered.ts'
import { expectedChoices } from '../../kit/text/output.ts'
import { readPlainError, unknownError } from '../../kit/http/plain-errors.ts'
import { createMemberRewriter } from '../../kit/text/rewrite.ts'
import type { Scrubber } from '../../kit/http/scrub.ts'
import { fromStreamError } from '../../kit/http/refusals.ts'
import type { TextReader } from '../../kit/text/wire.ts'
import { chatOutputBytes } from './output.ts'
import { chatUsage, citesPages, countedSearches, withSearches } from './usage.ts'
import { withShownUsage } from './usage-view.ts'

const DONE = '[DONE]'

/** Few chunks have usage, and fewer name it otherwise: only those are written anew. */
function withUsageShown(data: string, chunk: JsonObject): string {
  const shown = withShownUsage(chunk)
  return shown === chunk ? data : JSON.stringify({ ...parseObject(data), usage: shown['usage'] })
}

/** Follows a chat stream; whether a caller sees usage is its surface's business. */
export function chatFrameReader(request: TextRequest, scrub: Scrubber): TextReader {
  const rewriteModel = createMemberRewriter('model', request.model)
  const said = answeredWith(request)
  let usage: TextUsage | undefined
  let searches: number | undefined
  let cites = false
  let outputBytes = 0
  const expected = expectedChoices(request.body['n'])
  const ended = new Set<unknown>()
  let done = false
  let over = false
  let failure: { readonly code: string; readonly message: string } | undefined

  /** Takes a chunk's choices into account. */
  const follow = (choices: readonly JsonObject[]): void => {
    for (const choice of choices) {
      outputBytes += chatOutputBytes(choice['delta'])
      cites ||= citesPages(choice['delta'])
      if (typeof choice['finish_reason'] === 'string') ended.add(choice['index'])
    }
  }

  return {
    read: ({ event, data }) => {
      if (data === DONE) {
        done = true
        over = true
        return undefined
      }
      const chunk = parseObject(data)
      if (chunk === undefined) throw malformed()
      const error = readPlainError(chunk)
      if (error !== undefined || event === 'error') {
        const thrown = fromStreamError(error ?? unknownError, scrub)
        failure = { code: thrown.code ?? 'upstream_error', message: thrown.message }
        throw thrown
      }
      const choices = objectsOf(chunk['choices'])
      follow(choices)
      said.note({ model: chunk['model'], serviceTier: chunk['service_tier'] })
      usage = chatUsage(chunk['usage']) ?? usage
      searches = countedSearches(chunk['usage']) ?? searches
      const usageOnly = choices.length === 0 && isJsonObject(chunk['usage'])
      return {
        event: undefined,
        data: withUsageShown(rewriteModel(data, chunk), chunk),
        usageOnly,
        terminal: ended.size > 0 || usageOnly,
      }
    },
    tally: () => {
      const finished = done || ended.size >= expected
      const counted = withSearches(usage, searches, cites)
      return { usage: counted, outputBytes, finished, failure, ...said.otherwise() }
    },
    over: () => over,
  }
}
