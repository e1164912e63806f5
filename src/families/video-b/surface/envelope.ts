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
import {
  numberedFailures,
  INVALID,
  numberedMessage,
  UNKNOWN_ERROR,
} from '../../../api/kit/failures/numbered-failures.ts'
import { taskDescriber } from '../../../api/kit/routes/documentation.ts'
import {
  creationFailures,
  modelUnavailableFailures,
} from '../../../api/kit/failures/route-failures.ts'
import { DomainError } from '../../../kernel/errors.ts'

/** The failures of the `/provB` video routes. */
const videoFailures = {
  ...numberedFailures,
  route_not_found: UNKNOWN_ERROR,
  invalid_duration: INVALID,
  no_channel: { ...modelUnavailableFailures, code: UNKNOWN_ERROR },
  kept_unavailable: {
    code: UNKNOWN_ERROR,
    words: 'The account that has the uploaded files is not available at the moment',
    retry: 'never',
  },
  idempotency_in_progress: INVALID,
  submission_refused: UNKNOWN_ERROR,
  submission_uncertain: UNKNOWN_ERROR,
  refused_unavailable: UNKNOWN_ERROR,
  refused_timeout: UNKNOWN_ERROR,
  refused_malformed: UNKNOWN_ERROR,
  // Upstream's own message: another tenant's task reads exactly like a missing one (P8).
  task_not_found: { code: UNKNOWN_ERROR, words: 'record not found' },
} as const satisfies SurfaceFailures

export const videoBCreateFailures: readonly FailureCode[] = [
  ...creationFailures,
  'kept_unavailable',
]

/** The `type` of an error goes with its status. */
const typeByStatus: Readonly<Record<FailureStatus, string>> = {
  400: 'bad_request_error',
  401: 'authorized_error',
  402: 'insufficient_balance_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'bad_request_error',
  409: 'conflict_error',
  413: 'bad_request_error',
  415: 'bad_request_error',
  422: 'unprocessable_entity_error',
  429: 'rate_limit_error',
  431: 'bad_request_error',
  500: 'server_error',
  502: 'server_error',
  503: 'server_error',
  504: 'server_error',
  507: 'server_error',
  529: 'server_error',
}

/** Upstream's numbers for input that moderation refused. */
const sensitive: ReadonlySet<string> = new Set(['1026', '1027'])

/** A refused input keeps upstream's number, and the status of that number. */
function withUpstreamNumber(failure: Failure): Failure {
  const code = failure.failure === 'refused_invalid' ? failure.text('upstreamCode') : undefined
  if (code === undefined || !/^\d{4}$/.test(code)) return failure
  const status = sensitive.has(code) ? 422 : failure.status
  return { ...failure, code, status }
}

/** This shape has no separate member for the field at fault. */
function saying(failure: Failure): string {
  const { param = '' } = failure
  const message = numberedMessage(failure)
  return param === '' || message.includes(param) ? message : `${message}: \`${param}\``
}

const readFailure = createFailureReader(videoFailures)

/** The error shape of `/provB/v2`: `{type: "error", error: {type, message, http_code}, request_id}`. */
export const provBV2Envelope: Envelope = (error, requestId): Answer => {
  const failure = afterAcceptance(withUpstreamNumber(readFailure(error)))
  const { status, code } = failure
  return {
    status,
    headers: failureHeaders(failure),
    body: {
      type: 'error',
      error: {
        type: typeByStatus[status],
        message: `${saying(failure)} (${code})`,
        http_code: String(status),
      },
      request_id: requestId,
    },
  }
}

const ErrorSchema = Type.Object(
  {
    type: Type.Enum(['error']),
    error: Type.Object({
      type: Type.String(),
      message: Type.String({ description: 'Message; ends with the error number in brackets.' }),
      http_code: Type.String({ description: 'HTTP status of the answer.' }),
    }),
    request_id: Type.String({ description: 'Our id of the request.' }),
  },
  { named: 'ProvBV2Failure' },
)

const shape = {
  envelope: provBV2Envelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { type: name, message } = (body as Static<typeof ErrorSchema>).error
    return { name: `${name} ${/\((\d+)\)$/.exec(message)?.[1] ?? ''}`, message }
  },
}

/** An input that the model service's moderation refused. */
const moderated = new DomainError('submission_refused', '', {
  kind: 'invalid',
  upstreamCode: '1026',
})

export const describeVideoB = taskDescriber(shape, [moderated])
