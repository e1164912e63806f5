import { noTextUsage, type TextUsage, type ToolUnit } from '../../../domain/families/text/usage.ts'
import { cacheDetails, cacheUsageOf } from '../../kit/text/cache-usage.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { countOrZero, isGiven, objectOf, textOf } from '../../kit/http/fields.ts'

/** Calls of the provider's own tools; upstream's `usage` has no counters for them. */
export type ToolCounts = Pick<TextUsage, ToolUnit>

export const noTools: ToolCounts = {
  'web-search-call': 0,
  'code-interpreter-session': 0,
  'file-search-call': 0,
}

/**
 * Counts finished output items. A search is charged by call; looking at a page found earlier is no
 * search. Code runs in containers, and a container is one session however often it is used.
 */
export function toolCounts(output: readonly JsonObject[]): ToolCounts {
  let webSearches = 0
  let fileSearches = 0
  const containers = new Set<string>()
  for (const item of output) {
    if (item['status'] !== undefined && item['status'] !== 'completed') continue
    const action = textOf(objectOf(item['action'])['type'])
    if (item['type'] === 'file_search_call') fileSearches += 1
    else if (item['type'] === 'code_interpreter_call')
      containers.add(textOf(item['container_id']) ?? '')
    else if (item['type'] === 'web_search_call' && (action === undefined || action === 'search'))
      webSearches += 1
  }
  return {
    'web-search-call': webSearches,
    'code-interpreter-session': containers.size,
    'file-search-call': fileSearches,
  }
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
    'cached-input': cache.read,
    'cache-write-5m': cache.written5m,
    'cache-write-1h': cache.written1h,
    output,
  }
}

/** A `usage` as callers see it: the cache names of this surface, and what the tools will cost. */
export function responsesUsageView(usage: JsonObject, tools: ToolCounts): JsonObject {
  const details = usage['input_tokens_details']
  const counts = Object.entries({
    web_search_calls: tools['web-search-call'],
    code_interpreter_sessions: tools['code-interpreter-session'],
    file_search_calls: tools['file-search-call'],
  }).filter(([, count]) => count > 0)
  return {
    ...usage,
    ...(isJsonObject(details) ? { input_tokens_details: cacheDetails(details) } : {}),
    ...(counts.length === 0 ? {} : { server_tool_usage: Object.fromEntries(counts) }),
  }
}
