import {
  afterAcceptance,
  createFailureReader,
  type Failure,
  failureHeaders,
  type SurfaceFailures,
} from '../../../api/kit/failures/surface-failures.ts'
import type { Answer, Envelope } from '../../../api/kit/envelope.ts'
import type { FailureCode } from '../../../api/kit/failures/failure-table.ts'
import { taskDescriber } from '../../../api/kit/routes/documentation.ts'
import {
  deletionFailures,
  modelUnavailableFailures,
} from '../../../api/kit/failures/route-failures.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { type Static, Type } from 'typebox'

/** A refused cancellation is reported as upstream reports it; a query shows the state. */
const tooLate = (state: string) =>
  ({
    code: 'BadRequest',
    status: 400,
    words: `task state is ${state}, can not cancel`,
    ownWords: false,
  }) as const

/** The reasons of this family's errors, and their differences from the table. */
const clipFailures = {
  route_not_found: 'NotFound',
  method_not_allowed: 'BadRequest',
  url_invalid: 'BadRequest',
  headers_too_large: 'BadRequest',
  unauthenticated: 'Unauthorized',
  wrong_token_kind: 'Forbidden',
  address_not_allowed: 'Forbidden',
  tenant_suspended: 'TenantSuspended',
  tenant_closed: 'TenantClosed',
  user_suspended: 'UserSuspended',
  body_empty: 'BadRequest',
  body_invalid: 'BadRequest',
  body_too_large: 'BadRequest',
  media_type_unsupported: 'BadRequest',
  parameter_invalid: 'FieldInvalid',
  overloaded: 'SystemThrottling',
  outage: 'InternalServiceFailure',
  internal: 'InternalServiceFailure',
  invalid_request: 'FieldInvalid',
  invalid_duration: 'FieldInvalid',
  unknown_model: { code: 'FieldInvalid', status: 400 },
  model_not_allowed: 'Forbidden',
  price_not_configured: 'ModelUnavailable',
  // The caller's balance at the gateway; the operator's balance upstream is `refused_account`.
  insufficient_balance: { code: 'CreditInsufficient', status: 400 },
  budget_reached: { code: 'CreditInsufficient', status: 400 },
  rate_limited: 'TooManyRequests',
  no_channel: { ...modelUnavailableFailures, code: 'ModelUnavailable' },
  log_unavailable: 'InternalServiceFailure',
  log_outcome_unknown: 'InternalServiceFailure',
  wrong_expected_revision: 'InternalServiceFailure',
  append_too_large: 'BadRequest',
  database_unavailable: 'InternalServiceFailure',
  read_model_behind: 'InternalServiceFailure',
  idempotency_key_reused: 'Conflict',
  idempotency_in_progress: 'OperationInProcess',
  submission_refused: 'InternalServiceFailure',
  submission_uncertain: 'InternalServiceFailure',
  refused_invalid: 'BadRequest',
  refused_rate_limited: 'SystemThrottling',
  refused_account: 'ModelUnavailable',
  refused_unavailable: 'InternalServiceFailure',
  refused_timeout: 'InternalServiceFailure',
  refused_malformed: 'InternalServiceFailure',
  task_not_found: { code: 'TaskNotFound', words: 'task not found' },
  task_running: tooLate('processing'),
  task_ended: tooLate('final'),
  upstream_unavailable: { code: 'InternalServiceFailure', ownWords: false },
} as const satisfies SurfaceFailures

export const cancelFailures: readonly FailureCode[] = [...deletionFailures, 'task_ended']

const readFailure = createFailureReader(clipFailures)

/** Faults of a field by the violated keyword of its schema; otherwise it is invalid. */
const fieldReasons: Readonly<Record<string, string>> = {
  required: 'FieldLacking',
  not: 'FieldUnwanted',
  minItems: 'FieldItemCountOutOfRange',
  maxItems: 'FieldItemCountOutOfRange',
}

/** Upstream's own code of a refused input is kept. */
function reasonOf({ failure, code, text }: Failure): string {
  if (failure === 'refused_invalid') return text('upstreamCode') ?? code
  return fieldReasons[text('keyword') ?? ''] ?? code
}

/** The error shape of `/provC`: `{code, reason, message, metadata: {trace_id}}`. */
export const provCEnvelope: Envelope = (error, requestId): Answer => {
  const failure = afterAcceptance(readFailure(error))
  const { status } = failure
  return {
    status,
    headers: failureHeaders(failure),
    body: {
      code: status,
      reason: reasonOf(failure),
      message: failure.message,
      metadata: { trace_id: requestId },
    },
  }
}

const ErrorSchema = Type.Object(
  {
    code: Type.Integer({ description: 'HTTP status of the answer.' }),
    reason: Type.String(),
    message: Type.String(),
    metadata: Type.Object({ trace_id: Type.String({ description: 'Our id of the request.' }) }),
  },
  { named: 'ProvCFailure' },
)

const shape = {
  envelope: provCEnvelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { reason: name, message } = body as Static<typeof ErrorSchema>
    return { name, message }
  },
}

const lacking = new DomainError('invalid_request', '`model` is required', {
  param: 'model',
  keyword: 'required',
})

export const describeVideoC = taskDescriber(shape, [lacking])
