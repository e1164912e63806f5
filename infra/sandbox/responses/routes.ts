import {
  acceptCall,
  addCall,
  answerOf,
  type Asker,
  frameOf,
  runCall,
  textError,
} from '../calls/run.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import type { StreamAnswer, StreamFrame } from '../http/stream.ts'
import { Refusal } from '../http/wire.ts'
import { type Fields, objectsIn } from '../kit/body.ts'
import { promptTokens } from '../text/order.ts'
import { callOf, TextService, argumentPieces } from '../text/script.ts'
import { textHeaders, textMessage, textWire } from '../text/wire.ts'
import {
  doneItem,
  endedResponse,
  itemsOf,
  responsesUsage,
  CODE,
  itemStatus,
  openItem,
  openResponse,
  type OutputItem,
  type ResponsesAnswer,
  statusOf,
  summaryPart,
  textPart,
} from './body.ts'
import { KeptResponses } from './kept.ts'
import { COUNTED, lastUserText, parseResponses, type ResponsesRequest } from './parse.ts'
import { unreachable } from '../../../src/kernel/assert.ts'

/** One event before it is numbered. */
type NamedEvent = readonly [name: string, members: object]

function* messageEvents(
  item: OutputItem & { kind: 'message' },
  index: number,
): Iterable<NamedEvent> {
  const at = { item_id: item.id, output_index: index, content_index: 0 }
  const { text, pieces } = item.answer
  yield ['response.content_part.added', { ...at, part: textPart('') }]
  for (const delta of pieces) yield ['response.output_text.delta', { ...at, delta, logprobs: [] }]
  yield ['response.output_text.done', { ...at, text, logprobs: [] }]
  yield ['response.content_part.done', { ...at, part: textPart(text) }]
}

function* functionEvents(
  item: OutputItem & { kind: 'function' },
  index: number,
): Iterable<NamedEvent> {
  const at = { item_id: item.id, output_index: index }
  for (const delta of argumentPieces(item.call)) {
    yield ['response.function_call_arguments.delta', { ...at, delta }]
  }
  const { name } = item.call
  yield ['response.function_call_arguments.done', { ...at, name, arguments: item.call.arguments }]
}

function* reasoningEvents(
  item: OutputItem & { kind: 'reasoning' },
  index: number,
): Iterable<NamedEvent> {
  const { text, pieces } = item.thoughts
  if (text === '') return
  const at = { item_id: item.id, output_index: index, summary_index: 0 }
  yield ['response.reasoning_summary_part.added', { ...at, part: summaryPart('') }]
  for (const delta of pieces) yield ['response.reasoning_summary_text.delta', { ...at, delta }]
  yield ['response.reasoning_summary_text.done', { ...at, text }]
  yield ['response.reasoning_summary_part.done', { ...at, part: summaryPart(text) }]
}

function* builtinEvents(
  item: OutputItem & { kind: 'builtin' },
  index: number,
): Iterable<NamedEvent> {
  const at = { item_id: item.id, output_index: index }
  const name = `response.${item.tool}_call`
  yield [`${name}.in_progress`, at]
  if (item.tool === 'code_interpreter') {
    yield ['response.code_interpreter_call_code.delta', { ...at, delta: CODE }]
    yield ['response.code_interpreter_call_code.done', { ...at, code: CODE }]
    yield [`${name}.interpreting`, at]
  } else {
    yield [`${name}.searching`, at]
  }
  yield [`${name}.completed`, at]
}

function itemEvents(item: OutputItem, index: number): Iterable<NamedEvent> {
  switch (item.kind) {
    case 'message':
      return messageEvents(item, index)
    case 'function':
      return functionEvents(item, index)
    case 'reasoning':
      return reasoningEvents(item, index)
    case 'builtin':
      return builtinEvents(item, index)
    default:
      return unreachable(item)
  }
}

function* eventsOf(answer: ResponsesAnswer): Iterable<NamedEvent> {
  yield ['response.created', { response: openResponse(answer) }]
  yield ['response.in_progress', { response: openResponse(answer) }]
  if (isOn(answer.faults, 'unknown-events')) yield ['response.x_sandbox.unknown', { note: 'new' }]
  const output: object[] = []
  for (const [index, item] of answer.items.entries()) {
    const done = doneItem(item, itemStatus(answer))
    yield ['response.output_item.added', { output_index: index, item: openItem(item) }]
    yield* itemEvents(item, index)
    yield ['response.output_item.done', { output_index: index, item: done }]
    output.push(done)
  }
  yield [`response.${statusOf(answer)}`, { response: endedResponse(answer, output) }]
}

/** Every frame of a stream, made as it is asked for. */
function* responsesFrames(answer: ResponsesAnswer): Iterable<StreamFrame> {
  let number = 0
  const end = `response.${statusOf(answer)}`
  for (const [type, members] of eventsOf(answer)) {
    const last = type === end
    const usage = last && answer.usage !== null
    yield frameOf({ type, sequence_number: number, ...members }, { event: type, usage, last })
    number += 1
  }
}

/** An error in the midst of a stream. */
function errorFrame(code: string, message: string, number: number): StreamFrame {
  const error = { type: 'error', sequence_number: number, code, message, param: null }
  return frameOf(error, { event: 'error', last: true })
}

const FAMILY = 'responses'

/** What answers are made with. */
interface Parts {
  readonly kit: FamilyKit
  readonly text: TextService
  readonly kept: KeptResponses
}

/** Whether reasoning is to come with its content, encrypted. */
function hasContent({ body }: ResponsesRequest): boolean {
  const { include } = body
  return Array.isArray(include) && include.includes('reasoning.encrypted_content')
}

/** Reads a body with the items and the response that it names, as its account keeps them. @throws Refusal */
function readRequest(
  { kit, kept }: Pick<Parts, 'kit' | 'kept'>,
  body: Fields | null,
  credential: Asker['credential'],
) {
  const asked = body === null ? null : kept.withItems(body, credential)
  const request = parseResponses(asked, kit.options, (read) => kept.continued(read, credential))
  return { asked, request }
}

/** Answers a responses request. A failure is a response too: 200 and `failed`. */
function create(
  { kit, text, kept }: Parts,
  body: Fields | null,
  asker: Asker,
  faults: Faults,
): Answer | StreamAnswer {
  const { credential } = asker
  const { request } = readRequest({ kit, kept }, body, credential)
  const { ids } = text
  const script = text.plan(request, asker, faults)
  const reported = responsesUsage(script.usage, request.model.caches, faults)
  const head = { id: ids.next('resp_'), createdAt: text.nowSeconds() }
  const breaks = request.stream && faults.has('error-after')
  const fail = wordOf(faults, 'fail')
  const brokenBy = breaks ? (fail ?? 'server_error') : null
  const failCode = breaks ? null : fail
  const accepted = callOf(request, script, head.id, reported)
  const call = acceptCall(kit, FAMILY, asker, { ...accepted, failCode: brokenBy ?? failCode })
  const silent = isOn(faults, 'no-usage') || (failCode !== null && !isOn(faults, 'usage-in-failed'))
  const usage = silent ? null : reported
  const headers = textHeaders(ids.next('req_'), faults)
  const items = itemsOf(script, ids, hasContent(request))
  const answer = { head, request, script, items, failCode, usage, faults }
  if (failCode === null && brokenBy === null)
    kept.keep(request.body, credential, {
      id: head.id,
      tokens: script.usage.input_tokens + script.usage.output_tokens,
      items: items.map((item) => ({ ...doneItem(item, 'completed') })),
      body: endedResponse(answer),
    })
  if (!request.stream) {
    const whole = { headers, body: endedResponse(answer), usage: usage !== null }
    return answerOf(whole, call, faults)
  }
  const frames = responsesFrames(answer)
  const code = brokenBy ?? 'server_error'
  const failure = (written: number) =>
    textError(errorFrame(code, textMessage(code), written), faults)
  return answerOf({ headers, frames, failure }, call, faults)
}

/** Counts the tokens of an input; nothing is accepted. @throws Refusal */
function countTokens(
  { kit, text, kept }: Parts,
  body: Fields | null,
  { credential }: Asker,
  faults: Faults,
): Answer {
  const unknown = Object.keys(body ?? {}).find((name) => !COUNTED.has(name))
  if (unknown !== undefined)
    throw new Refusal('unknown_parameter', `Unknown parameter: '${unknown}'.`, unknown)
  const { request } = readRequest({ kit, kept }, body, credential)
  return {
    status: 200,
    headers: textHeaders(text.ids.next('req_'), faults),
    body: { object: 'response.input_tokens', input_tokens: promptTokens(request) },
  }
}

/** Compacts a conversation: its user messages are left, and a summary stands for the rest. */
function compact(
  { kit, text, kept }: Parts,
  body: Fields | null,
  asker: Asker,
  faults: Faults,
): Answer | StreamAnswer {
  const bounded = ['max_output_tokens', 'stream'].find((name) => body?.[name] !== undefined)
  if (bounded !== undefined)
    throw new Refusal('unknown_parameter', `Unknown parameter: '${bounded}'.`, bounded)
  const { credential } = asker
  const { asked, request } = readRequest({ kit, kept }, body, credential)
  const { ids } = text
  const script = text.plan(request, asker, faults)
  const reported = responsesUsage(script.usage, request.model.caches, faults)
  const id = ids.next('resp_')
  const failCode = wordOf(faults, 'fail')
  const call = acceptCall(kit, FAMILY, asker, {
    ...callOf(request, script, id, reported),
    failCode,
  })
  if (failCode !== null) throw new Refusal(failCode, textMessage(failCode))
  const usage = isOn(faults, 'no-usage') ? undefined : reported
  const left = Array.isArray(asked?.['input'])
    ? objectsIn(asked['input']).filter(({ role }) => role === 'user')
    : [{ role: 'user', content: asked?.['input'] }]
  const sealed = Buffer.from(script.answer.text).toString('base64')
  const output = [
    ...left.map((item) => {
      return { id: ids.next('msg_'), type: 'message', status: 'completed', ...item }
    }),
    { id: ids.next('cmp_'), type: 'compaction', encrypted_content: sealed },
  ]
  const answer = { id, object: 'response.compaction', created_at: text.nowSeconds(), output, usage }
  const headers = textHeaders(ids.next('req_'), faults)
  return answerOf({ headers, body: answer, usage: usage !== undefined }, call, faults)
}

/** The responses upstream. */
export const responses: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const text = new TextService(kit)
    const kept = new KeptResponses()
    kit.onReset(() => kept.reset())
    const wire = textWire(FAMILY, kit, text.ids)
    addCall(app, kit, wire, '/v1/responses', (body) => ({
      userText: lastUserText(body),
      perform: (asker, faults) => create({ kit, text, kept }, body, asker, faults),
    }))
    addCall(app, kit, wire, '/v1/responses/compact', (body) => ({
      userText: lastUserText(body),
      perform: (asker, faults) => compact({ kit, text, kept }, body, asker, faults),
    }))
    addCall(app, kit, wire, '/v1/responses/input_tokens', (body) => ({
      op: 'count',
      userText: lastUserText(body),
      perform: (asker, faults) => countTokens({ kit, text, kept }, body, asker, faults),
    }))
    for (const method of ['get', 'delete'] as const)
      app[method]('/v1/responses/:id', (request, reply) => {
        const { id } = request.params as { readonly id: string }
        const perform = ({ credential }: Asker, faults: Faults): Answer => ({
          status: 200,
          headers: textHeaders(text.ids.next('req_'), faults),
          body: kept[method](id, credential),
        })
        const call = { op: method, model: null, body: null, userText: '', perform }
        return runCall(kit, wire, call, request, reply)
      })
  },
}
