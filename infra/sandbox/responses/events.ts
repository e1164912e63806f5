import { unreachable } from '../../../src/kernel/assert.ts'
import { frameOf } from '../calls/run.ts'
import { isOn } from '../faults/vocabulary.ts'
import type { StreamFrame } from '../http/stream.ts'
import { argumentPieces } from '../text/script.ts'
import {
  CODE,
  doneItem,
  endedResponse,
  itemStatus,
  openItem,
  openResponse,
  type OutputItem,
  type ResponsesAnswer,
  statusOf,
  summaryPart,
  textPart,
} from './body.ts'

/** One event before it is numbered. */
type Told = readonly [name: string, members: object]

function* messageEvents(item: OutputItem & { kind: 'message' }, index: number): Iterable<Told> {
  const at = { item_id: item.id, output_index: index, content_index: 0 }
  const { text, pieces } = item.told
  yield ['response.content_part.added', { ...at, part: textPart('') }]
  for (const delta of pieces) yield ['response.output_text.delta', { ...at, delta, logprobs: [] }]
  yield ['response.output_text.done', { ...at, text, logprobs: [] }]
  yield ['response.content_part.done', { ...at, part: textPart(text) }]
}

function* functionEvents(item: OutputItem & { kind: 'function' }, index: number): Iterable<Told> {
  const at = { item_id: item.id, output_index: index }
  for (const delta of argumentPieces(item.call)) {
    yield ['response.function_call_arguments.delta', { ...at, delta }]
  }
  const { name } = item.call
  yield ['response.function_call_arguments.done', { ...at, name, arguments: item.call.arguments }]
}

function* reasoningEvents(item: OutputItem & { kind: 'reasoning' }, index: number): Iterable<Told> {
  const { text, pieces } = item.thoughts
  if (text === '') return
  const at = { item_id: item.id, output_index: index, summary_index: 0 }
  yield ['response.reasoning_summary_part.added', { ...at, part: summaryPart('') }]
  for (const delta of pieces) yield ['response.reasoning_summary_text.delta', { ...at, delta }]
  yield ['response.reasoning_summary_text.done', { ...at, text }]
  yield ['response.reasoning_summary_part.done', { ...at, part: summaryPart(text) }]
}

function* builtinEvents(item: OutputItem & { kind: 'builtin' }, index: number): Iterable<Told> {
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

function itemEvents(item: OutputItem, index: number): Iterable<Told> {
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

function* tell(answer: ResponsesAnswer): Iterable<Told> {
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
export function* responsesFrames(answer: ResponsesAnswer): Iterable<StreamFrame> {
  let number = 0
  const end = `response.${statusOf(answer)}`
  for (const [type, members] of tell(answer)) {
    const last = type === end
    const usage = last && answer.usage !== null
    yield frameOf({ type, sequence_number: number, ...members }, { event: type, usage, last })
    number += 1
  }
}

/** An error in the midst of a stream. */
export function errorFrame(code: string, message: string, number: number): StreamFrame {
  const error = { type: 'error', sequence_number: number, code, message, param: null }
  return frameOf(error, { event: 'error', last: true })
}
