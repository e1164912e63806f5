import { type Faults, isOn } from '../faults/vocabulary.ts'
import type { StreamFrame } from '../http/stream.ts'
import type { IdMaker } from '../kit/random.ts'
import { argumentPieces, type PlannedCall, type Script } from '../text/script.ts'
import { type ChatHead, chatUsage, citations, FINGERPRINT, finishReason } from './body.ts'
import type { ChatRequest } from './parse.ts'

/** A stream's answer and everything its chunks are made of. */
export interface ChatStream {
  readonly head: ChatHead
  readonly request: ChatRequest
  readonly script: Script
  /** Null: reports none. */
  readonly usage: object | null
  readonly ids: IdMaker
  readonly faults: Faults
}

function frame(data: string, more: Partial<StreamFrame> = {}): StreamFrame {
  return { event: null, data, usage: false, last: false, ...more }
}

/** Deltas of the answer of one choice, first to last, without the role and the end. */
function* deltas(stream: ChatStream): Iterable<object> {
  const { script, request, ids } = stream
  for (const piece of script.thoughts.pieces) yield { reasoning_content: piece }
  for (const piece of script.told.pieces) yield { content: piece }
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
function usageTail(stream: ChatStream): (told: number) => string {
  const { request, faults, script } = stream
  if (stream.usage === null) return () => ''
  if (request.chunkUsage || isOn(faults, 'chunk-usage')) {
    return (told) => {
      const output = Math.min(told, script.usage.output_tokens)
      const so_far = { ...script.usage, output_tokens: output, reasoning_tokens: 0 }
      return `,"usage":${JSON.stringify(chatUsage(so_far, request.model.caches, faults))}`
    }
  }
  return request.includeUsage ? () => ',"usage":null' : () => ''
}

/** Every frame of a stream, made as it is asked for. */
export function* chatFrames(stream: ChatStream): Iterable<StreamFrame> {
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
  let toldBytes = 0
  const chunk = (index: number, delta: object, reason: string | null): StreamFrame => {
    const text = JSON.stringify(delta)
    const end = reason === null ? 'null' : `"${reason}"`
    const extra = odd ? ',"obfuscation":"aB3"' : ''
    const choice = `{"index":${index},"delta":${text},"logprobs":null,"finish_reason":${end}}`
    return frame(`${start}${choice}]${tail(Math.ceil(toldBytes / 4))}${extra}}`)
  }
  const empty = script.calls.length > 0 ? null : ''
  for (let index = 0; index < request.choices; index += 1) {
    yield chunk(index, { role: 'assistant', content: empty, refusal: null }, null)
    for (const delta of deltas(stream)) {
      if ('content' in delta && typeof delta.content === 'string') toldBytes += delta.content.length
      yield chunk(index, delta, null)
      if (odd) {
        yield frame(
          `${start}{"index":${index},"delta":{"x_sandbox":"unknown"},"finish_reason":null}]}`,
        )
      }
    }
    yield chunk(index, {}, finishReason(script, request.legacy))
  }
  if (request.includeUsage && usage !== null) {
    yield frame(`${start}],"usage":${JSON.stringify(usage)}}`, { usage: true })
  }
  yield frame('[DONE]', { last: true })
}
