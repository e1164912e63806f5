import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf, createInput, eventually, startWorld, taskKey } from '../support/world.ts'

t.test(
  'a queued task is cancelled upstream, confirmed, and stays visible as cancelled',
  async (t) => {
    const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
    const { tasks } = world.replica()
    const { platformId } = await tasks.createTask(createInput())
    t.same(await tasks.deleteTask(taskKey(platformId)), { platformId })
    t.equal((await tasks.getTask(taskKey(platformId))).status, 'cancelled')
    t.equal(world.sandbox.accepted()[0]?.cancelled, true)
    await tasks.deleteTask(taskKey(platformId))
    t.equal(await codeOf(tasks.getTask(taskKey(platformId))), 'task_not_found')
  },
)

t.test('ten DELETEs at once of a queued task cancel it once', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const replicas = [world.replica(), world.replica()]
  const { platformId, nativeId } = await replicas[0]!.tasks.createTask(createInput())
  await world.settle()
  const codes = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      codeOf(replicas[index % 2]!.tasks.deleteTask(taskKey(index % 3 ? platformId : nativeId))),
    ),
  )
  t.ok(
    codes.every((code) => code === 'no error' || code === 'task_not_found'),
    codes.join(),
  )
  t.ok(codes.includes('no error'))
  const types = (await world.eventsOf(platformId)).map((event) => event.type)
  t.equal(types.filter((type) => type === 'TaskCancelled').length, 1)
  t.equal(world.sandbox.accepted()[0]?.deleted, false, 'the record was never deleted upstream')
})

t.test('a running task is refused and goes on to its settlement', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 0, runningMs: 1_500 } })
  const { tasks } = world.replica({ policies: true })
  const { platformId } = await tasks.createTask(createInput())
  t.equal(await codeOf(tasks.deleteTask(taskKey(platformId))), 'task_running')
  await eventually('success', async () =>
    (await tasks.getTask(taskKey(platformId))).status === 'succeeded' ? true : undefined,
  )
  t.equal(world.sandbox.accepted()[0]?.cancelled, false)
})

t.test('a finished task nobody polled is settled before it is hidden', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 0, runningMs: 0 } })
  const { tasks } = world.replica()
  const { platformId } = await tasks.createTask(createInput())
  await tasks.deleteTask(taskKey(platformId))
  t.equal(await codeOf(tasks.getTask(taskKey(platformId))), 'task_not_found')
  t.equal(await codeOf(tasks.deleteTask(taskKey(platformId))), 'task_not_found')
  const types = (await world.eventsOf(platformId)).map((event) => event.type)
  t.same(types.slice(-3), ['TaskSucceeded', 'TaskSettled', 'TaskDeleted'])
  t.equal(world.sandbox.accepted()[0]?.deleted, false, 'the record was never deleted upstream')
})

t.test('DELETE racing the end of rendering leaves nothing rendered unsettled', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 150, runningMs: 250 } })
  const first = world.replica({ policies: true })
  const second = world.replica({ policies: true })
  const made = await Promise.all(
    Array.from({ length: 16 }, () => first.tasks.createTask(createInput())),
  )
  const codes = await Promise.all(
    made.map(async ({ platformId }, index) => {
      await sleep(index * 35)
      return codeOf(second.tasks.deleteTask(taskKey(platformId)))
    }),
  )
  const allowed = new Set(['no error', 'task_running', 'upstream_unavailable'])
  t.same(
    codes.filter((code) => !allowed.has(code)),
    [],
  )
  for (const accepted of world.sandbox.accepted()) {
    const { platformId } = made.find(({ nativeId }) => nativeId === accepted.id)!
    const end = accepted.cancelled ? 'TaskCancelled' : 'TaskSettled'
    await eventually(`${end} of ${platformId}`, async () =>
      (await world.eventsOf(platformId)).find((event) => event.type === end),
    )
    t.equal(accepted.deleted, false)
  }
})

t.test('a record that vanished is never called cancelled', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000, cancelledRetentionMs: 1 } })
  const { tasks } = world.replica()
  const { platformId } = await tasks.createTask(createInput())
  t.equal(await codeOf(tasks.deleteTask(taskKey(platformId))), 'upstream_unavailable')
  const types = (await world.eventsOf(platformId)).map((event) => event.type)
  t.notOk(types.includes('TaskCancelled'))
  t.equal((await tasks.getTask(taskKey(platformId))).status, 'queued')
})

t.test('with upstream away a deletion is not confirmed and changes nothing', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const { tasks } = world.replica()
  const { platformId } = await tasks.createTask(createInput())
  world.sandbox.faults.add({ faults: ['http=503'], match: { op: ['get', 'delete'] } })
  t.equal(await codeOf(tasks.deleteTask(taskKey(platformId))), 'upstream_unavailable')
  t.equal((await world.eventsOf(platformId)).length, 2)
})
