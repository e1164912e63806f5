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

/** Codes of the chat and responses wires that concern the gateway's account upstream. */
const PLAIN_ACCOUNT_CODES: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'invalid_api_key',
  'account_deactivated',
  'billing_hard_limit_reached',
  'model_not_found',
  'permission_denied',
])

/** The envelope `{"error":{message,type,param,code}}`, undefined for another body. */
export function readPlainError(body: unknown): UpstreamError | undefined {
  if (!isJsonObject(body)) return undefined
  const { error } = body
  if (isJsonObject(error)) return plainError(error)
  // Clients treat any non-empty value under this name as an error, and so does the gateway.
  return typeof error === 'string' && error !== '' ? plainError({ message: error }) : undefined
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
  const type = textOf(error['type'])
  const status = failureStatus(error['code']) ?? STATUS_OF_TYPE.get(type ?? '')
  return {
    code,
    type,
    status,
    message: textOf(error['message']) ?? '',
    param: textOf(error['param']),
    account: code !== undefined && PLAIN_ACCOUNT_CODES.has(code),
    rateLimited: code === 'rate_limit_exceeded' || status === 429,
    retryAfterMs: undefined,
  }
}

/** An error without any details. */
export const unknownError: UpstreamError = plainError({})
