import { catalog } from '../../../src/families/index.ts'
import { acceptVideoARequest } from '../../../src/families/video-a/rules/request.ts'
import { quoteVideoA } from '../../../src/families/video-a/rules/pricing.ts'
import type { TaskObservation } from '../../../src/domain/task/observation.ts'
import type { TaskEvent } from '../../../src/domain/task/events.ts'
import type { TaskCommand, TaskRequest, TaskState } from '../../../src/domain/task/state.ts'
import { bodyFor, type Body } from '../../families/video-a/rules/requests.ts'
import { shippedBook } from '../pricing/books.ts'

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

export interface When {
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
