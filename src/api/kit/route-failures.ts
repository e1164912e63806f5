import type { FailureCode } from './failure-table.ts'

/** What routes can fail with before their use case is asked, for their descriptions. */

/** Of every route below `requireToken`. */
export const behindToken = [
  'unauthenticated',
  'wrong_token_kind',
  'address_not_allowed',
  'rate_limited',
  'outage',
  'internal',
] as const satisfies FailureCode[]

/** Of every route whose method has a body, whether or not it reads one. */
export const withBody = [
  'body_invalid',
  'body_too_large',
  'media_type_unsupported',
] as const satisfies FailureCode[]

/** Of every route that asks a model for something, before that is sent. */
export const beforeSending: readonly FailureCode[] = [
  ...behindToken,
  ...withBody,
  'body_empty',
  'overloaded',
  'invalid_request',
  'unknown_model',
  'model_not_allowed',
  'price_not_configured',
  'insufficient_balance',
  'budget_reached',
  'no_channel',
  'log_unavailable',
  'log_outcome_unknown',
  'database_unavailable',
]
