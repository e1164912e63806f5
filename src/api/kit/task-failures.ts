import type { FailureCode } from './failure-table.ts'
import { beforeSending, behindToken, withBody } from './route-failures.ts'

/** What routes of tasks can fail with, for their descriptions. */

/** Where only our own parts can fail a request. */
export const ownParts: readonly FailureCode[] = [
  ...behindToken,
  'log_unavailable',
  'database_unavailable',
  'read_model_behind',
]

/** Of creations that may use assets, beside theirs. */
export const assetFailures: readonly FailureCode[] = [
  'asset_not_found',
  'asset_not_active',
  'asset_region_mismatch',
  // The account that has them cannot be asked, and no other has them.
  'kept_unavailable',
]

/** Of every creation. */
export const creationFailures: readonly FailureCode[] = [
  ...beforeSending,
  'read_model_behind',
  'parameter_invalid',
  'invalid_duration',
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

/** Of what takes a task back: a deletion or a cancellation. */
export const deletionFailures: readonly FailureCode[] = [
  ...ownParts,
  ...withBody,
  'overloaded',
  'task_not_found',
  'task_running',
  'log_outcome_unknown',
  'wrong_expected_revision',
  'upstream_unavailable',
]

/** A creation is never sent again by itself on these surfaces: at another moment it is another task. */
export const modelAway = {
  words: 'The model is not available at the moment',
  retry: 'never',
} as const
