import type { FamilyKit } from '../family.ts'
import { countOf, type Faults } from '../faults/vocabulary.ts'
import { bearerKey, Refusal, type Wire, wireOf } from '../http/wire.ts'
import type { IdMaker } from '../kit/clock.ts'

const LIMIT_REQUESTS = 10_000
const LIMIT_TOKENS = '2000000'

/** A duration as these headers state it: `12ms`, `1s`, `6m0s`. */
function durationText(ms: number): string {
  if (ms < 1000) return `${ms}ms`
  const seconds = Math.floor(ms / 1000)
  const rest = seconds % 60
  const partial = ms % 1000 === 0 ? String(rest) : (rest + (ms % 1000) / 1000).toFixed(3)
  return seconds < 60 ? `${partial}s` : `${Math.floor(seconds / 60)}m${partial}s`
}

/** Headers of every answer of the chat and responses wires; `remaining` and `reset-ms` are switches. */
export function textHeaders(requestId: string, faults: Faults): Record<string, string> {
  const remaining = countOf(faults, 'remaining')
  const resetMs = countOf(faults, 'reset-ms')
  const reset = resetMs === null ? '6ms' : durationText(resetMs)
  return {
    'x-request-id': requestId,
    'openai-processing-ms': '5',
    'openai-version': '2020-10-01',
    'openai-organization': 'org-sandbox0123456789',
    'x-ratelimit-limit-requests': String(LIMIT_REQUESTS),
    'x-ratelimit-limit-tokens': LIMIT_TOKENS,
    'x-ratelimit-remaining-requests': String(remaining ?? LIMIT_REQUESTS - 1),
    'x-ratelimit-remaining-tokens': LIMIT_TOKENS,
    'x-ratelimit-reset-requests': reset,
    'x-ratelimit-reset-tokens': '0s',
  }
}

/** The statuses of codes that are no 400. */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_api_key: 401,
  account_deactivated: 401,
  billing_hard_limit_reached: 402,
  unsupported_country_region_territory: 403,
  permission_denied: 403,
  model_not_found: 404,
  request_timeout: 408,
  conflict: 409,
  request_too_large: 413,
  unprocessable: 422,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  server_error: 500,
  bad_gateway: 502,
  server_overloaded: 503,
  item_not_found: 404,
  response_not_found: 404,
}

/** The types of codes that are no invalid requests. */
const TYPES: Readonly<Record<string, string>> = {
  unsupported_country_region_territory: 'request_forbidden',
  request_timeout: 'server_error',
  rate_limit_exceeded: 'requests',
  insufficient_quota: 'insufficient_quota',
  server_error: 'server_error',
  bad_gateway: 'server_error',
  server_overloaded: 'server_error',
  moderation_blocked: 'image_generation_user_error',
}

/** Messages name hosts, organizations and requests, as this upstream's do. */
const MESSAGES: Readonly<Record<string, string>> = {
  invalid_api_key:
    'Incorrect API key provided: sk-sandb***key. You can find your API key at https://platform.openai.com/account/api-keys.',
  account_deactivated: 'The OpenAI account associated with this API key has been deactivated.',
  billing_hard_limit_reached: 'Billing hard limit has been reached.',
  unsupported_country_region_territory: 'Country, region, or territory not supported',
  permission_denied: 'You have insufficient permissions for this operation.',
  model_not_found: 'The model does not exist or you do not have access to it.',
  request_timeout: 'Request timed out.',
  conflict: 'Could not acquire the lock; try again.',
  request_too_large: 'The request is too large.',
  unprocessable: 'The request could not be processed.',
  rate_limit_exceeded:
    'Rate limit reached for this model in organization org-sandbox0123456789 on requests per min (RPM): Limit 10000, Used 10000, Requested 1. Please try again in 1s. Visit https://platform.openai.com/account/rate-limits to learn more.',
  insufficient_quota:
    'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.',
  server_error:
    'The server had an error while processing your request. Sorry about that! Please include the request ID req_0sandbox0123456789 in your message.',
  bad_gateway: 'Bad gateway.',
  server_overloaded: 'The engine is currently overloaded, please try again later',
  context_length_exceeded:
    "This model's maximum context length is 128000 tokens. However, your messages resulted in more. Please reduce the length of the messages.",
  content_policy_violation: 'Your request was rejected as a result of our safety system.',
  moderation_blocked:
    'Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com and include the request ID req_0sandbox0123456789.',
  unknown_parameter: 'Unknown parameter.',
  item_not_found: 'Item not found.',
  previous_response_not_found: 'Previous response not found.',
  content_filter: 'The response was filtered by our content management policy.',
}

const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'invalid_value',
  401: 'invalid_api_key',
  402: 'billing_hard_limit_reached',
  403: 'permission_denied',
  404: 'model_not_found',
  408: 'request_timeout',
  409: 'conflict',
  413: 'request_too_large',
  422: 'unprocessable',
  429: 'rate_limit_exceeded',
  500: 'server_error',
}

/** The text that goes with a code where nothing more is known. */
export function textMessage(code: string): string {
  return MESSAGES[code] ?? `The request failed: ${code}.`
}

/** Codes of the sandbox for errors that this upstream gives no code. */
const NAMELESS: ReadonlySet<string> = new Set(['response_not_found'])

/** The `error` object of a code. */
export function errorObject(
  code: string,
  message = textMessage(code),
  param: string | null = null,
) {
  const type = TYPES[code] ?? 'invalid_request_error'
  return { message, type, param, code: NAMELESS.has(code) ? null : code }
}

const NO_KEY =
  "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."

/** The wire of a family of this upstream; each answer has its own id. */
export function textWire(family: string, { options }: FamilyKit, ids: IdMaker): Wire {
  return wireOf(
    {
      family,
      keyOf: bearerKey,
      denied: (isGiven) =>
        new Refusal('invalid_api_key', isGiven ? textMessage('invalid_api_key') : NO_KEY),
      unknownSwitch: (message) => new Refusal('invalid_sandbox_marker', `${message}.`),
      messageOf: textMessage,
      codeOfStatus: CODE_OF_STATUS,
      // A rate limit says when to come back: in a second, unless a switch says otherwise.
      answer: ({ code, message, param }, faults) => {
        const wait = countOf(faults, 'retry-after') ?? (code === 'rate_limit_exceeded' ? 1 : null)
        const headers = textHeaders(ids.next('req_'), faults)
        if (wait !== null) {
          headers['retry-after'] = String(wait)
          headers['retry-after-ms'] = String(wait * 1000)
        }
        const error = errorObject(code, message, param)
        return { status: STATUSES[code] ?? 400, body: { error }, headers }
      },
    },
    options.apiKeys,
  )
}
