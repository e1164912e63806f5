import type { Envelope } from '../kit/envelope.ts'
import { toRequestError, type RequestFault } from '../kit/request-error.ts'

const statusOf: Readonly<Record<RequestFault, number>> = {
  route_not_found: 404,
  url_invalid: 400,
  headers_too_large: 431,
  unauthenticated: 401,
  wrong_token_kind: 403,
  body_empty: 400,
  body_invalid: 400,
  body_too_large: 413,
  media_type_unsupported: 415,
  parameter_invalid: 400,
  overloaded: 503,
  outage: 503,
  internal: 500,
}

/** The error shape of every path that belongs to no family: `{error: {code, message}}`. */
export const operatingEnvelope: Envelope = (error) => {
  const { fault, message } = toRequestError(error)
  return {
    status: statusOf[fault],
    headers: { 'cache-control': 'no-store' },
    body: { error: { code: fault, message } },
  }
}
