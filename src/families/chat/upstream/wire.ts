import type { TextRequest } from '../../text/ports.ts'
import { noTextUsage } from '../../text/rules/tokens.ts'
import { answerIdOf } from '../../../kernel/ids.ts'
import { countOf, isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { parseExactly, withExactIntegers } from '../../../kernel/exact-integers.ts'
import { bearerHeaders } from '../../kit/http/connections.ts'
import { type Scrubber } from '../../kit/http/scrubber.ts'
import { fromStreamError, malformed } from '../../kit/http/refusals.ts'
import {
  countOrZero,
  isGiven,
  objectOf,
  objectsOf,
  parseObject,
  upstreamIdOf,
} from '../../kit/http/fields.ts'
import { readPlainError, unknownError } from '../../kit/http/error-bodies.ts'
import {
  answeredWith,
  bytesOf,
  cacheUsageOf,
  createIdRewriter,
  createMemberRewriter,
  expectedChoices,
  isWriteName,
  mentionsWrites,
  WRITTEN,
  WRITTEN_1H,
  WRITTEN_5M,
} from '../../text/upstream/answer-differences.ts'
import type { TextReader, TextWire } from '../../text/upstream/client.ts'
import {
  NOTHING_READ,
  readFigures,
  type TextReading,
  trackReports,
  wholeTally,
} from '../../text/upstream/report.ts'

/** UTF-8 bytes of the text, reasoning and calls of a message or a delta. */
function chatOutputBytes(message: unknown): number {
  if (!isJsonObject(message)) return 0
  let bytes =
    bytesOf(message['content']) +
    bytesOf(message['reasoning_content']) +
    bytesOf(message['reasoning']) +
    bytesOf(message['refusal'])
  if (isJsonObject(message['function_call'])) bytes += callBytes(message['function_call'])
  for (const call of objectsOf(message['tool_calls']))
    bytes += callBytes(objectOf(call['function']))
  return bytes
}

function callBytes(called: JsonObject): number {
  return bytesOf(called['name']) + bytesOf(called['arguments'])
}

function withoutWrites(holder: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(holder).filter(([name]) => !isWriteName(name)))
}

function firstCount(places: readonly JsonObject[], names: readonly string[]): number {
  for (const place of places)
    for (const name of names) {
      const value = place[name]
      if (typeof value === 'number' && value > 0) return value
    }
  return 0
}

/**
 * `usage` as callers see it: cache writes under one set of names, left out when there are none.
 * Writes that upstream does not split count as 5-minute ones, as they are billed.
 */
function shownUsage(usage: JsonObject): JsonObject {
  const details = objectOf(usage['prompt_tokens_details'])
  if (!mentionsWrites(details) && !mentionsWrites(usage)) return usage
  const places = [
    details,
    usage,
    objectOf(details['cache_creation']),
    objectOf(usage['cache_creation']),
  ]
  const oneHour = firstCount(places, WRITTEN_1H)
  const split = firstCount(places, WRITTEN_5M)
  const total = Math.max(firstCount(places, WRITTEN), split + oneHour)
  const fiveMinutes = total - oneHour
  return {
    ...withoutWrites(usage),
    prompt_tokens_details: {
      ...withoutWrites(details),
      ...(total > 0 ? { cached_write_tokens: total } : {}),
      ...(fiveMinutes > 0 ? { cached_write_5m_tokens: fiveMinutes } : {}),
      ...(oneHour > 0 ? { cached_write_1h_tokens: oneHour } : {}),
    },
  }
}

/** An answer or chunk with the `usage` that callers see; the same object if nothing differs. */
function withShownUsage(body: JsonObject): JsonObject {
  const { usage } = body
  if (!isJsonObject(usage)) return body
  const shown = shownUsage(usage)
  return shown === usage ? body : { ...body, usage: shown }
}

/**
 * The `usage` of chat by billing unit: cache hits and writes come out of `prompt_tokens`, reasoning
 * is part of `completion_tokens`.
 */
export function chatUsage(usage: unknown, cites = false): TextReading {
  if (!isJsonObject(usage)) return NOTHING_READ
  const searches = countedSearches(usage) ?? (cites ? 1 : 0)
  return readFigures({
    input: countOf(usage['prompt_tokens']),
    output: countOf(usage['completion_tokens']),
    cache: cacheUsageOf(objectOf(usage['prompt_tokens_details']), usage),
    reasoning: countOf(objectOf(usage['completion_tokens_details'])['reasoning_tokens']),
    total: countOf(usage['total_tokens']),
    tools: searches === 0 ? noTextUsage : { ...noTextUsage, 'web-search-call': searches },
  })
}

/** The paths below `usage` where upstreams report the number of searches. */
const SEARCH_COUNTERS = [
  ['server_tool_use', 'web_search_requests'],
  ['server_tool_usage', 'web_search_calls'],
  ['tool_usage', 'web_search'],
] as const

/** Searches that a `usage` counts; undefined when it counts none. */
export function countedSearches(usage: unknown): number | undefined {
  if (!isJsonObject(usage)) return undefined
  for (const [holder, counter] of SEARCH_COUNTERS) {
    const count = objectOf(usage[holder])[counter]
    if (isGiven(count)) return countOrZero(count)
  }
  return undefined
}

/** Whether a message or a delta cites web pages, which shows that there was a search. */
export function citesPages(message: unknown): boolean {
  if (!isJsonObject(message) || message['annotations'] === undefined) return false
  return objectsOf(message['annotations']).some(({ type }) => type === 'url_citation')
}

const DONE = '[DONE]'

/** Few chunks have usage, and fewer use other names for it: only those are serialised again. */
function withUsageShown(data: string, chunk: JsonObject): string {
  const shown = withShownUsage(chunk)
  if (shown === chunk) return data
  // `data` has the caller's name of the model, and the gateway's id, already.
  const whole = parseExactly(data)
  return JSON.stringify({ ...objectOf(whole), usage: shown['usage'] })
}

/** Follows a chat stream; the surface decides whether a caller sees usage. */
function chatFrameReader(request: TextRequest, scrub: Scrubber): TextReader {
  const rewriteModel = createMemberRewriter('model', request.model)
  const ids = createIdRewriter('id', answerIdOf(request.callId))
  const said = answeredWith(request)
  let cites = false
  const reports = trackReports((report) => chatUsage(report, cites))
  let outputBytes = 0
  const expected = expectedChoices(request.body['n'])
  const ended = new Set<unknown>()
  let done = false
  let over = false
  let failure: { readonly code: string; readonly message: string } | undefined

  /** Takes a chunk's choices into account; true where it ends one of them. */
  const follow = (choices: readonly JsonObject[]): boolean => {
    let ends = false
    for (const choice of choices) {
      outputBytes += chatOutputBytes(choice['delta'])
      cites ||= citesPages(choice['delta'])
      if (typeof choice['finish_reason'] !== 'string') continue
      ended.add(choice['index'])
      ends = true
    }
    return ends
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
      const ends = follow(choices)
      said.note({ model: chunk['model'], serviceTier: chunk['service_tier'] })
      reports.note(chunk['usage'])
      const usageOnly = choices.length === 0 && isJsonObject(chunk['usage'])
      return {
        event: undefined,
        data: withUsageShown(rewriteModel(ids.rewrite(data, chunk), chunk), chunk),
        usageOnly,
        terminal: ends || usageOnly,
      }
    },
    tally: () => {
      const finished = done || ended.size >= expected
      const heard = { outputBytes: () => outputBytes, finished, failure }
      return { ...reports.reading(), ...heard, ...said.otherwise() }
    },
    upstreamId: ids.upstreamId,
    over: () => over,
  }
}

/**
 * The answer for the caller: upstream's text with the external model name and the gateway's id, if
 * nothing else differs.
 */
function shownAnswer(
  body: JsonObject,
  { model, callId }: Pick<TextRequest, 'model' | 'callId'>,
  text: string,
): { readonly body: JsonObject | string; readonly upstreamId: string | undefined } {
  const id = answerIdOf(callId)
  const shown = withShownUsage(body)
  if (shown !== body || typeof body['model'] !== 'string') {
    const usage = 'usage' in shown ? { usage: shown['usage'] } : {}
    const answer = { ...withExactIntegers(body, text), ...usage, model, id }
    return { body: answer, upstreamId: upstreamIdOf(body['id']) }
  }
  const ids = createIdRewriter('id', id)
  const named = createMemberRewriter('model', model)(ids.rewrite(text, body), body)
  return { body: named, upstreamId: ids.upstreamId() }
}

/** Chat completions. */
export const chatWire: TextWire = {
  credentialHeaders: bearerHeaders,
  path: () => '/chat/completions',
  requestBody,
  readError: readPlainError,
  readAnswer: (body, request, _scrub, text) => {
    const choices = objectsOf(body['choices'])
    // An answer without choices is malformed; it must not be delivered or billed (P5).
    if (choices.length === 0) return undefined
    return {
      ...shownAnswer(body, request, text),
      tally: () => {
        const said = answeredWith(request)
        said.note({ model: body['model'], serviceTier: body['service_tier'] })
        const cites = choices.some((choice) => citesPages(choice['message']))
        return wholeTally(body['usage'], chatUsage(body['usage'], cites), {
          outputBytes: () =>
            choices.reduce((sum, choice) => sum + chatOutputBytes(choice['message']), 0),
          failure: undefined,
          ...said.otherwise(),
        })
      },
    }
  },
  frameReader: chatFrameReader,
}

function requestBody(request: TextRequest, streamed: boolean): JsonObject {
  const { stream: _stream, stream_options: options, ...body } = request.body
  if (!streamed) return { ...body, model: request.upstreamModel }
  return {
    ...body,
    model: request.upstreamModel,
    stream: true,
    // Without this, the stream would end without usage to bill.
    stream_options: { ...objectOf(options), include_usage: true },
  }
}
