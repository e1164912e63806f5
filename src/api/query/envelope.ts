import type { Answer, Envelope } from '../kit/envelope.ts'
import type { FailureCode } from '../kit/failure-table.ts'
import { behindToken } from '../kit/route-failures.ts'
import { createSurface, type SurfaceFailures } from '../kit/surface-failures.ts'

const away = { code: 'service_unavailable', words: 'The service cannot answer at the moment' }

/** What failures are called here, and where they depart from the table. */
const surface = createSurface({
  route_not_found: 'not_found',
  url_invalid: 'invalid_request',
  headers_too_large: 'invalid_request',
  unauthenticated: 'unauthorized',
  wrong_token_kind: 'wrong_token_kind',
  body_empty: 'invalid_request',
  body_invalid: 'invalid_request',
  body_too_large: 'invalid_request',
  media_type_unsupported: 'invalid_request',
  parameter_invalid: 'invalid_request',
  outage: away,
  internal: 'internal_error',
  scope_denied: 'scope_denied',
  task_not_found: 'task_not_found',
  invalid_cursor: 'invalid_request',
  query_too_long: 'query_too_long',
  rate_limited: 'rate_limited',
  // What is not in the read model cannot be told from what is not there yet.
  log_unavailable: away,
  read_model_behind: away,
} satisfies SurfaceFailures)

/** What a query of the ledger, and of a task's history, can fail with. */
export const ledgerFailures: readonly FailureCode[] = [
  ...behindToken,
  'parameter_invalid',
  'invalid_cursor',
  'scope_denied',
  'read_model_behind',
  'query_too_long',
  'rate_limited',
]
export const historyFailures: readonly FailureCode[] = [
  ...behindToken,
  'query_too_long',
  'rate_limited',
  'task_not_found',
  'log_unavailable',
  'read_model_behind',
]

/** The error shape of `/api/*`: `{success: false, message, error: {code, param?}}`. */
export const queryEnvelope: Envelope = (error): Answer => {
  const { rule, message, param, retry } = surface.read(error)
  return {
    status: rule.status,
    headers: {
      'cache-control': 'no-store',
      // Of an answer that was to be CSV, the failure is still said in JSON.
      'content-type': 'application/json; charset=utf-8',
      ...(rule.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...(typeof retry === 'number' ? { 'retry-after': String(Math.ceil(retry / 1_000)) } : {}),
    },
    body: {
      success: false,
      message,
      error: { code: rule.code, ...(param === undefined ? {} : { param }) },
    },
  }
}
