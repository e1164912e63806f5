import { noTextUsage, type TextUsage } from '../../domain/call/usage.ts'
import { cacheDetails, cacheUsageOf } from '../kit/text/cache-usage.ts'
import { isJsonObject, type JsonObject } from '../../kernel/json.ts'
import { countOrZero, isGiven, objectOf, textOf } from '../kit/http/fields.ts'

/** Calls of the provider's own tools; upstream's `usage` has no counters for them. */
export interface ToolCounts {
  readonly webSearchCalls: number
  readonly codeInterpreterSessions: number
  readonly fileSearchCalls: number
}

export const noTools: ToolCounts = {
  webSearchCalls: 0,
  codeInterpreterSessions: 0,
  fileSearchCalls: 0,
}

/**
 * Counts finished output items. A search is charged by call; looking at a page found earlier is no
 * search. Code runs in containers, and a container is one session however often it is used.
 */
export function toolCounts(output: readonly JsonObject[]): ToolCounts {
  let webSearchCalls = 0
  let fileSearchCalls = 0
  const containers = new Set<string>()
  for (const item of output) {
    if (item['status'] !== undefined && item['status'] !== 'completed') continue
    const action = textOf(objectOf(item['action'])['type'])
    if (item['type'] === 'file_search_call') fileSearchCalls += 1
    else if (item['type'] === 'code_interpreter_call')
      containers.add(textOf(item['container_id']) ?? '')
    else if (item['type'] === 'web_search_call' && (action === undefined || action === 'search'))
      webSearchCalls += 1
  }
  return { webSearchCalls, fileSearchCalls, codeInterpreterSessions: containers.size }
}

/** The `usage` of a response by billing unit; undefined when a figure is missing or none. */
export function responsesUsage(usage: unknown, tools: ToolCounts): TextUsage | undefined {
  if (!isJsonObject(usage)) return undefined
  if (!isGiven(usage['input_tokens']) || !isGiven(usage['output_tokens'])) return undefined
  const all = countOrZero(usage['input_tokens'])
  const output = countOrZero(usage['output_tokens'])
  const cache = cacheUsageOf(objectOf(usage['input_tokens_details']), usage)
  if (all === undefined || output === undefined || cache === undefined) return undefined
  return {
    ...noTextUsage,
    ...tools,
    input: Math.max(0, all - cache.read - cache.written5m - cache.written1h),
    cachedInput: cache.read,
    cacheWrite5m: cache.written5m,
    cacheWrite1h: cache.written1h,
    output,
  }
}

/** A `usage` as callers see it: the cache names of this surface, and what the tools will cost. */
export function responsesUsageView(usage: JsonObject, tools: ToolCounts): JsonObject {
  const details = usage['input_tokens_details']
  const counts = Object.entries({
    web_search_calls: tools.webSearchCalls,
    code_interpreter_sessions: tools.codeInterpreterSessions,
    file_search_calls: tools.fileSearchCalls,
  }).filter(([, count]) => count > 0)
  return {
    ...usage,
    ...(isJsonObject(details) ? { input_tokens_details: cacheDetails(details) } : {}),
    ...(counts.length === 0 ? {} : { server_tool_usage: Object.fromEntries(counts) }),
  }
}
