import { isJsonObject } from '../../../kernel/json.ts'
import { objectOf, objectsOf, textOf } from './fields.ts'
import type { UpstreamError } from './refusals.ts'

/** What speaks of our credential, contract or balance upstream. */
const ACCOUNT_STATUSES = new Set(['UNAUTHENTICATED', 'PERMISSION_DENIED', 'NOT_FOUND'])
const ACCOUNT_REASONS = new Set(['API_KEY_INVALID', 'API_KEY_SERVICE_BLOCKED', 'SERVICE_DISABLED'])

/**
 * The envelope `{"error":{code,message,status,details}}`, also where it comes wrapped in an array;
 * undefined when it is none.
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
