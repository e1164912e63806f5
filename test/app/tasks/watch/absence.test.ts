import t from 'tap'
import {
  ACCEPTANCE_GRACE_MS,
  isConfirmed,
  latestAcceptanceMs,
  type ListSnapshot,
  LIST_INTERVAL_MS,
  provesAbsence,
} from '../../../../src/app/tasks/watch/absence.ts'
import { listFromMs, sendingTimeMs } from '../../../../src/app/tasks/watch/match.ts'
import type { Channel, TaskObservation } from '../../../../src/app/ports/provider.ts'
import type { TaskRequest } from '../../../../src/domain/task/state.ts'
import { requestOf, requestedAt } from '../../../domain/task/tasks.ts'

const channel: Channel = {
  id: 'main',
  family: 'video-a',
  region: 'overseas',
  baseUrl: 'https://upstream.example.test',
  credential: 'secret',
  models: { 'overseas-video-2-0': 'upstream-2-0' },
  weight: 1,
  priority: 0,
  timeoutMs: 60_000,
  maxConcurrent: 1,
}
const beside: Channel = { ...channel, id: 'beside' }
const request: TaskRequest = { ...requestOf(), channelIds: ['main'] }
const SENT_MS = Date.parse(requestedAt)
const LATEST_MS = latestAcceptanceMs(request, [channel])

function listed(nativeId: string, over: Partial<TaskObservation> = {}): TaskObservation {
  return {
    nativeId,
    status: 'queued',
    upstreamStatus: 'queued',
    upstreamModel: 'upstream-2-0',
    marker: `marker of ${nativeId}`,
    output: {},
    createdAtMs: SENT_MS,
    ...over,
  }
}

function look(
  tasks: readonly TaskObservation[],
  over: { askedMs?: number; completeAfterMs?: number; newest?: readonly TaskObservation[] } = {},
): ListSnapshot {
  const newest = over.newest ?? [listed('cgt-known'), ...tasks]
  const completeAfterMs = over.completeAfterMs ?? listFromMs(request) - 1
  const all = tasks.map((task) => ({ channel, task }))
  return {
    listings: new Map([['main', { tasks: all, newest, completeAfterMs }]]),
    known: new Map([['cgt-known', 'marker of cgt-known']]),
    askedMs: over.askedMs ?? LATEST_MS,
  }
}

const proves = (given: ListSnapshot, sent: TaskRequest = request, channels = [channel]): boolean =>
  provesAbsence(sent, channels, given)

t.test('a whole list, begun after the last moment of acceptance, proves an absence', async (t) => {
  t.equal(proves(look([])), true)
  t.equal(proves(look([listed('cgt-other')])), true)
  t.equal(LATEST_MS, SENT_MS + sendingTimeMs([channel]) + ACCEPTANCE_GRACE_MS)
})

t.test('a list begun too early or not reaching back proves no absence', async (t) => {
  t.equal(proves(look([], { askedMs: LATEST_MS - 1 })), false)
  t.equal(proves(look([], { completeAfterMs: listFromMs(request) })), false)
  t.equal(proves(look([], { completeAfterMs: Infinity })), false)
  t.equal(proves({ ...look([]), listings: new Map() }), false)
})

t.test('a list that lacks known tasks proves no absence', async (t) => {
  t.equal(proves(look([], { newest: [] })), false, 'an empty one')
  t.equal(proves(look([], { newest: [listed('cgt-foreign')] })), false, 'nothing we know')
  const unmarked = listed('cgt-known', { marker: 'something else' })
  t.equal(proves(look([], { newest: [unmarked] })), false, 'not by the marker it was sent with')
})

t.test('an unmarked task that may be the one prevents the proof of absence', async (t) => {
  const anonymous = { marker: undefined } as unknown as Partial<TaskObservation>
  t.equal(proves(look([listed('cgt-1', anonymous)])), false)
  t.equal(proves(look([listed('cgt-1', { marker: '' })])), false)
  t.equal(proves(look([listed('cgt-1', { marker: request.marker })])), false)
  t.equal(proves(look([listed('cgt-known', { marker: '' })])), true, 'known to be another')
  const differs: readonly Partial<TaskObservation>[] = [
    { upstreamModel: 'upstream-2-5' },
    { createdAtMs: listFromMs(request) - 1 },
    { output: { resolution: '480p' } },
  ]
  for (const over of differs)
    t.equal(proves(look([listed('cgt-1', { marker: '', ...over })])), true, JSON.stringify(over))
})

t.test('only the gateway’s marker and all possible channels prove an absence', async (t) => {
  t.equal(proves(look([]), { ...request, markerIsOurs: false }), false)
  const { channelIds: _, ...unknown } = request
  t.equal(proves(look([]), unknown), false, 'never written down')
  t.equal(proves(look([]), { ...request, channelIds: ['main', 'removed'] }), false)
  t.equal(proves(look([]), request, [channel, beside]), true, 'one added since has nothing of it')
  t.equal(
    proves(look([]), { ...request, channelIds: ['main', 'beside'] }, [channel, beside]),
    false,
  )
})

t.test('a second look confirms an absence only some time after the first', async (t) => {
  t.equal(isConfirmed(undefined, LATEST_MS), false)
  t.equal(isConfirmed(LATEST_MS, LATEST_MS + LIST_INTERVAL_MS - 1), false)
  t.equal(isConfirmed(LATEST_MS, LATEST_MS + LIST_INTERVAL_MS), true)
})
