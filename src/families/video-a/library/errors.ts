import { isJsonObject } from '../../../kernel/json.ts'
import { dottedError } from '../../kit/http/dotted-errors.ts'
import { objectOf } from '../../kit/http/fields.ts'
import type { Scrubber } from '../../kit/http/scrub.ts'
import type { UpstreamError } from '../../kit/task/errors.ts'

/** What an asset library answers where it did not do what it was asked: also with status 200. */

/** What comes before the dot of a code: our key, our clock or our address is wrong, not the caller's request. */
const ACCOUNT_CODES: ReadonlySet<string> = new Set([
  'InvalidAccessKey',
  'SignatureDoesNotMatch',
  'InvalidSecretToken',
  'InvalidTimestamp',
  'InvalidAuthorization',
  'InvalidCredential',
  'MissingRequestInfo',
  'ServiceNotFound',
  'InvalidActionOrVersion',
])
const LIMIT_CODES: ReadonlySet<string> = new Set(['FlowLimitExceeded', 'TooManyRequests'])
const MISSING_CODES: ReadonlySet<string> = new Set(['ResourceNotFound', 'NotFound'])
/** The service itself failed: whether before or after it had done its work, nobody knows. */
const BROKEN_CODE = /^(?:Internal|ServiceUnavailable)|Timeout$/
/** As the wire and as callers call the one-time credential of a verification. */
const CREDENTIAL_NAMES = [/BytedToken/gi, 'ProviderToken'] as const

/** The envelope's error; undefined where it tells of none. */
export function readLibraryError(body: unknown): UpstreamError | undefined {
  const said = objectOf(objectOf(body)['ResponseMetadata'])['Error']
  if (!isJsonObject(said)) return undefined
  const { code, message, account } = dottedError({ code: said['Code'], message: said['Message'] })
  const kind = kindOf(code)
  return {
    code: code?.replace(...CREDENTIAL_NAMES),
    message: message.replace(...CREDENTIAL_NAMES),
    param: undefined,
    account: account || ACCOUNT_CODES.has(kind),
    missing: MISSING_CODES.has(kind),
  }
}

/** The status an answer stands for, whatever it came with: the code knows better than a status of 200. */
export function statusOf(statusCode: number, error: UpstreamError | undefined): number {
  if (error === undefined) return statusCode
  const kind = kindOf(error.code)
  if (error.account) return 403
  if (LIMIT_CODES.has(kind)) return 429
  if (statusCode >= 500) return statusCode
  // Where no code says why, nobody knows what was done.
  if (error.code === undefined ? isSuccess(statusCode) : BROKEN_CODE.test(kind)) return 500
  // What is missing was named by the request, so the request is wrong.
  return isSuccess(statusCode) || error.missing === true ? 400 : statusCode
}

export function isSuccess(statusCode: number): boolean {
  return statusCode >= 200 && statusCode < 300
}

/** A scrubber that takes these values out of a message as well. */
export function hiding(scrub: Scrubber, values: readonly string[]): Scrubber {
  const hidden = values
    .filter((value) => value !== '')
    // What contains another one goes first, or half of it would stay.
    .toSorted((a, b) => b.length - a.length)
  return (message) =>
    scrub(hidden.reduce((text, value) => text.replaceAll(value, '[hidden]'), message))
}

function kindOf(code: string | undefined): string {
  return code?.split('.')[0] ?? ''
}
