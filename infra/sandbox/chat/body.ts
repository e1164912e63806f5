import type { CallUsage } from '../calls/store.ts'
import type { Faults } from '../faults/vocabulary.ts'
import type { IdMaker } from '../kit/random.ts'
import { cacheWriteFields } from '../text/cache.ts'
import type { PlannedCall, Script, ScriptEnd } from '../text/script.ts'
import type { ChatRequest } from './parse.ts'

/** What heads every body of one answer. */
export interface ChatHead {
  readonly id: string
  readonly created: number
  readonly model: string
}

export const FINGERPRINT = 'fp_sandbox0001'

const REASONS: Readonly<Record<ScriptEnd, string>> = {
  stop: 'stop',
  length: 'length',
  tools: 'tool_calls',
  blocked: 'content_filter',
}

/** Why an answer ended. */
export function finishReason(script: Script, legacy: boolean): string {
  return legacy && script.end === 'tools' ? 'function_call' : REASONS[script.end]
}

/** Usage in this wire's names; cache writes only where there is a cache that is written. */
export function chatUsage(usage: CallUsage, caches: boolean, faults: Faults) {
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
export function toolCall(call: PlannedCall, id: string) {
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
    content: first === undefined ? script.told.text : null,
    ...(script.thoughts.text === '' ? {} : { reasoning_content: script.thoughts.text }),
    ...called,
    refusal: null,
    annotations: citations(script),
  }
}

/** The pages an answer cites: one for its search, at the end of its text. */
export function citations(script: Script): readonly object[] {
  if (script.builtins.length === 0) return []
  const { length } = script.told.text
  const page = { url: 'https://news.example.com/sandbox', title: 'Sandbox news' }
  return [{ type: 'url_citation', url_citation: { start_index: 0, end_index: length, ...page } }]
}

/** The whole answer. */
export function chatBody(
  head: ChatHead,
  request: ChatRequest,
  script: Script,
  usage: object | null,
  ids: IdMaker,
): object {
  const reason = finishReason(script, request.legacy)
  const choices = Array.from({ length: request.choices }, (_, index) => ({
    index,
    message: messageOf(request, script, ids),
    logprobs: null,
    finish_reason: reason,
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
