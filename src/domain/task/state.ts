import { unreachable } from '../../kernel/assert.ts'
import type { Settlement } from '../pricing/settlement.ts'
import type { Usage } from '../pricing/usage.ts'
import type { TaskEvent, TaskEventData } from './events.ts'
import type { TaskObservation, TaskSeen } from './observation.ts'

export type TaskRequest = TaskEventData<'TaskRequested'>

/** `at` is when it happened, RFC 3339. */
export type TaskCommand =
  | { readonly kind: 'request'; readonly data: TaskRequest }
  | {
      readonly kind: 'submitted'
      readonly nativeId: string
      readonly channelId: string
      readonly via: 'create' | 'reconciliation'
      /** The usage in upstream's answer to the creation. */
      readonly usage?: Usage | undefined
      /** Number of requests that were made upstream. */
      readonly attempts?: number | undefined
      /** State in which the reconciler found it; absent means queued. */
      readonly status?: 'queued' | 'running' | undefined
      readonly at: string
    }
  | {
      readonly kind: 'refuse'
      readonly code: string
      readonly message: string
      readonly attempts?: number | undefined
      readonly at: string
    }
  | {
      /** A gateway worker is about to send it. */
      readonly kind: 'start'
      readonly channelId: string
      readonly expiresAt: string
      readonly at: string
    }
  | {
      /** A gateway worker has the result, and has stored it. */
      readonly kind: 'succeed'
      readonly nativeId: string
      readonly seen: TaskSeen
      readonly attempts?: number | undefined
      readonly at: string
    }
  | {
      /** The task was never sent, or there is certainly no result. */
      readonly kind: 'fail'
      readonly code: string
      readonly message: string
      readonly possibleCostLeak: boolean
      readonly attempts?: number | undefined
      readonly at: string
    }
  | {
      readonly kind: 'uncertain'
      readonly reason: string
      readonly attempts?: number | undefined
      readonly at: string
    }
  | { readonly kind: 'observe'; readonly observation: TaskObservation; readonly at: string }
  | {
      readonly kind: 'expire'
      /** The upstream task that decided this; undefined if none was known. */
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
      /** An operator no longer waits for its outcome, and bears what it may cost. */
      readonly kind: 'give-up'
      /** The note that says why: the same note gives it up once. */
      readonly noteId: string
      readonly at: string
    }
  | {
      /** Upstream shows a submission that was given up. */
      readonly kind: 'appeared'
      readonly nativeId: string
      readonly channelId: string
      readonly upstreamStatus: string
      readonly at: string
    }
  | { readonly kind: 'delete'; readonly tokenId: string; readonly at: string }

export type TaskCommandOf<Kind extends TaskCommand['kind']> = Extract<
  TaskCommand,
  { readonly kind: Kind }
>

/** Possible ends of a task that upstream accepted, or may have accepted. */
type TaskEnd = 'succeeded' | 'failed' | 'expired' | 'cancelled'

/** One asynchronous task, folded from its stream. */
export type TaskState =
  | { readonly phase: 'none' }
  /** The intent is durable; whether upstream has the task is not known yet. */
  | { readonly phase: 'requested'; readonly request: TaskRequest }
  /** A gateway worker makes it, or died while making it. */
  | { readonly phase: 'started'; readonly request: TaskRequest }
  | { readonly phase: 'uncertain'; readonly request: TaskRequest }
  /** Upstream certainly did not accept the task. Callers cannot see such a task. */
  | { readonly phase: 'refused'; readonly request: TaskRequest }
  | {
      readonly phase: 'active'
      readonly request: TaskRequest
      readonly nativeId: string
      readonly status: 'queued' | 'running'
      /** The usage that upstream reported on acceptance; undefined if it reported none. */
      readonly usage: Usage | undefined
      /** Statuses of upstream that were recorded because the gateway does not know them. */
      readonly unknownStatuses: readonly string[]
      /** Time since which the result is made and its usage is not known, RFC 3339. */
      readonly awaitsUsageSince: string | undefined
    }
  | {
      readonly phase: 'ended'
      readonly request: TaskRequest
      /** Undefined if no submission was ever known: never accepted, or past its deadline. */
      readonly nativeId: string | undefined
      readonly status: TaskEnd
      /**
       * The usage that upstream reported on acceptance; the answer to a repeated creation returns
       * it.
       */
      readonly usage: Usage | undefined
      readonly settlement: Settlement | undefined
      readonly deleted: boolean
      /** Why it counts as never accepted; undefined where it ended in any other way. */
      readonly absence: TaskEventData<'TaskFailed'>['absence']
      /** The note of the operator who gave it up; undefined where it ended in any other way. */
      readonly givenUp:
        | { readonly noteId: string; readonly at: string; readonly wasUncertain: boolean }
        | undefined
      /** Upstream showed it after it had been given up. */
      readonly appearedLate: boolean
    }

type EndedTask = Extract<TaskState, { readonly phase: 'ended' }>

export const initialTaskState: TaskState = { phase: 'none' }

/** Folds one event; an event out of place (impossible history) leaves the state as it is. */
export function evolveTask(state: TaskState, event: TaskEvent): TaskState {
  if (event.type === 'TaskRequested') return { phase: 'requested', request: event.data }
  if (state.phase === 'none') return state
  const { request } = state
  switch (event.type) {
    case 'TaskSubmitted':
      return {
        phase: 'active',
        request,
        nativeId: event.data.nativeId,
        status: 'queued',
        usage: event.data.usage,
        unknownStatuses: [],
        awaitsUsageSince: undefined,
      }
    case 'TaskStarted': {
      const { channelId, expiresAt } = event.data
      return { phase: 'started', request: { ...request, channelId, expiresAt } }
    }
    case 'TaskSubmissionRefused':
      return { phase: 'refused', request }
    case 'TaskSubmissionUncertain':
      return { phase: 'uncertain', request }
    case 'TaskStatusChanged':
      return evolveStatus(state, event.data)
    case 'TaskSucceeded':
      return { ...end(state, request, 'succeeded'), nativeId: event.data.nativeId }
    case 'TaskSettled':
      return state.phase === 'ended' ? { ...state, settlement: event.data.settlement } : state
    case 'TaskFailed':
      return end(state, request, 'failed', event.data)
    case 'TaskExpired':
      return end(state, request, 'expired')
    case 'TaskCancelled':
      return end(state, request, 'cancelled')
    case 'TaskDeleted':
      return state.phase === 'ended' ? { ...state, deleted: true } : state
    case 'TaskAppearedLate':
      return state.phase === 'ended' ? { ...state, appearedLate: true } : state
    default:
      return unreachable(event)
  }
}

function evolveStatus(state: TaskState, data: TaskEventData<'TaskStatusChanged'>): TaskState {
  if (state.phase !== 'active') return state
  const { status, upstreamStatus, awaitsUsage, observedAt } = data
  if (upstreamStatus === undefined) return { ...state, status }
  const unknownStatuses = [...state.unknownStatuses, upstreamStatus]
  const awaitsUsageSince = state.awaitsUsageSince ?? (awaitsUsage ? observedAt : undefined)
  return { ...state, status, unknownStatuses, awaitsUsageSince }
}

const NEVER_SUBMITTED = { nativeId: undefined, usage: undefined }

function end(
  state: TaskState,
  request: TaskRequest,
  status: TaskEnd,
  failure?: TaskEventData<'TaskFailed'>,
): EndedTask {
  const { nativeId, usage } = state.phase === 'active' ? state : NEVER_SUBMITTED
  return {
    phase: 'ended',
    request,
    nativeId,
    status,
    usage,
    settlement: undefined,
    deleted: false,
    absence: failure?.absence,
    givenUp: failure?.givenUp && {
      ...failure.givenUp,
      at: failure.failedAt,
      wasUncertain: state.phase === 'uncertain',
    },
    appearedLate: false,
  }
}
