import t from 'tap'
import { balances } from '../../../projections/ledger/query.ts'
import {
  codeOf,
  createInput,
  eventually,
  principalOf,
  startWorld,
  taskKey,
  TENANT,
} from '../support/world.ts'

t.test('a task is created, polled to its end, settled once and shown with its URLs', async (t) => {
  const world = await startWorld(t)
  const { tasks } = world.replica({ policies: true })
  const created = await tasks.createTask(createInput())
  t.match(created.platformId, /^video_/)
  t.match(created.nativeId, /^cgt-/)
  t.equal(created.replayed, false)

  const view = await eventually('success', async () => {
    const seen = await tasks.getTask(taskKey(created.nativeId))
    return seen.status === 'succeeded' ? seen : undefined
  })
  t.equal(view.platformId, created.platformId)
  t.equal(view.model, 'domestic-video-2-0')
  t.match(view.urls?.['video_url'], /^http/)
  t.equal(view.settings['resolution'], '720p')
  t.notOk('safety_identifier' in view.settings, 'our own marker is never echoed')

  const events = await world.eventsOf(created.platformId)
  const types = events.map((event) => event.type)
  t.same(
    types.filter((type) => type !== 'TaskStatusChanged'),
    ['TaskRequested', 'TaskSubmitted', 'TaskSucceeded', 'TaskSettled'],
  )
  t.notMatch(
    JSON.stringify(events, (_key, value) => (typeof value === 'bigint' ? String(value) : value)),
    /paper boat|http/i,
  )
  const [accepted] = world.sandbox.accepted()
  t.same(view.usage, accepted?.usage)

  await world.settle()
  const cny = (await balances(world.pool, TENANT)).find((row) => row.currency === 'CNY')
  const settled = events.find((event) => event.type === 'TaskSettled')
  t.equal(cny?.settled, settled?.type === 'TaskSettled' && settled.data.settlement.amount)
  t.equal(cny?.held, '0')
})

t.test('what a tenant created it finds at once, by either id and in its list', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const { tasks } = world.replica()
  const made = await Promise.all(Array.from({ length: 5 }, () => tasks.createTask(createInput())))
  for (const { platformId, nativeId } of made) {
    t.equal((await tasks.getTask(taskKey(platformId))).nativeId, nativeId)
    t.equal((await tasks.getTask(taskKey(nativeId))).platformId, platformId)
  }
  const list = await tasks.listTasks({
    principal: principalOf(),
    family: 'video-a',
    pageNumber: 1,
    pageSize: 10,
    status: undefined,
    model: undefined,
    ids: undefined,
  })
  t.equal(list.total, 5)
  t.same(new Set(list.items.map((item) => item.nativeId)), new Set(made.map((one) => one.nativeId)))
})

t.test("another tenant's task is not found, like one that does not exist", async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  await world.tenant('tenant_2', '100')
  await world.settle()
  const { tasks } = world.replica()
  const { platformId, nativeId } = await tasks.createTask(createInput())
  for (const id of [platformId, nativeId, 'video_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'cgt-none']) {
    t.equal(await codeOf(tasks.getTask(taskKey(id, 'tenant_2'))), 'task_not_found')
    t.equal(await codeOf(tasks.deleteTask(taskKey(id, 'tenant_2'))), 'task_not_found')
  }
  t.equal(world.sandbox.accepted()[0]?.cancelled, false)
})

t.test('a refused creation is no task, costs nothing and says why', async (t) => {
  const world = await startWorld(t)
  const { tasks } = world.replica()
  const input = createInput({ prompt: 'x [[sandbox refuse=InputTextSensitiveContentDetected]]' })
  const refusal = await tasks.createTask(input).then(
    () => undefined,
    (error: unknown) => error,
  )
  t.match(refusal, {
    code: 'submission_refused',
    details: {
      kind: 'invalid',
      upstreamCode: 'InputTextSensitiveContentDetected',
      platformId: /^video_/,
    },
  })
  await world.settle()
  const { details } = refusal as { readonly details: { readonly platformId: string } }
  t.equal(await codeOf(tasks.getTask(taskKey(details.platformId))), 'task_not_found')
  const cny = (await balances(world.pool, TENANT)).find((row) => row.currency === 'CNY')
  t.equal(cny?.held, '0')
  t.equal(cny?.settled, '0')
})

t.test('a model, a price and a channel are needed before anything is sent', async (t) => {
  const world = await startWorld(t, { prices: false })
  const { tasks } = world.replica()
  t.equal(await codeOf(tasks.createTask(createInput())), 'price_not_configured')
  const input = createInput()
  t.equal(await codeOf(tasks.createTask({ ...input, model: 'domestic-video-9' })), 'unknown_model')
  t.equal(
    await codeOf(
      tasks.createTask({
        ...input,
        principal: { ...input.principal, models: new Set(['overseas-video-2-0']) },
      }),
    ),
    'model_not_allowed',
  )
  t.equal(world.sandbox.accepted().length, 0)
})

t.test('a failed and an expired task cost nothing', async (t) => {
  const world = await startWorld(t)
  const { tasks } = world.replica({ policies: true })
  const failed = await tasks.createTask(
    createInput({ prompt: 'x [[sandbox fail=OutputVideoSensitiveContentDetected]]' }),
  )
  const expired = await tasks.createTask(createInput({ prompt: 'x [[sandbox expire]]' }))
  const ended = (id: string) =>
    eventually(`end of ${id}`, async () => {
      const view = await tasks.getTask(taskKey(id))
      return view.status === 'queued' || view.status === 'running' ? undefined : view
    })
  const view = await ended(failed.platformId)
  t.equal(view.status, 'failed')
  t.equal(view.error?.code, 'OutputVideoSensitiveContentDetected')
  t.notMatch(view.error?.message, /request id/i)
  world.sandbox.advance(4 * 24 * 3_600_000)
  t.equal((await ended(expired.platformId)).status, 'expired')
  await world.settle()
  const cny = (await balances(world.pool, TENANT)).find((row) => row.currency === 'CNY')
  t.equal(cny?.settled, '0')
  t.equal(cny?.held, '0')
})

t.test('a status nobody knows is no failure: the task goes on and settles', async (t) => {
  const world = await startWorld(t)
  const { tasks } = world.replica({ policies: true })
  const { platformId } = await tasks.createTask(
    createInput({ prompt: 'x [[sandbox status=reticulating running-ms=4000]]' }),
  )
  await eventually('success', async () =>
    (await tasks.getTask(taskKey(platformId))).status === 'succeeded' ? true : undefined,
  )
  const events = await world.eventsOf(platformId)
  const words = events.flatMap((event) =>
    event.type === 'TaskStatusChanged' ? [event.data.upstreamStatus] : [],
  )
  t.ok(words.includes('reticulating'), 'the word is kept for support')
  t.equal(events.at(-1)?.type, 'TaskSettled')
})
