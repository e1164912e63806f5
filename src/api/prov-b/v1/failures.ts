import type { FailureCode } from '../../kit/failure-table.ts'
import { withBody } from '../../kit/route-failures.ts'
import type { SurfaceFailures } from '../../kit/surface-failures.ts'
import {
  creationFailures as ofEveryCreation,
  ownParts,
  queryFailures,
} from '../../kit/task-failures.ts'

/**
 * The numbers of this wire (`base_resp.status_code`) that failures go by, and where they depart from
 * the table. What cannot be found is a wrong parameter here, told with HTTP 200.
 */
const INVALID = '2013'
const UNKNOWN_ERROR = '1000'
const TIMEOUT = '1001'
const RATE_LIMITED = '1002'
const NOT_AUTHORISED = '1004'
const NO_BALANCE = '1008'
const DOWNSTREAM = '1033'
const DUPLICATE_VOICE = '2039'
const NO_SUCH_VOICE = '2042'

const notFound = { code: INVALID, status: 400 } as const

/** What can fail on `/provB/v1`, whatever is asked for there. */
export const speechFailures = {
  route_not_found: INVALID,
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
  unknown_model: notFound,
  model_not_allowed: NOT_AUTHORISED,
  price_not_configured: UNKNOWN_ERROR,
  insufficient_balance: NO_BALANCE,
  rate_limited: RATE_LIMITED,
  no_channel: UNKNOWN_ERROR,
  // The voice, or what one is made of, is at an account that cannot be asked now.
  kept_unavailable: {
    code: UNKNOWN_ERROR,
    words:
      'The voice or its file is kept where the model is not available at the moment; nothing was started',
  },
  voice_not_found: { code: NO_SUCH_VOICE, status: 400 },
  voice_exists: { code: DUPLICATE_VOICE, status: 400 },
  file_not_found: notFound,
  task_not_found: notFound,
  log_unavailable: UNKNOWN_ERROR,
  log_outcome_unknown: UNKNOWN_ERROR,
  wrong_expected_revision: UNKNOWN_ERROR,
  append_too_large: INVALID,
  database_unavailable: UNKNOWN_ERROR,
  read_model_behind: UNKNOWN_ERROR,
  storage_not_configured: UNKNOWN_ERROR,
  storage_unavailable: UNKNOWN_ERROR,
  object_too_large: INVALID,
  idempotency_key_reused: INVALID,
  idempotency_in_progress: RATE_LIMITED,
  submission_refused: DOWNSTREAM,
  submission_uncertain: DOWNSTREAM,
  call_refused: DOWNSTREAM,
  refused_invalid: INVALID,
  refused_rate_limited: RATE_LIMITED,
  refused_account: UNKNOWN_ERROR,
  refused_unavailable: DOWNSTREAM,
  refused_timeout: TIMEOUT,
  refused_malformed: DOWNSTREAM,
  upstream_unavailable: DOWNSTREAM,
  upstream_timeout: TIMEOUT,
  upstream_malformed: DOWNSTREAM,
} as const satisfies SurfaceFailures

/** What a call can fail with, before it is sent and afterwards. */
export const callFailures: readonly FailureCode[] = [
  ...ownParts,
  ...withBody,
  'body_empty',
  'parameter_invalid',
  'overloaded',
  'invalid_request',
  'unknown_model',
  'model_not_allowed',
  'voice_not_found',
  'price_not_configured',
  'insufficient_balance',
  'rate_limited',
  'no_channel',
  'kept_unavailable',
  'log_outcome_unknown',
  'call_refused',
  'refused_invalid',
  'refused_account',
  'upstream_unavailable',
  'upstream_timeout',
  'upstream_malformed',
]

/** What taking a task can fail with. */
export const creationFailures: readonly FailureCode[] = [
  ...ofEveryCreation.filter((failure) => failure !== 'invalid_duration'),
  'voice_not_found',
  'kept_unavailable',
]

export { queryFailures }
