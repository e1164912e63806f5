import { isDomainError } from '../../kernel/errors.ts'
import type { Answer, Envelope } from '../kit/envelope.ts'
import { toRequestError, type RequestFault } from '../kit/request-error.ts'

/** Domain error codes these routes throw. */
export type QueryErrorCode =
  'scope_denied' | 'task_not_found' | 'invalid_cursor' | 'log_unavailable'

interface Rule {
  readonly status: number
  readonly code: string
  readonly message?: string
}

const invalid = { status: 400, code: 'invalid_request' } as const

const outage = {
  status: 503,
  code: 'service_unavailable',
  message: 'The service cannot answer at the moment',
} as const

const rules: Readonly<Record<QueryErrorCode | RequestFault, Rule>> = {
  route_not_found: { status: 404, code: 'not_found' },
  url_invalid: invalid,
  headers_too_large: { status: 431, code: 'invalid_request' },
  unauthenticated: { status: 401, code: 'unauthorized' },
  wrong_token_kind: { status: 403, code: 'wrong_token_kind' },
  body_empty: invalid,
  body_invalid: invalid,
  body_too_large: { status: 413, code: 'invalid_request' },
  media_type_unsupported: { status: 415, code: 'invalid_request' },
  parameter_invalid: invalid,
  overloaded: { status: 503, code: 'service_unavailable' },
  outage,
  // What is not in the read model cannot be told from what is not there yet.
  log_unavailable: outage,
  internal: {
    status: 500,
    code: 'internal_error',
    message: 'Internal error; quote the x-request-id of this answer',
  },
  scope_denied: { status: 403, code: 'scope_denied' },
  // One constant text: what the token may not see reads exactly like what is not there (P8).
  task_not_found: {
    status: 404,
    code: 'task_not_found',
    message: 'The specified task was not found',
  },
  invalid_cursor: invalid,
}

function compose(rule: Rule, message: string, param: string | undefined): Answer {
  return {
    status: rule.status,
    headers: {
      'cache-control': 'no-store',
      // Of an answer that was to be CSV, the failure is still said in JSON.
      'content-type': 'application/json; charset=utf-8',
      ...(rule.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...(rule.status === 503 ? { 'retry-after': '2' } : {}),
    },
    body: {
      success: false,
      message: rule.message ?? message,
      error: { code: rule.code, ...(param === undefined ? {} : { param }) },
    },
  }
}

function isQueryCode(code: string): code is QueryErrorCode {
  return Object.hasOwn(rules, code)
}

/** The error shape of `/api/*`: `{success: false, message, error: {code, param?}}`. */
export const queryEnvelope: Envelope = (error) => {
  if (!isDomainError(error)) {
    const request = toRequestError(error)
    return compose(rules[request.fault], request.message, request.param)
  }
  if (!isQueryCode(error.code)) return compose(rules.internal, '', undefined)
  const param = error.details['param']
  return compose(rules[error.code], error.message, typeof param === 'string' ? param : undefined)
}
