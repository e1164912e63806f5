import { countOf, isOn, NO_FAULTS, UnknownSwitch, type Faults } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'

/** A refusal of the native wire: `status` is its word, which decides the HTTP status. */
export class NativeRefusal extends Error {
  readonly status: string
  readonly details: readonly object[]

  constructor(status: string, message: string, details: readonly object[] = []) {
    super(message)
    this.status = status
    this.details = details
  }
}

interface StatusRule {
  readonly code: number
  readonly message: string
}

const RULES: Readonly<Record<string, StatusRule>> = {
  INVALID_ARGUMENT: { code: 400, message: 'Request contains an invalid argument.' },
  FAILED_PRECONDITION: { code: 400, message: 'User location is not supported for the API use.' },
  OUT_OF_RANGE: { code: 400, message: 'The value is out of range.' },
  UNAUTHENTICATED: { code: 401, message: 'Request had invalid authentication credentials.' },
  PERMISSION_DENIED: {
    code: 403,
    message:
      "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
  },
  NOT_FOUND: { code: 404, message: 'Requested entity was not found.' },
  ABORTED: { code: 409, message: 'The operation was aborted.' },
  RESOURCE_EXHAUSTED: {
    code: 429,
    message:
      'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.',
  },
  CANCELLED: { code: 499, message: 'The operation was cancelled.' },
  INTERNAL: { code: 500, message: 'An internal error has occurred.' },
  UNIMPLEMENTED: { code: 501, message: 'Operation is not implemented.' },
  UNAVAILABLE: { code: 503, message: 'The model is overloaded. Please try again later.' },
  DEADLINE_EXCEEDED: { code: 504, message: 'Deadline expired before operation could complete.' },
}
const UNKNOWN: StatusRule = { code: 400, message: 'The request failed.' }

const STATUS_OF_CODE: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
}

const TYPE = 'type.googleapis.com/google.rpc'

/** What is wrong with a credential that is not let in: a 400 on this wire. */
export const INVALID_KEY = new NativeRefusal(
  'INVALID_ARGUMENT',
  'API key not valid. Please pass a valid API key.',
  [{ '@type': `${TYPE}.ErrorInfo`, reason: 'API_KEY_INVALID', domain: 'googleapis.com' }],
)

function quotaDetails(faults: Faults): readonly object[] {
  const seconds = countOf(faults, 'retry-after') ?? 1
  const quotaId = 'GenerateRequestsPerMinutePerProjectPerModel'
  return [
    { '@type': `${TYPE}.QuotaFailure`, violations: [{ quotaId }] },
    { '@type': `${TYPE}.RetryInfo`, retryDelay: `${seconds}s` },
  ]
}

/** The body of an error, also sent in the midst of a stream. */
export function nativeError(status: string, faults: Faults, refusal?: NativeRefusal): object {
  const { code, message } = RULES[status] ?? UNKNOWN
  const given = refusal?.details ?? []
  const details = status === 'RESOURCE_EXHAUSTED' ? quotaDetails(faults) : given
  return {
    error: {
      code,
      message: refusal?.message ?? message,
      status,
      ...(details.length === 0 ? {} : { details }),
    },
  }
}

/** An error answer; with `wrap-error` in an array of one. */
export function nativeErrorAnswer(status: string, faults: Faults, refusal?: NativeRefusal): Answer {
  const body = nativeError(status, faults, refusal)
  return {
    status: (RULES[status] ?? UNKNOWN).code,
    body: isOn(faults, 'wrap-error') ? [body] : body,
    headers: { 'content-type': 'application/json; charset=UTF-8' },
  }
}

/** A bare status: the envelope where the service itself speaks, else a proxy's page. */
export function nativeFailure(status: number, faults: Faults): Answer {
  const word = STATUS_OF_CODE[status]
  if (word !== undefined) return nativeErrorAnswer(word, faults)
  return {
    status: status >= 200 && status <= 599 ? status : 500,
    body: `<html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>\n`,
    headers: { 'content-type': 'text/html' },
  }
}

/** The answer for something thrown, or null when it is no refusal. */
export function nativeRefused(error: unknown): Answer | null {
  if (error instanceof NativeRefusal) return nativeErrorAnswer(error.status, NO_FAULTS, error)
  if (!(error instanceof UnknownSwitch)) return null
  const refusal = new NativeRefusal('INVALID_ARGUMENT', `${error.message}.`)
  return nativeErrorAnswer(refusal.status, NO_FAULTS, refusal)
}
