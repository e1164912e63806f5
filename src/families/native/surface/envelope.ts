import type { Answer, Envelope } from '../../../api/kit/envelope.ts'
import type { FailureStatus } from '../../../api/kit/failure-table.ts'
import { toCallFailure, type CallFailure } from '../../../api/kit/call-failures.ts'

/** The `status` word of an error goes with its HTTP status. */
const wordByStatus: Readonly<Record<FailureStatus, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  415: 'INVALID_ARGUMENT',
  422: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  431: 'INVALID_ARGUMENT',
  500: 'INTERNAL',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
  507: 'RESOURCE_EXHAUSTED',
}

/** Words upstream may use for a refused input, where they say more than the HTTP status. */
const inputWords: ReadonlySet<string> = new Set(['FAILED_PRECONDITION', 'OUT_OF_RANGE'])

type Detail = Readonly<Record<string, unknown>>

function detailsOf(failure: CallFailure): readonly Detail[] {
  const details: Detail[] = []
  // Clients read why from here; the code is the one `/v1` shows.
  if (failure.code !== null && !/^[A-Z_]+$/.test(failure.code))
    details.push({
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: failure.code.toUpperCase(),
      domain: 'gateway',
    })
  if (failure.param !== null)
    details.push({
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: [{ field: failure.param, description: failure.message }],
    })
  if (failure.retryAfterMs !== undefined)
    details.push({
      '@type': 'type.googleapis.com/google.rpc.RetryInfo',
      retryDelay: `${failure.retryAfterMs / 1_000}s`,
    })
  return details
}

function bodyOf(failure: CallFailure): unknown {
  const said = failure.code !== null && inputWords.has(failure.code) ? failure.code : undefined
  const details = detailsOf(failure)
  return {
    error: {
      code: failure.status,
      message: failure.message,
      status: failure.status === 400 && said ? said : wordByStatus[failure.status],
      ...(details.length > 0 ? { details } : {}),
    },
  }
}

/** What a failure looks like in the middle of a stream: the same object as its body. */
export function v1betaFailureBody(error: unknown): unknown {
  return bodyOf(toCallFailure(error))
}

/** The error shape of `/v1beta`: `{error: {code, message, status, details}}`. */
export const v1betaEnvelope: Envelope = (error): Answer => {
  const failure = toCallFailure(error)
  return {
    status: failure.status,
    headers: failure.headers,
    body: bodyOf(failure),
  }
}
