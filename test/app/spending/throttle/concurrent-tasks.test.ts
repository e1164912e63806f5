import t from 'tap'
import { isDomainError } from '../../../../src/kernel/errors.ts'
import type { TaskUseCases } from '../../../../src/app/tasks/types.ts'
import { createSweep } from '../../../../src/app/tasks/watch/sweep.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { codeOf, createInput, startWorld, taskKey, type Wish } from '../../support/world.ts'

const LIMIT = 7
const limits = { concurrentTasks: LIMIT }
const queued = { prompt: 'x [[sandbox stall-queued]]', limits }

const create = (tasks: TaskUseCases, wish: Wish = {}) =>
  tasks.createTask(createInput({ ...queued, ...wish }))

t.test('fifty concurrent tasks on two replicas: exactly the limit is admitted', async (t) => {
  const world = await startWorld(t)
  const replicas = [world.replica(), world.replica()]
  const models = ['domestic-video-2-0', 'overseas-video-2-0']
  const codes = await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      // In both currencies, which are admitted under locks of their own.
      codeOf(create(replicas[n % 2]!.tasks, { model: models[(n >> 1) % 2]! })),
    ),
  )
  t.equal(codes.filter((code) => code === 'no error').length, LIMIT)
  t.equal(codes.filter((code) => code === 'rate_limited').length, 50 - LIMIT)
  t.equal(world.sandbox.accepted().length, LIMIT, 'nothing else was sent')
  await world.settle()
  const events = []
  for await (const event of world.log.readAll())
    if (event.type === 'TaskRequested') events.push(event)
  t.equal(events.length, LIMIT, 'nothing else was written')
  for (const { tasks } of replicas)
    t.equal(await codeOf(create(tasks)), 'rate_limited', 'projected tasks count, once')
  t.equal(
    await codeOf(create(replicas[0]!.tasks, { limits: { concurrentTasks: LIMIT + 1 } })),
    'no error',
  )
  t.equal(await codeOf(create(replicas[0]!.tasks, { limits: {} })), 'no error', 'another has none')
})

t.test('a task that ended frees its place at once, however it ended', async (t) => {
  const world = await startWorld(t)
  const { tasks } = world.replica({ policies: true })
  const one = { limits: { concurrentTasks: 1 } }
  const refused = { ...one, prompt: '[[sandbox refuse=InvalidParameter]]' }
  for (let round = 0; round < 5; round += 1)
    t.equal(await codeOf(create(tasks, refused)), 'submission_refused', 'a refused one holds none')
  const first = await create(tasks, { ...one, prompt: 'x' })
  t.equal(await codeOf(create(tasks, one)), 'rate_limited')
  await eventually('its end', async () =>
    (await tasks.getTask(taskKey(first.platformId))).status === 'succeeded' ? true : undefined,
  )
  const second = await create(tasks, one)
  await tasks.deleteTask(taskKey(second.platformId))
  t.equal(await codeOf(create(tasks, one)), 'no error')
})

t.test('429 names the limit and the wait, and no task is left behind', async (t) => {
  const world = await startWorld(t)
  const { tasks, deps } = world.replica()
  const both = { limits: { concurrentTasks: 1, requestsPerMinute: 10 } }
  await create(tasks, both)
  const error: unknown = await create(tasks, both).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!isDomainError(error)) throw new Error('it was not refused')
  t.equal(error.code, 'rate_limited')
  t.same(error.details, {
    whose: 'token',
    limitedBy: 'concurrent_tasks',
    limit: 1,
    retryAfterMs: 10_000,
  })
  const { principal } = createInput(both)
  t.match(deps.throttle.statuses(principal), { requests: { remaining: 9 } }, 'it counts no request')
})

t.test('a task counts once, also while its position in the log is unknown', async (t) => {
  const world = await startWorld(t)
  const { tasks } = world.replica()
  const two = { limits: { concurrentTasks: 2 } }
  await create(tasks, two)
  await world.settle()
  await world.pool.query('update ops.admissions set position = null')
  t.equal(await codeOf(create(tasks, two)), 'no error')
  t.equal(await codeOf(create(tasks, two)), 'rate_limited')
})

t.test('one Idempotency-Key used twice at once takes one place', async (t) => {
  const world = await startWorld(t)
  const { tasks } = world.replica()
  const wish = {
    limits: { concurrentTasks: 1 },
    idempotencyKey: 'k',
    prompt: 'one [[sandbox stall-queued]]',
  }
  const codes = await Promise.all(Array.from({ length: 6 }, () => codeOf(create(tasks, wish))))
  t.equal(codes.filter((code) => code === 'rate_limited').length, 0, codes.join())
  t.match(await create(tasks, wish), { replayed: true }, 'a repetition needs no place')
  t.equal(world.sandbox.accepted().length, 1)
})

t.test('created tasks count as requests, refusals and repetitions do not', async (t) => {
  const world = await startWorld(t, { credit: '0.01' })
  await world.tenant('tenant_rich', '10000')
  await world.settle()
  const { tasks } = world.replica()
  const limited = { limits: { requestsPerMinute: 2 } }
  for (let n = 0; n < 4; n += 1)
    t.equal(await codeOf(create(tasks, limited)), 'insufficient_balance')
  const rich = { ...limited, tenantId: 'tenant_rich' }
  for (let n = 0; n < 4; n += 1) await create(tasks, { ...rich, idempotencyKey: 'same' })
  await create(tasks, rich)
  t.equal(await codeOf(create(tasks, rich)), 'rate_limited')
  t.equal(world.sandbox.accepted().length, 2)
})

t.test(
  'a place is kept until the tasks read model has its task, even past the ledger',
  async (t) => {
    const world = await startWorld(t)
    let elapsedMs = 0
    const { deps, tasks } = world.replica({ monotonic: { nowMs: () => elapsedMs } })
    const sweep = createSweep(deps)
    t.teardown(() => sweep.stop())
    const sweepAfterMinutes = async (): Promise<void> => {
      for (let round = 0; round < 5; round += 1) {
        await sweep.round()
        elapsedMs += 40_000
      }
    }
    const { platformId } = await create(tasks)
    await world.settle()
    const reservations = async () =>
      (await world.pool.query('select 1 from ops.admissions where platform_id = $1', [platformId]))
        .rowCount
    await world.pool.query(
      `update engine.checkpoints set commit = commit - 1000000, prepare = prepare - 1000000 where name = 'tasks'`,
    )
    await sweepAfterMinutes()
    t.equal(await reservations(), 1)
    await world.pool.query(
      `update engine.checkpoints set commit = commit + 1000000, prepare = prepare + 1000000 where name = 'tasks'`,
    )
    await sweepAfterMinutes()
    t.equal(await reservations(), 0)
  },
)
