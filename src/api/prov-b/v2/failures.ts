import type { FailureCode } from '../../kit/failure-table.ts'
import { creationFailures } from '../../kit/task-failures.ts'
import type { SurfaceFailures } from '../../kit/surface-failures.ts'

/** The numbers of this wire that failures go by, and where they depart from the table. */
const INVALID = '2013'
const UNKNOWN_ERROR = '1000'
const RATE_LIMITED = '1002'
const NOT_AUTHORISED = '1004'
const NO_BALANCE = '1008'

/** What can fail on the `/provB` video routes. */
export const videoFailures = {
  route_not_found: UNKNOWN_ERROR,
  url_invalid: INVALID,
  headers_too_large: INVALID,
  unauthenticated: NOT_AUTHORISED,
  wrong_token_kind: NOT_AUTHORISED,
  body_empty: INVALID,
  body_invalid: INVALID,
  body_too_large: INVALID,
  media_type_unsupported: INVALID,
  parameter_invalid: INVALID,
  overloaded: UNKNOWN_ERROR,
  outage: UNKNOWN_ERROR,
  internal: UNKNOWN_ERROR,
  invalid_request: INVALID,
  invalid_duration: INVALID,
  unknown_model: { code: INVALID, status: 400 },
  model_not_allowed: NOT_AUTHORISED,
  price_not_configured: UNKNOWN_ERROR,
  insufficient_balance: NO_BALANCE,
  rate_limited: RATE_LIMITED,
  // A creation is never sent again by itself here: at another moment it is another task.
  no_channel: {
    code: UNKNOWN_ERROR,
    words: 'The model is not available at the moment',
    retry: 'never',
  },
  kept_unavailable: {
    code: UNKNOWN_ERROR,
    words: 'The account that has the uploaded files is not available at the moment',
    retry: 'never',
  },
  log_unavailable: UNKNOWN_ERROR,
  log_outcome_unknown: UNKNOWN_ERROR,
  wrong_expected_revision: UNKNOWN_ERROR,
  append_too_large: INVALID,
  database_unavailable: UNKNOWN_ERROR,
  read_model_behind: UNKNOWN_ERROR,
  idempotency_key_reused: INVALID,
  idempotency_in_progress: INVALID,
  submission_refused: UNKNOWN_ERROR,
  submission_uncertain: UNKNOWN_ERROR,
  refused_invalid: INVALID,
  refused_rate_limited: RATE_LIMITED,
  refused_account: UNKNOWN_ERROR,
  refused_unavailable: UNKNOWN_ERROR,
  refused_timeout: UNKNOWN_ERROR,
  refused_malformed: UNKNOWN_ERROR,
  // Upstream's own words: another tenant's task reads exactly like none (P8).
  task_not_found: { code: UNKNOWN_ERROR, words: 'record not found' },
} as const satisfies SurfaceFailures

export const createFailures: readonly FailureCode[] = [...creationFailures, 'kept_unavailable']
