import type { TaskUsage } from './events.ts'
import type { TaskRequest } from './state.ts'

/** What an upstream says of a task; `unknown` is a word we do not know, never a failure (P5). */
export interface ObservedTask {
  readonly status:
    'queued' | 'running' | 'succeeded' | 'failed' | 'expired' | 'cancelled' | 'unknown'
  /** Upstream's own word. */
  readonly upstreamStatus: string
  /** When given, an observation of another task than the submitted one is ignored. */
  readonly nativeId?: string | undefined
  readonly usage?: TaskUsage | undefined
  /** Echoed settings and actual specs by wire name; never a URL (P7). */
  readonly output: Readonly<Record<string, string | number | boolean | null>>
  readonly hasLastFrame: boolean
  readonly error?: { readonly code: string; readonly message: string } | undefined
  /** RFC 3339. */
  readonly upstreamCreatedAt?: string | undefined
  readonly upstreamUpdatedAt?: string | undefined
}

/** `at` is when it happened, RFC 3339. */
export type TaskCommand =
  | { readonly kind: 'request'; readonly data: TaskRequest }
  | {
      readonly kind: 'submitted'
      readonly nativeId: string
      readonly channelId: string
      readonly via: 'create' | 'reconciliation'
      /** Where the reconciler found it; absent means queued. */
      readonly status?: 'queued' | 'running' | undefined
      readonly at: string
    }
  | {
      readonly kind: 'refuse'
      readonly code: string
      readonly message: string
      readonly at: string
    }
  | { readonly kind: 'uncertain'; readonly reason: string; readonly at: string }
  | { readonly kind: 'observe'; readonly observation: ObservedTask; readonly at: string }
  | {
      readonly kind: 'expire'
      /** The upstream task it was judged by; undefined where none was known. */
      readonly nativeId: string | undefined
      readonly at: string
    }
  | {
      /** Complete lists of upstream proved that it never accepted the submission. */
      readonly kind: 'not-accepted'
      readonly firstSeenAt: string
      readonly lastSeenAt: string
      readonly at: string
    }
  | {
      /** Upstream shows a submission that was given up as never accepted. */
      readonly kind: 'appeared'
      readonly nativeId: string
      readonly channelId: string
      readonly upstreamStatus: string
      readonly at: string
    }
  | { readonly kind: 'confirm-cancelled'; readonly at: string }
  | { readonly kind: 'delete'; readonly tokenId: string; readonly at: string }
