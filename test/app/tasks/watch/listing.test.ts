import { Registry } from 'prom-client'
import t from 'tap'
import { createChannelPaces } from '../../../../src/app/channels/paces.ts'
import { createTaskMetrics } from '../../../../src/app/metrics.ts'
import { listSince } from '../../../../src/app/tasks/watch/listing.ts'
import {
  type Channel,
  ProviderError,
  type TaskObservation,
  type TaskProvider,
} from '../../../../src/app/ports/provider.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { silentLog } from '../../../../src/kernel/log.ts'

const channel: Channel = {
  id: 'main',
  family: 'video-a',
  region: 'domestic',
  baseUrl: 'https://upstream.example.test',
  credential: 'secret',
  models: {},
  weight: 1,
  priority: 0,
  timeoutMs: 1_000,
  maxConcurrent: 1,
}
const unasked = (): Promise<never> => Promise.reject(new Error('not asked for'))

function task(n: number, over: Partial<TaskObservation> = {}): TaskObservation {
  const nativeId = `cgt-${n}`
  return {
    nativeId,
    status: 'queued',
    upstreamStatus: 'queued',
    output: {},
    createdAtMs: n,
    ...over,
  }
}

/** Newest first: n, n − 1, … */
function tasks(newest: number, count: number): TaskObservation[] {
  return Array.from({ length: count }, (_, index) => task(newest - index))
}

function omitTime(one: TaskObservation): TaskObservation {
  const { nativeId, status, upstreamStatus, output } = one
  return { nativeId, status, upstreamStatus, output }
}

type Answer = Awaited<ReturnType<TaskProvider['list']>>

/** Lists an upstream whose pages the test gives. */
async function list(
  answer: (page: number, read: number) => Partial<Answer> | ProviderError,
  given: { readonly size?: number; readonly pages?: number; readonly sinceMs?: number } = {},
) {
  const read: number[] = []
  const provider: TaskProvider = {
    family: 'video-a',
    maxListIds: 1,
    maxListSize: given.size ?? 3,
    maxListPages: given.pages ?? 500,
    showsMarkers: true,
    create: unasked,
    get: unasked,
    cancel: unasked,
    list: async (_channel, query) => {
      const page = 'page' in query ? query.page : await unasked()
      read.push(page)
      const answered = answer(page, read.length)
      if (answered instanceof ProviderError) throw answered
      return { items: [], unreadable: 0, total: undefined, ...answered }
    },
  }
  const deps = {
    logger: silentLog,
    metrics: createTaskMetrics(new Registry()),
    paces: createChannelPaces(1_000_000, systemClock),
  }
  const { tasks: kept, completeAfterMs } = await listSince(
    deps,
    provider,
    { channel, sinceMs: given.sinceMs ?? 0, wanted: () => true },
    new AbortController().signal,
  )
  return { read, completeAfterMs, ids: kept.map((one) => one.task.nativeId) }
}

/** Pages of an account as it is. */
function pagesOf(all: readonly TaskObservation[], size: number) {
  return (page: number): Partial<Answer> => ({
    items: all.slice((page - 1) * size, page * size),
    total: all.length,
  })
}

t.test('a list is read to its end, without omission', async (t) => {
  for (const count of [1, 3, 4, 6, 1_200]) {
    const seen = await list(pagesOf(tasks(5_000, count), 3), { size: 3 })
    t.equal(seen.ids.length, count)
    t.equal(seen.completeAfterMs, Number.NEGATIVE_INFINITY)
  }
  const none = await list(pagesOf([], 3))
  t.equal(none.completeAfterMs, Number.NEGATIVE_INFINITY)
})

t.test('a list is read back to a whole page older than the search', async (t) => {
  const seen = await list(pagesOf(tasks(100, 30), 3), { sinceMs: 92 })
  t.same(seen.read, [1, 2, 3, 4])
  t.equal(seen.completeAfterMs, 91)
  t.ok(seen.completeAfterMs < 92)
})

t.test('one task with a wrong time does not end the reading of a list', async (t) => {
  const all = tasks(100, 12)
  all[1] = task(99, { createdAtMs: 1 })
  const seen = await list(pagesOf(all, 3), { sinceMs: 95 })
  t.same(seen.read, [1, 2, 3])
  t.same(
    seen.ids.slice(0, 9),
    all.slice(0, 9).map(({ nativeId }) => nativeId),
  )
  const untimed = tasks(100, 7).map(omitTime)
  t.equal((await list(pagesOf(untimed, 3), { sinceMs: 95 })).ids.length, 7)
})

t.test('a page may be smaller than requested', async (t) => {
  const seen = await list(pagesOf(tasks(100, 7), 2), { size: 500 })
  t.equal(seen.ids.length, 7)
  t.equal(seen.completeAfterMs, Number.NEGATIVE_INFINITY)
})

t.test('without a total only an empty page ends a list', async (t) => {
  const all = tasks(100, 7)
  const pages = pagesOf(all, 2)
  const seen = await list((page) => ({ items: pages(page).items ?? [] }), { size: 500 })
  t.equal(seen.ids.length, 7)
  t.equal(seen.completeAfterMs, Number.NEGATIVE_INFINITY)
})

t.test('tasks created during the reading of a list hide none', async (t) => {
  const seen = await list((page, read) => pagesOf(tasks(100 + 2 * read, 12 + 2 * read), 3)(page))
  for (const one of tasks(102, 14)) t.ok(seen.ids.includes(one.nativeId), one.nativeId)
  t.equal(seen.completeAfterMs, Number.NEGATIVE_INFINITY)
})

t.test('a task that slips to a page already read is seen', async (t) => {
  const before = tasks(100, 12)
  // After the second page its first task goes: the first of the third page slips to the second.
  const after = before.filter((_, index) => index !== 3)
  const seen = await list((page, read) => pagesOf(read <= 2 ? before : after, 3)(page))
  t.same(seen.read.slice(0, 5), [1, 2, 3, 2, 3])
  for (const one of before) t.ok(seen.ids.includes(one.nativeId), one.nativeId)
  t.equal(seen.completeAfterMs, Number.NEGATIVE_INFINITY)
})

t.test('when more tasks vanish than a page holds, older ones are uncertain', async (t) => {
  const before = tasks(100, 20)
  const after = before.filter((_, index) => index > 3)
  const seen = await list((page, read) => pagesOf(read <= 2 ? before : after, 3)(page))
  t.equal(seen.completeAfterMs, 97)
})

t.test('an unreadable or contradictory page leaves older tasks uncertain', async (t) => {
  const all = tasks(100, 12)
  const pages = pagesOf(all, 3)
  const cases: Record<string, (page: number) => Partial<Answer>> = {
    'an unreadable item': (page) =>
      page === 3 ? { ...pages(page), items: all.slice(6, 8), unreadable: 1 } : pages(page),
    'a short page': (page) =>
      page === 3 ? { ...pages(page), items: all.slice(6, 8) } : pages(page),
    'an early end': (page) => (page >= 3 ? { items: [], total: 12 } : pages(page)),
  }
  for (const [name, answer] of Object.entries(cases))
    t.equal((await list(answer)).completeAfterMs, 97, name)
  t.equal((await list(() => ({ items: [], total: 3 }))).completeAfterMs, Infinity)
  t.equal((await list(() => ({ unreadable: 3, total: 3 }))).completeAfterMs, Infinity)
})

t.test('a failed page is retried; a failed list states how far it came', async (t) => {
  const pages = pagesOf(tasks(100, 12), 3)
  const broken = new ProviderError('unavailable', 'ruled_out', 'away')
  const once = await list((page, read) => (read === 2 ? broken : pages(page)))
  t.equal(once.completeAfterMs, Number.NEGATIVE_INFINITY)
  const dead = await list((page) => (page === 3 ? broken : pages(page)))
  t.same(dead.read, [1, 2, 3, 3, 3])
  t.equal(dead.completeAfterMs, 97)
  const refused = await list(() => new ProviderError('account', 'ruled_out', 'no'))
  t.same(refused.read, [1])
  t.equal(refused.completeAfterMs, Infinity)
})

t.test('the pages of a list are bounded as its wire states', async (t) => {
  const seen = await list(pagesOf(tasks(100, 90), 3), { pages: 4 })
  t.same(seen.read, [1, 2, 3, 4])
  t.equal(seen.completeAfterMs, 91)
})
