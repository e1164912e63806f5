import type { FailureCode } from './failure-table.ts'
import { behindToken, withBody } from './route-failures.ts'
import type { SurfaceFailures } from './surface-failures.ts'

/** What failures of managing accounts and tokens are called. */
export const managementFailures = {
  scope_denied: 'scope_denied',
  invalid_cursor: 'invalid_request',
  tenant_not_found: 'tenant_not_found',
  user_not_found: { code: 'user_not_found', param: 'user_id' },
  token_not_found: 'token_not_found',
  token_disabled: 'token_disabled',
  token_limits_invalid: 'invalid_request',
  token_models_invalid: 'invalid_request',
  token_addresses_invalid: 'invalid_request',
  token_scope_invalid: 'invalid_request',
  token_bound_reached: 'token_bound_reached',
  token_expiry_invalid: 'invalid_request',
  log_outcome_unknown: 'outcome_unknown',
} as const satisfies Partial<SurfaceFailures>

/** Of every route that reads what is managed. */
export const readFailures: readonly FailureCode[] = [
  ...behindToken,
  'parameter_invalid',
  'log_unavailable',
  'read_model_behind',
]

/** Of every route that changes some of it. */
export const changeFailures: readonly FailureCode[] = [
  ...readFailures,
  ...withBody,
  'scope_denied',
  'log_outcome_unknown',
]

/** Of a token that is to be made, and to be changed. */
export const boundsFailures: readonly FailureCode[] = [
  'token_limits_invalid',
  'token_models_invalid',
  'token_addresses_invalid',
  'token_expiry_invalid',
  'token_bound_reached',
]
