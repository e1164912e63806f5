import { systemClock } from '../../../kernel/clock.ts'
import type { ExchangeResponse } from './exchange.ts'

/** Longer waits than this are told as this. */
export const MAX_RETRY_AFTER_MS = 60_000

/** The first value of a header. */
export function headerOf(headers: ExchangeResponse['headers'], name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Milliseconds upstream asks to wait, bounded; undefined when it does not say. */
export function retryAfterMs(
  headers: ExchangeResponse['headers'],
  nowMs: number = systemClock.nowMs(),
): number | undefined {
  const exact = Number(headerOf(headers, 'retry-after-ms'))
  if (Number.isFinite(exact) && exact > 0) return Math.min(exact, MAX_RETRY_AFTER_MS)
  const text = headerOf(headers, 'retry-after')
  if (text === undefined) return undefined
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  return Number.isFinite(waitMs) && waitMs > 0 ? Math.min(waitMs, MAX_RETRY_AFTER_MS) : undefined
}
