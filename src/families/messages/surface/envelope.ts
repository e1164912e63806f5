import { type Static, Type } from 'typebox'
import {
  callFailureHeaders,
  readOverloadedFailure,
  upstreamType,
} from '../../../api/kit/failures/call-failures.ts'
import type { Envelope } from '../../../api/kit/envelope.ts'
import type { FailureStatus } from '../../../api/kit/failures/failure-row.ts'
import type { Failure } from '../../../api/kit/failures/surface-failures.ts'

const typeByStatus: Readonly<Record<FailureStatus, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  409: 'conflict_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  431: 'invalid_request_error',
  500: 'api_error',
  502: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  507: 'api_error',
  529: 'overloaded_error',
}

/** The object of a failure, which is the body of an answer and an event of a stream. */
interface MessagesFailure {
  readonly type: 'error'
  readonly error: {
    readonly type: string
    readonly message: string
    readonly details?: { readonly error_code: string; readonly param?: string }
  }
  readonly request_id: string
}

function bodyOf(failure: Failure, requestId: string): MessagesFailure {
  const { status, message, code, param } = failure
  const said = upstreamType(failure)
  const type = said?.endsWith('_error') === true ? said : typeByStatus[status]
  const details =
    code === '' || code === type
      ? {}
      : { details: { error_code: code, ...(param === undefined ? {} : { param }) } }
  return { type: 'error', error: { type, message, ...details }, request_id: requestId }
}

/** A failure in the middle of a stream. */
export function messagesFailure(error: unknown, requestId: string): MessagesFailure {
  return bodyOf(readOverloadedFailure(error), requestId)
}

/** The error shape of this wire: `{type: "error", error: {type, message, details}, request_id}`. */
export const messagesEnvelope: Envelope = (error, requestId) => {
  const failure = readOverloadedFailure(error)
  return {
    status: failure.status,
    // A request may be refused before its route: clients of this wire read the id here.
    headers: { ...callFailureHeaders(failure), 'request-id': requestId },
    body: bodyOf(failure, requestId),
  }
}

const ErrorSchema = Type.Object(
  {
    type: Type.Literal('error'),
    error: Type.Object({
      type: Type.String(),
      message: Type.String(),
      details: Type.Optional(
        Type.Object({
          error_code: Type.String({ description: 'The code of the failure on all surfaces.' }),
          param: Type.Optional(Type.String({ description: 'The offending member.' })),
        }),
      ),
    }),
    request_id: Type.String(),
  },
  { named: 'MessagesFailure' },
)

/** The failures of this wire in the OpenAPI description. */
export const failureShape = {
  envelope: messagesEnvelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { type, message, details } = (body as Static<typeof ErrorSchema>).error
    return { name: details?.error_code ?? type, message }
  },
}
