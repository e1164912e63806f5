import { type Static, Type } from 'typebox'
import {
  afterAcceptance,
  createFailureReader,
  type Failure,
  failureHeaders,
  type SurfaceFailures,
} from '../../../api/kit/failures/surface-failures.ts'
import type { Answer, Envelope } from '../../../api/kit/envelope.ts'
import type { FailureStatus } from '../../../api/kit/failures/failure-row.ts'
import type { FailureCode } from '../../../api/kit/failures/failure-table.ts'
import { taskDescriber } from '../../../api/kit/routes/documentation.ts'
import {
  assetFailures,
  creationFailures,
  modelUnavailableFailures,
} from '../../../api/kit/failures/route-failures.ts'
import { DomainError } from '../../../kernel/errors.ts'

/** The names of the task routes' failures, and their differences from the table. */
const taskFailures = {
  route_not_found: 'NotFound',
  method_not_allowed: 'MethodNotAllowed',
  url_invalid: 'invalid_request',
  headers_too_large: 'invalid_request',
  unauthenticated: 'AuthenticationError',
  wrong_token_kind: 'AccessDenied',
  address_not_allowed: 'AccessDenied',
  tenant_suspended: 'tenant_suspended',
  tenant_closed: 'tenant_closed',
  user_suspended: 'user_suspended',
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
  no_channel: { ...modelUnavailableFailures, code: 'service_unavailable' },
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

export const videoACreateFailures: readonly FailureCode[] = [...creationFailures, ...assetFailures]

/** The `type` of an error goes with its status. */
const typeByStatus: Readonly<Record<FailureStatus, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  402: 'PaymentRequired',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  413: 'BadRequest',
  415: 'BadRequest',
  422: 'BadRequest',
  429: 'TooManyRequests',
  431: 'BadRequest',
  500: 'InternalServerError',
  502: 'BadGateway',
  503: 'ServiceUnavailable',
  504: 'GatewayTimeout',
  507: 'InsufficientStorage',
  529: 'ServiceUnavailable',
}

/** Upstream's codes for an invalid field; other codes of a refused input (moderation) are kept. */
const parameterCodes = /^(?:Invalid|Missing)(?:Parameter|Argument)/

function codeOf({ failure, code, text }: Failure): string {
  const given = failure === 'refused_invalid' ? text('upstreamCode') : undefined
  return given === undefined || parameterCodes.test(given) ? code : given
}

const readFailure = createFailureReader(taskFailures)

/** The error shape of `/provA` tasks: `{error: {code, message, param, type}}`. */
export const provAEnvelope: Envelope = (error): Answer => {
  const failure = afterAcceptance(readFailure(error))
  const { status } = failure
  const { message, param = '' } = failure
  return {
    status,
    headers: failureHeaders(failure),
    body: { error: { code: codeOf(failure), message, param, type: typeByStatus[status] } },
  }
}

const ErrorSchema = Type.Object(
  {
    error: Type.Object({
      code: Type.String(),
      message: Type.String(),
      param: Type.String({ description: 'The offending field, or empty.' }),
      type: Type.String(),
    }),
  },
  { named: 'ProvAFailure' },
)

const shape = {
  envelope: provAEnvelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { code, message } = (body as Static<typeof ErrorSchema>).error
    return { name: code, message }
  },
}

const lacking = new DomainError('invalid_request', '`duration` is required', { param: 'duration' })

export const describeVideoA = taskDescriber(shape, [lacking])
