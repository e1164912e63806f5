import { unreachable } from '../../../src/kernel/assert.ts'
import type { CallUsage } from '../calls/store.ts'
import type { Faults } from '../faults/vocabulary.ts'
import type { IdMaker } from '../kit/clock.ts'
import type { PlannedCall, Script, ScriptedText } from '../text/script.ts'
import { cacheWriteFields } from '../text/cache.ts'
import { textMessage } from '../text/wire.ts'
import type { ResponsesRequest } from './parse.ts'

/** A response and everything it is made of. */
export interface ResponsesAnswer {
  readonly head: { readonly id: string; readonly createdAt: number }
  readonly request: ResponsesRequest
  readonly script: Script
  readonly items: readonly OutputItem[]
  readonly failCode: string | null
  /** Null: reports none. */
  readonly usage: object | null
  readonly faults: Faults
}

/** Usage in this wire's names. The tokens written to a cache are always reported, by how long only where they are kept. */
export function responsesUsage(usage: CallUsage, caches: boolean, faults: Faults) {
  return {
    input_tokens: usage.input_tokens,
    input_tokens_details: {
      cached_tokens: usage.cached_input_tokens,
      cache_write_tokens: 0,
      ...cacheWriteFields(usage, caches, faults),
    },
    output_tokens: usage.output_tokens,
    output_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
    total_tokens: usage.input_tokens + usage.output_tokens,
  }
}

/** The status an answer ends in. */
export function statusOf({ script, failCode }: ResponsesAnswer): string {
  if (failCode !== null) return 'failed'
  return script.end === 'length' || script.end === 'blocked' ? 'incomplete' : 'completed'
}

/** Everything but what its progress decides. */
function echo({ head, request }: ResponsesAnswer) {
  const { body } = request
  const or = (name: string, absent: unknown): unknown => body[name] ?? absent
  return {
    id: head.id,
    object: 'response',
    created_at: head.createdAt,
    background: false,
    instructions: or('instructions', null),
    max_output_tokens: or('max_output_tokens', null),
    max_tool_calls: or('max_tool_calls', null),
    model: request.model.version,
    parallel_tool_calls: or('parallel_tool_calls', true),
    previous_response_id: or('previous_response_id', null),
    reasoning: or('reasoning', { effort: null, summary: null }),
    service_tier: 'default',
    store: or('store', true),
    temperature: or('temperature', 1),
    text: or('text', { format: { type: 'text' } }),
    tool_choice: or('tool_choice', 'auto'),
    tools: or('tools', []),
    top_logprobs: 0,
    top_p: or('top_p', 1),
    truncation: or('truncation', 'disabled'),
    user: or('user', null),
    metadata: or('metadata', {}),
  }
}

/** A response that is under way. */
export function openResponse(answer: ResponsesAnswer): object {
  const nothing = { error: null, incomplete_details: null, output: [], usage: null }
  return { ...echo(answer), status: 'in_progress', ...nothing }
}

/** A response that has ended, with its output. */
export function endedResponse(
  answer: ResponsesAnswer,
  output = answer.items.map((item) => doneItem(item, itemStatus(answer))),
): object {
  const { script, failCode, usage } = answer
  const status = statusOf(answer)
  const reason = script.end === 'blocked' ? 'content_filter' : 'max_output_tokens'
  return {
    ...echo(answer),
    status,
    error: failCode === null ? null : { code: failCode, message: textMessage(failCode) },
    incomplete_details: status === 'incomplete' ? { reason } : null,
    output,
    usage,
  }
}

/** The status of an answer's items when they are sent in full. */
export function itemStatus({ script }: ResponsesAnswer): 'completed' | 'incomplete' {
  return script.end === 'length' ? 'incomplete' : 'completed'
}

/** One item of the output, with what its stream needs to send it piece by piece. */
export type OutputItem =
  | {
      readonly kind: 'reasoning'
      readonly id: string
      readonly thoughts: ScriptedText
      /** Comes with its content, encrypted. */
      readonly whole: boolean
    }
  | { readonly kind: 'message'; readonly id: string; readonly answer: ScriptedText }
  | {
      readonly kind: 'function'
      readonly id: string
      readonly callId: string
      readonly call: PlannedCall
    }
  | { readonly kind: 'builtin'; readonly id: string; readonly tool: string }

/** What a code interpreter is shown to run. */
export const CODE = 'print(6 * 7)'
const QUERY = 'sandbox question'
const CONTENT = Buffer.from('what the sandbox thought').toString('base64')

/** Items of an answer in the order they are sent. */
export function itemsOf(script: Script, ids: IdMaker, whole: boolean): readonly OutputItem[] {
  const items: OutputItem[] = []
  if (script.usage.reasoning_tokens > 0 || script.thoughts.text !== '') {
    items.push({ kind: 'reasoning', id: ids.next('rs_'), thoughts: script.thoughts, whole })
  }
  for (const tool of script.builtins) {
    items.push({ kind: 'builtin', id: ids.next(`${BUILTIN_PREFIX[tool] ?? 'tc'}_`), tool })
  }
  for (const call of script.calls) {
    items.push({ kind: 'function', id: ids.next('fc_'), callId: ids.next('call_'), call })
  }
  if (script.calls.length === 0 && script.end !== 'blocked') {
    items.push({ kind: 'message', id: ids.next('msg_'), answer: script.answer })
  }
  return items
}

const BUILTIN_PREFIX: Readonly<Record<string, string>> = {
  web_search: 'ws',
  code_interpreter: 'ci',
  file_search: 'fs',
}

/** A text part of a message. */
export function textPart(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

function builtinItem(tool: string, id: string, status: string, done: boolean): object {
  if (tool === 'web_search') {
    return { type: 'web_search_call', id, status, action: { type: 'search', query: QUERY } }
  }
  if (tool === 'file_search') {
    return { type: 'file_search_call', id, status, queries: [QUERY], results: null }
  }
  const outputs = done ? [{ type: 'logs', logs: '42\n' }] : null
  const code = done ? CODE : ''
  return { type: 'code_interpreter_call', id, status, code, container_id: 'cntr_sandbox', outputs }
}

/** An item as sent in full; `status` is the whole answer's. */
export function doneItem(item: OutputItem, status: 'completed' | 'incomplete'): object {
  switch (item.kind) {
    case 'reasoning': {
      const { text } = item.thoughts
      const summary = text === '' ? [] : [summaryPart(text)]
      const content = item.whole ? { encrypted_content: CONTENT } : {}
      return { type: 'reasoning', id: item.id, summary, ...content }
    }
    case 'message': {
      const content = [textPart(item.answer.text)]
      return { type: 'message', id: item.id, status, role: 'assistant', content }
    }
    case 'function':
      return functionItem(item.id, item.callId, item.call.name, item.call.arguments, status)
    case 'builtin':
      return builtinItem(item.tool, item.id, 'completed', true)
    default:
      return unreachable(item)
  }
}

/** An item as it is when it has just begun. */
export function openItem(item: OutputItem): object {
  switch (item.kind) {
    case 'reasoning':
      return { type: 'reasoning', id: item.id, summary: [] }
    case 'message':
      return { type: 'message', id: item.id, status: 'in_progress', role: 'assistant', content: [] }
    case 'function':
      return functionItem(item.id, item.callId, item.call.name, '', 'in_progress')
    case 'builtin':
      return builtinItem(item.tool, item.id, 'in_progress', false)
    default:
      return unreachable(item)
  }
}

/** A part of a summary of reasoning. */
export function summaryPart(text: string): object {
  return { type: 'summary_text', text }
}

function functionItem(id: string, callId: string, name: string, args: string, status: string) {
  return { type: 'function_call', id, call_id: callId, name, arguments: args, status }
}
