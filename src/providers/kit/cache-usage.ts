import { type Fields, countOf, isGiven } from './fields.ts'

/**
 * Cache figures of the chat and responses wires. Upstreams differ in the names of cache writes; the
 * spec's own come first (spec §2.1).
 */
const WRITTEN = ['cached_write_tokens', 'cache_write_tokens', 'cache_creation_tokens'] as const
const WRITTEN_5M = ['cached_write_5m_tokens', 'cache_write_5m_tokens'] as const
const WRITTEN_1H = ['cached_write_1h_tokens', 'cache_write_1h_tokens'] as const

export interface CacheUsage {
  readonly read: number
  /** Without a split, all writes are of five minutes (design §6). */
  readonly written5m: number
  readonly written1h: number
}

function first(details: Fields, names: readonly string[]): number | undefined {
  const name = names.find((one) => isGiven(details[one]))
  return name === undefined ? 0 : countOf(details[name])
}

/** Reads the details of input tokens; undefined when a figure is none. */
export function cacheUsageOf(details: Fields): CacheUsage | undefined {
  const read = countOf(details['cached_tokens'])
  const written = first(details, WRITTEN)
  const written5m = first(details, WRITTEN_5M)
  const written1h = first(details, WRITTEN_1H)
  if (
    read === undefined ||
    written === undefined ||
    written5m === undefined ||
    written1h === undefined
  )
    return undefined
  return { read, written5m: Math.max(written5m, written - written1h), written1h }
}

/** The details as callers see them: the spec's names, writes only where there were any. */
export function cacheDetails(details: Fields): Fields {
  const usage = cacheUsageOf(details)
  const renamed: Record<string, unknown> = { ...details }
  for (const name of [...WRITTEN, ...WRITTEN_5M, ...WRITTEN_1H]) delete renamed[name]
  if (usage === undefined) return renamed
  const { written5m, written1h } = usage
  if (written5m + written1h > 0) renamed['cached_write_tokens'] = written5m + written1h
  if (written5m > 0) renamed['cached_write_5m_tokens'] = written5m
  if (written1h > 0) renamed['cached_write_1h_tokens'] = written1h
  return renamed
}
