import type { FamilyKit } from '../family.ts'
import { countOf, type Faults } from '../faults/vocabulary.ts'
import { bearerKey, Refusal, type Wire, wireOf } from '../http/wire.ts'
import type { IdMaker } from '../kit/clock.ts'

/** Errors and headers of this wire: the type of an error decides its HTTP status. */

const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}

const TYPE_OF_STATUS: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(STATUSES).map(([type, status]) => [status, type]),
)

/** Messages name hosts, organizations and requests, as this upstream's do. */
const MESSAGES: Readonly<Record<string, string>> = {
  invalid_request_error: 'The request is not valid.',
  authentication_error: 'invalid x-api-key',
  billing_error:
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
  permission_error: 'Your API key does not have permission to use the specified resource.',
  not_found_error: 'The requested resource could not be found.',
  conflict_error: 'The request conflicts with the state of the resource.',
  request_too_large: 'Request exceeds the maximum allowed number of bytes.',
  rate_limit_error:
    'This request would exceed the rate limit for your organization (0a1b2c3d-0000-4000-8000-000000000000) of 50 requests per minute. For details, refer to: https://docs.anthropic.com/en/api/rate-limits.',
  api_error: 'Internal server error',
  timeout_error: 'The request timed out.',
  overloaded_error: 'Overloaded',
}

const LIMIT_REQUESTS = 4_000
const LIMIT_TOKENS = 2_000_000

/** The text that goes with a type where nothing more is known. */
export function messageOf(type: string): string {
  return MESSAGES[type] ?? `The request failed: ${type}.`
}

/** The body of an error, also sent in the midst of a stream. */
export function errorBody(type: string, requestId: string, message = messageOf(type)): object {
  return { type: 'error', error: { type, message, details: null }, request_id: requestId }
}

/** Headers of every answer; `remaining` and `reset-ms` are switches. */
export function messagesHeaders(
  requestId: string,
  nowMs: number,
  faults: Faults,
): Record<string, string> {
  const remaining = countOf(faults, 'remaining')
  const reset = new Date(nowMs + (countOf(faults, 'reset-ms') ?? 1_000)).toISOString()
  return {
    'request-id': requestId,
    'anthropic-organization-id': '0a1b2c3d-0000-4000-8000-000000000000',
    'anthropic-ratelimit-requests-limit': String(LIMIT_REQUESTS),
    'anthropic-ratelimit-requests-remaining': String(remaining ?? LIMIT_REQUESTS - 1),
    'anthropic-ratelimit-requests-reset': reset,
    'anthropic-ratelimit-tokens-limit': String(LIMIT_TOKENS),
    'anthropic-ratelimit-tokens-remaining': String(LIMIT_TOKENS),
    'anthropic-ratelimit-tokens-reset': reset,
  }
}

/** The wire of a family of this upstream: by its key, in its envelope. */
export function messagesWire(family: string, { options, clock }: FamilyKit, ids: IdMaker): Wire {
  return wireOf(
    {
      family,
      keyOf: (request) => {
        const key = request.headers['x-api-key']
        return typeof key === 'string' && key !== '' ? key : bearerKey(request)
      },
      denied: (isGiven) =>
        new Refusal(
          'authentication_error',
          isGiven ? messageOf('authentication_error') : 'x-api-key header is required',
        ),
      unknownSwitch: (message) => new Refusal('invalid_request_error', `${message}.`),
      messageOf,
      codeOfStatus: TYPE_OF_STATUS,
      // A rate limit says when to come back: in a second, unless a switch says otherwise.
      answer: ({ code, message }, faults) => {
        const requestId = ids.next('req_')
        const wait = countOf(faults, 'retry-after') ?? (code === 'rate_limit_error' ? 1 : null)
        const headers = messagesHeaders(requestId, clock.nowMs(), faults)
        if (wait !== null) headers['retry-after'] = String(wait)
        const body = errorBody(code, requestId, message)
        return { status: STATUSES[code] ?? 400, body, headers }
      },
    },
    options.apiKeys,
  )
}
