import type { Failure } from './surface-failures.ts'

/** Longest `Retry-After` we send: clients of this kind ignore longer ones. */
const MAX_RETRY_AFTER_S = 60

/** What an answer tells of sending the same again. */
export function retryHeaders(retry: Failure['retry']): Record<string, string> {
  if (retry === undefined) return {}
  if (retry === 'never') return { 'x-should-retry': 'false' }
  const waitS = Math.max(1, Math.ceil(retry / 1_000))
  return { 'retry-after': String(Math.min(MAX_RETRY_AFTER_S, waitS)) }
}
