import { costHeaders } from './cost.ts'
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

/** What the answer to a failed creation or call says outside its body, on every surface. */
export function failureHeaders(
  { rule, retry, text, cost }: Failure,
  ofRetry: (retry: Failure['retry']) => Record<string, string> = retryHeaders,
): Record<string, string> {
  const callId = text('callId')
  const platformId = text('platformId')
  return {
    'cache-control': 'no-store',
    ...(rule.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...ofRetry(retry),
    ...(callId === undefined ? {} : { 'x-call-id': callId }),
    ...(platformId === undefined ? {} : { 'x-platform-id': platformId }),
    ...costHeaders(cost),
  }
}
