import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { textOf } from './fields.ts'
import type { UpstreamError } from './refusals.ts'

/** Codes of the chat and responses wires that speak of our account upstream. */
const ACCOUNT_CODES = new Set([
  'insufficient_quota',
  'invalid_api_key',
  'account_deactivated',
  'billing_hard_limit_reached',
  'model_not_found',
  'permission_denied',
])

/** The envelope `{"error":{message,type,param,code}}`, undefined when it is none. */
export function readPlainError(body: unknown): UpstreamError | undefined {
  if (!isJsonObject(body)) return undefined
  const { error } = body
  if (isJsonObject(error)) return plainError(error)
  // Clients take anything but nothing under this name for an error, and so do we.
  return typeof error === 'string' && error !== '' ? plainError({ message: error }) : undefined
}

/** The inside of that envelope; responses streams write it bare. */
export function plainError(error: JsonObject): UpstreamError {
  const code = typeof error['code'] === 'number' ? String(error['code']) : textOf(error['code'])
  return {
    code,
    type: textOf(error['type']),
    message: textOf(error['message']) ?? '',
    param: textOf(error['param']),
    account: code !== undefined && ACCOUNT_CODES.has(code),
    rateLimited: code === 'rate_limit_exceeded' || code === '429',
    retryAfterMs: undefined,
  }
}

/** An error of which nothing is said. */
export const unknownError: UpstreamError = plainError({})
