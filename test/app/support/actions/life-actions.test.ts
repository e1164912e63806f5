import t from 'tap'
import type { AdminScope } from '../../../../src/app/accounts/admin-scope.ts'
import {
  createLifeActions,
  type LifeActions,
  type NoteInput,
  type SupportActor,
} from '../../../../src/app/support/actions/life-actions.ts'
import { findLife } from '../../../../src/app/support/life.ts'
import { createObserve } from '../../../../src/app/tasks/observe.ts'
import { executeTaskCommand } from '../../../../src/app/tasks/task-log.ts'
import { noteStream } from '../../../../src/domain/note/events.ts'
import {
  beforeAppend,
  heldOf,
  HOUR_MS,
  makeUpstream,
  readMarker,
  startScene,
  typesOf,
} from '../../tasks/watch/support/scene.ts'
import { createInput, type Replica, taskKey, TENANT, type World } from '../world.ts'

const operators: AdminScope = { kind: 'all' }
const person = { tenantId: 'tenant_ops', userId: 'sue', tokenId: 'token_sue' }
const by: SupportActor = { correlationId: 'req_support', actor: 'token_sue', person }
const UNCERTAIN = ['TaskRequested', 'TaskSubmissionUncertain']

const input = (
  lifeId: string,
  id = 'note_1',
  text = 'the provider has no such task',
): NoteInput => ({
  lifeId,
  text,
  name: { id, key: undefined },
})

/** The actions as a replica has them; the read models are caught up. */
function actionsOf({ pool, settle }: World, { deps }: Replica): LifeActions {
  return createLifeActions({
    ...deps,
    tasks: deps,
    findLife: async (id, scope) => {
      await settle()
      const asOf = (await deps.log.endPosition()) ?? 0n
      return findLife(pool, id, scope, {
        catalog: deps.catalog,
        asOf,
        urlsEndOf: () => Promise.resolve(undefined),
      })
    },
  })
}

const notesOf = async ({ log }: World): Promise<readonly object[]> =>
  (await log.readStream(noteStream(TENANT))).map(({ data }) => data)

/** The ledger's figures of a task: its hold, and how many lines, adjustments and settlements. */
async function moneyOf(world: World, id: string) {
  await world.settle()
  const { rows } = await world.pool.query<{ lines: number; held: string; posted: number }>(
    `select (select count(*)::int from ledger.lines where source_id = $1) as lines,
            (select count(*)::int from timeline.events where type = 'AdjustmentPosted') as posted,
            (select coalesce(sum(amount), 0)::text from ledger.holds
             where source_id = $1 and state = 'placed') as held`,
    [id],
  )
  return { ...rows[0], hold: await heldOf(world, id) }
}
const freed = { lines: 0, posted: 0, held: '0', hold: 'released' }

t.test('a lost submission is given up: its hold is free, nothing is sent or billed', async (t) => {
  const { world, tasks, lost, watch, look, pass, replica } = await startScene(t)
  const id = await lost()
  const sent = world.sandbox.accepted({}).length
  const mine = replica()
  const actions = actionsOf(world, mine)
  t.match(await actions.giveUp(operators, by, input(id)), {
    noteId: 'note_1',
    about: id,
    action: 'give_up',
    changed: true,
  })
  t.same(typesOf(await world.eventsOf(id)), [...UNCERTAIN, 'TaskFailed'])
  t.same(await moneyOf(world, id), freed)
  t.match(await tasks.getTask(taskKey(id)), { status: 'failed', error: { code: 'given_up' } })
  t.equal((await mine.deps.metrics.possibleCostLeaks.get()).values[0]?.value, 1)
  t.match(await actions.giveUp(operators, by, input(id)), { changed: false }, 'the same again')
  await t.rejects(actions.giveUp(operators, by, input(id, 'note_2')), {
    code: 'give_up_refused',
    message: /it was given up before/,
  })
  t.equal((await notesOf(world)).length, 1, 'no note of what is refused')

  pass(HOUR_MS)
  await look()
  await watch()
  t.same(typesOf(await world.eventsOf(id)), [...UNCERTAIN, 'TaskFailed'], 'nothing appeared')
  await makeUpstream(world, await readMarker(world, id), '[[sandbox queued-ms=0 running-ms=0]]')
  pass(2 * HOUR_MS)
  await watch()
  const events = await world.eventsOf(id)
  t.same(typesOf(events), [...UNCERTAIN, 'TaskFailed', 'TaskAppearedLate'])
  t.match(events.at(-1), { data: { possibleCostLeak: true } })
  t.same(await moneyOf(world, id), freed, 'it appeared, and is not billed')
  t.equal(world.sandbox.accepted({}).length, sent + 1, 'only the test sent one more')
})

t.test('a result without usage is given up an hour after it was made', async (t) => {
  const { world, tasks, pass, replica } = await startScene(t)
  const { platformId: id } = await tasks.createTask(createInput())
  const mine = replica()
  const actions = actionsOf(world, mine)
  const give = (noteId: string) => actions.giveUp(operators, by, input(id, noteId))
  await t.rejects(give('note_0'), { code: 'give_up_refused', message: /it is queued upstream/ })
  const [upstream] = world.sandbox.accepted({ safety_identifier: await readMarker(world, id) })
  const nativeId = String(upstream?.id)
  const observe = createObserve(mine.deps)
  const see = (usage?: { readonly completion_tokens: number }) =>
    observe({
      platformId: id,
      tenantId: TENANT,
      correlationId: 'policy-poll',
      observation: {
        status: 'succeeded',
        upstreamStatus: 'succeeded',
        nativeId,
        output: {},
        usage,
        urls: {},
      },
    })
  await world.settle()
  await see()
  await t.rejects(give('note_0'), {
    code: 'give_up_refused',
    message: /may report its usage until .*; it can be given up after that/,
  })
  t.same(await notesOf(world), [])
  pass(HOUR_MS)
  t.match(await give('note_1'), { changed: true })
  t.same(await moneyOf(world, id), freed)
  await see({ completion_tokens: 108_900 })
  t.same(await moneyOf(world, id), freed, 'usage that comes later is not billed')
  await t.rejects(give('note_2'), { code: 'give_up_refused', message: /given up before/ })
})

t.test('of two supporters at once on two replicas one gives it up', async (t) => {
  const { world, lost, replica } = await startScene(t)
  const id = await lost()
  const both = [actionsOf(world, replica()), actionsOf(world, replica())] as const
  const same = await Promise.all(both.map((one) => one.giveUp(operators, by, input(id))))
  t.equal(same.filter(({ changed }) => changed).length, 1)
  t.same(typesOf(await world.eventsOf(id)), [...UNCERTAIN, 'TaskFailed'])

  const other = await lost()
  const two = await Promise.allSettled(
    both.map((one, n) => one.giveUp(operators, by, input(other, `note_of_${n}`))),
  )
  t.same(two.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  t.match(
    two.find(({ status }) => status === 'rejected'),
    { reason: { code: 'give_up_refused', message: /given up before/ } },
  )
  t.same(typesOf(await world.eventsOf(other)), [...UNCERTAIN, 'TaskFailed'])
  t.same(await moneyOf(world, other), freed)
})

t.test('a task that is found meanwhile is not given up: the log decides', async (t) => {
  const { world, lost, replica } = await startScene(t)
  const id = await lost()
  const { deps } = replica()
  const log = beforeAppend(world.log, 'TaskFailed', async () => {
    const other = replica()
    await executeTaskCommand(
      other.deps,
      id,
      {
        kind: 'submitted',
        nativeId: 'cgt-found',
        channelId: String(world.channels[0]?.id),
        via: 'reconciliation',
        at: new Date().toISOString(),
      },
      'cmd_found',
      { correlationId: 'policy-reconcile', tenantId: TENANT },
    )
  })
  const actions = actionsOf(world, { ...replica(), deps: { ...deps, log } })
  await t.rejects(actions.giveUp(operators, by, input(id)), {
    code: 'give_up_refused',
    message: /it is queued upstream/,
  })
  t.same(typesOf(await world.eventsOf(id)), [...UNCERTAIN, 'TaskSubmitted'])
  t.equal(await heldOf(world, id), 'placed')
})

t.test('the same request again does what a process that died had left', async (t) => {
  const { world, lost, tasks, replica } = await startScene(t)
  const dying = (point: string) =>
    actionsOf(
      world,
      replica({
        crashPoint: (name) => {
          if (name === point) throw new Error('killed')
        },
      }),
    )
  const actions = actionsOf(world, replica())
  for (const [point, changed] of [
    ['note.before-give-up', true],
    ['note.after-give-up', false],
  ] as const) {
    const id = await lost()
    const asked = input(id, `note_${point.replace('.', '_')}`)
    await t.rejects(dying(point).giveUp(operators, by, asked), { message: 'killed' })
    t.match(await actions.giveUp(operators, by, asked), { changed }, point)
    t.same(typesOf(await world.eventsOf(id)), [...UNCERTAIN, 'TaskFailed'], point)
    t.same(await moneyOf(world, id), freed, point)
  }
  const { platformId } = await tasks.createTask(createInput())
  await world.settle()
  const asked = input(platformId, 'note_poll')
  await t.rejects(dying('note.before-poll').poll(operators, by, asked), { message: 'killed' })
  t.match(await actions.poll(operators, by, asked), { changed: false, due: 'now' })
  t.equal((await notesOf(world)).length, 3, 'one note each')
})

t.test('a task is asked for at once where no worker has it, six times a minute', async (t) => {
  const { world, tasks, pass, replica } = await startScene(t)
  const { platformId: id } = await tasks.createTask(createInput())
  await world.settle()
  const actions = actionsOf(world, replica())
  const dueAtMs = async (): Promise<number> => {
    const { rows } = await world.pool.query<{ due_at_ms: string }>(
      'select due_at_ms from tasks.polls where platform_id = $1',
      [id],
    )
    return Number(rows[0]?.due_at_ms)
  }
  const later = Date.now() + HOUR_MS
  const set = (owner: string | null) =>
    world.pool.query(
      'update tasks.polls set due_at_ms = $2, lease_owner = $3 where platform_id = $1',
      [id, later, owner],
    )
  await set(null)
  t.match(await actions.poll(operators, by, input(id)), { due: 'now', changed: true })
  t.ok((await dueAtMs()) < later)
  await set('a worker')
  t.match(await actions.poll(operators, by, input(id, 'note_2')), { due: 'leased' })
  t.equal(await dueAtMs(), later, 'a lease stays')
  for (const n of [3, 4, 5, 6]) await actions.poll(operators, by, input(id, `note_${n}`))
  const seventh = () => actions.poll(operators, by, input(id, 'note_7'))
  await t.rejects(seventh(), { code: 'rate_limited', message: /ask again in \d+ s/ })
  await t.rejects(actionsOf(world, replica()).poll(operators, by, input(id, 'note_7')), {
    code: 'rate_limited',
  })
  pass(60_000)
  t.match(await seventh(), { changed: true })
})

t.test('a tenant acts on its own lives alone, and gives nothing up', async (t) => {
  const { world, lost, replica } = await startScene(t)
  const id = await lost()
  const actions = actionsOf(world, replica())
  const own: AdminScope = { kind: 'tenant', tenantId: TENANT }
  const other: AdminScope = { kind: 'tenant', tenantId: 'tenant_2' }
  await t.rejects(actions.giveUp(own, by, input(id)), { code: 'scope_denied' })
  const missing = await actions
    .note(other, by, input('video_none'))
    .catch((error: unknown) => error)
  for (const act of ['note', 'poll'] as const) {
    t.same(await actions[act](other, by, input(id)).catch((error: unknown) => error), missing)
    t.match(await actions[act](own, by, input(id, `note_${act}`)), { changed: true })
  }
  t.match(await notesOf(world), [{ audience: 'tenant' }, { audience: 'tenant', action: 'poll' }])
})
