import type { FailureCode } from '../../../api/kit/failure-table.ts'
import type { SurfaceFailures } from '../../../api/kit/surface-failures.ts'
import {
  assetFailures,
  creationFailures,
  modelAway,
  ownParts,
} from '../../../api/kit/task-failures.ts'

/** What the failures of task routes are called here, and where they depart from the table. */
export const taskFailures = {
  route_not_found: 'NotFound',
  url_invalid: 'invalid_request',
  headers_too_large: 'invalid_request',
  unauthenticated: 'AuthenticationError',
  wrong_token_kind: 'AccessDenied',
  address_not_allowed: 'AccessDenied',
  body_empty: 'invalid_request',
  body_invalid: 'invalid_request',
  body_too_large: 'invalid_request',
  media_type_unsupported: 'invalid_request',
  parameter_invalid: 'invalid_request',
  overloaded: 'service_unavailable',
  outage: 'service_unavailable',
  internal: 'InternalServiceError',
  invalid_request: 'invalid_request',
  invalid_duration: 'invalid_duration',
  unknown_model: { code: 'invalid_request', status: 400 },
  model_not_allowed: 'AccessDenied',
  price_not_configured: 'service_unavailable',
  insufficient_balance: 'insufficient_balance',
  budget_reached: 'budget_reached',
  rate_limited: 'RateLimitExceeded',
  no_channel: { ...modelAway, code: 'service_unavailable' },
  kept_unavailable: {
    code: 'service_unavailable',
    words: 'The account that has the assets is not available at the moment; nothing was started',
    retry: 'never',
  },
  log_unavailable: 'service_unavailable',
  log_outcome_unknown: 'service_unavailable',
  wrong_expected_revision: 'service_unavailable',
  append_too_large: 'invalid_request',
  database_unavailable: 'service_unavailable',
  read_model_behind: 'service_unavailable',
  idempotency_key_reused: 'idempotency_key_reused',
  idempotency_in_progress: 'idempotency_in_progress',
  submission_refused: 'service_error',
  submission_uncertain: 'service_error',
  refused_invalid: 'invalid_request',
  refused_rate_limited: 'RateLimitExceeded',
  refused_account: 'service_unavailable',
  refused_unavailable: 'service_error',
  refused_timeout: 'service_error',
  refused_malformed: 'service_error',
  asset_not_found: { code: 'ResourceNotFound.Asset', param: 'content' },
  asset_not_active: { code: 'asset_not_active', param: 'content' },
  asset_region_mismatch: { code: 'asset_region_mismatch', param: 'content' },
  task_not_found: 'task_not_found',
  task_running: 'InvalidAction.RunningTaskDeletion',
  upstream_unavailable: { code: 'service_error', ownWords: false },
} as const satisfies SurfaceFailures

export const createFailures: readonly FailureCode[] = [...creationFailures, ...assetFailures]

export const listFailures: readonly FailureCode[] = [...ownParts, 'parameter_invalid']
