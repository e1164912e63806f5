import t from 'tap'
import { createObserve } from '../../../../src/app/tasks/observe.ts'
import type { TaskObservation } from '../../../../src/app/ports/provider.ts'
import { executeTaskCommand, newCommandId } from '../../../../src/app/tasks/task-log.ts'
import type { TaskCommand } from '../../../../src/domain/task/state.ts'
import { newPlatformId, newRequestId } from '../../../../src/kernel/ids.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { createInput, startWorld, taskKey, TENANT } from '../../support/world.ts'

t.test('a success seen by two replicas at once is settled once', async (t) => {
  const world = await startWorld(t)
  const replicas = [world.replica({ policies: true }), world.replica({ policies: true })]
  const made = await Promise.all(
    Array.from({ length: 30 }, (_, index) => replicas[index % 2]!.tasks.createTask(createInput())),
  )
  for (const { platformId } of made) {
    await eventually(`the settlement of ${platformId}`, async () =>
      (await world.eventsOf(platformId)).find((event) => event.type === 'TaskSettled'),
    )
  }
  await world.settle()
  const { rows } = await world.pool.query<{ lines: string; tasks: string }>(
    `select count(*) as lines, count(distinct source_id) as tasks from ledger.lines`,
  )
  t.same(rows[0], { lines: '30', tasks: '30' })
})

t.test('a task missing from a list is queried singly before it counts as gone', async (t) => {
  const world = await startWorld(t)
  const { tasks } = world.replica({ policies: true })
  world.sandbox.faults.add({ faults: ['malformed'], match: { op: 'list' } })
  const made = await Promise.all([1, 2, 3].map(() => tasks.createTask(createInput())))
  for (const { platformId } of made)
    await eventually(`the settlement of ${platformId}`, async () =>
      (await world.eventsOf(platformId)).find((event) => event.type === 'TaskSettled'),
    )
  t.ok((world.sandbox.requests().routes['video-a.get']?.count ?? 0) >= 3)
})

t.test('a success without usage waits; a vanished task stays open until its expiry', async (t) => {
  const world = await startWorld(t)
  let nowMs = Date.now()
  const { tasks } = world.replica()
  world.replica({ policies: true, clock: { nowMs: () => nowMs + (Date.now() % 1) } })
  const tick = setInterval(() => (nowMs += 500), 50)
  t.teardown(() => clearInterval(tick))
  const [silent, gone] = await Promise.all(
    ['usage-missing', 'gone'].map((fault) =>
      tasks.createTask(createInput({ prompt: `x [[sandbox ${fault}]]` })),
    ),
  )
  const polls = async (id: string): Promise<number> => {
    const { rows } = await world.pool.query<{ attempts: number }>(
      'select attempts from tasks.polls where platform_id = $1',
      [id],
    )
    return rows[0]?.attempts ?? 0
  }
  await eventually('polls of the gone one', async () =>
    (await polls(gone!.platformId)) >= 2 ? true : undefined,
  )
  for (const { platformId } of [silent!, gone!]) {
    const types = (await world.eventsOf(platformId)).map((event) => event.type)
    t.notOk(types.some((type) => /Succeeded|Settled|Failed|Expired|Cancelled/.test(type)))
  }
  nowMs += 50 * 3_600_000
  const end = await eventually('the expiry of the gone one', async () =>
    (await world.eventsOf(gone!.platformId)).find((event) => event.type === 'TaskExpired'),
  )
  t.match(end, { data: { reason: 'deadline', possibleCostLeak: true } })
  const silentTypes = (await world.eventsOf(silent!.platformId)).map((event) => event.type)
  t.notOk(silentTypes.includes('TaskExpired'), 'what upstream still shows is waited for')
})

t.test('an outage of upstream loses no task', async (t) => {
  const world = await startWorld(t)
  const { tasks } = world.replica({ policies: true })
  const { platformId } = await tasks.createTask(createInput())
  const fault = world.sandbox.faults.add({ faults: ['http=503'], match: { op: ['get', 'list'] } })
  const shown = await tasks.getTask(taskKey(platformId))
  t.equal(shown.status, 'queued')
  await eventually('failing polls', () =>
    (world.sandbox.requests().routes['video-a.get']?.count ?? 0) >= 3 ? true : undefined,
  )
  world.sandbox.faults.clear(fault.id)
  await eventually('the settlement', async () =>
    (await world.eventsOf(platformId)).find((event) => event.type === 'TaskSettled'),
  )
  t.pass('settled after the outage')
})

t.test('of two tasks with one native id, the first is billed', async (t) => {
  const world = await startWorld(t)
  const { deps, tasks } = world.replica()
  const { platformId: first, nativeId } = await tasks.createTask(createInput())
  const [requested, submitted] = await world.eventsOf(first)
  if (requested?.type !== 'TaskRequested' || submitted?.type !== 'TaskSubmitted')
    throw new Error('it was not submitted')
  const second = newPlatformId('video', Date.now())
  const of = { platformId: second, requestId: newRequestId(Date.now()) }
  const run = (command: TaskCommand) =>
    executeTaskCommand(deps, second, command, newCommandId(Date.now()), {
      correlationId: of.requestId,
      tenantId: requested.data.tenantId,
    })
  await run({ kind: 'request', data: { ...requested.data, ...of } })
  const { channelId, submittedAt: at } = submitted.data
  await run({ kind: 'submitted', nativeId, channelId, via: 'create', usage: undefined, at })
  const workers = [world.replica({ policies: true }), world.replica({ policies: true })]
  for (const id of [first, second])
    await eventually(`the end of ${id}`, async () =>
      (await world.eventsOf(id)).find(({ type }) => /TaskSettled|TaskFailed/.test(type)),
    )
  await world.settle()
  const lines = await world.pool.query<{ source_id: string }>('select source_id from ledger.lines')
  t.same(
    lines.rows.map(({ source_id: id }) => id),
    [first],
  )
  t.match((await world.eventsOf(second)).at(-1), {
    type: 'TaskFailed',
    data: { code: 'not_accepted' },
  })
  const counts = await Promise.all(
    workers.map((worker) => worker.deps.metrics.nativeIdsRepeated.get()),
  )
  t.equal(
    counts.flatMap(({ values }) => values).reduce((sum, { value }) => sum + value, 0),
    1,
  )
})

t.test('a result that differs from the order is billed as ordered, and counted', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 600_000 } })
  const { deps, tasks } = world.replica()
  const observe = createObserve(deps)
  const counts: number[] = []
  const skus: (string | undefined)[] = []
  for (const resolution of ['720p', '1080p']) {
    const { platformId, nativeId } = await tasks.createTask(createInput())
    await world.settle()
    const observation = {
      nativeId,
      status: 'succeeded',
      upstreamStatus: 'succeeded',
      usage: { completion_tokens: 1_000, total_tokens: 1_000 },
      output: { resolution },
      urls: {},
    } as unknown as TaskObservation
    const of = { platformId, tenantId: TENANT, correlationId: 'test' }
    t.equal((await observe({ ...of, observation })).ended, true)
    const { values } = await deps.metrics.renderedOtherwise.get()
    counts.push(values.reduce((sum, { value }) => sum + value, 0))
    const settled = (await world.eventsOf(platformId)).find(({ type }) => type === 'TaskSettled')
    if (settled?.type !== 'TaskSettled') return t.fail('it is settled')
    skus.push(settled.data.settlement.lines[0]?.sku)
  }
  t.same(counts, [0, 1])
  t.equal(skus[0], skus[1])
  t.match(skus[1], /-720p-/)
})
