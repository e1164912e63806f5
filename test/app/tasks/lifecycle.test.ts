import t from 'tap'
import { balances } from '../../helpers/ledger-balances.ts'
import { eventually } from '../../helpers/eventually.ts'
import {
  codeOf,
  createInput,
  principalOf,
  startWorld,
  taskKey,
  TENANT,
  type World,
} from '../support/world.ts'

const WAITING = 'x [[sandbox queued-ms=60000]]'

async function cnyOf(world: World, tenantId: string) {
  await world.settle()
  return (await balances(world.pool, tenantId)).find(({ currency }) => currency === 'CNY')
}

t.test('the life of a task', async (t) => {
  const world = await startWorld(t)
  for (const tenantId of ['tenant_2', 'tenant_refused', 'tenant_failed'])
    await world.tenant(tenantId, '1000')
  await world.settle()
  const { tasks } = world.replica({ policies: true })

  await t.test('a task is polled to its end, settled once and shown with its URLs', async (t) => {
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
    t.same(
      events.map((event) => event.type).filter((type) => type !== 'TaskStatusChanged'),
      ['TaskRequested', 'TaskSubmitted', 'TaskSucceeded', 'TaskSettled'],
    )
    t.notMatch(JSON.stringify(events.map((event) => event.data)), /paper boat|http/i)
    const [accepted] = world.sandbox.accepted()
    t.same(view.usage, accepted?.usage)

    const cny = await cnyOf(world, TENANT)
    const settled = events.find((event) => event.type === 'TaskSettled')
    t.equal(cny?.settled, settled?.type === 'TaskSettled' && settled.data.settlement.amount)
    t.equal(cny?.held, '0')
  })

  await t.test('tenants find created tasks at once, by either id and in lists', async (t) => {
    const made = await Promise.all(
      Array.from({ length: 5 }, () => tasks.createTask(createInput({ prompt: WAITING }))),
    )
    for (const { platformId, nativeId } of made) {
      t.equal((await tasks.getTask(taskKey(platformId))).nativeId, nativeId)
      t.equal((await tasks.getTask(taskKey(nativeId))).platformId, platformId)
    }
    const list = await tasks.listTasks({
      principal: principalOf(),
      family: 'video-a',
      pageNumber: 1,
      pageSize: 10,
      status: 'queued',
      model: undefined,
      ids: undefined,
    })
    t.same(
      new Set(list.items.map((item) => item.nativeId)),
      new Set(made.map((one) => one.nativeId)),
    )
    t.equal(list.total, 5)
  })

  await t.test('another tenant’s task is answered as an unknown task', async (t) => {
    const { platformId, nativeId } = await tasks.createTask(createInput({ prompt: WAITING }))
    for (const id of [platformId, nativeId, 'video_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'cgt-none']) {
      t.equal(await codeOf(tasks.getTask(taskKey(id, 'tenant_2'))), 'task_not_found')
      t.equal(await codeOf(tasks.deleteTask(taskKey(id, 'tenant_2'))), 'task_not_found')
    }
    const accepted = world.sandbox.accepted().find(({ id }) => id === nativeId)
    t.equal(accepted?.cancelled, false)
  })

  await t.test('a refused creation leaves no task and costs nothing', async (t) => {
    const input = createInput({
      tenantId: 'tenant_refused',
      prompt: 'x [[sandbox refuse=InputTextSensitiveContentDetected]]',
    })
    const refusal = await tasks.createTask(input).catch((caught: unknown) => caught)
    t.match(refusal, {
      code: 'submission_refused',
      details: {
        kind: 'invalid',
        upstreamCode: 'InputTextSensitiveContentDetected',
        platformId: /^video_/,
      },
    })
    const { details } = refusal as { readonly details: { readonly platformId: string } }
    const cny = await cnyOf(world, 'tenant_refused')
    t.equal(
      await codeOf(tasks.getTask(taskKey(details.platformId, 'tenant_refused'))),
      'task_not_found',
    )
    t.equal(cny?.held, '0')
    t.equal(cny?.settled, '0')
  })

  await t.test('an unknown status is not a failure: the task goes on and settles', async (t) => {
    const { platformId } = await tasks.createTask(
      createInput({ prompt: 'x [[sandbox status=reticulating running-ms=3000]]' }),
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

  // Last, because it moves the sandbox's clock.
  await t.test('failed and expired tasks cost nothing', async (t) => {
    const create = async (fault: string) => {
      const prompt = `x [[sandbox ${fault}]]`
      return tasks.createTask(createInput({ tenantId: 'tenant_failed', prompt }))
    }
    const ended = (id: string) =>
      eventually(`the end of ${id}`, async () => {
        const view = await tasks.getTask(taskKey(id, 'tenant_failed'))
        return view.status === 'queued' || view.status === 'running' ? undefined : view
      })
    const failed = await create('fail=OutputVideoSensitiveContentDetected')
    const expired = await create('expire')
    const view = await ended(failed.platformId)
    t.equal(view.status, 'failed')
    t.equal(view.error?.code, 'OutputVideoSensitiveContentDetected')
    t.notMatch(view.error?.message, /request id/i)
    world.sandbox.advance(4 * 24 * 3_600_000)
    t.equal((await ended(expired.platformId)).status, 'expired')
    const cny = await cnyOf(world, 'tenant_failed')
    t.equal(cny?.settled, '0')
    t.equal(cny?.held, '0')
  })
})

t.test('creation without a model, a permission or a price is refused, unsent', async (t) => {
  const world = await startWorld(t, { prices: false })
  const { tasks } = world.replica()
  const input = createInput()
  const restricted = { ...input.principal, models: new Set(['overseas-video-2-0']) }
  t.equal(await codeOf(tasks.createTask(input)), 'price_not_configured')
  t.equal(await codeOf(tasks.createTask({ ...input, model: 'domestic-video-9' })), 'unknown_model')
  t.equal(await codeOf(tasks.createTask({ ...input, principal: restricted })), 'model_not_allowed')
  t.equal(world.sandbox.accepted().length, 0)
})
