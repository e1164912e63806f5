import {
  type Channel,
  ProviderError,
  type TaskObservation,
  type TaskProvider,
  type TaskSubmission,
} from '../../../app/ports/provider.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { ExchangeResponse } from '../http/exchange.ts'
import type { BodyInPieces } from '../http/json.ts'
import type { Scrubber } from '../http/lines.ts'
import { malformed, retryAfterMs } from '../http/refusals.ts'

/** What a list may be asked for. */
export type Wanted = Parameters<TaskProvider['list']>[1]

/** What one asynchronous family is on the wire; everything else is the same for all of them. */
export interface TaskWire extends Pick<
  TaskProvider,
  'family' | 'maxListIds' | 'maxListSize' | 'maxListPages' | 'showsMarkers'
> {
  readonly credentialHeaders: (channel: Channel) => Readonly<Record<string, string>>
  /** Below the channel's base URL. */
  readonly createPath: (submission: TaskSubmission) => string
  /** A creation as upstream takes it, its marker where lists show it; large media in pieces. */
  readonly createBody: (submission: TaskSubmission) => JsonObject | BodyInPieces
  readonly taskPath: (nativeId: string) => string
  /** How a task is cancelled; absent: by deleting it at its path. */
  readonly cancelRequest?: (nativeId: string) => {
    readonly method: 'POST' | 'DELETE'
    readonly path: string
    readonly body?: JsonObject
  }
  readonly listPath: (wanted: Wanted) => string
  /**
   * The status an answer stands for, on a wire whose answers are all 200; undefined: it is a success.
   */
  readonly statusOf?: (body: unknown, asked: 'creation' | 'query') => number | undefined
  /** The error of an answer other than 2xx; undefined when it holds none, as for an unknown path. */
  readonly readError: (body: unknown) => UpstreamError | undefined
  /** The id of an accepted task; undefined when it is no answer of this wire. */
  readonly readCreated: (body: unknown) => string | undefined
  /** What an accepted task counts, on a wire that says so with its id alone. */
  readonly readUsage?: (body: unknown) => Usage | undefined
  /** `asked` is the id of a query for one task, for a wire whose answer may leave it out. */
  readonly readTask: (body: unknown, scrub: Scrubber, asked?: string) => TaskObservation | undefined
  /** Where the links to a result are asked for, on a wire whose tasks do not have them. */
  readonly linksPath?: (task: TaskObservation) => string | undefined
  readonly readLinks?: (body: unknown) => TaskObservation['urls']
  readonly readList: (
    body: unknown,
  ) => { readonly items: readonly unknown[]; readonly total: number | undefined } | undefined
}

/** From a refusal on the wire of a task family to a provider error that says what was accepted. */

/** The `Retry-After` that a caller gets when upstream limits the gateway and names no time. */
const DEFAULT_RETRY_AFTER_MS = 2_000

/** What an error envelope of a task wire says. */
export interface UpstreamError {
  /** Only what may be shown to callers and kept in the log. */
  readonly code: string | undefined
  readonly message: string
  readonly param: string | undefined
  /** It speaks of our account upstream rather than of what the caller sent, whatever the status. */
  readonly account: boolean
  /** It says that there is no such task, whatever the status. */
  readonly missing?: boolean
}

const accountStatuses: ReadonlySet<number> = new Set([401, 402, 403, 404, 405])

/** A complete answer other than 2xx; `error` is its envelope, undefined when it has none. */
export function fromTaskResponse(
  { statusCode, headers }: Pick<ExchangeResponse, 'statusCode' | 'headers'>,
  error: UpstreamError | undefined,
  scrub: Scrubber,
): ProviderError {
  const code = error?.code
  if (statusCode === 429)
    return new ProviderError('rate_limited', 'ruled_out', 'The model service is at its limit.', {
      code,
      retryAfterMs: retryAfterMs(headers) ?? DEFAULT_RETRY_AFTER_MS,
    })
  if (statusCode >= 500)
    return new ProviderError('unavailable', 'unknown', 'The model service failed.', { code })
  // An intermediary gave up on the request; the service behind it may not have.
  if (statusCode === 408 || statusCode === 499)
    return new ProviderError('timeout', 'unknown', 'The model service did not answer in time.')
  if (statusCode < 400) return malformed()
  if (accountStatuses.has(statusCode) || error?.account === true)
    return new ProviderError(
      'account',
      'ruled_out',
      'The account has not enabled this capability of the model service.',
      { code },
    )
  return new ProviderError('invalid', 'ruled_out', scrub(error?.message ?? ''), {
    code,
    param: error?.param,
  })
}
