import type { JsonObject } from '../../../kernel/json.ts'
import { countOrZero, isGiven, objectOf } from '../../kit/http/fields.ts'

/**
 * Cache figures of the chat and responses wires. Upstreams differ in the names of cache writes; those
 * our callers see come first.
 */
export const WRITTEN = ['cached_write_tokens', 'cache_write_tokens', 'cache_creation_input_tokens']
export const WRITTEN_5M = [
  'cached_write_5m_tokens',
  'cache_write_5m_tokens',
  'ephemeral_5m_input_tokens',
]
export const WRITTEN_1H = [
  'cached_write_1h_tokens',
  'cache_write_1h_tokens',
  'ephemeral_1h_input_tokens',
]

export interface CacheUsage {
  readonly read: number
  /** Without a split, all writes are of five minutes. */
  readonly written5m: number
  readonly written1h: number
}

/** The first figure found; zero where there is none, undefined where it is not a count. */
function first(places: readonly JsonObject[], names: readonly string[]): number | undefined {
  for (const place of places)
    for (const name of names) if (isGiven(place[name])) return countOrZero(place[name])
  return 0
}

/** Reads the details of input tokens, and what upstreams put beside them; undefined when a figure is none. */
export function cacheUsageOf(details: JsonObject, usage: JsonObject): CacheUsage | undefined {
  const places = [
    details,
    usage,
    objectOf(details['cache_creation']),
    objectOf(usage['cache_creation']),
  ]
  const read = countOrZero(details['cached_tokens'])
  const written = first(places, WRITTEN)
  const written5m = first(places, WRITTEN_5M)
  const written1h = first(places, WRITTEN_1H)
  if (
    read === undefined ||
    written === undefined ||
    written5m === undefined ||
    written1h === undefined
  )
    return undefined
  return { read, written5m: Math.max(written5m, written - written1h), written1h }
}

/** The details as callers see them: the surface's names, writes only where there were any. */
export function cacheDetails(details: JsonObject): JsonObject {
  const usage = cacheUsageOf(details, {})
  const renamed: Record<string, unknown> = { ...details }
  for (const name of [...WRITTEN, ...WRITTEN_5M, ...WRITTEN_1H]) delete renamed[name]
  if (usage === undefined) return renamed
  const { written5m, written1h } = usage
  if (written5m + written1h > 0) renamed['cached_write_tokens'] = written5m + written1h
  if (written5m > 0) renamed['cached_write_5m_tokens'] = written5m
  if (written1h > 0) renamed['cached_write_1h_tokens'] = written1h
  return renamed
}
