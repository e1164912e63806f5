import type { ProviderErrorKind } from '../../app/ports.ts'
import { isDomainError, type DomainError } from '../../kernel/errors.ts'
import { numberDetail, textDetail } from './error-details.ts'
import { toRequestError, type RequestError, type RequestFault } from './request-error.ts'

/** What text calls can fail with, before the envelope of a surface gives it its shape. */

/** Domain error codes the text routes can meet (`src/app/calls/text/types.ts`, the field rules). */
export type TextErrorCode =
  | 'invalid_request'
  | 'unknown_model'
  | 'model_not_allowed'
  | 'price_not_configured'
  | 'insufficient_balance'
  | 'no_channel'
  | 'log_unavailable'
  | 'log_outcome_unknown'
  | 'wrong_expected_revision'
  | 'append_too_large'
  | 'call_refused'
  | 'upstream_unavailable'
  | 'upstream_timeout'
  | 'upstream_malformed'
  | 'rate_limited'
  | 'previous_response_not_found'
  | 'kept_unavailable'

export type TextStatus =
  400 | 401 | 402 | 403 | 404 | 408 | 409 | 413 | 415 | 422 | 429 | 431 | 500 | 502 | 503 | 504

interface Rule {
  readonly status: TextStatus
  /** As `/v1` shows it. */
  readonly code: string | null
  /** Said instead of the error's own words: where those could tell too much. */
  readonly message?: string
  /**
   * Whether a client may send it again by itself: `never` where that could bill twice or cannot
   * help, or after this many milliseconds.
   */
  readonly retry?: 'never' | number
}

/** A failure without a shape. */
export interface TextFailure {
  readonly status: TextStatus
  readonly code: string | null
  /** The type upstream gave it, where it may be shown. */
  readonly type: string | undefined
  readonly message: string
  readonly param: string | null
  /** Milliseconds. */
  readonly retryAfterMs: number | undefined
  /** Retry and call headers, the same on every surface. */
  readonly headers: Readonly<Record<string, string>>
}

const away = {
  status: 503,
  code: 'service_unavailable',
  message: 'The service cannot take this request at the moment; nothing was started',
  retry: 2_000,
} as const
const busy = { ...away, code: 'overloaded', message: 'The service is busy; nothing was started' }
const broken = {
  status: 500,
  code: 'internal_error',
  message: 'Internal error; quote the x-request-id of this answer',
  retry: 'never',
} as const
/** Upstream may have done, and will charge, what we asked: sent again it would be done twice. */
const uncertain = {
  status: 502,
  code: 'upstream_error',
  retry: 'never',
} as const

const rules: Readonly<Record<TextErrorCode | RequestFault, Rule>> = {
  route_not_found: { status: 404, code: 'unknown_url' },
  url_invalid: { status: 400, code: 'invalid_url' },
  headers_too_large: { status: 431, code: 'headers_too_large' },
  unauthenticated: { status: 401, code: 'invalid_api_key' },
  wrong_token_kind: { status: 403, code: 'permission_denied' },
  body_empty: { status: 400, code: 'invalid_request' },
  body_invalid: { status: 400, code: 'invalid_request' },
  body_too_large: { status: 413, code: 'request_too_large' },
  media_type_unsupported: { status: 415, code: 'unsupported_media_type' },
  parameter_invalid: { status: 400, code: 'invalid_value' },
  overloaded: busy,
  outage: away,
  internal: broken,

  invalid_request: { status: 400, code: 'invalid_value' },
  unknown_model: { status: 404, code: 'model_not_found' },
  model_not_allowed: { status: 403, code: 'model_not_allowed' },
  price_not_configured: { status: 503, code: 'price_not_configured', retry: 'never' },
  insufficient_balance: { status: 402, code: 'insufficient_balance' },
  no_channel: {
    status: 503,
    code: 'model_unavailable',
    message: 'The model is not available at the moment; nothing was started',
    retry: 5_000,
  },
  // Named as upstream names it; the words must not differ between another's response and none (P8).
  previous_response_not_found: { status: 400, code: 'previous_response_not_found' },
  kept_unavailable: {
    status: 503,
    code: 'previous_response_unavailable',
    message:
      'What this request continues from is kept where the model is not available at the moment; nothing was started. Try again, or send the turns themselves',
    retry: 5_000,
  },
  log_unavailable: away,
  log_outcome_unknown: {
    status: 503,
    code: 'service_unavailable',
    message: 'The service could not record this call in time',
    retry: 'never',
  },
  wrong_expected_revision: broken,
  append_too_large: broken,
  call_refused: uncertain,
  upstream_unavailable: { status: 502, code: 'upstream_unavailable', retry: 2_000 },
  upstream_timeout: { status: 504, code: 'upstream_timeout', retry: 'never' },
  upstream_malformed: uncertain,
  rate_limited: { status: 429, code: 'rate_limit_exceeded', retry: 1_000 },
}

/** The result is there and withheld, because it could not be written down (P3). */
const unrecorded: Rule = {
  status: 503,
  code: 'service_unavailable',
  message: 'The call could not be recorded, so its result is withheld',
  retry: 'never',
}

/** Longest wait clients of this kind obey; past it they would fall back to their own, shorter one. */
const MAX_OBEYED_RETRY_MS = 60_000

/** Where upstream gave no reason. */
const sayNothing = 'The model service gave no reason'

/** Statuses by which upstream says that the caller's input is at fault, passed on as they are. */
const inputStatuses: ReadonlySet<number> = new Set<TextStatus>([400, 404, 409, 413, 415, 422])

function isInputStatus(status: number | undefined): status is TextStatus {
  return status !== undefined && inputStatuses.has(status)
}

const unusable: Rule = {
  status: 503,
  code: 'model_unavailable',
  message: 'The model service is not available to this gateway at the moment',
  retry: 'never',
}

/** A refusal by the model service. */
const refusals: Readonly<Record<ProviderErrorKind, (error: DomainError) => Rule>> = {
  invalid: (error) => {
    const status = numberDetail(error, 'status')
    const code = textDetail(error, 'upstreamCode') ?? null
    // The name we sent is ours: a model upstream does not know is a fault of the channel.
    if (code === 'model_not_found') return unusable
    return { status: isInputStatus(status) ? status : 400, code }
  },
  rate_limited: () => ({ status: 429, code: 'rate_limit_exceeded', retry: 1_000 }),
  // Our credential, contract or balance upstream: never the caller's fault.
  account: () => unusable,
  unavailable: () => rules.upstream_unavailable,
  timeout: () => rules.upstream_timeout,
  malformed: () => rules.upstream_malformed,
}

function isRefusalKind(kind: string): kind is ProviderErrorKind {
  return Object.hasOwn(refusals, kind)
}

function isKnownCode(code: string): code is keyof typeof rules {
  return Object.hasOwn(rules, code)
}

function ruleOf(error: DomainError): Rule {
  const kind = textDetail(error, 'kind') ?? ''
  if (error.code === 'call_refused' && isRefusalKind(kind)) return refusals[kind](error)
  // Once a call has its id it may have been made.
  if (error.code === 'log_unavailable' && textDetail(error, 'callId') !== undefined)
    return unrecorded
  return isKnownCode(error.code) ? rules[error.code] : broken
}

function retryHeaders(rule: Rule, retryAfterMs: number | undefined): Record<string, string> {
  if (rule.retry === 'never') return { 'x-should-retry': 'false' }
  if (retryAfterMs === undefined) return {}
  return {
    'retry-after': String(Math.ceil(retryAfterMs / 1_000)),
    'retry-after-ms': String(retryAfterMs),
    ...(retryAfterMs > MAX_OBEYED_RETRY_MS ? { 'x-should-retry': 'false' } : {}),
  }
}

function fromDomain(error: DomainError): TextFailure {
  const found = ruleOf(error)
  const acceptance = textDetail(error, 'acceptance')
  const rule: Rule =
    acceptance === undefined || acceptance === 'ruled_out' || found.status < 500
      ? found
      : { ...found, retry: 'never' }
  const asked = numberDetail(error, 'retryAfterMs')
  const retryAfterMs =
    typeof rule.retry === 'number' ? Math.max(1, Math.ceil(asked ?? rule.retry)) : undefined
  const callId = textDetail(error, 'callId')
  const ofModel = error.code === 'unknown_model' || error.code === 'model_not_allowed'
  return {
    status: rule.status,
    code: rule.code,
    type: rule.status < 500 ? textDetail(error, 'upstreamType') : undefined,
    message: rule.message ?? (error.message === '' ? sayNothing : error.message),
    param: ofModel ? 'model' : (textDetail(error, 'param') ?? null),
    retryAfterMs,
    headers: {
      ...retryHeaders(rule, retryAfterMs),
      ...(callId === undefined ? {} : { 'x-call-id': callId }),
    },
  }
}

function fromRequest(error: RequestError): TextFailure {
  const rule = rules[error.fault]
  const retryAfterMs = typeof rule.retry === 'number' ? rule.retry : undefined
  return {
    status: rule.status,
    code: rule.code,
    type: undefined,
    message: rule.message ?? error.message,
    param: error.param ?? null,
    retryAfterMs,
    headers: {
      ...(rule.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...retryHeaders(rule, retryAfterMs),
    },
  }
}

/** Reads anything thrown on the way of a text call; never throws. */
export function toTextFailure(error: unknown): TextFailure {
  return isDomainError(error) ? fromDomain(error) : fromRequest(toRequestError(error))
}
