import type { ProviderErrorKind } from '../../app/ports.ts'
import { isDomainError, type DomainError } from '../../kernel/errors.ts'
import type { Answer, Envelope } from '../kit/envelope.ts'
import { numberDetail, textDetail } from '../kit/error-details.ts'
import { toRequestError, type RequestError, type RequestFault } from '../kit/request-error.ts'

/** Domain error codes the task routes can meet (`src/app/tasks/types.ts`, the catalog's rules). */
export type TaskErrorCode =
  | 'invalid_request'
  | 'invalid_duration'
  | 'unknown_model'
  | 'model_not_allowed'
  | 'price_not_configured'
  | 'insufficient_balance'
  | 'no_channel'
  | 'rate_limited'
  | 'overloaded'
  | 'log_unavailable'
  | 'log_outcome_unknown'
  | 'wrong_expected_revision'
  | 'append_too_large'
  | 'idempotency_key_reused'
  | 'idempotency_in_progress'
  | 'submission_refused'
  | 'submission_uncertain'
  | 'asset_not_found'
  | 'task_not_found'
  | 'task_running'
  | 'upstream_unavailable'

/** The `type` of an error goes with its status. */
const typeByStatus = {
  400: 'BadRequest',
  401: 'Unauthorized',
  402: 'PaymentRequired',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  413: 'BadRequest',
  415: 'BadRequest',
  429: 'TooManyRequests',
  431: 'BadRequest',
  500: 'InternalServerError',
  502: 'BadGateway',
  503: 'ServiceUnavailable',
} as const

interface Rule {
  readonly status: keyof typeof typeByStatus
  readonly code: string
  /** Said instead of the error's own words: where those could differ or tell too much. */
  readonly message?: string
  /**
   * Whether a client may send it again by itself: `never` where that could make a second task or
   * cannot help (sent as `x-should-retry: false`), or after this many seconds.
   */
  readonly retry?: 'never' | number
}

const invalid = { status: 400, code: 'invalid_request' } as const
const away = {
  status: 503,
  code: 'service_unavailable',
  message: 'The service cannot take this request at the moment; nothing was started',
  retry: 2,
} as const
const broken = {
  status: 500,
  code: 'InternalServiceError',
  message: 'Internal error; quote the x-request-id of this answer',
  retry: 'never',
} as const

const rules: Readonly<Record<TaskErrorCode | RequestFault, Rule>> = {
  route_not_found: { status: 404, code: 'NotFound' },
  url_invalid: invalid,
  headers_too_large: { status: 431, code: 'invalid_request' },
  unauthenticated: { status: 401, code: 'AuthenticationError' },
  wrong_token_kind: { status: 403, code: 'AccessDenied' },
  body_empty: invalid,
  body_invalid: invalid,
  body_too_large: { status: 413, code: 'invalid_request' },
  media_type_unsupported: { status: 415, code: 'invalid_request' },
  parameter_invalid: invalid,
  outage: away,
  internal: broken,

  invalid_request: invalid,
  invalid_duration: { status: 400, code: 'invalid_duration' },
  unknown_model: invalid,
  model_not_allowed: { status: 403, code: 'AccessDenied' },
  price_not_configured: { status: 503, code: 'service_unavailable', retry: 'never' },
  insufficient_balance: { status: 402, code: 'insufficient_balance' },
  no_channel: {
    status: 503,
    code: 'service_unavailable',
    message: 'The model is not available at the moment',
    retry: 'never',
  },
  rate_limited: { status: 429, code: 'RateLimitExceeded', retry: 1 },
  overloaded: { ...away, message: 'The service is busy; nothing was started' },
  log_unavailable: away,
  log_outcome_unknown: {
    status: 503,
    code: 'service_unavailable',
    message: 'The service could not record this request in time; look before trying again',
    retry: 'never',
  },
  wrong_expected_revision: away,
  append_too_large: { status: 413, code: 'invalid_request' },
  idempotency_key_reused: { status: 409, code: 'idempotency_key_reused', retry: 'never' },
  idempotency_in_progress: { status: 409, code: 'idempotency_in_progress', retry: 1 },
  submission_refused: { status: 502, code: 'service_error' },
  submission_uncertain: {
    status: 502,
    code: 'service_error',
    message:
      'The model service gave no clear answer; the task may exist: query it by the x-platform-id of this answer before creating another',
    retry: 'never',
  },
  asset_not_found: {
    status: 404,
    code: 'ResourceNotFound.Asset',
    message: 'The specified asset was not found',
  },
  task_not_found: {
    status: 404,
    code: 'task_not_found',
    // One constant text: another tenant's task reads exactly like none (P8).
    message: 'The specified task was not found',
  },
  task_running: {
    status: 409,
    code: 'InvalidAction.RunningTaskDeletion',
    message: 'A task that is running cannot be deleted',
    retry: 'never',
  },
  upstream_unavailable: {
    status: 502,
    code: 'service_error',
    message: 'The model service cannot be reached at the moment',
    retry: 2,
  },
}

/** Longest `Retry-After` we send: clients of this kind ignore longer ones. */
const MAX_RETRY_AFTER_S = 60

function retryHeaders(retry: Rule['retry']): Record<string, string> {
  if (retry === undefined) return {}
  if (retry === 'never') return { 'x-should-retry': 'false' }
  return { 'retry-after': String(Math.min(MAX_RETRY_AFTER_S, Math.max(1, Math.ceil(retry)))) }
}

function compose(rule: Rule, message: string, param: string | undefined, extra: object): Answer {
  return {
    status: rule.status,
    headers: {
      'cache-control': 'no-store',
      ...(rule.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...retryHeaders(rule.retry),
      ...extra,
    },
    body: {
      error: {
        code: rule.code,
        message: rule.message ?? message,
        param: param ?? '',
        type: typeByStatus[rule.status],
      },
    },
  }
}

/** Upstream's words for a bad field; other codes of a refused input (moderation) are kept. */
const parameterCodes = /^(?:Invalid|Missing)(?:Parameter|Argument)/

const notTaken: Rule = {
  status: 502,
  code: 'service_error',
  message: 'The model service could not take the task; none was created',
}

/** A refusal by the model service, which certainly started nothing. */
const refusals: Readonly<Record<ProviderErrorKind, (error: DomainError) => Rule>> = {
  invalid: (error) => {
    const code = textDetail(error, 'upstreamCode')
    return code === undefined || parameterCodes.test(code) ? invalid : { status: 400, code }
  },
  rate_limited: (error) => ({
    status: 429,
    code: 'RateLimitExceeded',
    retry: (numberDetail(error, 'retryAfterMs') ?? 1_000) / 1_000,
  }),
  // Our credential, contract or balance upstream: never the caller's fault.
  account: () => ({
    status: 503,
    code: 'service_unavailable',
    message: 'The model service is not available to this gateway at the moment',
    retry: 'never',
  }),
  unavailable: (error) => ({
    ...notTaken,
    retry: (numberDetail(error, 'retryAfterMs') ?? 2_000) / 1_000,
  }),
  timeout: () => ({ ...notTaken, retry: 2 }),
  malformed: () => ({ ...notTaken, retry: 'never' }),
}

function isRefusalKind(kind: string): kind is ProviderErrorKind {
  return Object.hasOwn(refusals, kind)
}

function refusalRule(error: DomainError): Rule {
  const kind = textDetail(error, 'kind') ?? ''
  return isRefusalKind(kind) ? refusals[kind](error) : { ...notTaken, retry: 'never' }
}

/** The caller's own limit: it knows when there is room again. */
function atLimit(error: DomainError): Rule {
  const retryAfterMs = numberDetail(error, 'retryAfterMs')
  return retryAfterMs === undefined
    ? rules.rate_limited
    : { ...rules.rate_limited, retry: retryAfterMs / 1_000 }
}

/**
 * What is said of a failure of ours once a task has its id: it may have been submitted, so a retry
 * by itself could make a second one.
 */
function afterAcceptance(rule: Rule): Rule {
  if (rule.status < 500) return rule
  if (rule.code !== 'service_unavailable' || rule.retry === 'never')
    return { ...rule, retry: 'never' }
  return {
    ...rule,
    message:
      'The service failed midway; query the task by the x-platform-id of this answer before creating another',
    retry: 'never',
  }
}

function isTaskCode(code: string): code is TaskErrorCode {
  return Object.hasOwn(rules, code)
}

function fromDomain(error: DomainError): Answer {
  const platformId = textDetail(error, 'platformId')
  const known = isTaskCode(error.code) ? rules[error.code] : broken
  let rule = known
  if (error.code === 'submission_refused') rule = refusalRule(error)
  else if (error.code === 'rate_limited') rule = atLimit(error)
  else if (platformId !== undefined) rule = afterAcceptance(known)
  const param =
    error.code === 'unknown_model' || error.code === 'model_not_allowed'
      ? 'model'
      : textDetail(error, 'param')
  const id = platformId === undefined ? {} : { 'x-platform-id': platformId }
  return compose(rule, error.message, param, id)
}

function fromRequest(error: RequestError): Answer {
  return compose(rules[error.fault], error.message, error.param, {})
}

/** The error shape of `/provA` tasks: `{error: {code, message, param, type}}`. */
export const provAEnvelope: Envelope = (error) =>
  isDomainError(error) ? fromDomain(error) : fromRequest(toRequestError(error))
