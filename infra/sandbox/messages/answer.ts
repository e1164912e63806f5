import { parseExactly } from '../../../src/kernel/exact-integers.ts'
import { frameOf } from '../calls/run.ts'
import type { CallUsage } from '../calls/store.ts'
import { type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import type { StreamFrame } from '../http/stream.ts'
import type { IdMaker } from '../kit/clock.ts'
import { argumentPieces, type Script, type ScriptEnd } from '../text/script.ts'
import { type MessagesRequest, signatureOf } from './parse.ts'

/** An answer and everything it is made of. */
export interface MessagesAnswer {
  readonly id: string
  readonly request: MessagesRequest
  readonly script: Script
  /** Undefined: reports none. */
  readonly usage: WireUsage | undefined
  readonly ids: IdMaker
  readonly faults: Faults
}

type WireUsage = Readonly<Record<string, unknown>>

const REASONS: Readonly<Record<ScriptEnd, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tools: 'tool_use',
  blocked: 'refusal',
}

/** Tokens that the summary of a long conversation takes, which the totals lack. */
const COMPACTION = { input_tokens: 500, output_tokens: 50 }

/** The usage that an account has to pay, a summary included. */
export function paidUsage(usage: CallUsage, faults: Faults): CallUsage {
  if (!isOn(faults, 'compaction')) return usage
  return {
    ...usage,
    input_tokens: usage.input_tokens + COMPACTION.input_tokens,
    output_tokens: usage.output_tokens + COMPACTION.output_tokens,
  }
}

/** Usage in this wire's names: input excludes what a cache read or wrote. */
export function messagesUsage(
  { model, speed }: MessagesRequest,
  { usage, builtins }: Script,
  faults: Faults,
): WireUsage {
  const written5m = usage.cache_write_5m_tokens
  const written1h = usage.cache_write_1h_tokens
  const written = written5m + written1h
  const split = { ephemeral_5m_input_tokens: written5m, ephemeral_1h_input_tokens: written1h }
  const figures = {
    input_tokens: usage.input_tokens - usage.cached_input_tokens - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: usage.cached_input_tokens,
    ...(isOn(faults, 'cache-unsplit') ? {} : { cache_creation: split }),
    output_tokens: usage.output_tokens,
  }
  const searches = builtins.filter((name) => name === 'web_search').length
  const fetches = builtins.filter((name) => name === 'web_fetch').length
  const own = { type: 'message', model: model.version, ...figures }
  const served = wordOf(faults, 'served')
  const isFast = speed !== 'standard'
  return {
    ...figures,
    ...(searches + fetches === 0
      ? {}
      : { server_tool_use: { web_search_requests: searches, web_fetch_requests: fetches } }),
    ...(isOn(faults, 'compaction')
      ? { iterations: [{ type: 'compaction', model: model.version, ...COMPACTION }, own] }
      : {}),
    service_tier: isFast ? 'standard' : (served ?? 'standard'),
    ...(isFast ? { speed: served ?? speed } : {}),
  }
}

type Block = Readonly<Record<string, unknown>>

/** A block, and the pieces in which a stream sends it after its beginning. */
interface BlockInPieces {
  readonly whole: Block
  readonly begin: Block
  readonly deltas: readonly Block[]
}

function searchBlocks(name: string, ids: IdMaker): readonly BlockInPieces[] {
  const id = ids.next('srvtoolu_')
  const input = name === 'web_search' ? { query: 'sandbox' } : { url: 'https://news.example.com/' }
  const use = { type: 'server_tool_use', id, name }
  const page = { url: 'https://news.example.com/sandbox', title: 'Sandbox news' }
  const content = [{ type: 'web_search_result', ...page, encrypted_content: 'c2FuZGJveA==' }]
  const result = { type: `${name}_tool_result`, tool_use_id: id, content }
  return [
    {
      whole: { ...use, input },
      begin: { ...use, input: {} },
      deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }],
    },
    { whole: result, begin: result, deltas: [] },
  ]
}

function blocksOf({ script, ids }: MessagesAnswer): readonly BlockInPieces[] {
  const { thoughts, answer } = script
  const blocks: BlockInPieces[] = []
  if (thoughts.text !== '') {
    const signature = signatureOf(thoughts.text)
    blocks.push({
      whole: { type: 'thinking', thinking: thoughts.text, signature },
      begin: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...thoughts.pieces.map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature },
      ],
    })
  }
  for (const name of script.builtins) blocks.push(...searchBlocks(name, ids))
  if (answer.text !== '')
    blocks.push({
      whole: { type: 'text', text: answer.text },
      begin: { type: 'text', text: '' },
      deltas: answer.pieces.map((text) => ({ type: 'text_delta', text })),
    })
  for (const call of script.calls) {
    const use = { type: 'tool_use', id: ids.next('toolu_'), name: call.name }
    blocks.push({
      whole: { ...use, input: parseExactly(call.arguments) },
      begin: { ...use, input: {} },
      deltas: argumentPieces(call).map((partial_json) => ({
        type: 'input_json_delta',
        partial_json,
      })),
    })
  }
  return blocks
}

/** The edits that were made, where a request asks for any. */
function editsOf({ edits }: MessagesRequest): object {
  return edits === undefined ? {} : { context_management: { applied_edits: edits } }
}

/** The whole answer. */
export function messageBody(answer: MessagesAnswer): object {
  const { id, request, script, usage } = answer
  return {
    model: request.model.version,
    id,
    type: 'message',
    role: 'assistant',
    content: blocksOf(answer).map(({ whole }) => whole),
    stop_reason: REASONS[script.end],
    stop_sequence: null,
    stop_details: null,
    ...editsOf(request),
    ...(usage === undefined ? {} : { usage }),
  }
}

/** The figures that the first and the last event of a stream report, by `figures`. */
function usageParts(usage: WireUsage, faults: Faults): readonly [first: object, last: object] {
  const { output_tokens, server_tool_use, iterations, ...atStart } = usage
  const atEnd = {
    output_tokens,
    ...(server_tool_use === undefined ? {} : { server_tool_use }),
    ...(iterations === undefined ? {} : { iterations }),
  }
  const first = { ...atStart, output_tokens: output_tokens === 0 ? 0 : 1 }
  const where = wordOf(faults, 'figures')
  if (where === 'end') return [{ input_tokens: 0, output_tokens: 0 }, usage]
  if (where === 'both') return [first, usage]
  return where === 'undone'
    ? [first, { ...atEnd, input_tokens: 0, cache_read_input_tokens: 0 }]
    : [first, atEnd]
}

const eventOf = (type: string, members: object, more: Partial<StreamFrame> = {}): StreamFrame =>
  frameOf({ type, ...members }, { event: type, ...more })

/** Every event of a stream, made as it is asked for. */
export function* messageEvents(answer: MessagesAnswer): Iterable<StreamFrame> {
  const { id, request, script, usage, faults } = answer
  const [first, last] = usage === undefined ? [] : usageParts(usage, faults)
  const isOdd = isOn(faults, 'unknown-events')
  const head = { model: request.model.version, id, type: 'message', role: 'assistant', content: [] }
  const message = { ...head, stop_reason: null, stop_sequence: null }
  yield eventOf('message_start', { message: { ...message, ...(first && { usage: first }) } })
  yield eventOf('ping', {})
  for (const [index, { begin, deltas }] of blocksOf(answer).entries()) {
    yield eventOf('content_block_start', { index, content_block: begin })
    for (const delta of deltas) {
      yield eventOf('content_block_delta', { index, delta, ...(isOdd ? { x_sandbox: 1 } : {}) })
      if (isOdd) yield eventOf('x_sandbox', { unknown: true })
    }
    yield eventOf('content_block_stop', { index })
  }
  const reason = isOn(faults, 'no-stop') ? null : REASONS[script.end]
  yield eventOf(
    'message_delta',
    {
      delta: { stop_reason: reason, stop_sequence: null },
      ...editsOf(request),
      ...(last && { usage: last }),
    },
    { usage: last !== undefined, last: true },
  )
  yield eventOf('message_stop', {}, { last: true })
}
