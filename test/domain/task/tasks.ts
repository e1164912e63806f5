import { Value } from '@sinclair/typebox/value'
import { type TaskEvent, type TaskEventData, taskEvents } from '../../../src/domain/task/events.ts'
import type { TaskObservation } from '../../../src/domain/task/observation.ts'
import type { TaskCommand, TaskRequest, TaskState } from '../../../src/domain/task/state.ts'
import { catalog } from '../../../src/families/index.ts'
import { quoteVideoA } from '../../../src/families/video-a/rules/pricing.ts'
import { acceptVideoARequest } from '../../../src/families/video-a/rules/request.ts'
import { lineAmount, parseAmount } from '../../../src/kernel/money.ts'
import { shippedBook } from '../pricing/books.ts'
import { type Body, bodyFor } from '../../families/video-a/rules/requests.ts'

/** Given / When / Then for the task decider, and the facts its tests share. */

export const platformId = 'video_01JD0000000000000000000001'
export const nativeId = 'cgt-20260102030405-x7k2p'
export const requestedAt = '2026-01-02T03:04:05.000Z'
export const at = '2026-01-02T03:05:00.000Z'
export const expiresAt = '2026-01-05T03:04:05.000Z'

export function requestOf(name = 'overseas-video-2-0', changes: Body = {}): TaskRequest {
  const { model, facts } = acceptVideoARequest(bodyFor(name, { resolution: '720p', ...changes }))
  return {
    platformId,
    family: 'video-a',
    surface: 'provA.tasks',
    tenantId: 'tenant_1',
    userId: 'user_1',
    tokenId: 'token_1',
    requestId: 'req_1',
    model: model.name,
    region: model.region,
    channelId: 'channel-1',
    upstreamModel: 'upstream-model',
    facts,
    marker: 'marker-1',
    markerIsOurs: true,
    quote: quoteVideoA(model, facts, shippedBook),
    requestedAt,
    expiresAt,
  }
}

export const request = (data: TaskRequest = requestOf()): TaskCommand => ({ kind: 'request', data })
export const submitted: Extract<TaskCommand, { readonly kind: 'submitted' }> = {
  kind: 'submitted',
  nativeId,
  channelId: 'channel-1',
  via: 'create',
  at,
}
export const refuse: TaskCommand = { kind: 'refuse', code: 'InvalidParameter', message: 'no', at }
export const uncertain: TaskCommand = { kind: 'uncertain', reason: 'timeout', at }
/** Judged by the submitted task, and by there being none. */
export const expire: TaskCommand = { kind: 'expire', nativeId, at: expiresAt }
export const expireUnsubmitted: TaskCommand = { kind: 'expire', nativeId: undefined, at: expiresAt }
export const notAccepted: TaskCommand = {
  kind: 'not-accepted',
  firstSeenAt: '2026-01-02T03:14:00.000Z',
  lastSeenAt: '2026-01-02T03:15:00.000Z',
  at: '2026-01-02T03:15:01.000Z',
}
export const giveUpAt = (at: string, noteId = 'note_1'): TaskCommand => ({
  kind: 'give-up',
  noteId,
  at,
})
export const appeared: TaskCommand = {
  kind: 'appeared',
  nativeId,
  channelId: 'channel-1',
  upstreamStatus: 'running',
  at: '2026-01-02T04:00:00.000Z',
}
export const remove: TaskCommand = { kind: 'delete', tokenId: 'token_2', at }

export const observe = (
  status: TaskObservation['status'],
  changes: Partial<TaskObservation> = {},
): TaskCommand => ({
  kind: 'observe',
  observation: { status, upstreamStatus: status, nativeId, output: {}, ...changes },
  at,
})
export const usage = { completion_tokens: 108_900, total_tokens: 108_900 }
export const succeeded = observe('succeeded', {
  usage,
  output: { resolution: '720p', duration: 5 },
})

/** The events and the state a sequence of commands leads to. */
export function given(...commands: readonly TaskCommand[]): {
  readonly events: readonly TaskEvent[]
  readonly state: TaskState
} {
  return commands.reduce<{ readonly events: readonly TaskEvent[]; readonly state: TaskState }>(
    ({ events, state }, command) => {
      const decided = catalog.taskDecider.decide(command, state)
      return {
        events: [...events, ...decided],
        state: decided.reduce(catalog.taskDecider.evolve, state),
      }
    },
    { events: [], state: catalog.taskDecider.initial },
  )
}

interface When {
  readonly when: (command: TaskCommand) => readonly TaskEvent[]
}

/** What one more command decides after the given ones. */
export function after(...commands: readonly TaskCommand[]): When {
  const { state } = given(...commands)
  return { when: (command) => catalog.taskDecider.decide(command, state) }
}

export const types = (events: readonly TaskEvent[]): readonly string[] =>
  events.map((event) => event.type)

/** Histories a task may have. */
export const active = [request(), submitted]
export const running = [...active, observe('running')]
export const ends = {
  succeeded: [...running, succeeded],
  failed: [...running, observe('failed')],
  expired: [...running, observe('expired')],
  'past its deadline': [...running, expire],
  cancelled: [...active, observe('cancelled')],
}

/** The promises (`docs/promises.md`) as checks over a task's events; each throws when broken. */

const terminal = new Set(['TaskSucceeded', 'TaskFailed', 'TaskExpired', 'TaskCancelled'])

/** P2: in one decision or not at all. */
export function moneyMovesWithState(decided: readonly TaskEvent[]): void {
  const kinds = decided.map(({ type }) => type)
  if (kinds.includes('TaskSucceeded') !== kinds.includes('TaskSettled'))
    throw new Error('success and settlement came apart')
}

/** P4: settled at most once, every line recomputed from the frozen quote, the amount their sum. */
export function explained(
  events: readonly TaskEvent[],
  quote: TaskEventData<'TaskRequested'>['quote'],
): void {
  const settled = events.filter((event) => event.type === 'TaskSettled')
  if (settled.length > 1) throw new Error('settled twice')
  for (const { data } of settled) {
    const { settlement, usage } = data
    let sum = 0n
    for (const line of settlement.lines) {
      const frozen = quote.candidates.find(({ sku }) => sku === line.sku)
      if (!frozen || frozen.rule !== line.rule) throw new Error(`no frozen price for ${line.sku}`)
      const amount = lineAmount(line.quantity, frozen.price, frozen.per)
      if (amount !== parseAmount(line.amount)) throw new Error('a line does not recompute')
      sum += amount
    }
    if (sum !== parseAmount(settlement.amount)) throw new Error('lines do not add up')
    const unit = usage['completion_tokens'] === undefined ? 'image' : 'token'
    const quantity = settlement.lines.find((line) => line.unit === unit)?.quantity ?? 0
    if (quantity !== (usage['completion_tokens'] ?? usage['image']))
      throw new Error('the quantity is not the usage')
    if (settlement.priceBookVersion !== quote.priceBookVersion) throw new Error('another book')
  }
}

/**
 * P5: whatever did not succeed costs nothing, and an end has nothing but a deletion after it, and
 * where it was given up without a known submission the word that it appeared.
 */
export function failureIsFree(events: readonly TaskEvent[]): void {
  const kinds = events.map(({ type }) => type)
  const end = kinds.findIndex((kind) => terminal.has(kind))
  if (kinds.includes('TaskSettled') && kinds[end] !== 'TaskSucceeded')
    throw new Error(`settled though ${kinds[end]}`)
  const rest = end === -1 ? [] : kinds.slice(end + (kinds[end] === 'TaskSucceeded' ? 2 : 1))
  const isKnown = kinds.includes('TaskSubmitted')
  const givenUp = events.some(
    ({ type, data }) => type === 'TaskFailed' && (data.absence ?? (data.givenUp && !isKnown)),
  )
  const allowed = new Set(givenUp ? ['TaskDeleted', 'TaskAppearedLate'] : ['TaskDeleted'])
  if (new Set(rest).size < rest.length || rest.some((kind) => !allowed.has(kind)))
    throw new Error(`${rest.join()} after the end`)
  if (kinds.includes('TaskSubmissionRefused') && kinds.at(-1) !== 'TaskSubmissionRefused')
    throw new Error('something after a refusal')
}

export function persistable(events: readonly TaskEvent[]): void {
  for (const { type, data } of events)
    if (!Value.Check(taskEvents[type], data)) throw new Error(`${type} does not fit its schema`)
}
