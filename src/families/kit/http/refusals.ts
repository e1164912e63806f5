import { readHttpDate, readTime } from '../../../kernel/read-time.ts'
import type { ExchangeError } from './open-stream.ts'
import { type Acceptance, OVERLOADED_STATUS, ProviderError } from '../../../app/ports/provider.ts'
import { unreachable } from '../../../kernel/assert.ts'
import { systemClock } from '../../../kernel/clock.ts'
import type { ExchangeResponse } from './exchange.ts'
import type { Scrubber } from './scrubber.ts'

/**
 * Maps an upstream refusal of a call to a provider error that states whether it may have been
 * accepted.
 */

/** The `Retry-After` that a caller gets when upstream limits the gateway and names no time. */
const DEFAULT_RETRY_AFTER_MS = 2_000
const MAX_PARAM_LENGTH = 120
/** Statuses of an overloaded service. */
const OVERLOADED = [503, OVERLOADED_STATUS]

/** The content of an error envelope. */
export interface UpstreamError {
  readonly code: string | undefined
  readonly type: string | undefined
  readonly message: string
  readonly param: string | undefined
  /** The error concerns the gateway's credential, contract or balance, whatever the status. */
  readonly account: boolean
  readonly rateLimited: boolean
  /** The HTTP status that the error means by itself; undefined where it does not say. */
  readonly status: number | undefined
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

export function isSuccess(statusCode: number): boolean {
  return statusCode >= 200 && statusCode < 300
}

/**
 * The status of a failure: some relays answer every failure with 200, some servers with 500, and name
 * the status inside.
 */
function statusOf(statusCode: number, error: UpstreamError | undefined): number {
  if (error === undefined || (!isSuccess(statusCode) && statusCode !== 500)) return statusCode
  return error.rateLimited ? 429 : (error.status ?? 500)
}

/**
 * A complete answer that is no result; `error` is its envelope, undefined when it has none. An error
 * that came with the status of a success counts as if it had come with its own.
 */
export function fromResponse(
  response: Pick<ExchangeResponse, 'statusCode' | 'headers'>,
  error: UpstreamError | undefined,
  scrub: Scrubber,
): ProviderError {
  const status = statusOf(response.statusCode, error)
  const details = { code: error?.code, type: error?.type, status }
  const isAccount = (code: number | undefined) => code === 401 || code === 402 || code === 403
  if (error?.account === true || isAccount(status) || isAccount(error?.status))
    return accountError(status, error)
  // If the error names no member of the body, upstream does not know the path or the model: the
  // configuration is wrong, not the call.
  const names = error?.param !== undefined && error.param !== 'model'
  if ((status === 404 && !names) || status === 405) return accountError(status, error)
  if (status === 429) return limited('ruled_out', error, retryAfterMs(response.headers), status)
  if (status >= 500) {
    // With its own envelope the service itself refused; another page may come from a proxy that
    // gave up while the service is still working.
    const declined = OVERLOADED.includes(status) && error !== undefined
    const isOverloaded = status === OVERLOADED_STATUS
    return new ProviderError(
      'unavailable',
      declined ? 'ruled_out' : 'unknown',
      isOverloaded ? 'The model service is overloaded.' : 'The model service failed.',
      isOverloaded ? { ...details, retryAfterMs: retryAfterMs(response.headers) } : details,
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

/** An error that upstream wrote into a stream, as if it were the first frame of it. */
export function fromStreamError(error: UpstreamError, scrub: Scrubber): ProviderError {
  const refused = fromResponse({ statusCode: 200, headers: {} }, error, scrub)
  if (refused.kind !== 'unavailable') return refused
  const { code, type, status, acceptance } = refused
  const param = error.param?.slice(0, MAX_PARAM_LENGTH)
  return new ProviderError('unavailable', acceptance, scrub(error.message), {
    code,
    type,
    param,
    status,
  })
}

/** The failure as one after upstream had begun to answer: the call was accepted. */
export function afterAcceptance(error: ProviderError): ProviderError {
  return new ProviderError(error.kind, 'certain', error.message, error)
}

/**
 * Maps a failed exchange to a provider error that states whether the request may have been
 * accepted.
 */

/** An exchange without a complete answer: a request that was never sent was never accepted. */
export function fromExchange(error: ExchangeError): ProviderError {
  const acceptance: Acceptance = error.sent ? 'unknown' : 'ruled_out'
  const details = { cause: error, endedByGateway: error.reason === 'aborted' }
  switch (error.reason) {
    case 'timeout':
    case 'aborted':
      return new ProviderError(
        'timeout',
        acceptance,
        'The model service did not answer in time.',
        details,
      )
    case 'network':
      return new ProviderError(
        'unavailable',
        acceptance,
        error.sent
          ? 'The connection to the model service broke off before it had answered.'
          : 'The model service could not be reached.',
        details,
      )
    case 'too_large':
      return malformed(error, true)
    default:
      return unreachable(error.reason)
  }
}

/** An answer that cannot be parsed; the request may have been accepted. */
export function malformed(cause?: unknown, endedByGateway = false): ProviderError {
  return new ProviderError(
    'malformed',
    'unknown',
    'The model service gave an answer that could not be read.',
    { cause, endedByGateway },
  )
}

/** The longest `Retry-After` that a caller gets. */
const MAX_RETRY_AFTER_MS = 60_000

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
  const waitMs = /^\d+$/.test(text)
    ? Number(text) * 1_000
    : (readHttpDate(text) ?? Number.NaN) - nowMs
  return Number.isFinite(waitMs) && waitMs > 0 ? Math.min(waitMs, MAX_RETRY_AFTER_MS) : undefined
}

/** The headers of a wire's answers that the gateway reads. */
export interface HeadNames {
  /** The provider's id of the request. */
  readonly requestId: string
  /** Each limit of the account: the remaining amount, and when it is full again. */
  readonly limits: readonly (readonly [remaining: string, reset: string])[]
}

/** The names on most wires. */
const USUAL_HEAD: HeadNames = {
  requestId: 'x-request-id',
  limits: [
    ['x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
    ['x-ratelimit-remaining-tokens', 'x-ratelimit-reset-tokens'],
  ],
}

const UNITS_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }
const DURATION = /(?<![\d.])(\d+(?:\.\d+)?)(ms|h|m|s)/g

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

/** Time until a limit is full again, which is written as a duration or as a time. */
function resetMs(text: string, nowMs?: number): number | undefined {
  const duration = durationMs(text)
  if (duration !== undefined) return duration
  const unixMs = readTime(text)
  return unixMs === undefined ? undefined : Math.max(0, unixMs - (nowMs ?? systemClock.nowMs()))
}

/**
 * Time without further calls after a successful one, until the used-up limit is reset. Undefined if
 * the limit is not used up.
 */
export function restOf(
  headers: ExchangeResponse['headers'],
  { limits }: Pick<HeadNames, 'limits'> = USUAL_HEAD,
  nowMs?: number,
): number | undefined {
  let longestMs: number | undefined
  for (const [remaining, reset] of limits) {
    if (headerOf(headers, remaining) !== '0') continue
    const waitMs = resetMs(headerOf(headers, reset) ?? '', nowMs)
    if (waitMs !== undefined) longestMs = Math.max(longestMs ?? 0, waitMs)
  }
  return longestMs === undefined ? undefined : Math.min(longestMs, MAX_RETRY_AFTER_MS)
}

/** Upstream's request id and rest time, from the headers of its answer. */
export function headOf(headers: ExchangeResponse['headers'], names: HeadNames = USUAL_HEAD) {
  return { upstreamRequestId: headerOf(headers, names.requestId), restMs: restOf(headers, names) }
}
