import t from 'tap'
import {
  certainMatches,
  lastLikelyMs,
  type ListedTask,
  onlyMatch,
  possibleMatches,
  sendingTimeMs,
} from '../../../../src/app/tasks/watch/match.ts'
import type { Channel, TaskObservation } from '../../../../src/app/ports/provider.ts'
import type { TaskRequest } from '../../../../src/domain/task/state.ts'
import { toTimestamp } from '../../../../src/kernel/clock.ts'

const AT_MS = Date.parse('2026-01-02T03:04:05Z')
const WINDOW_MS = 60_000

const channel: Channel = {
  id: 'main',
  family: 'video-a',
  region: 'domestic',
  baseUrl: 'https://upstream.example.test',
  credential: 'secret',
  models: { 'domestic-video-2-0': 'upstream-2-0', 'domestic-video-2-0-fast': 'ep-fast' },
  weight: 1,
  priority: 0,
  timeoutMs: 10_000,
  maxConcurrent: 1,
}

function request(over: Partial<TaskRequest> = {}): TaskRequest {
  return {
    platformId: 'video_1',
    family: 'video-a',
    surface: 'provA.tasks',
    tenantId: 'tenant_1',
    userId: 'user_1',
    tokenId: 'token_1',
    requestId: 'req_1',
    model: 'domestic-video-2-0',
    region: 'domestic',
    channelId: 'main',
    upstreamModel: 'upstream-2-0',
    facts: {
      inputs: { text: 1, image: 0, video: 0, audio: 0 },
      tools: [],
      settings: { duration: 5, resolution: '720p', ratio: 'adaptive', priority: 3 },
    },
    marker: 'marker-1',
    markerIsOurs: false,
    quote: { priceBookVersion: '1', currency: 'CNY', candidates: [], hold: '1' },
    requestedAt: toTimestamp(AT_MS),
    expiresAt: toTimestamp(AT_MS + 3_600_000),
    ...over,
  }
}

function listed(over: Partial<TaskObservation> = {}): ListedTask {
  return {
    channel,
    task: {
      nativeId: 'cgt-1',
      status: 'queued',
      upstreamStatus: 'queued',
      upstreamModel: 'upstream-2-0-260128',
      marker: 'marker-1',
      output: { duration: 5, resolution: '720p', ratio: '16:9' },
      createdAtMs: AT_MS + 500,
      ...over,
    },
  }
}

t.test('the gateway’s marker alone makes a match certain', async (t) => {
  const ours = request({ markerIsOurs: true })
  t.equal(certainMatches(ours, [listed({ output: {} }), listed({ marker: 'other' })]).length, 1)
  t.equal(certainMatches(request(), [listed()]).length, 0, "a caller's identifier proves nothing")
})

const different: readonly (readonly [string, Partial<TaskObservation>])[] = [
  ['another marker', { marker: 'marker-2' }],
  ['another model', { upstreamModel: 'upstream-2-0-fast-260128' }],
  ['another setting', { output: { duration: 10 } }],
  ['a creation time before the request', { createdAtMs: AT_MS - 60_000 }],
  ['a creation time long after the request', { createdAtMs: AT_MS + 10 * WINDOW_MS }],
]
for (const [title, over] of different) {
  t.test(`a listed task with ${title} is no match`, async (t) => {
    t.equal(possibleMatches(request(), [listed()], WINDOW_MS).length, 1)
    t.equal(possibleMatches(request(), [listed(over)], WINDOW_MS).length, 0)
  })
}

t.test('a listed task without model, marker or time is no match', async (t) => {
  for (const name of ['upstreamModel', 'marker', 'createdAtMs'] as const) {
    const { [name]: _left, ...task } = listed().task
    t.equal(possibleMatches(request(), [{ channel, task }], WINDOW_MS).length, 0, name)
  }
})

t.test('an endpoint id is the account’s own name and is not compared', async (t) => {
  const fast = request({ model: 'domestic-video-2-0-fast' })
  t.equal(possibleMatches(fast, [listed({ upstreamModel: 'anything' })], WINDOW_MS).length, 1)
})

t.test('only a pair that fits no other request and no other task matches', async (t) => {
  const mine = request()
  const twin = request({ platformId: 'video_2' })
  const other = request({ platformId: 'video_3', marker: 'marker-3' })
  t.equal(onlyMatch(mine, [mine, other], [listed()], WINDOW_MS)?.task.nativeId, 'cgt-1')
  t.equal(onlyMatch(mine, [mine, twin], [listed()], WINDOW_MS), undefined, 'two requests, one task')
  t.equal(
    onlyMatch(mine, [mine], [listed(), listed({ nativeId: 'cgt-2' })], WINDOW_MS),
    undefined,
    'one request, two tasks',
  )
  t.equal(onlyMatch(mine, [mine], [], WINDOW_MS), undefined)
})

t.test('the window covers every attempt of a creation', async (t) => {
  t.ok(sendingTimeMs([channel, { ...channel, timeoutMs: 60_000 }]) >= 3 * 60_000)
})

t.test(
  'without markers a match is by model, time and settings, and never near the end',
  async (t) => {
    const mine = request({ markerIsOurs: true })
    const { marker: _marker, ...task } = listed().task
    const unmarked = { channel, task }
    const find = (rivals: readonly TaskRequest[], all: readonly ListedTask[]) =>
      onlyMatch(mine, [mine, ...rivals], all, WINDOW_MS, false)?.task.nativeId
    t.equal(find([], [unmarked]), 'cgt-1')
    t.equal(find([request({ platformId: 'video_2', tenantId: 'tenant_2' })], [unmarked]), undefined)
    t.equal(find([], [unmarked, { channel, task: { ...task, nativeId: 'cgt-2' } }]), undefined)
    for (const [title, over] of different.slice(1))
      t.equal(find([], [{ channel, task: { ...task, ...over } }]), undefined, title)
    // A rival may be older by the window and the clocks' difference on both sides.
    const endsMs = Date.parse(mine.expiresAt)
    t.ok(lastLikelyMs(mine, {}, WINDOW_MS) <= endsMs - WINDOW_MS - 20_000)
    // Or wait for less than this one does.
    const beganMs = Date.parse(mine.requestedAt)
    const hour = { shortestExpiryS: 3_600 }
    t.equal(lastLikelyMs(mine, hour, WINDOW_MS), beganMs + 3_600_000 - WINDOW_MS - 20_000)
  },
)
