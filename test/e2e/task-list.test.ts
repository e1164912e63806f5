import t from 'tap'
import { sharedStack } from '../helpers/stack.ts'
import { tasksOf } from './support/client.ts'

const stack = await sharedStack(t)
const tasks = tasksOf(stack.url, stack.demo.modelToken)
const foreign = tasksOf(stack.url, stack.other.modelToken)

interface Item {
  readonly id: string
  readonly model: string
  readonly status: string
}
const idsOf = (answer: { readonly body: { readonly items: readonly Item[] } }) =>
  answer.body.items.map(({ id }) => id)

// Oldest first: five that end, two that never leave the queue, one that never stops running.
const ended: string[] = []
for (const model of ['domestic-video-2-0', 'overseas-video-2-0-mini', 'domestic-video-2-5'])
  ended.push(await tasks.created({ model, resolution: '480p' }))
ended.push(await tasks.created({ prompt: 'x [[sandbox fail=InternalServiceError]]' }))
ended.push(await tasks.created({ prompt: 'x [[sandbox expire]]', execution_expires_after: 3_600 }))
const queued = [
  await tasks.created({ prompt: 'x [[sandbox stall-queued]]' }),
  await tasks.created({ prompt: 'x [[sandbox stall-queued]]', priority: 9 }),
]
const running = await tasks.created({ prompt: 'x [[sandbox stall]]' })
const theirs = await foreign.created()
const all = [...ended, ...queued, running]
const newestFirst = all.toReversed()
const statuses = ['succeeded', 'succeeded', 'succeeded', 'failed', 'expired']
for (const [index, id] of ended.entries()) {
  if (statuses[index] !== 'expired') await tasks.reaches(id, statuses[index] ?? '')
}
await tasks.reaches(running, 'running')

t.test('every visible task of the tenant, newest first, in the shape of a query', async (t) => {
  const listed = await tasks.list()
  t.equal(listed.status, 200)
  t.equal(listed.body.total, all.length)
  t.same(idsOf(listed), newestFirst)
  t.notOk(idsOf(listed).includes(theirs))
  const first = await tasks.get(ended[0] ?? '')
  const listedFirst = listed.body.items.find(({ id }: Item) => id === ended[0])
  t.same({ ...listedFirst, content: undefined }, { ...first.body, content: undefined })
  t.match(
    listed.body.items.find(({ id }: Item) => id === queued[1]),
    { priority: 9 },
  )
})

t.test('a task is listed the moment it was created', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const id = await foreign.created({ prompt: 'x [[sandbox stall-queued]]' })
    t.equal(idsOf(await foreign.list())[0], id)
  }
})

t.test('pages cover the list without gap or overlap; further pages are empty', async (t) => {
  const seen: string[] = []
  for (const page of [1, 2, 3]) {
    const answer = await tasks.list(`page_num=${page}&page_size=3`)
    t.equal(answer.body.total, all.length)
    seen.push(...idsOf(answer))
  }
  t.same(seen, newestFirst)
  t.same((await tasks.list('page_num=4&page_size=3')).body, { items: [], total: all.length })
  t.same((await tasks.list('page_num=1000000000&page_size=500')).body.items, [])
})

t.test('filter.status, filter.model and both', async (t) => {
  const byStatus = async (status: string) => idsOf(await tasks.list(`filter.status=${status}`))
  t.same(await byStatus('succeeded'), ended.slice(0, 3).toReversed())
  t.same(await byStatus('failed'), [ended[3]])
  t.same(await byStatus('running'), [running])
  t.same(await byStatus('queued'), queued.toReversed())
  t.same(await byStatus('cancelled'), [])
  const mini = await tasks.list('filter.model=overseas-video-2-0-mini')
  t.same(mini.body.total, 1)
  t.same(idsOf(mini), [ended[1]])
  const both = await tasks.list('filter.model=domestic-video-2-0&filter.status=running')
  t.same(idsOf(both), [running])
})

t.test('filter.task_ids: commas, repetition, platform ids, foreign ids', async (t) => {
  const [a, b, c] = [ended[0] ?? '', ended[3] ?? '', running]
  t.same(idsOf(await tasks.list(`filter.task_ids=${a},${b}`)), [b, a])
  t.same(idsOf(await tasks.list(`filter.task_ids=${a}&filter.task_ids=${c}`)), [c, a])
  t.same(idsOf(await tasks.list(`filter.task_ids=${a},${b}&filter.task_ids=${c}`)), [c, b, a])
  const platformId = (await tasks.get(a)).headers.get('x-platform-id')
  t.same(idsOf(await tasks.list(`filter.task_ids=${platformId}`)), [a])
  t.same((await tasks.list(`filter.task_ids=${theirs},nope`)).body, { items: [], total: 0 })
  const failed = await tasks.list(`filter.task_ids=${all.join(',')}&filter.status=failed`)
  t.same(idsOf(failed), [b])
})

t.test('400 naming the parameter for an invalid query', async (t) => {
  const many = Array.from({ length: 501 }, (_, index) => `i${index}`).join(',')
  for (const [query, param] of [
    ['page_num=0', 'page_num'],
    ['page_num=x', 'page_num'],
    ['page_size=501', 'page_size'],
    ['page_size=1.5', 'page_size'],
    ['filter.status=done', 'filter.status'],
    ['filter.model=video-2-0', 'filter.model'],
    ['filter.model=domestic-video-2-0&filter.model=domestic-video-2-5', 'filter.model'],
    [`filter.task_ids=${many}`, 'filter.task_ids'],
  ] as const) {
    const answer = await tasks.list(query)
    t.equal(answer.status, 400, query.slice(0, 60))
    t.match(answer.body.error, { code: 'invalid_request', param, type: 'BadRequest' })
  }
})
