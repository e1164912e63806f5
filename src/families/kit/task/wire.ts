import {
  ProviderError,
  type TaskObservation,
  type TaskProvider,
  type TaskSubmission,
} from '../../../app/ports/provider.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import { observedStatuses } from '../../../domain/task/observation.ts'
import { type JsonObject, isJsonObject } from '../../../kernel/json.ts'
import type { CredentialHeaders } from '../http/connections.ts'
import type { ExchangeResponse } from '../http/exchange.ts'
import type { BodyInPieces } from '../http/json.ts'
import type { Scrubber } from '../http/scrubber.ts'
import { malformed, retryAfterMs } from '../http/refusals.ts'

/** Filters of a list. */
export type Wanted = Parameters<TaskProvider['list']>[1]

/** The wire of one asynchronous family; everything else is the same for all of them. */
export interface TaskWire extends Pick<
  TaskProvider,
  'family' | 'maxListIds' | 'maxListSize' | 'maxListPages' | 'showsMarkers'
> {
  readonly credentialHeaders: CredentialHeaders
  /** The path below the channel's base URL. */
  readonly createPath: (submission: TaskSubmission) => string
  /**
   * A creation in upstream's form, with the marker where lists show it; large media are in pieces.
   */
  readonly createBody: (submission: TaskSubmission) => JsonObject | BodyInPieces
  readonly taskPath: (nativeId: string) => string
  /** Request that cancels a task; absent: a deletion at its path. */
  readonly cancelRequest?: (nativeId: string) => {
    readonly method: 'POST' | 'DELETE'
    readonly path: string
    readonly body?: JsonObject
  }
  readonly listPath: (wanted: Wanted) => string
  /**
   * The HTTP status that an answer means, on a wire whose answers are all 200; undefined: it is a
   * success.
   */
  readonly statusOf?: (body: unknown, asked: 'creation' | 'query') => number | undefined
  /**
   * The error of an answer other than 2xx; undefined if it has none, such as for an unknown path.
   */
  readonly readError: (body: unknown) => TaskWireError | undefined
  /** The id of an accepted task; undefined when it is no answer of this wire. */
  readonly readCreated: (body: unknown) => string | undefined
  /** The usage of an accepted task, on a wire that reports it only together with the id. */
  readonly readUsage?: (body: unknown) => Usage | undefined
  /** `asked` is the id of a query for one task, for a wire whose answer may leave it out. */
  readonly readTask: (body: unknown, scrub: Scrubber, asked?: string) => TaskObservation | undefined
  /** The path of the result links, on a wire whose tasks do not include them. */
  readonly linksPath?: (task: TaskObservation) => string | undefined
  readonly readLinks?: (body: unknown) => TaskObservation['urls']
  readonly readList: (
    body: unknown,
  ) => { readonly items: readonly unknown[]; readonly total: number | undefined } | undefined
}

/**
 * Maps a refusal on the wire of a task family to a provider error that states whether it was
 * accepted.
 */

/** The `Retry-After` that a caller gets when upstream limits the gateway and names no time. */
const DEFAULT_RETRY_AFTER_MS = 2_000

/** The content of an error envelope of a task wire. */
export interface TaskWireError {
  /** Only values that may be shown to callers and kept in the log. */
  readonly code: string | undefined
  readonly message: string
  readonly param: string | undefined
  /**
   * The error concerns the gateway's account upstream, not the caller's request, whatever the
   * status.
   */
  readonly account: boolean
  /** The HTTP status that the error means by itself; absent where it does not say. */
  readonly status?: number | undefined
  /** The error means that the task does not exist, whatever the status. */
  readonly missing?: boolean
}

const accountStatuses: ReadonlySet<number> = new Set([401, 402, 403, 404, 405])

/** A complete answer other than 2xx; `error` is its envelope, undefined when it has none. */
export function fromTaskResponse(
  { statusCode, headers }: Pick<ExchangeResponse, 'statusCode' | 'headers'>,
  error: TaskWireError | undefined,
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

/** Members of an upstream's task, cut to bounded sizes. */

/** Longest word or name that is kept. */
export const MAX_LABEL_LENGTH = 64
const MAX_VALUE_LENGTH = 128
const MAX_URL_LENGTH = 4_096
/** Later than any date in seconds, earlier than any in milliseconds (the year 5138 / 1973). */
const SECONDS_BELOW = 100_000_000_000

/** A time in seconds or milliseconds, also as digits, in Unix milliseconds. */
function timeMs(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isFinite(number) || number <= 0) return undefined
  return Math.round(number < SECONDS_BELOW ? number * 1_000 : number)
}

function isKnownStatus(word: string): word is Exclude<TaskObservation['status'], 'unknown'> {
  return word !== 'unknown' && observedStatuses.some((status) => status === word)
}

/** A task on a wire with the gateway's names for statuses and times. */
interface WireTask {
  readonly id: string | number
  readonly status: string
  readonly model?: unknown
  readonly content?: unknown
  readonly created_at?: unknown
  readonly updated_at?: unknown
}

/** Observation of such a task; `outputFields` are its settings, `urlFields` its result links. */
export function observedTask(
  task: WireTask & JsonObject,
  { usage, error }: Pick<TaskObservation, 'usage' | 'error'>,
  outputFields: readonly string[],
  urlFields: readonly string[],
): TaskObservation {
  const word = task.status.slice(0, MAX_LABEL_LENGTH)
  // Services and relays differ in the case of these words.
  const status = word.toLowerCase()
  const urls = urlsOf(task.content, urlFields)
  const createdAtMs = timeMs(task.created_at)
  const updatedAtMs = timeMs(task.updated_at)
  return {
    nativeId: String(task.id),
    status: isKnownStatus(status) ? status : 'unknown',
    upstreamStatus: word,
    output: settingsOf(task, outputFields),
    ...(typeof task.model === 'string' ? { upstreamModel: task.model } : {}),
    ...(usage === undefined ? {} : { usage }),
    ...(error === undefined ? {} : { error }),
    ...(urls === undefined ? {} : { urls }),
    ...(createdAtMs === undefined ? {} : { createdAtMs }),
    ...(updatedAtMs === undefined ? {} : { updatedAtMs }),
  }
}

/** The named settings that are plain values. */
export function settingsOf(task: JsonObject, names: readonly string[]): TaskObservation['output'] {
  const settings: Record<string, string | number | boolean | null> = {}
  for (const name of names) {
    const value = task[name]
    if (typeof value === 'boolean' || value === null) settings[name] = value
    else if (typeof value === 'number' && Number.isFinite(value)) settings[name] = value
    else if (typeof value === 'string' && value.length <= MAX_VALUE_LENGTH) settings[name] = value
  }
  return settings
}

/** The named result links that are present; undefined if there is none. */
export function urlsOf(
  content: unknown,
  names: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (!isJsonObject(content)) return undefined
  const urls: Record<string, string> = {}
  for (const name of names) {
    const value = content[name]
    if (typeof value === 'string' && value !== '' && value.length <= MAX_URL_LENGTH)
      urls[name] = value
  }
  return Object.keys(urls).length === 0 ? undefined : urls
}
