import { noTextUsage, type TextUsage } from '../../../domain/families/text/usage.ts'
import { cacheUsageOf } from '../../kit/text/cache-usage.ts'
import { isJsonObject } from '../../../kernel/json.ts'
import { countOrZero, isGiven, objectOf, objectsOf } from '../../kit/http/fields.ts'

/**
 * The `usage` of chat by billing unit: cache hits and writes come out of
 * `prompt_tokens`, reasoning is part of `completion_tokens`. Undefined when a figure is missing or
 * none: then nothing was reported.
 */
export function chatUsage(usage: unknown): TextUsage | undefined {
  if (!isJsonObject(usage)) return undefined
  if (!isGiven(usage['prompt_tokens']) || !isGiven(usage['completion_tokens'])) return undefined
  const prompt = countOrZero(usage['prompt_tokens'])
  const output = countOrZero(usage['completion_tokens'])
  const cache = cacheUsageOf(objectOf(usage['prompt_tokens_details']), usage)
  if (prompt === undefined || output === undefined || cache === undefined) return undefined
  return {
    ...noTextUsage,
    input: Math.max(0, prompt - cache.read - cache.written5m - cache.written1h),
    'cached-input': cache.read,
    'cache-write-5m': cache.written5m,
    'cache-write-1h': cache.written1h,
    output,
  }
}

/** Where upstreams that count searches say how many there were, below `usage`. */
const SEARCH_COUNTERS = [
  ['server_tool_use', 'web_search_requests'],
  ['server_tool_usage', 'web_search_calls'],
  ['tool_usage', 'web_search'],
] as const

/** Searches a `usage` speaks of; undefined when it says nothing. */
export function countedSearches(usage: unknown): number | undefined {
  if (!isJsonObject(usage)) return undefined
  for (const [holder, counter] of SEARCH_COUNTERS) {
    const count = objectOf(usage[holder])[counter]
    if (isGiven(count)) return countOrZero(count)
  }
  return undefined
}

/** Whether a message, or a delta of one, cites pages of the web: then there was a search. */
export function citesPages(message: unknown): boolean {
  if (!isJsonObject(message) || message['annotations'] === undefined) return false
  return objectsOf(message['annotations']).some(({ type }) => type === 'url_citation')
}

/**
 * Usage with the searches of the answer: as many as upstream counted. Where it counts none, an
 * answer that cites pages is one search, because this wire's search is charged for by call.
 */
export function withSearches(
  usage: TextUsage | undefined,
  counted: number | undefined,
  cites: boolean,
): TextUsage | undefined {
  const searches = counted ?? (cites ? 1 : 0)
  return usage === undefined || searches === 0 ? usage : { ...usage, 'web-search-call': searches }
}
