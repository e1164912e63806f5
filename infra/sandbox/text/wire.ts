import type { FastifyRequest } from 'fastify'
import { isLetIn, type TextWire } from '../calls/run.ts'
import { countOf, type Faults, NO_FAULTS, UnknownSwitch } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import type { IdMaker } from '../kit/random.ts'
import type { SandboxOptions } from '../options.ts'

const LIMIT_REQUESTS = 10_000
const LIMIT_TOKENS = '2000000'

/** A duration as these headers state it: `12ms`, `1s`, `6m0s`. */
export function durationText(ms: number): string {
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

/** Headers that make an answer a stream of events. */
export const EVENT_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
} as const

/** A refusal of the chat and responses wires: its code decides status and type. */
export class TextRefusal extends Error {
  readonly code: string
  readonly param: string | null

  constructor(code: string, message: string, param: string | null = null) {
    super(message)
    this.code = code
    this.param = param
  }
}

interface CodeRule {
  readonly status: number
  readonly type: string
  readonly message: string
}

const rule = (status: number, type: string, message: string): CodeRule => ({
  status,
  type,
  message,
})
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

/** How the chat and responses wires tell errors. */
export class TextErrors {
  readonly #ids: IdMaker

  constructor(ids: IdMaker) {
    this.#ids = ids
  }

  /** An error answer; a rate limit says when to come back, one second unless a switch says otherwise. */
  answer(refusal: TextRefusal, faults: Faults): Answer {
    const { code, message, param } = refusal
    const { status } = ruleOf(code)
    const stated = countOf(faults, 'retry-after')
    const wait = stated ?? (code === 'rate_limit_exceeded' ? 1 : null)
    const headers = textHeaders(this.#ids.next('req_'), faults)
    if (wait !== null) {
      headers['retry-after'] = String(wait)
      headers['retry-after-ms'] = String(wait * 1000)
    }
    return { status, body: { error: errorObject(code, message, param) }, headers }
  }

  refusal(code: string, faults: Faults): Answer {
    return this.answer(new TextRefusal(code, textMessage(code)), faults)
  }

  /** A bare status: the envelope where the service itself speaks, else a proxy's page. */
  failure(status: number, faults: Faults): Answer {
    const code = CODE_OF_STATUS[status]
    if (code !== undefined) return this.refusal(code, faults)
    return {
      status: status >= 200 && status <= 599 ? status : 500,
      body: `<html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>\n`,
      headers: { 'content-type': 'text/html' },
    }
  }

  /** The answer for something thrown, or null when it is no refusal. */
  refused(error: unknown): Answer | null {
    if (error instanceof TextRefusal) return this.answer(error, NO_FAULTS)
    if (!(error instanceof UnknownSwitch)) return null
    return this.answer(new TextRefusal('invalid_sandbox_marker', `${error.message}.`), NO_FAULTS)
  }
}

/** The bearer credential of a request. @throws TextRefusal */
function credentialOf(options: SandboxOptions, request: FastifyRequest): string {
  const key = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (key === undefined) {
    const why =
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
    throw new TextRefusal('invalid_api_key', why)
  }
  if (!isLetIn(options.apiKeys, key)) {
    throw new TextRefusal('invalid_api_key', textMessage('invalid_api_key'))
  }
  return key
}

/** The wire manners chat and responses share. */
export function bearerWire(family: string, options: SandboxOptions, errors: TextErrors): TextWire {
  return {
    family,
    credential: (request) => credentialOf(options, request),
    refused: (error) => errors.refused(error),
    refusal: (code, faults) => errors.refusal(code, faults),
    failure: (status, faults) => errors.failure(status, faults),
  }
}
