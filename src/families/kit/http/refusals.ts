import { type Acceptance, ProviderError } from '../../../app/ports.ts'
import type { ExchangeResponse } from './exchange.ts'
import { malformed } from './failures.ts'
import { MAX_RETRY_AFTER_MS, retryAfterMs } from './retry-after.ts'
import type { Scrubber } from './scrub.ts'

/** From an upstream refusal of a call to a provider error that says what may have been accepted. */

/** What a caller is told to wait when upstream limits us and names no time. */
const DEFAULT_RETRY_AFTER_MS = 2_000
const MAX_PARAM_LENGTH = 120
/** Answered by a service that is there and does not want to: overloaded. */
const OVERLOADED = [503, 529]

/** What an error envelope says. */
export interface UpstreamError {
  readonly code: string | undefined
  readonly type: string | undefined
  readonly message: string
  readonly param: string | undefined
  /** Upstream speaks of our credential, contract or balance, whatever the status says. */
  readonly account: boolean
  readonly rateLimited: boolean
  readonly retryAfterMs: number | undefined
}

const accountError = (status: number, error: UpstreamError | undefined): ProviderError =>
  new ProviderError('account', 'ruled_out', 'The model service is not available to us.', {
    code: error?.code,
    type: error?.type,
    status,
  })

function limited(
  acceptance: Acceptance,
  error: UpstreamError | undefined,
  headersMs: number | undefined,
  status?: number,
): ProviderError {
  const waitMs = headersMs ?? error?.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS
  return new ProviderError('rate_limited', acceptance, 'The model service is at its limit.', {
    code: error?.code,
    type: error?.type,
    retryAfterMs: Math.min(waitMs, MAX_RETRY_AFTER_MS),
    status,
  })
}

/** A complete answer other than 2xx; `error` is its envelope, undefined when it has none. */
export function fromResponse(
  response: Pick<ExchangeResponse, 'statusCode' | 'headers'>,
  error: UpstreamError | undefined,
  scrub: Scrubber,
): ProviderError {
  const { statusCode: status } = response
  const details = { code: error?.code, type: error?.type, status }
  if (error?.account === true || status === 401 || status === 402 || status === 403)
    return accountError(status, error)
  // Where what is missing is none of the members, nobody knows the path or the model: our
  // configuration is wrong, not the call.
  const names = error?.param !== undefined && error.param !== 'model'
  if ((status === 404 && !names) || status === 405) return accountError(status, error)
  if (status === 429) return limited('ruled_out', error, retryAfterMs(response.headers), status)
  if (status >= 500) {
    // With its own envelope the service itself declined; a bare page may come from a proxy that gave
    // up on a service still at work.
    const declined = OVERLOADED.includes(status) && error !== undefined
    return new ProviderError(
      'unavailable',
      declined ? 'ruled_out' : 'unknown',
      'The model service failed.',
      details,
    )
  }
  if (status === 408)
    return new ProviderError(
      'timeout',
      'unknown',
      'The model service did not answer in time.',
      details,
    )
  if (status < 400) return malformed()
  return new ProviderError('invalid', 'ruled_out', scrub(error?.message ?? ''), {
    ...details,
    param: error?.param?.slice(0, MAX_PARAM_LENGTH),
  })
}

/** An error that upstream wrote into a stream it had begun. */
export function fromStreamError(error: UpstreamError, scrub: Scrubber): ProviderError {
  if (error.rateLimited) return limited('certain', error, undefined)
  return new ProviderError('unavailable', 'certain', scrub(error.message), {
    code: error.code,
    type: error.type,
    param: error.param?.slice(0, MAX_PARAM_LENGTH),
  })
}
