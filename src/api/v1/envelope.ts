import { isDomainError } from '../../kernel/errors.ts'
import { isJsonObject, type JsonObject } from '../../kernel/json.ts'
import type { Answer, Envelope } from '../kit/envelope.ts'
import type { FailureStatus } from '../kit/failures/failure-row.ts'
import { callFailureHeaders, readCallFailure, upstreamType } from '../kit/failures/call-failures.ts'
import type { Failure } from '../kit/failures/surface-failures.ts'

/** The `type` of an error goes with its status, unless upstream named one. */
const typeByStatus: Readonly<Record<FailureStatus, string>> = {
  400: 'invalid_request_error',
  401: 'invalid_request_error',
  402: 'insufficient_balance',
  403: 'permission_error',
  404: 'invalid_request_error',
  405: 'invalid_request_error',
  409: 'conflict_error',
  413: 'invalid_request_error',
  415: 'invalid_request_error',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  431: 'invalid_request_error',
  500: 'server_error',
  502: 'server_error',
  503: 'server_error',
  504: 'server_error',
  507: 'server_error',
  529: 'server_error',
}

/** Failures whose `type` is neither upstream's nor that of their status. */
const typeByCode: Readonly<Record<string, string>> = { no_image_generated: 'gateway_error' }

/** Failures of tasks that the caller can correct. */
const ofInput: ReadonlySet<string> = new Set(['content_policy_violation', 'invalid_value'])

/** The `type` of a failure that is reported as a task's end. */
export function errorType(code: string): string {
  return typeByCode[code] ?? (ofInput.has(code) ? 'invalid_request_error' : 'server_error')
}

/** The `error` object of a `/v1` answer or chat frame. */
interface V1Error {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string | null
}

function errorOf(failure: Failure): V1Error {
  const { message, code, param = null, status } = failure
  const type = upstreamType(failure) ?? typeByCode[code] ?? typeByStatus[status]
  return { message, type, param, code: code === '' ? null : code }
}

function usageOf(error: unknown): { readonly usage?: JsonObject } {
  const usage = isDomainError(error) ? error.details['usage'] : undefined
  return isJsonObject(usage) ? { usage } : {}
}

/** A failure in the middle of a stream. */
export function v1Error(error: unknown): V1Error {
  return errorOf(readCallFailure(error))
}

/** The error shape of `/v1`: `{error: {message, type, param, code}}`. */
export const v1Envelope: Envelope = (error): Answer => {
  const failure = readCallFailure(error)
  return {
    status: failure.status,
    headers: callFailureHeaders(failure),
    // The usage of a failure that is billed.
    body: { error: errorOf(failure), ...usageOf(error) },
  }
}
