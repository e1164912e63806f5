import { Value } from 'typebox/value'
import { ProviderError } from '../../app/ports.ts'
import type { ExchangeResponse } from '../kit/http/exchange.ts'
import { malformed } from '../kit/http/failures.ts'
import { parseLossless } from '../kit/http/lossless-json.ts'
import { retryAfterMs } from '../kit/http/retry-after.ts'
import type { Scrubber } from '../kit/http/scrub.ts'
import { codeOf } from './convert.ts'
import { ErrorAnswerSchema } from './wire.ts'

/** From a failed exchange to a provider error that says what may have been accepted. */

/** What a caller is told to wait when upstream limits us and names no time. */
export const DEFAULT_RETRY_AFTER_MS = 2_000
const MAX_PARAM_LENGTH = 120

/** Dotted prefixes: our account lacks the model or the service, whatever the status says. */
const ACCOUNT_CODES = [
  'InvalidEndpointOrModel',
  'InvalidEndpoint',
  'InvalidSubscription',
  'ModelNotOpen',
  'UnsupportedModel',
  'OperationDenied',
  'AuthenticationError',
  'InvalidAccountStatus',
  'AccessDenied',
  'AccountOverdueError',
]

export interface UpstreamError {
  readonly code: string | undefined
  readonly message: string
  readonly param: string | undefined
}

/** Reads the error envelope of an answer; undefined when there is none, as for an unknown path. */
export function readError(response: ExchangeResponse): UpstreamError | undefined {
  let body: unknown
  try {
    body = parseLossless(response.text)
  } catch {
    return undefined
  }
  if (!Value.Check(ErrorAnswerSchema, body)) return undefined
  const { code, message, param } = body.error
  return {
    code: codeOf(code),
    message: typeof message === 'string' ? message : '',
    param: typeof param === 'string' && param !== '' ? param.slice(0, MAX_PARAM_LENGTH) : undefined,
  }
}

/** Whether a code speaks of our account upstream rather than of what the caller sent. */
export function isAccountCode(code: string | undefined): boolean {
  return (
    code !== undefined &&
    ACCOUNT_CODES.some((prefix) => code === prefix || code.startsWith(`${prefix}.`))
  )
}

/** A complete answer other than 2xx. */
export function fromResponse(response: ExchangeResponse, scrub: Scrubber): ProviderError {
  const { statusCode } = response
  const upstream = readError(response)
  if (statusCode === 429) {
    return new ProviderError('rate_limited', 'ruled_out', 'The model service is at its limit.', {
      code: upstream?.code,
      retryAfterMs: retryAfterMs(response.headers) ?? DEFAULT_RETRY_AFTER_MS,
    })
  }
  if (statusCode >= 500)
    return new ProviderError('unavailable', 'unknown', 'The model service failed.', {
      code: upstream?.code,
    })
  // An intermediary gave up on the request; the service behind it may not have.
  if (statusCode === 408)
    return new ProviderError('timeout', 'unknown', 'The model service did not answer in time.')
  if (statusCode < 400) return malformed()
  if (
    statusCode === 401 ||
    statusCode === 402 ||
    statusCode === 403 ||
    statusCode === 404 ||
    statusCode === 405 ||
    isAccountCode(upstream?.code)
  ) {
    return new ProviderError(
      'account',
      'ruled_out',
      'The account has not enabled this capability of the model service.',
      { code: upstream?.code },
    )
  }
  return new ProviderError('invalid', 'ruled_out', scrub(upstream?.message ?? ''), {
    code: upstream?.code,
    param: upstream?.param,
  })
}
