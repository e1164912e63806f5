import type { FastifyRequest } from 'fastify'
import type { FamilyKit } from '../family.ts'
import { countOf, isOn, type Faults } from '../faults/vocabulary.ts'
import { queryOf, Refusal, type Wire, wireOf } from '../http/wire.ts'

/** Errors of this wire: `status` is a word, which decides the HTTP status. */

type StatusRule = { readonly code: number; readonly message: string }

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

export const JSON_HEADERS = { 'content-type': 'application/json; charset=UTF-8' }

/** The error for a credential that is not accepted: a 400 on this wire. */
const INVALID_KEY = new Refusal(
  'INVALID_ARGUMENT',
  'API key not valid. Please pass a valid API key.',
  null,
  [{ '@type': `${TYPE}.ErrorInfo`, reason: 'API_KEY_INVALID', domain: 'googleapis.com' }],
)

/** The text that goes with a status where nothing more is known. */
export function messageOf(status: string): string {
  return (RULES[status] ?? UNKNOWN).message
}

function quotaDetails(faults: Faults): readonly object[] {
  const seconds = countOf(faults, 'retry-after') ?? 1
  const quotaId = 'GenerateRequestsPerMinutePerProjectPerModel'
  return [
    { '@type': `${TYPE}.QuotaFailure`, violations: [{ quotaId }] },
    { '@type': `${TYPE}.RetryInfo`, retryDelay: `${seconds}s` },
  ]
}

/** The body of an error, also sent in the midst of a stream. */
export function nativeError(
  status: string,
  faults: Faults,
  { message, details: given } = new Refusal(status, messageOf(status)),
): object {
  const { code } = RULES[status] ?? UNKNOWN
  const details = status === 'RESOURCE_EXHAUSTED' ? quotaDetails(faults) : given
  return {
    error: {
      code,
      message,
      status,
      ...(details.length === 0 ? {} : { details }),
    },
  }
}

/** What the path and the query ask for. */
export interface Target {
  readonly model: string
  readonly method: string
  /** Frames of server-sent events; otherwise a stream is one JSON array. */
  readonly events: boolean
}

/** Reads `models/{model}:{method}`. */
export function targetOf(request: FastifyRequest): Target {
  const { target } = request.params as { readonly target: string }
  const colon = target.lastIndexOf(':')
  const events = queryOf(request).get('alt') === 'sse'
  if (colon < 0) return { model: target, method: '', events }
  return { model: target.slice(0, colon), method: target.slice(colon + 1), events }
}

/** How a family of this upstream is called and reports errors: by its key, in its envelope. */
export function keyedWire(family: string, { options }: FamilyKit): Wire {
  return wireOf(
    {
      family,
      keyOf: ({ headers }) => {
        const key = headers['x-goog-api-key']
        return typeof key === 'string' && key !== '' ? key : undefined
      },
      denied: (isGiven) =>
        isGiven ? INVALID_KEY : new Refusal('PERMISSION_DENIED', messageOf('PERMISSION_DENIED')),
      unknownSwitch: (message) => new Refusal('INVALID_ARGUMENT', `${message}.`),
      messageOf,
      codeOfStatus: STATUS_OF_CODE,
      // With `wrap-error` in an array of one.
      answer: (refusal, faults) => {
        const body = nativeError(refusal.code, faults, refusal)
        return {
          status: (RULES[refusal.code] ?? UNKNOWN).code,
          body: isOn(faults, 'wrap-error') ? [body] : body,
          headers: JSON_HEADERS,
        }
      },
    },
    options.apiKeys,
  )
}
