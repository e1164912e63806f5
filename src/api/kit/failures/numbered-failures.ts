import type { Failure, SurfaceFailures } from './surface-failures.ts'

/**
 * Failures of the `/provB` surfaces of video and of speech, whose answers name an error by a number. The envelope of
 * each surface begins with the table of this file, and adds the failures that the other surface does not have.
 */

/** Numbers that the envelopes use too. */
export const INVALID = '2013'
export const UNKNOWN_ERROR = '1000'
export const RATE_LIMITED = '1002'
const NOT_AUTHORISED = '1004'
const NO_BALANCE = '1008'
/** Upstream's number of a usage limit that is reached. */
const USAGE_LIMIT = '2056'

/** Failures that both surfaces share, each with its number or with its difference from the table. */
export const numberedFailures = {
  method_not_allowed: INVALID,
  url_invalid: INVALID,
  headers_too_large: INVALID,
  unauthenticated: NOT_AUTHORISED,
  wrong_token_kind: NOT_AUTHORISED,
  address_not_allowed: NOT_AUTHORISED,
  tenant_suspended: NOT_AUTHORISED,
  tenant_closed: NOT_AUTHORISED,
  user_suspended: NOT_AUTHORISED,
  body_empty: INVALID,
  body_invalid: INVALID,
  body_too_large: INVALID,
  media_type_unsupported: INVALID,
  parameter_invalid: INVALID,
  overloaded: UNKNOWN_ERROR,
  outage: UNKNOWN_ERROR,
  internal: UNKNOWN_ERROR,
  invalid_request: INVALID,
  unknown_model: { code: INVALID, status: 400 },
  model_not_allowed: NOT_AUTHORISED,
  price_not_configured: UNKNOWN_ERROR,
  insufficient_balance: NO_BALANCE,
  budget_reached: USAGE_LIMIT,
  rate_limited: RATE_LIMITED,
  log_unavailable: UNKNOWN_ERROR,
  log_outcome_unknown: UNKNOWN_ERROR,
  wrong_expected_revision: UNKNOWN_ERROR,
  append_too_large: INVALID,
  database_unavailable: UNKNOWN_ERROR,
  read_model_behind: UNKNOWN_ERROR,
  idempotency_key_reused: INVALID,
  refused_invalid: INVALID,
  refused_rate_limited: RATE_LIMITED,
  refused_account: UNKNOWN_ERROR,
} as const satisfies SurfaceFailures

/** Failures that share their number with others, so that the message names them. */
const named = /^(?:budget_reached|(?:tenant|user)_(?:suspended|closed))$/

/** The message of a failure, with its name where the number does not say it. */
export function numberedMessage({ failure, message }: Failure): string {
  return named.test(failure) ? `${failure}: ${message}` : message
}
