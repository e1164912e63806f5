import type { TextRequest } from '../../../app/text-ports.ts'
import type { TextUsage } from '../../../domain/families/text/usage.ts'
import { malformed } from '../../kit/http/failures.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { objectsOf, parseObject, textOf } from '../../kit/http/fields.ts'
import { answeredWith } from '../../kit/text/answered.ts'
import { bytesOf } from '../../kit/text/output.ts'
import { plainError, readPlainError } from '../../kit/http/plain-errors.ts'
import type { Scrubber } from '../../kit/http/scrub.ts'
import { fromStreamError } from '../../kit/http/refusals.ts'
import type { TextReader } from '../../kit/text/wire.ts'
import { failureOf, responseView } from './convert.ts'
import { createEventRewriter } from './event-ids.ts'
import { noTools, responsesUsage, toolCounts } from './usage.ts'

const DONE = '[DONE]'
const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Follows a responses stream; events it does not know pass as they are. */
export function responsesFrameReader(request: TextRequest, scrub: Scrubber): TextReader {
  // Nothing below may hold on to the request: a stream outlives it, and it may be large.
  const { model, keptId } = request
  const said = answeredWith(request)
  const withOurIds = createEventRewriter(keptId)
  /** Finished items as they were told, for terminal events that do not repeat them. */
  const items: JsonObject[] = []
  let usage: TextUsage | undefined
  let outputBytes = 0
  let finished = false
  let failure: { readonly code: string; readonly message: string } | undefined

  const fail = (error: Parameters<typeof fromStreamError>[0]): never => {
    const thrown = fromStreamError(error, scrub)
    failure = { code: thrown.code ?? 'server_error', message: thrown.message }
    throw thrown
  }
  const follow = (type: string, body: JsonObject): void => {
    if (type.endsWith('.delta')) outputBytes += bytesOf(body['delta'])
    else if (type === 'response.output_item.added' && isJsonObject(body['item']))
      outputBytes += bytesOf(body['item']['name'])
    else if (type === 'response.output_item.done' && isJsonObject(body['item']))
      items.push(body['item'])
  }
  const withResponse = (type: string, body: JsonObject, response: JsonObject): string => {
    const told = objectsOf(response['output'])
    const tools = TERMINAL.has(type) ? toolCounts(told.length > 0 ? told : items) : noTools
    if (TERMINAL.has(type)) {
      said.note({ model: response['model'], serviceTier: response['service_tier'] })
      finished = true
      failure = failureOf(response, scrub) ?? failure
      usage = responsesUsage(response['usage'], tools)
    }
    return JSON.stringify({
      ...body,
      response: responseView(response, { model, keptId }, tools, scrub),
    })
  }

  return {
    read: ({ event, data }) => {
      if (data === DONE) return undefined
      const body = parseObject(data)
      if (body === undefined) throw malformed()
      const type = textOf(body['type']) ?? event ?? ''
      if (type === 'error' || event === 'error')
        return fail(readPlainError(body) ?? plainError(body))
      const wrapped = type === '' ? readPlainError(body) : undefined
      if (wrapped !== undefined) return fail(wrapped)
      follow(type, body)
      const { response } = body
      return {
        event: event ?? type,
        data: isJsonObject(response) ? withResponse(type, body, response) : withOurIds(data, body),
        usageOnly: false,
        terminal: finished,
      }
    },
    tally: () => ({
      usage,
      outputBytes,
      finished,
      failure,
      ...said.otherwise(),
    }),
    over: () => finished,
  }
}
