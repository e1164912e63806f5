import type { Usage } from '../../domain/pricing/usage.ts'
import type { TaskFacts } from '../../domain/task/events.ts'
import type { TaskObservation } from '../../domain/task/observation.ts'

export type { TaskObservation }

/** The port between the upstream adapters of each family (`upstream`) and the surfaces (`api/`). */

/** The part of the world that an account, its models and its assets belong to. */
export type Region = 'domestic' | 'overseas'

/** One upstream account; the credential stays inside the provider's client. */
export interface Channel {
  readonly id: string
  readonly family: string
  /** The gateway reads it only for families whose models belong to a region. */
  readonly region?: Region
  readonly baseUrl: string
  /** If it is absent, requests carry no credential. */
  readonly credential?: string
  /** External model name → upstream model name. */
  readonly models: Readonly<Record<string, string>>
  readonly weight: number
  readonly priority: number
  readonly timeoutMs: number
  readonly maxConcurrent: number
  /** Words that no caller may see, beside those derived from host and model names. */
  readonly redactWords?: readonly string[]
  /** Limit on queries (not creations) per second; absent means the family's default. */
  readonly maxQueriesPerSecond?: number
  /** For image models: the most images of one request, by external name. */
  readonly largestImageCounts?: Readonly<Record<string, number>>
  /** Header of the credential, if it is not the family's usual one. */
  readonly credentialHeader?: string
  /** Where the account stores assets, if it does. */
  readonly library?: AssetLibrary
  /** Further settings of the family; only the family reads them. */
  readonly settings?: unknown
}

/** The asset library of an account: a separate interface with signed requests. */
export interface AssetLibrary {
  /** Address of its actions. */
  readonly baseUrl: string
  /** The region in the signature. */
  readonly signingRegion: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Whether it can verify real persons. */
  readonly verifiesPersons: boolean
  /** The account's own project for everything; absent: the caller's. */
  readonly projectName?: string
}

/** The sandbox's account for a family. */
export interface SandboxAccount extends Pick<
  Channel,
  'id' | 'family' | 'region' | 'models' | 'largestImageCounts' | 'settings'
> {
  /** Below the sandbox's own address. */
  readonly path: string
  /** The asset library of the account, if it has one, without the address. */
  readonly library?: Pick<AssetLibrary, 'signingRegion' | 'verifiesPersons'> & {
    readonly path: string
  }
}

/** Upstream answered that it has no such task. */
export interface TaskGone {
  readonly nativeId: string
  readonly status: 'gone'
}

export type CancelOutcome = 'accepted' | 'running' | 'gone' | 'refused'

/** A creation as its family's adapter sends it. */
export interface TaskSubmission {
  /** Upstream's model name. */
  readonly model: string
  /** Upstream's body without the model and the marker. */
  readonly body: Readonly<Record<string, unknown>>
  /** The caller's own settings that are not in the body; they select one of several creations. */
  readonly settings: TaskFacts['settings']
  /** A marker that an upstream list may show, so that the task can be found again. */
  readonly marker: string
}

/** Upstream's answer when it accepts a task. */
export interface AcceptedTask {
  readonly nativeId: string
  /** The usage, if only this answer reports it. */
  readonly usage?: Usage | undefined
}

export interface TaskProvider {
  readonly family: string
  /** Most ids in one `list`; 0 when upstream only lists page by page. */
  readonly maxListIds: number
  /** Longest page of `list`, and how many pages there can be. */
  readonly maxListSize: number
  readonly maxListPages: number
  /** Whether a list shows the marker a task was created with. */
  readonly showsMarkers: boolean
  /** @throws ProviderError */
  readonly create: (
    channel: Channel,
    submission: TaskSubmission,
    options: CallOptions,
  ) => Promise<AcceptedTask>
  readonly get: (
    channel: Channel,
    nativeId: string,
    options: CallOptions,
  ) => Promise<TaskObservation | TaskGone>
  /** Lists tasks by ids (at most `maxListIds`), or page by page, newest first. */
  readonly list: (
    channel: Channel,
    query:
      | { readonly nativeIds: readonly string[] }
      | { readonly page: number; readonly pageSize: number },
    options: CallOptions,
  ) => Promise<{
    readonly items: readonly TaskObservation[]
    /** Number of items that could not be read. */
    readonly unreadable: number
    /** On all pages, if upstream reports it. */
    readonly total: number | undefined
  }>
  readonly cancel: (
    channel: Channel,
    nativeId: string,
    options: CallOptions,
  ) => Promise<CancelOutcome>
}

/**
 * Why reading a stream failed without a fault of the provider.
 *
 * - frame: a frame is larger than the bound that follows from the request
 * - length: the whole stream is
 * - pause: the connection broke after the caller had held it back by not reading
 */
export type StreamBound = 'frame' | 'length' | 'pause'

/** An answer that has begun and arrives in chunks. */
export interface AnswerStream<Chunk, Tally> {
  /** Where no header names it, it is known from the first frame on. */
  readonly upstreamRequestId: string | undefined
  /** Upstream's rate limit for this model is used up for this long. */
  readonly restMs: number | undefined
  /**
   * The frames that have arrived since the last call, never an empty list; undefined at the end.
   * While the caller does not read, upstream is held back. One call at a time.
   * @throws ProviderError when it is cut, stalls, or reports an error
   */
  readonly read: () => Promise<readonly Chunk[] | undefined>
  readonly tally: () => Tally
  readonly receivedBytes: () => number
  /** Reason why `read` failed, if the provider is not to blame; undefined otherwise. */
  readonly endedBy: () => StreamBound | undefined
  /** Ends the connection; a pending `read` fails. */
  readonly cancel: () => void
}

export interface CallOptions {
  readonly signal: AbortSignal
  readonly requestId: string
  /** The adapter sends the request at most once, even if a kept connection turns out to be closed. */
  readonly once?: true
}

/** Whether the upstream may have accepted (and will bill) a request. */
export type Acceptance = 'ruled_out' | 'certain' | 'unknown'

export const providerErrorKinds = [
  /** The caller's input is wrong: `code` and `message` may be shown. */
  'invalid',
  'rate_limited',
  /** Upstream refuses the operator's credential, contract or balance: 503 to the caller. */
  'account',
  'unavailable',
  'timeout',
  'malformed',
] as const

export type ProviderErrorKind = (typeof providerErrorKinds)[number]

/** The status of a provider that is overloaded as a whole, on wires that have it. */
export const OVERLOADED_STATUS = 529

/** A failed provider call; `message` has no upstream ids, hosts or vendor words. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
  readonly kind: ProviderErrorKind
  readonly acceptance: Acceptance
  /** Upstream's code, if the caller may see it. */
  readonly code: string | undefined
  readonly param: string | undefined
  readonly retryAfterMs: number | undefined
  /** HTTP status and error type of upstream's answer, if there was one. */
  readonly status: number | undefined
  readonly type: string | undefined
  /**
   * A bound or the shutdown of the gateway ended the call, which shows nothing about the channel.
   */
  readonly endedByGateway: boolean

  constructor(
    kind: ProviderErrorKind,
    acceptance: Acceptance,
    message: string,
    details: {
      readonly code?: string | undefined
      readonly param?: string | undefined
      readonly retryAfterMs?: number | undefined
      readonly status?: number | undefined
      readonly type?: string | undefined
      readonly endedByGateway?: boolean
      readonly cause?: unknown
    } = {},
  ) {
    super(message, { cause: details.cause })
    this.kind = kind
    this.acceptance = acceptance
    this.code = details.code
    this.param = details.param
    this.retryAfterMs = details.retryAfterMs
    this.status = details.status
    this.type = details.type
    this.endedByGateway = details.endedByGateway ?? false
  }
}
