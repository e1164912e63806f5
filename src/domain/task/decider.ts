import { invariant, unreachable } from '../../kernel/assert.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { isBookable, parseAmount } from '../../kernel/money.ts'
import type { Decider } from '../decider.ts'
import { toStorable } from '../../kernel/storable-text.ts'
import type { TaskFamilyRules } from '../catalog/task-rules.ts'
import { attemptsIn } from '../repeat-facts.ts'
import type { TaskEvent } from './events.ts'
import { giveUp } from './give-up.ts'
import {
  lateAppearance,
  maxMessageLength,
  notAccepted,
  observeTask,
  settledSuccess,
  safeUsage,
} from './observe.ts'
import {
  evolveTask,
  initialTaskState,
  type TaskCommand,
  type TaskCommandOf,
  type TaskRequest,
  type TaskState,
} from './state.ts'

/** The failure code of a result without a usage: the gateway never bills at a guess. */
const UNMEASURED = {
  code: 'upstream_error',
  message: 'The model service did not say what its answer used.',
  possibleCostLeak: true,
} as const
const maxCodeLength = 128

/**
 * The life of an asynchronous task. The rules of its family say what it costs.
 *
 * Repeated and illegal observations yield no event. Commands that can only come from a defect or a
 * lost race throw `task_state_conflict` (details: `platformId`, `phase`, `command`); deleting
 * throws `task_running` before the end and `task_not_found` where no caller may see the task. Giving up
 * throws `give_up_refused`.
 */
export function createTaskDecider(
  familyOf: (name: string) => TaskFamilyRules,
): Decider<TaskState, TaskCommand, TaskEvent> {
  return {
    initial: initialTaskState,
    evolve: evolveTask,

    decide(command, state) {
      switch (command.kind) {
        case 'request':
          return request(command, state)
        case 'submitted':
          return submitted(command, state)
        case 'refuse':
          return refuse(command, state)
        case 'start':
          return start(command, state)
        case 'succeed':
          return succeed(command, state, familyOf)
        case 'fail':
          return fail(command, state)
        case 'uncertain':
          return uncertain(command, state)
        case 'observe':
          // A task can be observed only after its submission and before its end.
          return state.phase === 'active'
            ? observeTask(familyOf(state.request.family), state, command.observation, command.at)
            : []
        case 'expire':
          return expire(command, state)
        case 'not-accepted':
          return notAccepted(command, state)
        case 'give-up':
          return giveUp(command, state, { taskFamily: familyOf })
        case 'appeared':
          return lateAppearance(command, state)
        case 'delete':
          return remove(command, state)
        default:
          return unreachable(command)
      }
    },
  }
}

function request({ data }: TaskCommandOf<'request'>, state: TaskState): readonly TaskEvent[] {
  if (state.phase === 'none') {
    // A cost that cannot be booked was refused earlier: no balance covers it.
    invariant(isBookable(parseAmount(data.quote.hold)), 'a hold can be booked')
    return [{ type: 'TaskRequested', data }]
  }
  // A repeated request is a retry of the same append.
  if (state.request.requestId === data.requestId) return []
  return conflict(state, 'request')
}

function submitted(command: TaskCommandOf<'submitted'>, state: TaskState): readonly TaskEvent[] {
  const { nativeId, channelId, via, usage, attempts, at, status } = command
  if (state.phase === 'active' || state.phase === 'ended') {
    if (state.nativeId === nativeId) return []
    return conflict(state, 'submitted')
  }
  if (state.phase !== 'requested' && state.phase !== 'uncertain')
    return conflict(state, 'submitted')
  if (state.request.madeHere) return conflict(state, 'submitted')
  const { platformId } = state.request
  const event: TaskEvent = {
    type: 'TaskSubmitted',
    data: {
      platformId,
      nativeId,
      channelId,
      via,
      ...(usage === undefined ? {} : { usage: safeUsage(usage) }),
      ...attemptsIn(attempts),
      submittedAt: at,
    },
  }
  if (status !== 'running') return [event]
  return [
    event,
    { type: 'TaskStatusChanged', data: { platformId, status: 'running', observedAt: at } },
  ]
}

/** Refuses a submission, from `uncertain` too: a late answer that rules acceptance out ends the uncertainty. */
function refuse(command: TaskCommandOf<'refuse'>, state: TaskState): readonly TaskEvent[] {
  if (state.phase === 'refused') return []
  if (state.phase !== 'requested' && state.phase !== 'uncertain') return conflict(state, 'refuse')
  return [
    {
      type: 'TaskSubmissionRefused',
      data: {
        platformId: state.request.platformId,
        code: toStorable(command.code, maxCodeLength),
        message: toStorable(command.message, maxMessageLength),
        ...attemptsIn(command.attempts),
        refusedAt: command.at,
      },
    },
  ]
}

/** The worker that starts it also sends it; a second worker is refused. */
function start(command: TaskCommandOf<'start'>, state: TaskState): readonly TaskEvent[] {
  if (state.phase !== 'requested' || !state.request.madeHere) return conflict(state, 'start')
  const { channelId, expiresAt, at } = command
  const { platformId } = state.request
  return [{ type: 'TaskStarted', data: { platformId, channelId, startedAt: at, expiresAt } }]
}

/**
 * Ends a task with its result, from `uncertain` too: a worker that was only slow may still deliver it.
 */
function succeed(
  { nativeId, seen, attempts, at }: TaskCommandOf<'succeed'>,
  state: TaskState,
  familyOf: (name: string) => TaskFamilyRules,
): readonly TaskEvent[] {
  if (state.phase === 'ended') return []
  if (!isStarted(state)) return conflict(state, 'succeed')
  const { request } = state
  return (
    settledSuccess(familyOf(request.family), { request, nativeId, attempts }, seen, at) ?? [
      failed(request, { ...UNMEASURED, attempts, at }),
    ]
  )
}

/** Ends a task in failure, even if it was not started: the caller has its id and must see its end. */
function fail(command: TaskCommandOf<'fail'>, state: TaskState): readonly TaskEvent[] {
  if (state.phase === 'ended') return []
  if (state.phase !== 'requested' && !isStarted(state)) return conflict(state, 'fail')
  if (!state.request.madeHere) return conflict(state, 'fail')
  return [failed(state.request, command)]
}

function isStarted(
  state: TaskState,
): state is Extract<TaskState, { readonly phase: 'started' | 'uncertain' }> {
  if (state.phase === 'started') return true
  return state.phase === 'uncertain' && state.request.madeHere === true
}

function failed(
  { platformId }: TaskRequest,
  { code, message, possibleCostLeak, attempts, at }: Omit<TaskCommandOf<'fail'>, 'kind'>,
): TaskEvent {
  return {
    type: 'TaskFailed',
    data: {
      platformId,
      code: toStorable(code, maxCodeLength),
      message: toStorable(message, maxMessageLength),
      ...(possibleCostLeak ? { possibleCostLeak } : {}),
      ...attemptsIn(attempts),
      failedAt: at,
    },
  }
}

/** A submission cannot become uncertain once its outcome is known, nor before it was sent. */
function uncertain(command: TaskCommandOf<'uncertain'>, state: TaskState): readonly TaskEvent[] {
  if (state.phase === 'none') return conflict(state, 'uncertain')
  const mayBeSent = state.phase === 'requested' && !state.request.madeHere
  if (!mayBeSent && state.phase !== 'started') return []
  return [
    {
      type: 'TaskSubmissionUncertain',
      data: {
        platformId: state.request.platformId,
        reason: toStorable(command.reason, maxMessageLength),
        ...attemptsIn(command.attempts),
        uncertainAt: command.at,
      },
    },
  ]
}

/**
 * A task without a visible end at its deadline may have been rendered and charged to the operator.
 * If the task was adopted or submitted after the search, the search result is outdated and nothing
 * happens.
 */
function expire({ nativeId, at }: TaskCommandOf<'expire'>, state: TaskState): readonly TaskEvent[] {
  if (state.phase === 'none' || state.phase === 'refused' || state.phase === 'ended') return []
  // The request was never sent: the task fails, and cannot have cost anything.
  if (state.phase === 'requested' && state.request.madeHere) return []
  if (nativeId !== (state.phase === 'active' ? state.nativeId : undefined)) return []
  if (fromTimestamp(at) < fromTimestamp(state.request.expiresAt)) return []
  const { platformId } = state.request
  return [
    {
      type: 'TaskExpired',
      data: { platformId, reason: 'deadline', possibleCostLeak: true, expiredAt: at },
    },
  ]
}

function remove({ tokenId, at }: TaskCommandOf<'delete'>, state: TaskState): readonly TaskEvent[] {
  switch (state.phase) {
    case 'none':
    case 'refused':
      throw new DomainError('task_not_found', 'the task does not exist', {})
    case 'requested':
    case 'started':
    case 'uncertain':
    case 'active':
      throw new DomainError('task_running', 'a task that has not ended cannot be deleted', {
        platformId: state.request.platformId,
        phase: state.phase,
      })
    case 'ended': {
      if (state.deleted) return []
      const { platformId } = state.request
      return [{ type: 'TaskDeleted', data: { platformId, tokenId, deletedAt: at } }]
    }
    default:
      return unreachable(state)
  }
}

function conflict(state: TaskState, command: TaskCommand['kind']): never {
  const platformId = state.phase === 'none' ? undefined : state.request.platformId
  throw new DomainError('task_state_conflict', `a task that is ${state.phase} cannot ${command}`, {
    platformId,
    phase: state.phase,
    command,
  })
}
