import type { CallUsage } from '../calls/store.ts'
import type { Faults } from '../faults/vocabulary.ts'
import { cacheWriteFields } from '../text/cache.ts'
import type { Script } from '../text/script.ts'
import { textMessage } from '../text/wire.ts'
import type { ResponsesRequest } from './parse.ts'

/** What heads every body of one response. */
export interface ResponseHead {
  readonly id: string
  readonly createdAt: number
}

/** How a response ends. */
export type ResponseStatus = 'completed' | 'incomplete' | 'failed'

/** Usage in this wire's names; cache writes only where there is a cache that is written. */
export function responsesUsage(usage: CallUsage, caches: boolean, faults: Faults) {
  return {
    input_tokens: usage.input_tokens,
    input_tokens_details: {
      cached_tokens: usage.cached_input_tokens,
      ...cacheWriteFields(usage, caches, faults),
    },
    output_tokens: usage.output_tokens,
    output_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
    total_tokens: usage.input_tokens + usage.output_tokens,
  }
}

/** The status a script, or a failure, ends in. */
export function statusOf(script: Script, failCode: string | null): ResponseStatus {
  if (failCode !== null) return 'failed'
  return script.end === 'length' || script.end === 'blocked' ? 'incomplete' : 'completed'
}

/** Everything but what its progress decides. */
function echo(head: ResponseHead, request: ResponsesRequest) {
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
export function openResponse(
  head: ResponseHead,
  request: ResponsesRequest,
  status: string,
): object {
  return {
    ...echo(head, request),
    status,
    error: null,
    incomplete_details: null,
    output: [],
    usage: null,
  }
}

/** A response that has ended. */
export function endedResponse(
  head: ResponseHead,
  request: ResponsesRequest,
  end: {
    readonly script: Script
    readonly failCode: string | null
    readonly output: readonly object[]
    readonly usage: object | null
  },
): object {
  const status = statusOf(end.script, end.failCode)
  const reason = end.script.end === 'blocked' ? 'content_filter' : 'max_output_tokens'
  return {
    ...echo(head, request),
    status,
    error:
      end.failCode === null ? null : { code: end.failCode, message: textMessage(end.failCode) },
    incomplete_details: status === 'incomplete' ? { reason } : null,
    output: end.output,
    usage: end.usage,
  }
}
