import { catalog } from '../../../../src/families/index.ts'
import t from 'tap'
import { LIST_INTERVAL_MS } from '../../../../src/app/tasks/watch/absence.ts'
import { executeTaskCommand, newCommandId } from '../../../../src/app/tasks/task-log.ts'
import {
  codeOf,
  createInput,
  channelsWaiting,
  taskKey,
  TENANT,
  uncertain,
} from '../../support/world.ts'
import {
  ACCEPTED_BY_NOW_MS,
  beforeAppend,
  heldOf,
  HOUR_MS,
  makeUpstream,
  startScene,
  typesOf,
} from './support/scene.ts'
import { eventually } from '../../../helpers/eventually.ts'

t.test('a submission absent in two looks is given up and its hold released', async (t) => {
  const { world, tasks, hasty, lost, look, pass, replica } = await startScene(t)
  const id = await lost({ idempotencyKey: 'order 1' })
  pass(ACCEPTED_BY_NOW_MS - 32_000)
  await look()
  t.equal(await heldOf(world, id), 'placed')
  pass(32_000)
  const first = replica()
  await look(first)
  await look(first)
  t.same(typesOf(await world.eventsOf(id)), ['TaskRequested', 'TaskSubmissionUncertain'])
  t.equal(await codeOf(tasks.deleteTask(taskKey(id))), 'task_running')
  pass(LIST_INTERVAL_MS)
  const second = replica()
  await look(second)
  const events = await world.eventsOf(id)
  t.same(typesOf(events), ['TaskRequested', 'TaskSubmissionUncertain', 'TaskFailed'])
  t.match(events.at(-1), { data: { code: 'not_accepted', absence: { firstSeenAt: /^20/ } } })
  t.equal(await heldOf(world, id), 'released')
  t.match(await tasks.getTask(taskKey(id)), {
    status: 'failed',
    nativeId: undefined,
    error: { code: 'not_accepted' },
  })
  t.equal((await second.deps.metrics.possibleCostLeaks.get()).values[0]?.value, 0)
  const again = await hasty.tasks
    .createTask(createInput({ prompt: 'x [[sandbox hang]]', idempotencyKey: 'order 1' }))
    .catch((error: { readonly details: { readonly platformId: string } }) => error.details)
  t.not(again.platformId, id, 'its key is free for another try')
})

t.test('a list that fails, is empty or shows no markers is no proof', async (t) => {
  const { world, lost, twoLooks } = await startScene(t)
  const ids = [await lost(), await lost({ safetyIdentifier: 'user-1' })]
  for (const fault of ['http=500', 'drop-before-accept', 'malformed', 'empty-list', 'unmarked']) {
    world.sandbox.faults.add({ faults: [fault], match: { op: 'list' } })
    await twoLooks()
    world.sandbox.faults.clear()
    for (const id of ids)
      t.same(typesOf(await world.eventsOf(id)), ['TaskRequested', 'TaskSubmissionUncertain'], fault)
  }
  await twoLooks()
  const [ours, theirs] = await Promise.all(ids.map((id) => world.eventsOf(id)))
  t.equal(typesOf(ours!).at(-1), 'TaskFailed')
  t.equal(
    typesOf(theirs!).at(-1),
    'TaskSubmissionUncertain',
    'a name others may have proves nothing',
  )
})

t.test('a submission to a channel that was removed is not given up', async (t) => {
  const { world, lost, replica, look, pass } = await startScene(t)
  const channels = channelsWaiting(world, 300)
  const beside = channels.map((channel) => ({
    ...channel,
    id: `${channel.id}-beside`,
    priority: 9,
  }))
  const { tasks } = replica({ channels: [...channels, ...beside] })
  const id = await uncertain(tasks.createTask, { prompt: 'x [[sandbox hang]]' })
  const whole = await lost()
  pass(ACCEPTED_BY_NOW_MS)
  await look()
  // On a busy machine a list takes longer than the channel's time: it is asked for again.
  await eventually('the one that every list lacks is given up', async () => {
    pass(LIST_INTERVAL_MS)
    await look()
    return typesOf(await world.eventsOf(whole)).at(-1) === 'TaskFailed' ? true : undefined
  })
  t.equal(typesOf(await world.eventsOf(id)).at(-1), 'TaskSubmissionUncertain')
})

t.test('a submission listed far behind later ones is found, an absent one given up', async (t) => {
  const { world, lost, tasks, twoLooks } = await startScene(t)
  const found = await uncertain(tasks.createTask, { prompt: 'x [[sandbox drop-after-accept]]' })
  const absent = await lost()
  // More pages of what was made since than the list of one account used to be read.
  for (let batch = 0; batch < 11; batch += 1)
    await Promise.all(Array.from({ length: 20 }, () => makeUpstream(world, 'another account’s')))
  world.sandbox.faults.add({ faults: ['page-cap=2'], match: { op: 'list' } })
  await twoLooks()
  t.match((await world.eventsOf(found)).at(2), {
    type: 'TaskSubmitted',
    data: { via: 'reconciliation' },
  })
  t.equal(typesOf(await world.eventsOf(absent)).at(-1), 'TaskFailed')
})

t.test('a task adopted during the judgement of its absence is not given up', async (t) => {
  const { world, lost, replica, twoLooks, look, pass } = await startScene(t)
  const adopt = (id: string, nativeId: string) => () =>
    executeTaskCommand(
      { log: world.log, catalog },
      id,
      {
        kind: 'submitted',
        nativeId,
        channelId: world.channels[0]!.id,
        via: 'reconciliation',
        at: new Date().toISOString(),
      },
      newCommandId(Date.now()),
      { correlationId: 'another replica', tenantId: TENANT },
    )
  const given = await lost()
  await twoLooks(replica({ log: beforeAppend(world.log, 'TaskFailed', adopt(given, 'cgt-1')) }))
  t.same(typesOf(await world.eventsOf(given)).at(-1), 'TaskSubmitted', 'nor given up')
  const expired = await lost({ safetyIdentifier: 'user-1' })
  pass(50 * HOUR_MS)
  await look(replica({ log: beforeAppend(world.log, 'TaskExpired', adopt(expired, 'cgt-2')) }))
  t.same(typesOf(await world.eventsOf(expired)).at(-1), 'TaskSubmitted', 'nor expired')
  t.equal(await heldOf(world, expired), 'placed')
})

t.test('two replicas that prove one absence give it up once', async (t) => {
  const { world, lost, replica, look, pass } = await startScene(t)
  const id = await lost()
  pass(ACCEPTED_BY_NOW_MS)
  await look()
  pass(LIST_INTERVAL_MS)
  // The second one takes the task although the first still has it: its lease was taken for dead.
  const other = async (): Promise<void> => {
    await world.pool.query('update tasks.polls set due_at_ms = 0, lease_owner = null')
    await look()
  }
  await look(replica({ log: beforeAppend(world.log, 'TaskFailed', other) }))
  const types = typesOf(await world.eventsOf(id))
  t.same(types, ['TaskRequested', 'TaskSubmissionUncertain', 'TaskFailed'])
})

t.test('a process that dies around giving up leaves the task to the next', async (t) => {
  const { world, lost, replica, look, pass, twoLooks } = await startScene(t)
  for (const point of ['reconcile.before-give-up', 'reconcile.after-give-up']) {
    const id = await lost()
    await twoLooks(
      replica({
        crashPoint: (name) => {
          if (name === point) throw new Error('killed')
        },
      }),
    )
    const isBefore = point === 'reconcile.before-give-up'
    t.equal(typesOf(await world.eventsOf(id)).at(-1) === 'TaskFailed', !isBefore, point)
    pass(HOUR_MS)
    await look()
    t.same(typesOf(await world.eventsOf(id)), [
      'TaskRequested',
      'TaskSubmissionUncertain',
      'TaskFailed',
    ])
    t.equal(await heldOf(world, id), 'released')
  }
})
