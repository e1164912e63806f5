import { DomainError } from '../../../kernel/errors.ts'
import {
  afterSending,
  createFailureReader,
  type Failure,
  failureHeaders,
  type SurfaceFailures,
} from './surface-failures.ts'
import type { FailureStatus } from './failure-row.ts'
import type { FailureCode } from './failure-table.ts'
import { beforeReserving, beforeSending, tokenFailures } from './route-failures.ts'

/** The failures of calls of a model, before the envelope of a surface gives them its shape. */

const entries = {
  route_not_found: 'unknown_url',
  method_not_allowed: 'method_not_allowed',
  not_offered: 'not_offered',
  url_invalid: 'invalid_url',
  headers_too_large: 'headers_too_large',
  unauthenticated: 'invalid_api_key',
  wrong_token_kind: 'permission_denied',
  address_not_allowed: 'permission_denied',
  tenant_suspended: 'tenant_suspended',
  tenant_closed: 'tenant_closed',
  user_suspended: 'user_suspended',
  body_empty: 'invalid_request',
  body_invalid: 'invalid_request',
  body_too_large: 'request_too_large',
  media_type_unsupported: 'unsupported_media_type',
  parameter_invalid: 'invalid_value',
  overloaded: 'overloaded',
  outage: 'service_unavailable',
  internal: 'internal_error',
  invalid_request: 'invalid_value',
  invalid_duration: 'invalid_value',
  unknown_model: 'model_not_found',
  model_not_allowed: 'model_not_allowed',
  price_not_configured: 'price_not_configured',
  insufficient_balance: 'insufficient_balance',
  budget_reached: 'budget_reached',
  rate_limited: 'rate_limit_exceeded',
  no_channel: 'model_unavailable',
  // Named as upstream names it.
  previous_response_not_found: 'previous_response_not_found',
  response_not_found: 'previous_response_not_found',
  kept_unavailable: 'kept_unavailable',
  task_not_found: 'task_not_found',
  receipt_not_found: 'receipt_not_found',
  query_too_long: 'query_too_long',
  task_running: {
    code: 'video_in_progress',
    words: 'A video that is being made cannot be deleted',
  },
  result_not_available: 'result_not_available',
  asset_not_found: { code: 'asset_not_found', param: 'input_reference' },
  asset_not_active: { code: 'asset_not_active', param: 'input_reference' },
  asset_region_mismatch: { code: 'asset_region_mismatch', param: 'input_reference' },
  voice_not_found: 'voice_not_found',
  voice_exists: 'voice_exists',
  idempotency_key_reused: 'idempotency_key_reused',
  idempotency_in_progress: 'idempotency_in_progress',
  idempotency_answer_not_kept: 'idempotency_answer_not_kept',
  n_not_supported: 'n_not_supported',
  unsupported_image_input: 'unsupported_image_input',
  image_too_large: 'image_too_large',
  content_policy_violation: 'content_policy_violation',
  suspected_black_image: 'suspected_black_image_from_upstream',
  no_image_generated: 'no_image_generated',
  image_url_not_available: 'image_url_not_available',
  image_not_kept: 'storage_unavailable',
  // The code of upstream in this family.
  invalid_image_url: 'InvalidParameter',
  log_unavailable: 'service_unavailable',
  log_outcome_unknown: {
    code: 'service_unavailable',
    words: 'The service could not record this call in time',
  },
  database_unavailable: 'service_unavailable',
  read_model_behind: 'service_unavailable',
  wrong_expected_revision: 'service_unavailable',
  append_too_large: 'request_too_large',
  file_not_found: 'file_not_found',
  storage_not_configured: 'storage_not_configured',
  storage_unavailable: 'service_unavailable',
  object_too_large: 'request_too_large',
  storage_full: 'insufficient_storage',
  upload_quota_reached: 'upload_quota_reached',
  call_refused: 'upstream_error',
  refused_invalid: 'invalid_request',
  refused_account: 'model_unavailable',
  submission_refused: 'upstream_error',
  submission_uncertain: 'upstream_error',
  refused_rate_limited: 'rate_limit_exceeded',
  refused_unavailable: 'upstream_unavailable',
  refused_timeout: 'upstream_timeout',
  refused_malformed: 'upstream_error',
  upstream_unavailable: 'upstream_unavailable',
  upstream_overloaded: 'upstream_overloaded',
  upstream_timeout: 'upstream_timeout',
  call_cut_off: 'service_unavailable',
  upstream_malformed: 'upstream_error',
} as const satisfies SurfaceFailures

const read = createFailureReader(entries)

/** The failures of reading a model. */
export const modelFailures: readonly FailureCode[] = [...tokenFailures, 'unknown_model']

/** The failures of a call, besides the statuses that upstream passes on. */
export const callFailures: readonly FailureCode[] = [
  ...beforeSending,
  'read_model_behind',
  'call_refused',
  'refused_invalid',
  'refused_account',
  'upstream_unavailable',
  'upstream_overloaded',
  'upstream_timeout',
  'call_cut_off',
  'upstream_malformed',
  'idempotency_key_reused',
  'idempotency_in_progress',
  'idempotency_answer_not_kept',
]

/** The failures of counting the tokens of a prompt, which is free and recorded nowhere. */
export const countFailures: readonly FailureCode[] = [
  ...beforeReserving,
  'not_offered',
  'call_refused',
  'refused_invalid',
  'refused_account',
  'upstream_unavailable',
  'upstream_overloaded',
  'upstream_timeout',
  'upstream_malformed',
]

/** The further failures of image requests. */
export const imageFailures: readonly FailureCode[] = [
  'n_not_supported',
  'unsupported_image_input',
  'image_too_large',
  'content_policy_violation',
  'suspected_black_image',
  'no_image_generated',
  'image_url_not_available',
  'image_not_kept',
  'storage_unavailable',
  'invalid_image_url',
]

/** The further failures of asynchronous images: nothing is sent before the answer. */
export const imageTaskFailures: readonly FailureCode[] = [
  ...beforeSending,
  'n_not_supported',
  'unsupported_image_input',
  'idempotency_key_reused',
  'idempotency_in_progress',
  'refused_unavailable',
  'storage_not_configured',
  'storage_unavailable',
  'storage_full',
  'upload_quota_reached',
]

/** The further failures of continuing an earlier response. */
export const continuationFailures: readonly FailureCode[] = [
  'previous_response_not_found',
  'kept_unavailable',
]

/** Statuses by which upstream says that the caller's input is at fault, passed on as they are. */
const inputStatuses = [400, 404, 409, 413, 415, 422] as const satisfies FailureStatus[]

/** Failures of a call that lacks this field, and of one whose input upstream refuses. */
export function callExamples(field: string): readonly Error[] {
  return [
    new DomainError('invalid_request', `\`${field}\` is required`, { param: field }),
    ...inputStatuses.map(
      (status) => new DomainError('call_refused', '', { kind: 'invalid', status }),
    ),
  ]
}

/**
 * The longest wait that official clients obey; after a longer one they use their own, shorter wait.
 */
const MAX_OBEYED_RETRY_MS = 60_000

function retryHeaders(retry: Failure['retry']): Record<string, string> {
  if (retry === undefined) return {}
  if (retry === 'never') return { 'x-should-retry': 'false' }
  return {
    'retry-after': String(Math.ceil(retry / 1_000)),
    'retry-after-ms': String(retry),
    ...(retry > MAX_OBEYED_RETRY_MS ? { 'x-should-retry': 'false' } : {}),
  }
}

/** Headers of the answer to a failed call. */
export function callFailureHeaders(failure: Failure): Record<string, string> {
  return failureHeaders(failure, retryHeaders)
}

const accountRefused = read(new DomainError('call_refused', '', { kind: 'account' }))

/** Differences from the table that depend on the call, not only on the failure. */
function withCircumstances(failure: Failure): Failure {
  if (failure.failure !== 'refused_invalid') return afterSending(failure)
  const upstreamCode = failure.text('upstreamCode')
  // The gateway chose the upstream name: an unknown model upstream is a fault of the channel.
  if (upstreamCode === 'model_not_found') {
    const { status, code, message, retry } = accountRefused
    return { ...failure, status, code, message, retry }
  }
  const status = failure.number('status')
  // Upstream refused the caller's input: with its own code, where it gave one.
  return {
    ...failure,
    status: inputStatuses.find((known) => known === status) ?? failure.status,
    code: upstreamCode ?? '',
  }
}

/** Reads any value that a call threw, for wires whose clients know the status 529; never throws. */
export function readOverloadedFailure(error: unknown): Failure {
  const failure = withCircumstances(read(error))
  const { retry } = failure
  return typeof retry === 'number' ? { ...failure, retry: Math.max(1, Math.ceil(retry)) } : failure
}

/** Reads any value that a call threw; never throws. */
export function readCallFailure(error: unknown): Failure {
  const failure = readOverloadedFailure(error)
  return failure.status === 529 ? { ...failure, status: 503 } : failure
}

/** The type that upstream gave a failure, where it may be shown; every 429 has the gateway's. */
export const upstreamType = ({ status, text }: Failure): string | undefined =>
  status < 500 && status !== 429 ? text('upstreamType') : undefined
