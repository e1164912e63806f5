import { ProviderError } from '../../../app/ports.ts'
import type { ExchangeResponse } from '../http/exchange.ts'
import { malformed, retryAfterMs } from '../http/refusals.ts'
import type { Scrubber } from '../http/lines.ts'

/** From a refusal on the wire of a task family to a provider error that says what was accepted. */

/** What a caller is told to wait when upstream limits us and names no time. */
export const DEFAULT_RETRY_AFTER_MS = 2_000

/** What an error envelope of a task wire says. */
export interface UpstreamError {
  /** Only what may be shown to callers and kept in the log. */
  readonly code: string | undefined
  readonly message: string
  readonly param: string | undefined
  /** It speaks of our account upstream rather than of what the caller sent, whatever the status. */
  readonly account: boolean
  /** It says that there is no such task, whatever the status. */
  readonly missing?: boolean
}

const accountStatuses: ReadonlySet<number> = new Set([401, 402, 403, 404, 405])

/** A complete answer other than 2xx; `error` is its envelope, undefined when it has none. */
export function fromTaskResponse(
  { statusCode, headers }: Pick<ExchangeResponse, 'statusCode' | 'headers'>,
  error: UpstreamError | undefined,
  scrub: Scrubber,
): ProviderError {
  const code = error?.code
  if (statusCode === 429)
    return new ProviderError('rate_limited', 'ruled_out', 'The model service is at its limit.', {
      code,
      retryAfterMs: retryAfterMs(headers) ?? DEFAULT_RETRY_AFTER_MS,
    })
  if (statusCode >= 500)
    return new ProviderError('unavailable', 'unknown', 'The model service failed.', { code })
  // An intermediary gave up on the request; the service behind it may not have.
  if (statusCode === 408 || statusCode === 499)
    return new ProviderError('timeout', 'unknown', 'The model service did not answer in time.')
  if (statusCode < 400) return malformed()
  if (accountStatuses.has(statusCode) || error?.account === true)
    return new ProviderError(
      'account',
      'ruled_out',
      'The account has not enabled this capability of the model service.',
      { code },
    )
  return new ProviderError('invalid', 'ruled_out', scrub(error?.message ?? ''), {
    code,
    param: error?.param,
  })
}
