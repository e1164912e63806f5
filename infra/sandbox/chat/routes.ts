import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { answerCall, frameOf, textError, addCall, type Asker, runCall } from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { countOf, type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import { idInPath, type Wire } from '../http/wire.ts'
import type { Fields } from '../kit/body.ts'
import { offeredModels, type TextModel } from '../text/order.ts'
import {
  callOf,
  TextService,
  argumentPieces,
  type PlannedCall,
  type Script,
  type ScriptEnd,
} from '../text/script.ts'
import { errorObject, textHeaders, textMessage, textWire } from '../text/wire.ts'
import { lastUserText, modelNamed, parseChat, type ChatRequest } from './parse.ts'
import type { CallUsage } from '../calls/store.ts'
import type { StreamFrame } from '../http/stream.ts'
import type { IdMaker } from '../kit/clock.ts'
import { cacheWriteFields } from '../text/cache.ts'

/** An answer and everything it is made of. */
interface ChatAnswer {
  /** What heads every body. */
  readonly head: { readonly id: string; readonly created: number; readonly model: string }
  readonly request: ChatRequest
  readonly script: Script
  /** Null: reports none. */
  readonly usage: object | null
  readonly ids: IdMaker
  readonly faults: Faults
}

const FINGERPRINT = 'fp_sandbox0001'

const REASONS: Readonly<Record<ScriptEnd, string>> = {
  stop: 'stop',
  length: 'length',
  tools: 'tool_calls',
  blocked: 'content_filter',
}

/** Why an answer ended. */
function finishReason(script: Script, legacy: boolean): string {
  return legacy && script.end === 'tools' ? 'function_call' : REASONS[script.end]
}

/** Usage in this wire's names; cache writes only where there is a cache that is written. */
function chatUsage(usage: CallUsage, caches: boolean, faults: Faults) {
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.input_tokens + usage.output_tokens,
    prompt_tokens_details: {
      cached_tokens: usage.cached_input_tokens,
      audio_tokens: 0,
      ...cacheWriteFields(usage, caches, faults),
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning_tokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}

/** A function call as a message shows it. */
function toolCall(call: PlannedCall, id: string) {
  return { id, type: 'function', function: { name: call.name, arguments: call.arguments } }
}

function messageOf(request: ChatRequest, script: Script, ids: IdMaker): object {
  const [first] = script.calls
  const called =
    first === undefined
      ? {}
      : request.legacy
        ? { function_call: { name: first.name, arguments: first.arguments } }
        : { tool_calls: script.calls.map((call) => toolCall(call, ids.next('call_'))) }
  return {
    role: 'assistant',
    content: first === undefined ? script.answer.text : null,
    ...(script.thoughts.text === '' ? {} : { reasoning_content: script.thoughts.text }),
    ...called,
    refusal: null,
    annotations: citations(script),
  }
}

/** The pages an answer cites: one for its search, at the end of its text. */
function citations(script: Script): readonly object[] {
  if (script.builtins.length === 0) return []
  const { length } = script.answer.text
  const page = { url: 'https://news.example.com/sandbox', title: 'Sandbox news' }
  return [{ type: 'url_citation', url_citation: { start_index: 0, end_index: length, ...page } }]
}

/** The error that `fail-choice` adds to each choice, or to the first `choices-failed` ones, as relays write it. */
function failureOfChoice(faults: Faults, index: number): object {
  const code = wordOf(faults, 'fail-choice')
  if (code === null || index >= (countOf(faults, 'choices-failed') ?? index + 1)) return {}
  const error = { message: textMessage(code), code: /^\d+$/.test(code) ? Number(code) : code }
  return { finish_reason: 'error', error }
}

/** The whole answer. */
function chatBody({ head, request, script, usage, ids, faults }: ChatAnswer): object {
  const reason = finishReason(script, request.legacy)
  const choices = Array.from({ length: request.choices }, (_, index) => ({
    index,
    message: messageOf(request, script, ids),
    logprobs: null,
    finish_reason: reason,
    ...failureOfChoice(faults, index),
  }))
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices,
    ...(usage === null ? {} : { usage }),
    service_tier: 'default',
    system_fingerprint: FINGERPRINT,
  }
}

/** Deltas of the answer of one choice, first to last, without the role and the end. */
function* deltas(stream: ChatAnswer): Iterable<object> {
  const { script, request, ids } = stream
  for (const piece of script.thoughts.pieces) yield { reasoning_content: piece }
  for (const piece of script.answer.pieces) yield { content: piece }
  const annotations = citations(script)
  if (annotations.length > 0) yield { annotations }
  for (const [index, call] of script.calls.entries()) {
    if (request.legacy && index > 0) return
    yield* request.legacy ? legacyDeltas(call) : toolDeltas(call, index, ids.next('call_'))
  }
}

function* toolDeltas(call: PlannedCall, index: number, id: string): Iterable<object> {
  const first = { index, id, type: 'function', function: { name: call.name, arguments: '' } }
  yield { tool_calls: [first] }
  for (const piece of argumentPieces(call)) {
    yield { tool_calls: [{ index, function: { arguments: piece } }] }
  }
}

function* legacyDeltas(call: PlannedCall): Iterable<object> {
  yield { function_call: { name: call.name, arguments: '' } }
  for (const piece of argumentPieces(call)) yield { function_call: { arguments: piece } }
}

/** Writes the `usage` member of the chunks before the last. */
function usageTail(stream: ChatAnswer): (sentTokens: number) => string {
  const { request, faults, script } = stream
  if (stream.usage === null) return () => ''
  if (request.chunkUsage || isOn(faults, 'chunk-usage')) {
    return (sentTokens) => {
      const output = Math.min(sentTokens, script.usage.output_tokens)
      const so_far = { ...script.usage, output_tokens: output, reasoning_tokens: 0 }
      return `,"usage":${JSON.stringify(chatUsage(so_far, request.model.caches, faults))}`
    }
  }
  return request.includeUsage ? () => ',"usage":null' : () => ''
}

/** Every frame of a stream, made as it is asked for. */
function* chatFrames(stream: ChatAnswer): Iterable<StreamFrame> {
  const { head, request, script, usage, faults } = stream
  const start = `${JSON.stringify({
    id: head.id,
    object: 'chat.completion.chunk',
    created: head.created,
    model: head.model,
    service_tier: 'default',
    system_fingerprint: FINGERPRINT,
  }).slice(0, -1)},"choices":[`
  const tail = usageTail(stream)
  const odd = isOn(faults, 'unknown-events')
  let sentBytes = 0
  const chunk = (index: number, delta: object, reason: string | null): StreamFrame => {
    const text = JSON.stringify(delta)
    const failed = reason === null ? {} : failureOfChoice(faults, index)
    const ended = JSON.stringify({ finish_reason: reason, ...failed }).slice(1)
    const extra = odd ? ',"obfuscation":"aB3"' : ''
    const choice = `{"index":${index},"delta":${text},"logprobs":null,${ended}`
    return frameOf(`${start}${choice}]${tail(Math.ceil(sentBytes / 4))}${extra}}`)
  }
  const empty = script.calls.length > 0 ? null : ''
  for (let index = 0; index < request.choices; index += 1) {
    yield chunk(index, { role: 'assistant', content: empty, refusal: null }, null)
    for (const delta of deltas(stream)) {
      if ('content' in delta && typeof delta.content === 'string') sentBytes += delta.content.length
      yield chunk(index, delta, null)
      if (odd) {
        yield frameOf(
          `${start}{"index":${index},"delta":{"x_sandbox":"unknown"},"finish_reason":null}]}`,
        )
      }
    }
    yield chunk(index, {}, finishReason(script, request.legacy))
  }
  if (request.includeUsage && usage !== null) {
    yield frameOf(`${start}],"usage":${JSON.stringify(usage)}}`, { usage: true })
  }
  yield frameOf('[DONE]', { last: true })
}

const FAMILY = 'chat'
/** When every model was made, as their list says. */
const CREATED = 1_768_435_200

/** Answers a chat request. */
function create(
  { kit, wire, text }: { readonly kit: FamilyKit; readonly wire: Wire; readonly text: TextService },
  body: Fields | null,
  asker: Asker,
  faults: Faults,
) {
  const request = parseChat(body, kit.options)
  const { ids } = text
  const script = text.plan(request, asker, faults)
  const reported = chatUsage(script.usage, request.model.caches, faults)
  const head = {
    id: ids.next('chatcmpl-'),
    created: text.nowSeconds(),
    model: request.model.version,
  }
  const breaksBy = request.stream && faults.has('error-after') ? 'server_error' : null
  const accepted = { ...callOf(request, script, head.id, reported), breaksBy }
  return answerCall(kit, wire, { asker, faults }, accepted, ({ facts }) => {
    const usage = isOn(faults, 'no-usage') ? null : reported
    const headers = textHeaders(ids.next('req_'), faults)
    const answer = { head, request, script, usage, ids, faults }
    if (!request.stream) return { headers, body: chatBody(answer), usage: usage !== null }
    const error = { error: errorObject(facts.failCode ?? 'server_error') }
    return {
      headers,
      frames: chatFrames(answer),
      failure: () => textError(frameOf(error, { last: true }), faults),
    }
  })
}

function modelObject(model: TextModel): object {
  return { id: model.name, object: 'model', created: CREATED, owned_by: 'sandbox' }
}

/** `GET /v1/models` and one of them by id. */
function addModelRoutes(
  app: FastifyInstance,
  kit: FamilyKit,
  wire: Wire,
  { ids }: TextService,
): void {
  const answer =
    (read: (request: FastifyRequest) => object) =>
    (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const perform = (_asker: Asker, faults: Faults) => ({
        status: 200,
        body: read(request),
        headers: textHeaders(ids.next('req_'), faults),
      })
      const call = { op: 'models', model: null, body: null, userText: '', perform }
      return runCall(kit, wire, call, request, reply)
    }
  app.get(
    '/v1/models',
    answer(() => ({ object: 'list', data: offeredModels.map(modelObject) })),
  )
  app.get(
    '/v1/models/:id',
    answer((request) => modelObject(modelNamed(idInPath(request), kit.options))),
  )
}

/** The chat completions upstream, and the list of models. */
export const chat: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const text = new TextService(kit)
    const wire = textWire(FAMILY, kit, text.ids)
    addCall(app, kit, wire, '/v1/chat/completions', (body) => ({
      userText: lastUserText(body),
      perform: (asker, faults) => create({ kit, wire, text }, body, asker, faults),
    }))
    addModelRoutes(app, kit, wire, text)
  },
}
