import { noTextUsage } from '../../text/rules/tokens.ts'
import { countOf, isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { countOrZero, isGiven, objectOf, objectsOf } from '../../kit/http/fields.ts'
import {
  cacheUsageOf,
  isWriteName,
  mentionsWrites,
  placesOfWrites,
  WRITTEN,
  WRITTEN_1H,
  WRITTEN_5M,
} from '../../text/upstream/answer-differences.ts'
import { NOTHING_READ, readFigures, type TextReading } from '../../text/upstream/report.ts'

/** The `usage` of chat: as it is billed, and as callers see it. */

function withoutWrites(holder: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(holder).filter(([name]) => !isWriteName(name)))
}

function firstCount(places: readonly JsonObject[], names: readonly string[]): number {
  for (const place of places)
    for (const name of names) {
      const value = place[name]
      if (typeof value === 'number' && value > 0) return value
    }
  return 0
}

/**
 * `usage` as callers see it: cache writes under one set of names, left out when there are none.
 * Writes that upstream does not split count as 5-minute ones, as they are billed.
 */
function shownUsage(usage: JsonObject): JsonObject {
  const details = objectOf(usage['prompt_tokens_details'])
  if (!mentionsWrites(details) && !mentionsWrites(usage)) return usage
  const places = placesOfWrites(details, usage)
  const oneHour = firstCount(places, WRITTEN_1H)
  const split = firstCount(places, WRITTEN_5M)
  const total = Math.max(firstCount(places, WRITTEN), split + oneHour)
  const fiveMinutes = total - oneHour
  return {
    ...withoutWrites(usage),
    prompt_tokens_details: {
      ...withoutWrites(details),
      ...(total > 0 ? { cached_write_tokens: total } : {}),
      ...(fiveMinutes > 0 ? { cached_write_5m_tokens: fiveMinutes } : {}),
      ...(oneHour > 0 ? { cached_write_1h_tokens: oneHour } : {}),
    },
  }
}

/** An answer or chunk with the `usage` that callers see; the same object if nothing differs. */
export function withShownUsage(body: JsonObject): JsonObject {
  const { usage } = body
  if (!isJsonObject(usage)) return body
  const shown = shownUsage(usage)
  return shown === usage ? body : { ...body, usage: shown }
}

/**
 * The `usage` of chat by billing unit: cache hits and writes come out of `prompt_tokens`, reasoning
 * is part of `completion_tokens`.
 */
export function chatUsage(usage: unknown, cites = false): TextReading {
  if (!isJsonObject(usage)) return NOTHING_READ
  const searches = countedSearches(usage) ?? (cites ? 1 : 0)
  return readFigures({
    input: countOf(usage['prompt_tokens']),
    output: countOf(usage['completion_tokens']),
    cache: cacheUsageOf(objectOf(usage['prompt_tokens_details']), usage),
    reasoning: countOf(objectOf(usage['completion_tokens_details'])['reasoning_tokens']),
    total: countOf(usage['total_tokens']),
    tools: searches === 0 ? noTextUsage : { ...noTextUsage, 'web-search-call': searches },
  })
}

/** The paths below `usage` where upstreams report the number of searches. */
const SEARCH_COUNTERS = [
  ['server_tool_use', 'web_search_requests'],
  ['server_tool_usage', 'web_search_calls'],
  ['tool_usage', 'web_search'],
] as const

/** Searches that a `usage` counts; undefined when it counts none. */
export function countedSearches(usage: unknown): number | undefined {
  if (!isJsonObject(usage)) return undefined
  for (const [holder, counter] of SEARCH_COUNTERS) {
    const count = objectOf(usage[holder])[counter]
    if (isGiven(count)) return countOrZero(count)
  }
  return undefined
}

/** Whether a message or a delta cites web pages, which shows that there was a search. */
export function citesPages(message: unknown): boolean {
  if (!isJsonObject(message) || message['annotations'] === undefined) return false
  return objectsOf(message['annotations']).some(({ type }) => type === 'url_citation')
}
