import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { createTaskUseCases } from '../../../src/app/tasks/use-cases.ts'
import {
  codeOf,
  createInput,
  startWorld,
  taskKey,
  uncertain,
  type World,
} from '../support/world.ts'

const FINISHED = 'x [[sandbox queued-ms=0 running-ms=0]]'

function acceptedOf(world: World, nativeId: string) {
  return world.sandbox.accepted().find(({ id }) => id === nativeId)
}

t.test('deletion', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const [one, two] = [world.replica(), world.replica()]
  const typesOf = async (platformId: string): Promise<readonly string[]> =>
    (await world.eventsOf(platformId)).map((event) => event.type)

  await t.test('a queued task is cancelled upstream and stays visible as cancelled', async (t) => {
    const { platformId, nativeId } = await one.tasks.createTask(createInput())
    t.same(await one.tasks.deleteTask(taskKey(platformId)), { platformId })
    t.equal((await one.tasks.getTask(taskKey(platformId))).status, 'cancelled')
    t.equal(acceptedOf(world, nativeId)?.cancelled, true)
    await one.tasks.deleteTask(taskKey(platformId))
    t.equal(await codeOf(one.tasks.getTask(taskKey(platformId))), 'task_not_found')
  })

  await t.test(
    'ten DELETEs at once of a queued task cancel it once; a late one may hide it',
    async (t) => {
      const { platformId, nativeId } = await one.tasks.createTask(createInput())
      await world.settle()
      const codes = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          codeOf(
            (index % 2 ? one : two).tasks.deleteTask(taskKey(index % 3 ? platformId : nativeId)),
          ),
        ),
      )
      const allowed = new Set(['no error', 'task_not_found'])
      t.same(
        codes.filter((code) => !allowed.has(code)),
        [],
      )
      const types = await typesOf(platformId)
      t.same(
        types.filter((type) => type !== 'TaskDeleted'),
        ['TaskRequested', 'TaskSubmitted', 'TaskCancelled'],
      )
      t.ok(types.indexOf('TaskDeleted') === -1 || types.indexOf('TaskDeleted') === 3)
      t.equal(acceptedOf(world, nativeId)?.deleted, false, 'the record was never deleted upstream')
    },
  )

  await t.test(
    'a finished task that was never polled is settled before it is hidden',
    async (t) => {
      const { platformId, nativeId } = await one.tasks.createTask(createInput({ prompt: FINISHED }))
      await one.tasks.deleteTask(taskKey(platformId))
      t.equal(await codeOf(one.tasks.getTask(taskKey(platformId))), 'task_not_found')
      t.equal(await codeOf(one.tasks.deleteTask(taskKey(platformId))), 'task_not_found')
      t.same((await typesOf(platformId)).slice(-3), ['TaskSucceeded', 'TaskSettled', 'TaskDeleted'])
      t.equal(acceptedOf(world, nativeId)?.deleted, false, 'the record was never deleted upstream')
    },
  )

  await t.test('ten DELETEs at once of a finished task settle and hide it once', async (t) => {
    const { platformId } = await one.tasks.createTask(createInput({ prompt: FINISHED }))
    const codes = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        codeOf((index % 2 ? one : two).tasks.deleteTask(taskKey(platformId))),
      ),
    )
    const allowed = new Set(['no error', 'task_not_found'])
    t.same(
      codes.filter((code) => !allowed.has(code)),
      [],
    )
    const types = await typesOf(platformId)
    for (const type of ['TaskSucceeded', 'TaskSettled', 'TaskDeleted'])
      t.equal(types.filter((one) => one === type).length, 1, type)
  })

  await t.test('a deletion while upstream is away is refused without an event', async (t) => {
    const { platformId } = await one.tasks.createTask(createInput())
    const fault = world.sandbox.faults.add({
      faults: ['http=503'],
      match: { op: ['get', 'delete'] },
    })
    t.equal(await codeOf(one.tasks.deleteTask(taskKey(platformId))), 'upstream_unavailable')
    t.same(await typesOf(platformId), ['TaskRequested', 'TaskSubmitted'])
    world.sandbox.faults.clear(fault.id)
  })

  await t.test('a deletion whose answer is lost is confirmed by a query', async (t) => {
    const { platformId, nativeId } = await one.tasks.createTask(createInput())
    const fault = world.sandbox.faults.add({
      faults: ['drop-after-accept'],
      match: { op: 'delete' },
    })
    t.equal(await codeOf(one.tasks.deleteTask(taskKey(platformId))), 'no error')
    t.equal((await one.tasks.getTask(taskKey(platformId))).status, 'cancelled')
    t.equal(acceptedOf(world, nativeId)?.cancelled, true)
    world.sandbox.faults.clear(fault.id)
  })

  await t.test('DELETE of a running task is refused, and the task is settled', async (t) => {
    const { tasks } = world.replica({ policies: true })
    const { platformId, nativeId } = await tasks.createTask(
      createInput({ prompt: 'x [[sandbox queued-ms=0 running-ms=1500]]' }),
    )
    t.equal(await codeOf(tasks.deleteTask(taskKey(platformId))), 'task_running')
    await eventually('success', async () =>
      (await tasks.getTask(taskKey(platformId))).status === 'succeeded' ? true : undefined,
    )
    t.equal(acceptedOf(world, nativeId)?.cancelled, false)
  })

  await t.test('deletions during the end of rendering leave no result unsettled', async (t) => {
    const prompt = 'x [[sandbox queued-ms=150 running-ms=400]]'
    const polling = world.replica({ policies: true })
    const made = await Promise.all(
      Array.from({ length: 16 }, () => polling.tasks.createTask(createInput({ prompt }))),
    )
    const codes = await Promise.all(
      made.map(async ({ platformId }, index) => {
        await sleep(index * 45)
        return codeOf((index % 2 ? one : two).tasks.deleteTask(taskKey(platformId)))
      }),
    )
    const allowed = new Set(['no error', 'task_running', 'upstream_unavailable'])
    t.same(
      codes.filter((code) => !allowed.has(code)),
      [],
    )
    for (const { platformId, nativeId } of made) {
      const accepted = acceptedOf(world, nativeId)
      const end = accepted?.cancelled === true ? 'TaskCancelled' : 'TaskSettled'
      await eventually(`${end} of ${platformId}`, async () =>
        (await world.eventsOf(platformId)).find((event) => event.type === end),
      )
      t.equal(accepted?.deleted, false)
    }
  })
})

t.test('a task that vanished upstream is never reported as cancelled', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000, cancelledRetentionMs: 0 } })
  const { tasks } = world.replica()
  const { platformId } = await tasks.createTask(createInput())
  t.equal(await codeOf(tasks.deleteTask(taskKey(platformId))), 'upstream_unavailable')
  const types = (await world.eventsOf(platformId)).map((event) => event.type)
  t.notOk(types.includes('TaskCancelled'))
  t.equal((await tasks.getTask(taskKey(platformId))).status, 'queued')
})

t.test('503, not task_running, while the read model is behind', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const { deps, tasks } = world.replica()
  const platformId = await uncertain(tasks.createTask, {
    prompt: 'x [[sandbox drop-after-accept]]',
  })
  await world.settle()
  t.equal(await codeOf(tasks.deleteTask(taskKey(platformId))), 'task_running')
  const pool = new Proxy(deps.pool, {
    get(target, name) {
      if (name !== 'query') return Reflect.get(target, name, target) as unknown
      return async (query: { readonly name?: string }, ...rest: unknown[]) => {
        const answer = (await Reflect.apply(target.query.bind(target), undefined, [
          query,
          ...rest,
        ])) as { readonly rows: readonly object[] }
        if (query.name !== 'engine.checkpoints') return answer
        return {
          ...answer,
          rows: answer.rows.map((row) => ({ ...row, commit: '0', prepare: '0' })),
        }
      }
    },
  })
  const late = createTaskUseCases({ ...deps, pool })
  t.equal(await codeOf(late.deleteTask(taskKey(platformId))), 'read_model_behind')
})
