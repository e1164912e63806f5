import { countOf, type Faults } from '../faults/vocabulary.ts'

const LIMIT_REQUESTS = 10_000
const LIMIT_TOKENS = '2000000'

/** A duration as these headers state it: `12ms`, `1s`, `6m0s`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${ms}ms`
  const seconds = Math.floor(ms / 1000)
  const rest = seconds % 60
  const partial = ms % 1000 === 0 ? String(rest) : (rest + (ms % 1000) / 1000).toFixed(3)
  return seconds < 60 ? `${partial}s` : `${Math.floor(seconds / 60)}m${partial}s`
}

/** Headers of every answer of the chat and responses wires; `remaining` and `reset-ms` are switches. */
export function textHeaders(requestId: string, faults: Faults): Record<string, string> {
  const remaining = countOf(faults, 'remaining')
  const resetMs = countOf(faults, 'reset-ms')
  const reset = resetMs === null ? '6ms' : durationText(resetMs)
  return {
    'x-request-id': requestId,
    'openai-processing-ms': '5',
    'openai-version': '2020-10-01',
    'openai-organization': 'org-sandbox0123456789',
    'x-ratelimit-limit-requests': String(LIMIT_REQUESTS),
    'x-ratelimit-limit-tokens': LIMIT_TOKENS,
    'x-ratelimit-remaining-requests': String(remaining ?? LIMIT_REQUESTS - 1),
    'x-ratelimit-remaining-tokens': LIMIT_TOKENS,
    'x-ratelimit-reset-requests': reset,
    'x-ratelimit-reset-tokens': '0s',
  }
}

/** Headers that make an answer a stream of events. */
export const EVENT_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
} as const
