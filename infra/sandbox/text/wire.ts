import type { FamilyKit } from '../family.ts'
import { countOf, type Faults } from '../faults/vocabulary.ts'
import { bearerKey, Refusal, type Wire, wireOf } from '../http/wire.ts'
import type { IdMaker } from '../kit/random.ts'

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

interface CodeRule {
  readonly status: number
  readonly type: string
  readonly message: string
}

const rule = (status: number, type: string, message: string): CodeRule => {
  return { status, type, message }
}
const INVALID = 'invalid_request_error'

/** Messages name hosts, organizations and requests, as this upstream's do. */
const RULES: Readonly<Record<string, CodeRule>> = {
  invalid_api_key: rule(
    401,
    INVALID,
    'Incorrect API key provided: sk-sandb***key. You can find your API key at https://platform.openai.com/account/api-keys.',
  ),
  account_deactivated: rule(
    401,
    INVALID,
    'The OpenAI account associated with this API key has been deactivated.',
  ),
  billing_hard_limit_reached: rule(402, INVALID, 'Billing hard limit has been reached.'),
  unsupported_country_region_territory: rule(
    403,
    'request_forbidden',
    'Country, region, or territory not supported',
  ),
  permission_denied: rule(403, INVALID, 'You have insufficient permissions for this operation.'),
  model_not_found: rule(404, INVALID, 'The model does not exist or you do not have access to it.'),
  request_timeout: rule(408, 'server_error', 'Request timed out.'),
  conflict: rule(409, INVALID, 'Could not acquire the lock; try again.'),
  request_too_large: rule(413, INVALID, 'The request is too large.'),
  unprocessable: rule(422, INVALID, 'The request could not be processed.'),
  rate_limit_exceeded: rule(
    429,
    'requests',
    'Rate limit reached for this model in organization org-sandbox0123456789 on requests per min (RPM): Limit 10000, Used 10000, Requested 1. Please try again in 1s. Visit https://platform.openai.com/account/rate-limits to learn more.',
  ),
  insufficient_quota: rule(
    429,
    'insufficient_quota',
    'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.',
  ),
  server_error: rule(
    500,
    'server_error',
    'The server had an error while processing your request. Sorry about that! Please include the request ID req_0sandbox0123456789 in your message.',
  ),
  bad_gateway: rule(502, 'server_error', 'Bad gateway.'),
  server_overloaded: rule(
    503,
    'server_error',
    'The engine is currently overloaded, please try again later',
  ),
  context_length_exceeded: rule(
    400,
    INVALID,
    "This model's maximum context length is 128000 tokens. However, your messages resulted in more. Please reduce the length of the messages.",
  ),
  content_policy_violation: rule(
    400,
    INVALID,
    'Your request was rejected as a result of our safety system.',
  ),
  moderation_blocked: rule(
    400,
    'image_generation_user_error',
    'Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com and include the request ID req_0sandbox0123456789.',
  ),
  unknown_parameter: rule(400, INVALID, 'Unknown parameter.'),
  item_not_found: rule(404, INVALID, 'Item not found.'),
  previous_response_not_found: rule(400, INVALID, 'Previous response not found.'),
  content_filter: rule(400, INVALID, 'The response was filtered by our content management policy.'),
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

function ruleOf(code: string): CodeRule {
  return RULES[code] ?? rule(400, INVALID, `The request failed: ${code}.`)
}

/** The text that goes with a code where nothing more is known. */
export function textMessage(code: string): string {
  return ruleOf(code).message
}

/** The `error` object of a code. */
export function errorObject(
  code: string,
  message = textMessage(code),
  param: string | null = null,
) {
  return { message, type: ruleOf(code).type, param, code }
}

const NO_KEY =
  "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."

/** The wire of a family of this upstream; each answer has an id of its own. */
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
        return { status: ruleOf(code).status, body: { error }, headers }
      },
    },
    options.apiKeys,
  )
}
