import type { TextRequest, TextTally } from '../../text/ports.ts'
import { answerIdOf } from '../../../kernel/ids.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { parseExactly, withExactIntegers } from '../../../kernel/exact-integers.ts'
import { bearerHeaders } from '../../kit/http/connections.ts'
import { type Scrubber } from '../../kit/http/scrubber.ts'
import { fromStreamError, malformed, type UpstreamError } from '../../kit/http/refusals.ts'
import { objectOf, objectsOf, parseObject, upstreamIdOf } from '../../kit/http/fields.ts'
import { readPlainError, unknownError } from '../../kit/http/error-bodies.ts'
import {
  answeredWith,
  createIdRewriter,
  createMemberRewriter,
  expectedChoices,
  OutputCount,
} from '../../text/upstream/answer-differences.ts'
import type { TextReader, TextWire } from '../../text/upstream/client.ts'
import { trackReports, wholeTally } from '../../text/upstream/report.ts'
import { chatUsage, citesPages, withShownUsage } from './usage.ts'

/** Counts the text, reasoning and calls of a message or a delta. */
function countMessage(count: OutputCount, message: unknown): void {
  if (!isJsonObject(message)) return
  count.add(message['content'])
  count.addReasoning(message['reasoning_content'])
  count.addReasoning(message['reasoning'])
  count.add(message['refusal'])
  if (isJsonObject(message['function_call'])) countCall(count, message['function_call'])
  for (const call of objectsOf(message['tool_calls'])) countCall(count, objectOf(call['function']))
}

function countCall(count: OutputCount, called: JsonObject): void {
  count.add(called['name'])
  count.add(called['arguments'])
}

const DONE = '[DONE]'

/** Why a choice was not made: relays write the failure of a model into the choice. */
function failureOfChoice(choice: JsonObject): UpstreamError | undefined {
  return readPlainError(choice) ?? (choice['finish_reason'] === 'error' ? unknownError : undefined)
}

/** The error of an answer, or of all its choices: where one is made, the answer is a result. */
function readChatError(body: unknown): UpstreamError | undefined {
  const errors = objectsOf(objectOf(body)['choices']).map(failureOfChoice)
  return readPlainError(body) ?? (errors.includes(undefined) ? undefined : errors[0])
}

/** Few chunks have usage, and fewer use other names for it: only those are serialised again. */
function withUsageShown(data: string, chunk: JsonObject): string {
  const shown = withShownUsage(chunk)
  if (shown === chunk) return data
  // `data` has the caller's name of the model, and the gateway's id, already.
  const whole = parseExactly(data)
  return JSON.stringify({ ...objectOf(whole), usage: shown['usage'] })
}

/** Follows the choices of a stream by their index. */
function trackChoices(expected: number) {
  const begun = new Set<unknown>()
  const ended = new Set<unknown>()
  const failed = new Map<unknown, UpstreamError>()
  return {
    /** Whether this part ends its choice. */
    note: (choice: JsonObject): boolean => {
      const { index, finish_reason: reason } = choice
      begun.add(index)
      const error = failureOfChoice(choice)
      if (error !== undefined) failed.set(index, error)
      const ends = error !== undefined || typeof reason === 'string'
      if (ends) ended.add(index)
      return ends
    },
    /** The error of the first one once all have failed. */
    failure: () => (failed.size >= expected ? [...failed.values()][0] : undefined),
    begun: () => begun.size,
    /**
     * Whether the result is whole. An end mark alone is none. Some servers answer with fewer choices,
     * and write no end mark.
     */
    isWhole: (by: { readonly done: boolean; readonly bodyEnded: boolean }, hasUsage: boolean) => {
      if (by.done && begun.size > failed.size) return true
      const isOver = by.bodyEnded && hasUsage && begun.size > 0
      return ended.size >= (isOver ? Math.min(begun.size, expected) : expected)
    },
  }
}

/** Follows a chat stream; the surface decides whether a caller sees usage. */
function chatFrameReader(request: TextRequest, scrub: Scrubber): TextReader {
  const rewriteModel = createMemberRewriter('model', request.model)
  const ids = createIdRewriter('id', answerIdOf(request.callId))
  const said = answeredWith(request)
  let cites = false
  const reports = trackReports((report) => chatUsage(report, cites))
  const count = new OutputCount()
  const tracked = trackChoices(expectedChoices(request.body['n']))
  const over = { done: false, bodyEnded: false }
  let failure: TextTally['failure']

  const fail = (error: UpstreamError): never => {
    const thrown = fromStreamError(error, scrub)
    failure = { code: thrown.code ?? 'upstream_error', message: thrown.message }
    throw thrown
  }
  /** Takes a chunk's choices into account; true where it ends one of them. */
  const follow = (choices: readonly JsonObject[]): boolean => {
    let ends = false
    for (const choice of choices) {
      countMessage(count, choice['delta'])
      cites ||= citesPages(choice['delta'])
      if (tracked.note(choice)) ends = true
    }
    const error = tracked.failure()
    return error === undefined ? ends : fail(error)
  }

  return {
    read: ({ event, data }) => {
      if (data === DONE) {
        over.done = true
        return undefined
      }
      const chunk = parseObject(data)
      if (chunk === undefined) throw malformed()
      const error = readPlainError(chunk)
      if (error !== undefined || event === 'error') fail(error ?? unknownError)
      said.note({ model: chunk['model'], serviceTier: chunk['service_tier'] })
      reports.note(chunk['usage'])
      const choices = objectsOf(chunk['choices'])
      const ends = follow(choices)
      const usageOnly = choices.length === 0 && isJsonObject(chunk['usage'])
      return {
        event: undefined,
        data: withUsageShown(rewriteModel(ids.rewrite(data, chunk), chunk), chunk),
        usageOnly,
        terminal: ends || usageOnly,
      }
    },
    tally: () => {
      const reading = reports.reading()
      const finished = tracked.isWhole(over, reading.usage !== undefined)
      const heard = { output: () => count.size(tracked.begun()), finished, failure }
      return { ...reading, ...heard, ...said.otherwise() }
    },
    bodyEnded: () => {
      over.bodyEnded = true
    },
    upstreamId: ids.upstreamId,
    over: () => over.done,
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
  members: ['messages', 'tools', 'tool_choice', 'functions', 'response_format'],
  path: () => '/chat/completions',
  requestBody,
  readError: readChatError,
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
          output: () => {
            const count = new OutputCount()
            for (const choice of choices) countMessage(count, choice['message'])
            return count.size(choices.length)
          },
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
  // Some servers stream unless a request says that they must not.
  if (!streamed) return { ...body, model: request.upstreamModel, stream: false }
  return {
    ...body,
    model: request.upstreamModel,
    stream: true,
    // Without this, the stream would end without usage to bill.
    stream_options: { ...objectOf(options), include_usage: true },
  }
}
