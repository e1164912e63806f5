import type { FailureCode } from './failure-table.ts'
import type { SurfaceFailures } from './surface-failures.ts'

/** The failures of routes before their use case runs, for their descriptions. */

/** The failures of every route below `requireToken`. */
export const tokenFailures = [
  'unauthenticated',
  'wrong_token_kind',
  'address_not_allowed',
  'tenant_closed',
  'rate_limited',
  // A query parameter that a route does not know, a character in a path or a header twice.
  'parameter_invalid',
  'outage',
  'internal',
] as const satisfies FailureCode[]

/** The failures of every route whose method has a body, whether or not the route reads it. */
export const withBody = [
  'body_invalid',
  'body_too_large',
  'media_type_unsupported',
] as const satisfies FailureCode[]

/** The failures of every route that asks for a model, before anything is reserved. */
export const beforeReserving: readonly FailureCode[] = [
  ...tokenFailures,
  ...withBody,
  'body_empty',
  'overloaded',
  'invalid_request',
  'unknown_model',
  'model_not_allowed',
  'tenant_suspended',
  'user_suspended',
  'no_channel',
  'database_unavailable',
]

/** The failures of every route that calls a model, before anything is sent. */
export const beforeSending: readonly FailureCode[] = [
  ...beforeReserving,
  'price_not_configured',
  'insufficient_balance',
  'budget_reached',
  'log_unavailable',
  'log_outcome_unknown',
]

/** The names of failures in managing accounts and tokens. */
export const managementFailures = {
  scope_denied: 'scope_denied',
  invalid_cursor: 'invalid_request',
  tenant_not_found: 'tenant_not_found',
  user_not_found: { code: 'user_not_found', param: 'user_id' },
  token_not_found: 'token_not_found',
  token_disabled: 'token_disabled',
  token_secret_reused: 'token_secret_reused',
  token_limits_invalid: 'invalid_request',
  token_models_invalid: 'invalid_request',
  token_addresses_invalid: 'invalid_request',
  token_scope_invalid: 'invalid_request',
  token_bound_reached: 'token_bound_reached',
  token_expiry_invalid: 'invalid_request',
  log_outcome_unknown: 'outcome_unknown',
  storage_full: 'insufficient_storage',
} as const satisfies Partial<SurfaceFailures>

/** The failures of every route that reads accounts or tokens. */
export const accountReadFailures: readonly FailureCode[] = [
  ...tokenFailures,
  'log_unavailable',
  'read_model_behind',
]

/** The failures of every route that changes them. */
export const changeFailures: readonly FailureCode[] = [
  ...accountReadFailures,
  ...withBody,
  'scope_denied',
  'log_outcome_unknown',
  'storage_full',
]

/** The failures of issuing and of changing a token. */
export const boundsFailures: readonly FailureCode[] = [
  'token_limits_invalid',
  'token_models_invalid',
  'token_addresses_invalid',
  'token_expiry_invalid',
  'token_bound_reached',
]

/** The failures of task routes, for their descriptions. */

/** The failures of routes that call no upstream. */
export const ownParts: readonly FailureCode[] = [
  ...tokenFailures,
  'log_unavailable',
  'database_unavailable',
  'read_model_behind',
]

/** Failures of creations that may use assets, in addition to those of every creation. */
export const assetFailures: readonly FailureCode[] = [
  'asset_not_found',
  'asset_not_active',
  'asset_region_mismatch',
  // The account that has them is unavailable, and no other account has them.
  'kept_unavailable',
]

/** Every way in which upstream refuses a creation. */
export const refusedUpstream: readonly FailureCode[] = [
  'refused_invalid',
  'refused_rate_limited',
  'refused_account',
  'refused_unavailable',
  'refused_timeout',
  'refused_malformed',
]

/** Failures of every creation. */
export const creationFailures: readonly FailureCode[] = [
  ...beforeSending,
  'read_model_behind',
  'invalid_duration',
  'wrong_expected_revision',
  'append_too_large',
  'idempotency_key_reused',
  'idempotency_in_progress',
  'submission_refused',
  'submission_uncertain',
  ...refusedUpstream,
]

export const queryFailures: readonly FailureCode[] = [...ownParts, 'task_not_found']

/** The failures of a deletion or a cancellation of a task. */
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

/** Clients must not resend a creation automatically on these surfaces: it would be another task. */
export const modelUnavailableFailures = {
  words: 'The model is not available at the moment',
  retry: 'never',
} as const
