import type { TextRequest, TextTally } from '../../text/ports.ts'
import type { CallerNames } from '../ports.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { withExactIntegers } from '../../../kernel/exact-integers.ts'
import { bearerHeaders } from '../../kit/http/connections.ts'
import { type Scrubber } from '../../kit/http/scrubber.ts'
import {
  afterAcceptance,
  fromStreamError,
  malformed,
  type UpstreamError,
} from '../../kit/http/refusals.ts'
import { objectOf, objectsOf, parseObject, textOf } from '../../kit/http/fields.ts'
import { plainError, readPlainError } from '../../kit/http/error-bodies.ts'
import {
  answeredWith,
  createMemberRewriter,
  type MemberRewriter,
  OutputCount,
} from '../../text/upstream/answer-differences.ts'
import type { CountingWire, TextReader } from '../../text/upstream/client.ts'
import { trackReports, wholeTally } from '../../text/upstream/report.ts'
import {
  failureOf,
  itemView,
  noTools,
  outputSize,
  responsesUsage,
  responseView,
  toolCounts,
} from './convert.ts'

/** An item as later events of its stream refer to it. */
interface Shown {
  readonly id: string
  readonly rewrite: MemberRewriter
}

/**
 * Puts the gateway's ids into the events of a stream that hold no response. Only events that refer
 * to something that upstream keeps are changed.
 */
function createEventRewriter(
  keptId: CallerNames['keptId'],
): (data: string, event: JsonObject) => string {
  /** Items that have begun, by upstream's id. */
  const items = new Map<string, Shown>()
  const begin = (item: JsonObject): JsonObject | undefined => {
    const upstreamId = textOf(item['id'])
    if (upstreamId === undefined) return undefined
    const id = keptId('item', upstreamId)
    items.set(upstreamId, { id, rewrite: createMemberRewriter('item_id', id) })
    return itemView(item, keptId)
  }
  return (data, parsed) => {
    const responseId = textOf(parsed['response_id'])
    const about = items.get(textOf(parsed['item_id']) ?? '')
    if (!isJsonObject(parsed['item']) && responseId === undefined)
      return about?.rewrite(data, parsed) ?? data
    const event = withExactIntegers(parsed, data)
    const item = isJsonObject(event['item']) ? begin(event['item']) : undefined
    if (item === undefined && responseId === undefined) return about?.rewrite(data, parsed) ?? data
    return JSON.stringify({
      ...event,
      ...(item === undefined ? {} : { item }),
      ...(about === undefined ? {} : { item_id: about.id }),
      ...(responseId === undefined ? {} : { response_id: keptId('response', responseId) }),
    })
  }
}

const DONE = '[DONE]'
const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Follows a responses stream; unknown events pass unchanged. */
export function responsesFrameReader(request: TextRequest, scrub: Scrubber): TextReader {
  // The code below must not keep a reference to the request: a stream lives longer, and the request
  // may be large.
  const { model, keptId } = request
  const said = answeredWith(request)
  const withOurIds = createEventRewriter(keptId)
  /** Finished items as received, for terminal events that do not repeat them. */
  const items: JsonObject[] = []
  let counted = noTools
  const reports = trackReports((report) => responsesUsage(report, counted))
  const count = new OutputCount()
  let finished = false
  let failure: TextTally['failure']

  const fail = (error: Parameters<typeof fromStreamError>[0]): never => {
    const thrown = fromStreamError(error, scrub)
    failure = { code: thrown.code ?? 'server_error', message: thrown.message }
    throw thrown
  }
  const withResponse = (type: string, body: JsonObject, data: string): string => {
    const shown = withExactIntegers(body, data)
    const response = objectOf(shown['response'])
    const output = objectsOf(response['output'])
    const tools = TERMINAL.has(type) ? toolCounts(output.length > 0 ? output : items) : noTools
    reports.note(response['usage'])
    if (TERMINAL.has(type)) {
      said.note({ model: response['model'], serviceTier: response['service_tier'] })
      finished = true
      failure = failureIn(response, scrub) ?? failure
      counted = tools
    }
    return JSON.stringify({
      ...shown,
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
      countEvent(count, type, body)
      if (type === 'response.output_item.done' && isJsonObject(body['item']))
        items.push(body['item'])
      const { response } = body
      return {
        event: event ?? type,
        data: isJsonObject(response) ? withResponse(type, body, data) : withOurIds(data, body),
        usageOnly: false,
        terminal: finished,
      }
    },
    tally: () => {
      const ended = { output: () => count.size(1), finished, failure }
      return { ...reports.reading(), ...ended, ...said.otherwise() }
    },
    over: () => finished,
  }
}

/** Why a response failed; a rate limit also gives its channel a rest. */
function failureIn(response: JsonObject, scrub: Scrubber): TextTally['failure'] {
  const failure = failureOf(response, scrub)
  const error = readPlainError(response)
  if (failure === undefined || error?.rateLimited !== true) return failure
  return { ...failure, error: afterAcceptance(fromStreamError(error, scrub)) }
}

/** Counts what an event adds to the output. */
function countEvent(count: OutputCount, type: string, { delta, item }: JsonObject): void {
  if (type.startsWith('response.reasoning')) count.addReasoning(delta)
  else if (type.endsWith('.delta')) count.add(delta)
  else if (type === 'response.output_item.added' && isJsonObject(item)) count.add(item['name'])
}

/**
 * The error of a body. A failed response is a result of this wire, with its error inside; but one
 * that met a rate limit before it had any output is a refusal: another channel may answer.
 */
function readResponsesError(body: unknown): UpstreamError | undefined {
  const error = readPlainError(body)
  const { output } = objectOf(body)
  if (!Array.isArray(output)) return error
  return output.length === 0 && error?.rateLimited === true ? error : undefined
}

/** Responses. */
export const responsesWire: CountingWire = {
  credentialHeaders: bearerHeaders,
  members: ['input', 'tools', 'tool_choice', 'text', 'reasoning'],
  path: () => '/responses',
  requestBody,
  readError: readResponsesError,
  readAnswer: (body, request, scrub, text) => {
    if (!Array.isArray(body['output'])) return undefined
    const output = objectsOf(body['output'])
    const tools = toolCounts(output)
    return {
      body: responseView(withExactIntegers(body, text), request, tools, scrub),
      tally: () => {
        const said = answeredWith(request)
        said.note({ model: body['model'], serviceTier: body['service_tier'] })
        return wholeTally(body['usage'], responsesUsage(body['usage'], tools), {
          output: () => outputSize(output),
          failure: failureOf(body, scrub),
          ...said.otherwise(),
        })
      },
    }
  },
  frameReader: responsesFrameReader,
  count: {
    path: () => '/responses/input_tokens',
    body: ({ body, upstreamModel: model }) => ({ ...body, model }),
    figure: 'input_tokens',
  },
}

function requestBody(request: TextRequest, streamed: boolean): JsonObject {
  const { stream: _stream, ...body } = request.body
  return {
    ...body,
    model: request.upstreamModel,
    // Some servers stream unless a request says that they must not.
    stream: streamed,
  }
}
