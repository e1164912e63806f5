import type { TaskObservation, TaskSeen } from './observation.ts'
import type { Usage } from '../pricing/usage.ts'
import type { TaskRequest } from './state.ts'

/** `at` is when it happened, RFC 3339. */
export type TaskCommand =
  | { readonly kind: 'request'; readonly data: TaskRequest }
  | {
      readonly kind: 'submitted'
      readonly nativeId: string
      readonly channelId: string
      readonly via: 'create' | 'reconciliation'
      /** What upstream said it counts, in its answer to the creation. */
      readonly usage?: Usage | undefined
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
  | {
      /** A worker of ours is about to send it. */
      readonly kind: 'start'
      readonly channelId: string
      readonly expiresAt: string
      readonly at: string
    }
  | {
      /** A worker of ours has the result, and has kept it. */
      readonly kind: 'succeed'
      readonly nativeId: string
      readonly seen: TaskSeen
      readonly at: string
    }
  | {
      /** It was never sent, or there is certainly no result. */
      readonly kind: 'fail'
      readonly code: string
      readonly message: string
      readonly possibleCostLeak: boolean
      readonly at: string
    }
  | { readonly kind: 'uncertain'; readonly reason: string; readonly at: string }
  | { readonly kind: 'observe'; readonly observation: TaskObservation; readonly at: string }
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
  | { readonly kind: 'delete'; readonly tokenId: string; readonly at: string }
