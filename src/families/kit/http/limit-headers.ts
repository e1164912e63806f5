import type { ExchangeResponse } from './exchange.ts'
import { headerOf, MAX_RETRY_AFTER_MS } from './retry-after.ts'

/** What upstream limits, as its headers name it. */
const LIMITED = ['requests', 'tokens'] as const
const UNITS_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }
const DURATION = /(\d+(?:\.\d+)?)(ms|h|m|s)/g

/** `12ms`, `1s`, `6m0s`; undefined for anything else. */
function durationMs(text: string): number | undefined {
  let totalMs = 0
  let length = 0
  for (const [whole, figure, unit] of text.matchAll(DURATION)) {
    totalMs += Number(figure) * (UNITS_MS[unit ?? ''] ?? 0)
    length += whole.length
  }
  return length > 0 && length === text.length ? Math.ceil(totalMs) : undefined
}

/**
 * How long upstream wants no further call although this one was answered: until what is used up is
 * there again. Undefined when something is left.
 */
export function restOf(headers: ExchangeResponse['headers']): number | undefined {
  let longestMs: number | undefined
  for (const what of LIMITED) {
    if (headerOf(headers, `x-ratelimit-remaining-${what}`) !== '0') continue
    const resetMs = durationMs(headerOf(headers, `x-ratelimit-reset-${what}`) ?? '')
    if (resetMs !== undefined) longestMs = Math.max(longestMs ?? 0, resetMs)
  }
  return longestMs === undefined ? undefined : Math.min(longestMs, MAX_RETRY_AFTER_MS)
}

/** What the head of an answer says beside the answer. */
export function headOf(headers: ExchangeResponse['headers']) {
  return { upstreamRequestId: headerOf(headers, 'x-request-id'), restMs: restOf(headers) }
}
