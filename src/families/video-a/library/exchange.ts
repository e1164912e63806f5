import type { CallOptions, Channel } from '../../../app/ports/provider.ts'
import { invariant } from '../../../kernel/assert.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { dottedError } from '../../kit/http/error-bodies.ts'
import type { ExchangeResponse } from '../../kit/http/exchange.ts'
import { isSuccess, malformed } from '../../kit/http/refusals.ts'
import { objectOf, parseJson } from '../../kit/http/fields.ts'
import { createConnections } from '../../kit/http/connections.ts'
import { type Scrubber } from '../../kit/http/scrubber.ts'
import { rethrow } from '../../kit/http/open-events.ts'
import { fromTaskResponse, type TaskWireError } from '../../kit/task/wire.ts'
import { queryText, signedHeaders } from './sign.ts'

/** The content of an answer: the content of its envelope, or the answer itself if it has none. */
function resultOf(body: unknown): JsonObject | undefined {
  if (!isJsonObject(body)) return undefined
  const { Result: result } = body
  return isJsonObject(result) ? result : body
}

/** The error of an asset library's answer, which may have status 200. */

/**
 * Code prefixes that mean that the gateway's key, clock or address is wrong, not the caller's
 * request.
 */
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
/** The service itself failed, before or after it had done its work: the outcome is unknown. */
const BROKEN_CODE = /^(?:Internal|ServiceUnavailable)|Timeout$/
/** The names of a verification's one-time credential on the wire and for callers. */
const CREDENTIAL_NAMES = [/BytedToken/gi, 'ProviderToken'] as const

/** The envelope's error; undefined if there is none. */
function readLibraryError(body: unknown): TaskWireError | undefined {
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

/** The HTTP status that an answer means: its code takes precedence over a status of 200. */
function statusOf(statusCode: number, error: TaskWireError | undefined): number {
  if (error === undefined) return statusCode
  const kind = kindOf(error.code)
  if (error.account) return 403
  if (LIMIT_CODES.has(kind)) return 429
  if (statusCode >= 500) return statusCode
  // Without a code the outcome is unknown.
  if (error.code === undefined ? isSuccess(statusCode) : BROKEN_CODE.test(kind)) return 500
  // The request named the missing thing, so the request is wrong.
  return isSuccess(statusCode) || error.missing === true ? 400 : statusCode
}

/** A scrubber that takes these values out of a message as well. */
export function scrubbing(scrub: Scrubber, values: readonly string[]): Scrubber {
  const hidden = values
    .filter((value) => value !== '')
    // A value that contains another one is replaced first, or a part of it would stay.
    .toSorted((a, b) => b.length - a.length)
  return (message) =>
    scrub(hidden.reduce((text, value) => text.replaceAll(value, '[hidden]'), message))
}

function kindOf(code: string | undefined): string {
  return code?.split('.')[0] ?? ''
}

/** One action of an asset library, and its answer. */

const VERSION = '2024-01-01'
/** The name of the service in signatures. */
const SERVICE = 'ark'
const CONTENT_TYPE = 'application/json'
/** The longest action, whatever the timeout of the channel's creations. */
const MAX_TIMEOUT_MS = 60_000
const NO_REASON = 'The asset library gave no reason.'

export interface Action {
  readonly name: string
  readonly body: JsonObject
  /** Values of the request that must not be in messages to callers. */
  readonly hidden?: readonly string[]
}

/** A complete answer, success or not. */
export interface CompleteAnswer {
  readonly response: ExchangeResponse
  readonly body: unknown
  readonly error: TaskWireError | undefined
  readonly scrub: Scrubber
}

/** The libraries of all channels; one connection pool per channel. */
export interface Libraries {
  /** @throws ProviderError where there is no complete answer */
  readonly ask: (channel: Channel, action: Action, options: CallOptions) => Promise<CompleteAnswer>
  readonly close: () => Promise<void>
}

/** `clock` is the wall clock, which upstream compares with its own. */
export function createLibraries(clock: Clock): Libraries {
  const lines = createConnections({
    address: (channel) => libraryOf(channel).baseUrl,
    headers: () => ({ accept: CONTENT_TYPE }),
    connections: ({ maxConcurrent }) => maxConcurrent,
    fallback: NO_REASON,
  })
  return {
    ask: async (channel, { name, body: members, hidden = [] }, { signal }) => {
      const { exchange, host, basePath, headers, scrub } = lines.of(channel)
      const library = libraryOf(channel)
      const { accessKeyId, secretAccessKey, signingRegion: region } = library
      const query = { Action: name, Version: VERSION }
      const path = `${basePath}/`
      const body = JSON.stringify(members)
      const signed = signedHeaders(
        { host, path, query, contentType: CONTENT_TYPE, body, atMs: clock.nowMs() },
        { accessKeyId, secretAccessKey, region, service: SERVICE },
      )
      // No id of the request beside them: further `x-` headers would have to be signed as well.
      const response = await exchange
        .request({
          method: 'POST',
          path: `${path}?${queryText(query)}`,
          headers: { ...headers, ...signed },
          body,
          timeoutMs: Math.min(channel.timeoutMs, MAX_TIMEOUT_MS),
          signal,
        })
        .catch(rethrow)
      const answer = parseJson(response.text)
      return {
        response,
        body: answer,
        error: readLibraryError(answer),
        scrub: scrubbing(scrub, [
          ...hidden,
          accessKeyId,
          secretAccessKey,
          library.projectName ?? '',
        ]),
      }
    },
    close: () => lines.close(),
  }
}

/** The account's asset library; only channels with one are called. */
export function libraryOf({ id, library }: Channel): NonNullable<Channel['library']> {
  invariant(library, `channel ${id} has an asset library`)
  return library
}

/**
 * The answer says that the asset or group does not exist; an unknown path answers without an
 * envelope.
 */
export function isMissing({ response, error }: CompleteAnswer): boolean {
  if (error === undefined || error.account) return false
  return error.missing === true || response.statusCode === 404
}

/** Result of a successful answer. @throws ProviderError for any other, or one that is not JSON. */
export function resultIn({ response, body, error, scrub }: CompleteAnswer): JsonObject {
  const statusCode = statusOf(response.statusCode, error)
  if (!isSuccess(statusCode))
    throw fromTaskResponse({ statusCode, headers: response.headers }, error, scrub)
  const result = resultOf(body)
  if (result === undefined) throw malformed()
  return result
}
