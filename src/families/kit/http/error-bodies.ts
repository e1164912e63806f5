import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { codeOf, losslessCount, objectOf, objectsOf, textOf } from './fields.ts'
import type { UpstreamError } from './refusals.ts'

const MAX_PARAM_LENGTH = 120

/**
 * Dotted prefixes that mean that the operator's account lacks the model or the service, whatever
 * the status.
 */
const DOTTED_ACCOUNT_CODES = [
  'InvalidEndpointOrModel',
  'InvalidEndpoint',
  'InvalidSubscription',
  'ModelNotOpen',
  'UnsupportedModel',
  'OperationDenied',
  'AuthenticationError',
  'InvalidAccountStatus',
  'AccessDenied',
  'AccountOverdueError',
]

/** The content of an envelope with a dotted code. */
export interface DottedError {
  readonly code: string | undefined
  readonly type: string | undefined
  readonly message: string
  readonly param: string | undefined
  /** The error concerns the gateway's account upstream, not the caller's request. */
  readonly account: boolean
}

const BUSY_CODE = /RateLimit|ServerOverloaded/
const INPUT_CODE = /^(?:Invalid|Missing)|SensitiveContent|PolicyViolation/

/** The HTTP status that a dotted code means; undefined where it does not say. */
export function statusOfDotted(code: string | undefined): number | undefined {
  if (code === undefined) return undefined
  if (BUSY_CODE.test(code)) return 429
  return INPUT_CODE.test(code) ? 400 : undefined
}

/** The envelope `{"error":{code,message,param,type}}`; undefined for another body. */
export function readDottedError(body: unknown): DottedError | undefined {
  const error = isJsonObject(body) ? body['error'] : undefined
  return isJsonObject(error) ? dottedError(error) : undefined
}

/** The content of that envelope; lists of results hold it without the envelope. */
export function dottedError(error: JsonObject): DottedError {
  const code = codeOf(error['code'])
  return {
    code,
    type: textOf(error['type']),
    message: textOf(error['message']) ?? '',
    param: textOf(error['param'])?.slice(0, MAX_PARAM_LENGTH),
    account: isAccountCode(code),
  }
}

function isAccountCode(code: string | undefined): boolean {
  return (
    code !== undefined &&
    DOTTED_ACCOUNT_CODES.some((prefix) => code === prefix || code.startsWith(`${prefix}.`))
  )
}

/** A number that is the HTTP status of a failure, also as digits. */
export function failureStatus(value: unknown): number | undefined {
  const status = losslessCount(value)
  return status !== undefined && status >= 400 && status < 600 ? status : undefined
}

/** The HTTP status of the native wire's own words. */
const STATUS_OF_WORD: ReadonlyMap<string, number> = new Map([
  ['INVALID_ARGUMENT', 400],
  ['FAILED_PRECONDITION', 400],
  ['OUT_OF_RANGE', 400],
  ['RESOURCE_EXHAUSTED', 429],
  ['UNAVAILABLE', 503],
  ['DEADLINE_EXCEEDED', 504],
])

/** Statuses that concern the gateway's credential, contract or balance upstream. */
const ACCOUNT_STATUSES = new Set(['UNAUTHENTICATED', 'PERMISSION_DENIED', 'NOT_FOUND'])
const ACCOUNT_REASONS = new Set(['API_KEY_INVALID', 'API_KEY_SERVICE_BLOCKED', 'SERVICE_DISABLED'])

/**
 * The envelope `{"error":{code,message,status,details}}`, also where it comes wrapped in an array;
 * undefined for another body.
 */
export function readNativeError(body: unknown): UpstreamError | undefined {
  const inner: unknown = Array.isArray(body) ? body[0] : body
  if (!isJsonObject(inner) || !isJsonObject(inner['error'])) return undefined
  const { error } = inner
  const status = textOf(error['status'])
  const details = objectsOf(error['details'])
  const reasons = details.map((detail) => textOf(detail['reason']) ?? '')
  return {
    code: status,
    type: undefined,
    message: textOf(error['message']) ?? '',
    param: fieldOf(details),
    account:
      (status !== undefined && ACCOUNT_STATUSES.has(status)) ||
      reasons.some((reason) => ACCOUNT_REASONS.has(reason)),
    rateLimited: status === 'RESOURCE_EXHAUSTED' || error['code'] === 429,
    status: failureStatus(error['code']) ?? STATUS_OF_WORD.get(status ?? ''),
    retryAfterMs: retryDelayMs(details),
  }
}

/** `RetryInfo.retryDelay`, e.g. `57.238747106s`. */
function retryDelayMs(details: readonly Readonly<Record<string, unknown>>[]): number | undefined {
  for (const detail of details) {
    const seconds = /^(\d+(?:\.\d+)?)s$/.exec(textOf(detail['retryDelay']) ?? '')?.[1]
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1_000)
  }
  return undefined
}

function fieldOf(details: readonly Readonly<Record<string, unknown>>[]): string | undefined {
  for (const detail of details)
    for (const violation of objectsOf(detail['fieldViolations']))
      return textOf(objectOf(violation)['field'])
  return undefined
}

/** Codes and types of the chat and responses wires that concern the gateway's account upstream. */
const PLAIN_ACCOUNT_CODES: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'invalid_api_key',
  'invalid_authentication',
  'account_deactivated',
  'billing_hard_limit_reached',
  'budget_exceeded',
  'model_not_found',
  'permission_denied',
  'token_not_found_in_db',
  'authentication_error',
  'auth_error',
  'permission_error',
])

/**
 * Words about a key or a model that upstream does not know. Both come from the channel file, not from
 * the caller, and some servers report them without a code or a matching status.
 */
const ACCOUNT_WORDS =
  /\b(?:invalid|incorrect|wrong|missing|no|expired)\b.{0,20}\b(?:api[ _-]?key|credentials?)\b|\bapi[ _-]?key\b.{0,40}\b(?:invalid|incorrect|wrong|missing|not valid|required|expired)\b|\bunauthori[sz]ed\b|\bauthentication (?:error|failed)\b|\b(?:invalid|unknown|no such) model\b|\bmodel\b(?:(?!\b(?:tool|function|file|image|item|response|message)\b).){0,120}\b(?:not found|does not exist|doesn't exist|is not a valid model)\b/i
/** Longer messages are not searched for words. */
const MAX_SEARCHED_LENGTH = 1_000

function isAboutAccount(
  code: string | undefined,
  type: string | undefined,
  message: string,
): boolean {
  if (code !== undefined && PLAIN_ACCOUNT_CODES.has(code)) return true
  if (type !== undefined && PLAIN_ACCOUNT_CODES.has(type)) return true
  return ACCOUNT_WORDS.test(message.slice(0, MAX_SEARCHED_LENGTH))
}

/** The envelope `{"error":{message,type,param,code}}`, undefined for another body. */
export function readPlainError(body: unknown): UpstreamError | undefined {
  if (!isJsonObject(body)) return undefined
  const { error } = body
  if (isJsonObject(error)) return plainError(error)
  // Clients treat any non-empty value under this name as an error, and so does the gateway.
  return typeof error === 'string' && error !== '' ? plainError({ message: error }) : undefined
}

/**
 * Reads the error of a failed request in any form that servers of these wires use: the envelope, its
 * members without the envelope, `detail` as a text, an object or a list of faulty members, and plain
 * text.
 */
export function readPlainFailure(body: unknown, text: string): UpstreamError | undefined {
  const error = readPlainError(body)
  if (error !== undefined) return error
  if (!isJsonObject(body)) {
    const message = typeof body === 'string' ? body : text.trim()
    return message === '' || message.length > MAX_TEXT_LENGTH || message.startsWith('<')
      ? undefined
      : plainError({ message })
  }
  const { detail } = body
  if (typeof detail === 'string') return plainError({ ...body, message: detail })
  if (isJsonObject(detail)) return readPlainError(detail) ?? plainError(detail)
  const [fault] = objectsOf(detail)
  if (fault !== undefined)
    return plainError({ message: fault['msg'], type: fault['type'], param: placeOf(fault['loc']) })
  return typeof body['message'] === 'string' ? plainError(body) : undefined
}

/** No error in plain text is longer: a page of a proxy is none. */
const MAX_TEXT_LENGTH = 500

/** `["body","messages",0,"role"]` as `messages[0].role`. */
function placeOf(path: unknown): string | undefined {
  if (!Array.isArray(path)) return undefined
  const [root, ...rest] = path as readonly unknown[]
  const steps = root === 'body' ? rest : [root, ...rest]
  return steps
    .map((step, at) =>
      typeof step === 'number' ? `[${step}]` : `${at === 0 ? '' : '.'}${String(step)}`,
    )
    .join('')
}

/** The HTTP status of the types of errors on these wires. */
const STATUS_OF_TYPE: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['rate_limit_error', 429],
  ['overloaded_error', 529],
])

/** The content of that envelope; responses streams write it without the envelope. */
export function plainError(error: JsonObject): UpstreamError {
  const code = typeof error['code'] === 'number' ? String(error['code']) : textOf(error['code'])
  const type = givenText(error['type'])
  const status = failureStatus(error['code']) ?? STATUS_OF_TYPE.get(type ?? '')
  const message = textOf(error['message']) ?? ''
  const param = givenText(error['param'])
  return {
    code,
    type,
    status,
    message,
    param,
    account: param === 'model' || isAboutAccount(code, type, message),
    rateLimited: code === 'rate_limit_exceeded' || status === 429,
    retryAfterMs: undefined,
  }
}

/** A text. Some servers write `None` or `null` as text for a missing value. */
function givenText(value: unknown): string | undefined {
  return value === 'None' || value === 'null' ? undefined : textOf(value)
}

/** An error without any details. */
export const unknownError: UpstreamError = plainError({})
