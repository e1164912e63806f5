import type { TaskFamily, TaskUsage } from '../domain/task/events.ts'

/** Where faces upstream (`providers/`) and faces callers (`api/`) meet. */

/** One upstream account (design §8); the credential stays inside the provider's client. */
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
}

/** What an upstream says of a task. An unknown word is `unknown`, never a failure (P5). */
export interface TaskObservation {
  readonly nativeId: string
  readonly status:
    'queued' | 'running' | 'succeeded' | 'failed' | 'expired' | 'cancelled' | 'unknown'
  readonly upstreamStatus: string
  readonly upstreamModel?: string
  readonly marker?: string
  readonly usage?: TaskUsage
  /** Echoed settings and actual specs by wire name. */
  readonly output: Readonly<Record<string, string | number | boolean | null>>
  readonly error?: { readonly code: string; readonly message: string }
  /** Signed and expiring: only ever cached (P7). */
  readonly urls?: Readonly<Record<string, string>>
  /** Unix milliseconds. */
  readonly createdAtMs?: number
  readonly updatedAtMs?: number
}

/** The upstream answered that it has no such task. */
export interface TaskGone {
  readonly nativeId: string
  readonly status: 'gone'
}

export type CancelOutcome = 'accepted' | 'running' | 'gone' | 'refused'

export interface TaskProvider {
  readonly family: TaskFamily
  /** Longest page of `list` and most ids one `list` may ask for. */
  readonly maxListIds: number
  /** @throws ProviderError */
  readonly create: (
    channel: Channel,
    body: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ) => Promise<{ readonly nativeId: string }>
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
  ) => Promise<{ readonly items: readonly TaskObservation[]; readonly total: number }>
  readonly cancel: (
    channel: Channel,
    nativeId: string,
    options: CallOptions,
  ) => Promise<CancelOutcome>
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

  constructor(
    kind: ProviderErrorKind,
    acceptance: Acceptance,
    message: string,
    details: {
      readonly code?: string | undefined
      readonly param?: string | undefined
      readonly retryAfterMs?: number | undefined
      readonly cause?: unknown
    } = {},
  ) {
    super(message, { cause: details.cause })
    this.kind = kind
    this.acceptance = acceptance
    this.code = details.code
    this.param = details.param
    this.retryAfterMs = details.retryAfterMs
  }
}
