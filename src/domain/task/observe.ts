import { unreachable } from '../../kernel/assert.ts'
import type { TaskFamilyRules } from '../catalog/task-rules.ts'
import { isAboveCeiling, unitsHeld } from '../pricing/ceiling.ts'
import { toStorable } from '../../kernel/storable-text.ts'
import { attemptsIn } from '../repeat-facts.ts'
import { labelsIn } from '../reporting-labels.ts'
import type { TaskObservation, TaskSeen } from './observation.ts'
import type { TaskEvent, TaskEventData } from './events.ts'
import type { Usage } from '../pricing/usage.ts'
import type { TaskCommandOf, TaskRequest, TaskState } from './state.ts'

/** Decides the events of a task when the gateway has observed it upstream. */

type ActiveTask = Extract<TaskState, { readonly phase: 'active' }>
type Output = TaskEventData<'TaskSucceeded'>['output']

const maxWordLength = 64
export const maxMessageLength = 1_000
const MAX_OUTPUT_FIELDS = 32
const MAX_OUTPUT_TEXT_LENGTH = 256
const MAX_UNITS = 32
/**
 * Bounds the stream of a task whose upstream reports ever new statuses. Facts of money are outside of
 * it: each is recorded once, however many statuses came before.
 */
export const maxUnknownStatuses = 8

/** The failure of a task that upstream certainly never accepted. */
export const notAcceptedFailure = {
  code: 'not_accepted',
  message: 'The model service did not accept the task: nothing was started and nothing is charged.',
} as const

/**
 * The events of an observation of an active task. A step back (running → queued) and a repetition
 * yield no event. A success whose usage is missing, or above what the request can cost, is not an
 * end yet: it is recorded once for support, and the task is polled again. If no usable usage
 * arrives, the task expires as a possible cost leak; it is never settled at a guess.
 */
export function observeTask(
  rules: TaskFamilyRules,
  state: ActiveTask,
  observation: TaskObservation,
  at: string,
): readonly TaskEvent[] {
  if (observation.nativeId !== state.nativeId) return []
  const { platformId } = state.request
  switch (observation.status) {
    case 'queued':
      return []
    case 'running':
      if (state.status === 'running') return []
      return [
        { type: 'TaskStatusChanged', data: { platformId, status: 'running', observedAt: at } },
      ]
    case 'unknown':
      return noteStatus(state, observation.upstreamStatus, at)
    case 'succeeded': {
      const seen = withUsage(state, observation)
      return (
        settledSuccess(rules, state, seen, at) ??
        noteWithheld(rules, state, { ...observation, ...seen }, at)
      )
    }
    case 'failed':
      return [{ type: 'TaskFailed', data: { platformId, ...failure(observation), failedAt: at } }]
    case 'expired':
      return [
        {
          type: 'TaskExpired',
          data: { platformId, reason: 'upstream', possibleCostLeak: false, expiredAt: at },
        },
      ]
    case 'cancelled':
      return [{ type: 'TaskCancelled', data: { platformId, cancelledAt: at } }]
    default:
      return unreachable(observation.status)
  }
}

/** The usage reported on acceptance counts if none is reported at the end. */
function withUsage({ usage }: ActiveTask, seen: TaskObservation): TaskSeen {
  return { output: seen.output, usage: seen.usage ?? usage }
}

interface SucceededTask extends Pick<ActiveTask, 'request' | 'nativeId'> {
  /** Number of requests that were made upstream, if this success is the first to say so. */
  readonly attempts?: number | undefined
}

/**
 * A success and its settlement; undefined without a usable usage. Pricing is part of the decision,
 * so that state and money move together.
 */
export function settledSuccess(
  rules: TaskFamilyRules,
  { request, nativeId, attempts }: SucceededTask,
  seen: TaskSeen,
  at: string,
): readonly TaskEvent[] | undefined {
  const { platformId, model, facts, quote } = request
  const usage = safeUsage(seen.usage)
  const output = safeOutput(seen.output)
  const settlement = rules.settle({ model, facts, quote, usage, output })
  if (settlement === undefined) return undefined
  const heldUnits = unitsHeld((book) => rules.quote(model, facts, book))
  if (isAboveCeiling(quote, settlement, heldUnits)) return undefined
  return [
    {
      type: 'TaskSucceeded',
      data: {
        platformId,
        nativeId,
        usage,
        output,
        ...attemptsIn(attempts),
        succeededAt: at,
      },
    },
    {
      type: 'TaskSettled',
      data: {
        platformId,
        nativeId,
        tenantId: request.tenantId,
        userId: request.userId,
        tokenId: request.tokenId,
        requestId: request.requestId,
        surface: request.surface,
        model,
        usage,
        settlement,
        settledAt: at,
        ...labelsIn(request),
      },
    },
  ]
}

/** A success that cannot be settled, with the usage that was not believed. */
function noteWithheld(
  rules: TaskFamilyRules,
  state: ActiveTask,
  { upstreamStatus, usage, output }: TaskObservation,
  at: string,
): readonly TaskEvent[] {
  const { model, facts, quote } = state.request
  const reported = safeUsage(usage)
  const made = { model, facts, quote, usage: reported, output: safeOutput(output) }
  const awaitsUsage = true
  if (rules.settle(made) === undefined)
    return noteStatus(state, upstreamStatus, at, { awaitsUsage })
  const word = `${upstreamStatus}: usage above its ceiling`
  return noteStatus(state, word, at, { awaitsUsage, reported })
}

function noteStatus(
  state: ActiveTask,
  word: string,
  at: string,
  fact: Pick<TaskEventData<'TaskStatusChanged'>, 'awaitsUsage' | 'reported'> = {},
): readonly TaskEvent[] {
  const { unknownStatuses, awaitsUsageSince } = state
  const isFact = fact.awaitsUsage === true
  // A provider has few words for a result: in lower case, the gateway records each word once.
  const upstreamStatus = toStorable(isFact ? word.toLowerCase() : word, maxWordLength)
  if (!isFact && unknownStatuses.length >= maxUnknownStatuses) return []
  // The gateway may have recorded the word of a fact before it knew the meaning.
  const isNoted = !isFact || awaitsUsageSince !== undefined
  if (isNoted && unknownStatuses.includes(upstreamStatus)) return []
  const { platformId } = state.request
  const data = { platformId, status: state.status, upstreamStatus, ...fact, observedAt: at }
  return [{ type: 'TaskStatusChanged', data }]
}

function failure({ error }: TaskObservation): { readonly code: string; readonly message: string } {
  return {
    code: toStorable(error?.code ?? 'task_failed', 128),
    message: toStorable(
      error?.message ?? 'The model service reported a failure without a reason.',
      maxMessageLength,
    ),
  }
}

/** Keeps counts only: a negative, fractional or unsafe figure counts as absent. */
export function safeUsage(usage: Usage | undefined): Usage {
  return Object.fromEntries(
    Object.entries(usage ?? {})
      .filter(([, count]) => isCount(count))
      .slice(0, MAX_UNITS)
      .map(([unit, count]) => [toStorable(unit, maxWordLength), count]),
  )
}

/**
 * Only scalars of bounded size, and none that looks like a URL: URLs are signed and expire (P7).
 */
function safeOutput(output: TaskSeen['output']): Output {
  return Object.fromEntries(
    Object.entries(output)
      .filter(([, value]) => isScalar(value) && !(typeof value === 'string' && isUrl(value)))
      .slice(0, MAX_OUTPUT_FIELDS)
      .map(([name, value]) => [
        toStorable(name, maxWordLength),
        typeof value === 'string' ? toStorable(value, MAX_OUTPUT_TEXT_LENGTH) : value,
      ]),
  )
}

function isUrl(text: string): boolean {
  return text.includes('://') || /^data:/i.test(text)
}

function isScalar(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return value === null || typeof value === 'string' || typeof value === 'boolean'
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/**
 * Allowed only while the submission is uncertain, and only by a marker that no other request has:
 * anything else proves nothing.
 */
export function notAccepted(
  command: TaskCommandOf<'not-accepted'>,
  state: TaskState,
): readonly TaskEvent[] {
  // No list of upstream has a task that a gateway worker makes.
  if (state.phase !== 'uncertain' || state.request.madeHere) return []
  if (!state.request.markerIsOurs) return []
  const { firstSeenAt, lastSeenAt, at } = command
  return [
    {
      type: 'TaskFailed',
      data: {
        platformId: state.request.platformId,
        ...notAcceptedFailure,
        absence: { firstSeenAt, lastSeenAt },
        failedAt: at,
      },
    },
  ]
}

/** The caller already got a failure, so the operator bears the cost: the event only records it. */
export function lateAppearance(
  command: TaskCommandOf<'appeared'>,
  state: TaskState,
): readonly TaskEvent[] {
  if (state.phase !== 'ended' || absentSince(state) === undefined || state.appearedLate) return []
  const { nativeId, channelId, upstreamStatus, at } = command
  return [
    {
      type: 'TaskAppearedLate',
      data: {
        platformId: state.request.platformId,
        nativeId,
        channelId,
        upstreamStatus: toStorable(upstreamStatus, maxWordLength),
        possibleCostLeak: true,
        appearedAt: at,
      },
    },
  ]
}

/**
 * Time since which an ended task counts as one that upstream does not have, RFC 3339: it may appear
 * after that. Undefined for every other task.
 */
export function absentSince(state: TaskState): string | undefined {
  if (state.phase !== 'ended') return undefined
  const { absence, givenUp, request } = state
  if (absence !== undefined) return absence.lastSeenAt
  return givenUp?.wasUncertain && hasUpstreamTask(request) ? givenUp.at : undefined
}

/** Whether upstream has a task that can be asked for: no list of it has one that a gateway worker makes. */
export function hasUpstreamTask({ madeHere }: TaskRequest): boolean {
  return madeHere !== true
}
