import { messageIdOf } from '../../../kernel/ids.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { readPlainError, unknownError } from '../../kit/http/error-bodies.ts'
import { objectOf, objectsOf, parseObject, textOf, upstreamIdOf } from '../../kit/http/fields.ts'
import { fromStreamError, malformed, type UpstreamError } from '../../kit/http/refusals.ts'
import type { Scrubber } from '../../kit/http/scrubber.ts'
import type { TextRequest, TextTally } from '../../text/ports.ts'
import { answeredWith, OutputCount } from '../../text/upstream/answer-differences.ts'
import type { CountingWire, TextReader } from '../../text/upstream/client.ts'
import { trackReports, wholeTally } from '../../text/upstream/report.ts'
import { spliced } from '../../text/upstream/splice.ts'
import { messagesRules } from '../rules/wire.ts'
import { messagesSettings } from '../settings.ts'
import { messagesUsage, servedTier } from './usage.ts'

/** The HTTP status of the types of errors that other wires do not have. */
const STATUS_OF_TYPE: ReadonlyMap<string, number> = new Map([
  ['billing_error', 402],
  ['conflict_error', 409],
  ['request_too_large', 413],
  ['api_error', 500],
  ['timeout_error', 504],
])

/** The envelope `{"type":"error","error":{type,message}}`; undefined for another body. */
export function readMessagesError(body: unknown): UpstreamError | undefined {
  const error = readPlainError(body)
  return error && { ...error, status: error.status ?? STATUS_OF_TYPE.get(error.type ?? '') }
}

/** The version of the wire where neither the caller nor the channel names one. */
const USUAL_VERSION = '2023-06-01'

/** Counts what the model wrote in a block; signatures are no output of the model. */
function countBlock(count: OutputCount, block: JsonObject): void {
  const input = objectOf(block['input'])
  count.add(block['text'])
  count.addReasoning(block['thinking'])
  count.add(block['name'])
  // Streams begin the use of a tool with an empty object.
  if (Object.keys(input).length > 0) count.add(JSON.stringify(input))
}

function countDelta(count: OutputCount, delta: JsonObject): void {
  count.add(delta['text'])
  count.addReasoning(delta['thinking'])
  count.add(delta['partial_json'])
}

/** A `usage` whose parts name the model as the caller does; undefined where none names one. */
function usageShown(json: string, model: string): string | undefined {
  if (!json.includes('"iterations"')) return undefined
  const usage = objectOf(JSON.parse(json))
  const iterations = usage['iterations']
  if (!Array.isArray(iterations)) return undefined
  const shown = (iterations as readonly unknown[]).map((part) =>
    isJsonObject(part) && typeof part['model'] === 'string' ? { ...part, model } : part,
  )
  return JSON.stringify({ ...usage, iterations: shown })
}

/** The text of a message with the caller's name of the model and the gateway's id. */
function messageShown(json: string, model: string, callId: string): string {
  const id = JSON.stringify(messageIdOf(callId))
  let hasId = false
  const shown = spliced(json, {
    id: () => {
      hasId = true
      return id
    },
    model: JSON.stringify(model),
    usage: (usage) => usageShown(usage, model),
  })
  return hasId ? shown : shown.replace('{', `{"id":${id},`)
}

/** Follows the events of a stream; unknown ones pass unchanged. */
function trackEvents(request: TextRequest) {
  // The code below keeps no reference to the request, which may be large.
  const { model, callId } = request
  const said = answeredWith(request, messagesRules.tierMembers)
  const { cachedInput } = messagesSettings(request)
  const reports = trackReports((report) => messagesUsage(report, cachedInput))
  let tier: string | undefined
  const count = new OutputCount()
  let upstreamId: string | undefined
  let isStopped = false
  let isOver = false

  const noteUsage = (usage: unknown): void => {
    reports.note(usage)
    tier = servedTier(objectOf(usage)) ?? tier
    said.note({ serviceTier: tier })
  }
  const begin = (message: JsonObject, data: string): string => {
    upstreamId ??= upstreamIdOf(message['id'])
    said.note({ model: message['model'] })
    noteUsage(message['usage'])
    for (const block of objectsOf(message['content'])) countBlock(count, block)
    return spliced(data, { message: (json) => messageShown(json, model, callId) })
  }
  return {
    /** The text of an event for the caller; undefined for one that the caller does not get. */
    follow: (type: string, event: JsonObject, data: string): string | undefined => {
      switch (type) {
        case 'message_start':
          return begin(objectOf(event['message']), data)
        case 'content_block_start':
          countBlock(count, objectOf(event['content_block']))
          return data
        case 'content_block_delta':
          countDelta(count, objectOf(event['delta']))
          return data
        case 'message_delta':
          noteUsage(event['usage'])
          isStopped ||= textOf(objectOf(event['delta'])['stop_reason']) !== undefined
          return spliced(data, { usage: (usage) => usageShown(usage, model) })
        case 'message_stop':
          // The gateway writes the end itself, once the call is settled.
          isOver = isStopped
          return undefined
        case 'ping':
          // Nothing may follow the figures of a settled call.
          return isStopped ? undefined : data
        default:
          return data
      }
    },
    isStopped: () => isStopped,
    isOver: () => isOver,
    upstreamId: () => upstreamId,
    seen: () => ({
      ...reports.reading(),
      output: () => count.size(1),
      finished: isStopped,
      ...(tier === undefined ? {} : { servedTier: tier }),
      ...said.otherwise(),
    }),
  }
}

/** Follows a stream; upstream may write an error into it at any time. */
function messagesFrameReader(request: TextRequest, scrub: Scrubber): TextReader {
  const { follow, isStopped, isOver, upstreamId, seen } = trackEvents(request)
  let failure: TextTally['failure']
  const fail = (error: UpstreamError): never => {
    const thrown = fromStreamError(error, scrub)
    failure = { code: thrown.code ?? thrown.type ?? 'api_error', message: thrown.message }
    throw thrown
  }
  return {
    read: ({ event: name, data }) => {
      const event = parseObject(data)
      if (event === undefined) throw malformed()
      const type = textOf(event['type']) ?? name ?? ''
      const error = readMessagesError(event)
      if (error !== undefined || type === 'error' || name === 'error') fail(error ?? unknownError)
      const shown = follow(type, event, data)
      return shown === undefined
        ? undefined
        : { event: type, data: shown, usageOnly: false, terminal: isStopped() }
    },
    tally: () => ({ ...seen(), failure }),
    upstreamId,
    over: isOver,
  }
}

/** The caller's text with the account's name of the model, and a bound that its hold covers. */
function requestBody({ body, written, upstreamModel }: TextRequest, streamed: boolean) {
  const bound = body['max_tokens']
  if (written !== undefined && typeof bound === 'number')
    return written.with({ model: upstreamModel, max_tokens: bound })
  return { ...body, model: upstreamModel, stream: streamed }
}

/** Messages. */
export const messagesWire: CountingWire = {
  credentialHeaders: ({ credential, credentialHeader }) =>
    credential === undefined ? {} : { [credentialHeader ?? 'x-api-key']: credential },
  usualHeaders: (request) => ({
    'anthropic-version': messagesSettings(request).wireVersion ?? USUAL_VERSION,
  }),
  head: {
    requestId: 'request-id',
    limits: ['requests', 'tokens'].map((limit) => [
      `anthropic-ratelimit-${limit}-remaining`,
      `anthropic-ratelimit-${limit}-reset`,
    ]),
  },
  path: () => '/messages',
  members: [
    'messages',
    'system',
    'tools',
    'tool_choice',
    'thinking',
    'output_config',
    'context_management',
    'mcp_servers',
  ],
  requestBody,
  readError: readMessagesError,
  readAnswer: (body, request, _scrub, text) => {
    if (body['type'] !== 'message' || !Array.isArray(body['content'])) return undefined
    const { usage } = body
    const blocks = objectsOf(body['content'])
    return {
      body: messageShown(text, request.model, request.callId),
      upstreamId: upstreamIdOf(body['id']),
      tally: () => {
        const said = answeredWith(request, messagesRules.tierMembers)
        const tier = servedTier(objectOf(usage))
        said.note({ model: body['model'], serviceTier: tier })
        return wholeTally(usage, messagesUsage(usage, messagesSettings(request).cachedInput), {
          output: () => {
            const count = new OutputCount()
            for (const block of blocks) countBlock(count, block)
            return count.size(1)
          },
          failure: undefined,
          ...(tier === undefined ? {} : { servedTier: tier }),
          ...said.otherwise(),
        })
      },
    }
  },
  frameReader: messagesFrameReader,
  count: {
    path: () => '/messages/count_tokens',
    body: ({ body, written, upstreamModel: model }) =>
      written?.with({ model }) ?? { ...body, model },
    figure: 'input_tokens',
  },
}
