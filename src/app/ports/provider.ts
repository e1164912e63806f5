import type { Usage } from '../../domain/pricing/usage.ts'
import type { TaskFacts } from '../../domain/task/events.ts'
import type { TaskObservation } from '../../domain/task/observation.ts'

export type { TaskObservation }

/** Where faces upstream (`upstream` of each family) and faces callers (`api/`) meet. */

/** One upstream account; the credential stays inside the provider's client. */
export interface Channel {
  readonly id: string
  readonly family: string
  readonly region: 'domestic' | 'overseas'
  readonly baseUrl: string
  readonly credential: string
  /** External model name → upstream model name. */
  readonly models: Readonly<Record<string, string>>
  readonly weight: number
  readonly priority: number
  readonly timeoutMs: number
  readonly maxConcurrent: number
  /** Words that must never reach a caller, beyond those derived from host and model names. */
  readonly redactWords?: readonly string[]
  /** Bound on queries (not creations) a second; absent means the family's default. */
  readonly maxQueriesPerSecond?: number
  /** Of image models: the most images of one request, by external name. */
  readonly largestImageCounts?: Readonly<Record<string, number>>
  /** Header the credential is sent in, where it is not the usual one of its family. */
  readonly credentialHeader?: string
  /** Where the account keeps assets, if it does. */
  readonly library?: AssetLibrary
  /** What else its family lets an operator say; only the family reads it. */
  readonly settings?: unknown
}

/** The asset library of an account: an interface of its own, whose requests are signed. */
export interface AssetLibrary {
  /** Its actions are asked for at this address. */
  readonly baseUrl: string
  /** As the signature names it. */
  readonly signingRegion: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Whether real persons can be verified there. */
  readonly verifiesPersons: boolean
  /** The account's own project for everything; absent: what callers name. */
  readonly projectName?: string
}

/** Where the sandbox plays the upstream of a family, and as what. */
export interface SandboxAccount extends Pick<
  Channel,
  'id' | 'family' | 'region' | 'models' | 'largestImageCounts' | 'settings'
> {
  /** Below the sandbox's own address. */
  readonly path: string
  /** Of its asset library, if it has one: what is beside its own address. */
  readonly library?: Pick<AssetLibrary, 'signingRegion' | 'verifiesPersons'> & {
    readonly path: string
  }
}

/** The upstream answered that it has no such task. */
export interface TaskGone {
  readonly nativeId: string
  readonly status: 'gone'
}

export type CancelOutcome = 'accepted' | 'running' | 'gone' | 'refused'

/** A creation as the adapter of its family puts it on the wire. */
export interface TaskSubmission {
  /** Upstream's name of it. */
  readonly model: string
  /** Upstream's body without the model and the marker. */
  readonly body: Readonly<Record<string, unknown>>
  /** The caller's own settings, for what the body does not have: which creation it is, of several. */
  readonly settings: TaskFacts['settings']
  /** What a list upstream may show of it, so that it can be found again. */
  readonly marker: string
}

/** What an upstream says when it takes a task. */
export interface AcceptedTask {
  readonly nativeId: string
  /** What it counts, where only this answer says so. */
  readonly usage?: Usage | undefined
}

export interface TaskProvider {
  readonly family: string
  /** Most ids one `list` may ask for; 0 where upstream lists page by page alone. */
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
  /** By ids (at most `maxListIds`), or page by page, newest first. */
  readonly list: (
    channel: Channel,
    query:
      | { readonly nativeIds: readonly string[] }
      | { readonly page: number; readonly pageSize: number },
    options: CallOptions,
  ) => Promise<{
    readonly items: readonly TaskObservation[]
    /** Items that came besides and could not be read. */
    readonly unreadable: number
    /** On all pages, as far as upstream says it. */
    readonly total: number | undefined
  }>
  readonly cancel: (
    channel: Channel,
    nativeId: string,
    options: CallOptions,
  ) => Promise<CancelOutcome>
}

/** An answer that has begun and comes in pieces. */
export interface AnswerStream<Chunk, Tally> {
  readonly upstreamRequestId: string | undefined
  /** Upstream wants no further call of this model for so long: its limit is used up. */
  readonly restMs: number | undefined
  /**
   * What has arrived since the last call, never an empty list; undefined at the end. Upstream is held
   * back while nobody reads. One call at a time.
   * @throws ProviderError when it is cut, stalls, or reports an error
   */
  readonly read: () => Promise<readonly Chunk[] | undefined>
  readonly tally: () => Tally
  readonly receivedBytes: () => number
  /** Ends the connection; a pending `read` fails. */
  readonly cancel: () => void
}

export interface CallOptions {
  readonly signal: AbortSignal
  readonly requestId: string
}

/** Whether the upstream may have accepted (and will bill) what we sent. */
export type Acceptance = 'ruled_out' | 'certain' | 'unknown'

export type ProviderErrorKind =
  /** The caller's input: `code` and `message` may be shown. */
  | 'invalid'
  | 'rate_limited'
  /** Our credential, contract or balance upstream: 503 to the caller. */
  | 'account'
  | 'unavailable'
  | 'timeout'
  | 'malformed'

/** A failed provider call; `message` is already scrubbed of upstream ids, hosts and vendor words. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
  readonly kind: ProviderErrorKind
  readonly acceptance: Acceptance
  /** Upstream's code where it may be shown to the caller. */
  readonly code: string | undefined
  readonly param: string | undefined
  readonly retryAfterMs: number | undefined
  /** HTTP status and error type of upstream's answer, where there was one. */
  readonly status: number | undefined
  readonly type: string | undefined

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
  }
}
