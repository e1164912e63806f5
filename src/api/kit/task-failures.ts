import type { FailureCode } from './failure-table.ts'
import { behindToken, withBody } from './route-failures.ts'

/** What routes of tasks can fail with, for their descriptions. */

/** Where only our own parts can fail a request. */
export const ownParts: readonly FailureCode[] = [
  ...behindToken,
  'log_unavailable',
  'database_unavailable',
  'read_model_behind',
]

/** Of every creation. */
export const creationFailures: readonly FailureCode[] = [
  ...ownParts,
  ...withBody,
  'body_empty',
  'parameter_invalid',
  'overloaded',
  'invalid_request',
  'invalid_duration',
  'unknown_model',
  'model_not_allowed',
  'price_not_configured',
  'insufficient_balance',
  'rate_limited',
  'no_channel',
  'log_outcome_unknown',
  'wrong_expected_revision',
  'append_too_large',
  'idempotency_key_reused',
  'idempotency_in_progress',
  'submission_refused',
  'submission_uncertain',
  'refused_invalid',
  'refused_rate_limited',
  'refused_account',
  'refused_unavailable',
  'refused_timeout',
  'refused_malformed',
]

export const queryFailures: readonly FailureCode[] = [...ownParts, 'task_not_found']
