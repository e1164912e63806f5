import t from 'tap'
import type { AnyEvent } from '../../../../src/domain/any-event.ts'
import { createReconcileRound } from '../../../../src/app/tasks/watch/reconcile.ts'
import { createObserve } from '../../../../src/app/tasks/observe.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'
import { eventually } from '../../../helpers/eventually.ts'
import {
  codeOf,
  createInput,
  channelsWaiting,
  startWorld,
  taskKey,
  uncertain,
  uncertainOf,
  unmarkedInput,
  type World,
} from '../../support/world.ts'

/** Policies look for an uncertain submission once it is a few seconds old. */
const ahead = { nowMs: () => Date.now() + 6_000 }

function typesOf(events: readonly AnyEvent[]): readonly string[] {
  return events.map((event) => event.type).filter((type) => type !== 'TaskStatusChanged')
}

t.test('a creation whose answer is lost is found by its marker and settled once', async (t) => {
  const world = await startWorld(t)
  const first = world.replica()
  world.replica({ policies: true, clock: ahead })
  world.replica({ policies: true, clock: ahead })
  const ids = await Promise.all(
    ['drop-after-accept', 'http-after-accept=502', 'malformed', 'truncated', 'garbage'].map(
      (fault) => uncertain(first.tasks.createTask, { prompt: `x [[sandbox ${fault}]]` }),
    ),
  )
  for (const id of ids) {
    await eventually(`the end of ${id}`, async () =>
      (await first.tasks.getTask(taskKey(id))).status === 'succeeded' ? true : undefined,
    )
    t.same(typesOf(await world.eventsOf(id)), [
      'TaskRequested',
      'TaskSubmissionUncertain',
      'TaskSubmitted',
      'TaskSucceeded',
      'TaskSettled',
    ])
  }
  t.equal(world.sandbox.accepted().length, ids.length, 'nothing was sent twice')
})

t.test(
  'a submission that upstream neither shows nor rules out is open until its expiry, then reported',
  async (t) => {
    const world = await startWorld(t)
    const hour = 3_600_000
    let aheadMs = 0
    // It goes on: what a round puts off across a jump must come due.
    const clock = { nowMs: () => Date.now() + aheadMs }
    const channels = channelsWaiting(world, 300)
    const { tasks, deps } = world.replica({ channels, clock, policies: true })
    const id = await uncertain(tasks.createTask, { prompt: 'x [[sandbox hang]]' })
    aheadMs += hour
    await eventually('a search', async () => {
      const { values } = await deps.metrics.reconciled.get()
      return values.some(({ labels }) => labels.outcome === 'absent') ? true : undefined
    })
    t.same(typesOf(await world.eventsOf(id)), ['TaskRequested', 'TaskSubmissionUncertain'])
    t.equal(await codeOf(tasks.deleteTask(taskKey(id))), 'task_running')
    aheadMs += 49 * hour
    const expired = await eventually('the expiry', async () =>
      (await world.eventsOf(id)).find((event) => event.type === 'TaskExpired'),
    )
    t.match(expired, { data: { reason: 'deadline', possibleCostLeak: true } })
    t.equal((await deps.metrics.possibleCostLeaks.get()).values[0]?.value, 1)
  },
)

t.test("with the caller's own identifier only an unambiguous match is adopted", async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const { tasks } = world.replica()
  const alone = await uncertain(tasks.createTask, {
    prompt: 'x [[sandbox drop-after-accept]]',
    safetyIdentifier: 'user-alone',
  })
  const twins = await Promise.all(
    [1, 2].map(() =>
      uncertain(tasks.createTask, {
        prompt: 'x [[sandbox drop-after-accept]]',
        safetyIdentifier: 'user-twin',
      }),
    ),
  )
  const known = await tasks.createTask(createInput({ safetyIdentifier: 'user-known' }))
  const neverSent = await uncertain(
    world.replica({ channels: channelsWaiting(world, 300) }).tasks.createTask,
    {
      prompt: 'x [[sandbox hang]]',
      safetyIdentifier: 'user-known',
    },
  )
  // One that ends early was made; the other, made like it, was not and waits longer.
  const early = await uncertain(tasks.createTask, {
    prompt: 'x [[sandbox drop-after-accept]]',
    safetyIdentifier: 'user-early',
    body: { execution_expires_after: 3_600 },
  })
  const late = await uncertain(
    world.replica({ channels: channelsWaiting(world, 300) }).tasks.createTask,
    { prompt: 'x [[sandbox hang]]', safetyIdentifier: 'user-early' },
  )
  let aheadMs = 6_000
  const clock = { nowMs: () => Date.now() + aheadMs }
  const { deps } = world.replica({ policies: true, clock })
  const adopted = await eventually('the adoption', async () =>
    (await world.eventsOf(alone)).find((event) => event.type === 'TaskSubmitted'),
  )
  const mine = world.sandbox.accepted({ safety_identifier: 'user-alone' })
  t.match(adopted, { data: { nativeId: mine[0]?.id, via: 'reconciliation' } })
  await eventually('rounds over the others', async () => {
    const { rows } = await world.pool.query<{ least: number }>(
      `select min(attempts) as least from tasks.polls where kind = 'reconcile'`,
    )
    return (rows[0]?.least ?? 0) >= 2 ? true : undefined
  })
  for (const id of [...twins, neverSent])
    t.same(typesOf(await world.eventsOf(id)), ['TaskRequested', 'TaskSubmissionUncertain'])
  t.equal((await tasks.getTask(taskKey(known.nativeId))).platformId, known.platformId)
  aheadMs += 3 * 3_600_000
  await eventually('the early expiry', async () =>
    (await world.eventsOf(early)).find((event) => event.type === 'TaskExpired'),
  )
  const looks = async (): Promise<number> => {
    const { values } = await deps.metrics.reconciled.get()
    return values.reduce((sum, { value }) => sum + value, 0)
  }
  const before = await looks()
  aheadMs += 3_600_000
  await eventually('looks at the others', async () => (await looks()) > before + 2)
  t.same(typesOf(await world.eventsOf(late)), ['TaskRequested', 'TaskSubmissionUncertain'])
})

t.test('the key of a creation whose process died names its task within 15 s', async (t) => {
  const world = await startWorld(t)
  const dying = world.replica({
    crashPoint: (name) => {
      if (name === 'create.after-provider') throw new Error('killed')
    },
  })
  const input = createInput({ idempotencyKey: 'left', prompt: 'x [[client=left]]' })
  await t.rejects(dying.tasks.createTask(input), /killed/)
  await dying.stop()
  await world.settle()
  const { rows } = await world.pool.query<{ platform_id: string; due: string }>(
    'select platform_id, due_at_ms::text as due from tasks.polls',
  )
  const [requested] = await world.eventsOf(rows[0]?.platform_id ?? '')
  if (requested?.type !== 'TaskRequested') throw new Error('a task begins with its request')
  const afterMs = Number(rows[0]?.due) - Date.parse(requested.data.requestedAt)
  // The rest is for the round that is resting then, and for the list of upstream.
  t.ok(afterMs > 0 && afterMs <= 8_000, `looked for after ${afterMs} ms`)
  const clock = { nowMs: () => Date.now() + afterMs }
  const { tasks } = world.replica({ policies: true, scale: 1, clock })
  const again = await eventually('its task', () =>
    tasks.createTask(input).catch((error: unknown) => {
      if (isDomainError(error, 'idempotency_in_progress')) return undefined
      throw error
    }),
  )
  t.match(again, { replayed: true })
  t.equal(world.sandbox.accepted({ client_marker: 'left' }).length, 1)
})

t.test('a process that dies right after the provider accepted loses no task', async (t) => {
  const world = await startWorld(t)
  const dying = world.replica({
    crashPoint: (name) => {
      if (name === 'create.after-provider') throw new Error('killed')
    },
  })
  await t.rejects(dying.tasks.createTask(createInput()), /killed/)
  await dying.stop()
  const [accepted] = world.sandbox.accepted()
  // The next process looks for requests without an outcome once they are 8 s old.
  const clock = { nowMs: () => Date.now() + 9_000 }
  const { tasks } = world.replica({ policies: true, clock })
  const view = await eventually('the end', async () => {
    const seen = await tasks.getTask(taskKey(accepted?.id ?? '')).catch(() => undefined)
    return seen?.status === 'succeeded' ? seen : undefined
  })
  t.same(typesOf(await world.eventsOf(view.platformId)), [
    'TaskRequested',
    'TaskSubmitted',
    'TaskSucceeded',
    'TaskSettled',
  ])
})

t.test('a lost creation is found once, through every channel of the account', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const channels = world.channels.flatMap((channel) => [
    channel,
    { ...channel, id: `${channel.id}-beside` },
  ])
  const { tasks } = world.replica({ channels })
  const ids = await Promise.all(
    [{}, { safetyIdentifier: 'user-alone' }].map((wish) =>
      uncertain(tasks.createTask, { prompt: 'x [[sandbox drop-after-accept]]', ...wish }),
    ),
  )
  world.replica({ channels, policies: true, clock: ahead })
  for (const id of ids)
    t.match(
      await eventually('the adoption', async () =>
        (await world.eventsOf(id)).find((event) => event.type === 'TaskSubmitted'),
      ),
      { data: { via: 'reconciliation' } },
    )
})

t.test('a task whose own request is being recorded is not adopted by another', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const safetyIdentifier = 'user-1'
  const lost = await uncertain(
    world.replica({ channels: channelsWaiting(world, 300) }).tasks.createTask,
    { prompt: 'x [[sandbox hang]]', safetyIdentifier },
  )
  // A second request is accepted, and its process is slow to write that down.
  let goOn: () => void = () => undefined
  const slow = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const log = {
    ...world.log,
    append: async (...given: Parameters<typeof world.log.append>) => {
      if (given[1].some(({ type }) => type === 'TaskSubmitted')) await slow
      return world.log.append(...given)
    },
  }
  const slowly = world.replica({ log }).tasks.createTask(createInput({ safetyIdentifier }))
  await eventually('the acceptance', () => (world.sandbox.accepted().length > 0 ? true : undefined))
  await world.settle()

  // It is written down just after the reconciler looked which listed tasks are known.
  const { deps } = world.replica({ clock: ahead })
  const pool = new Proxy(deps.pool, {
    get(target, name) {
      if (name !== 'query') return Reflect.get(target, name, target) as unknown
      return async (query: { readonly name?: string }, ...rest: unknown[]) => {
        const answer = (await Reflect.apply(target.query.bind(target), undefined, [
          query,
          ...rest,
        ])) as unknown
        if (query.name !== 'tasks.submissions.known') return answer
        goOn()
        await slowly
        await world.settle()
        return answer
      }
    },
  })
  const round = createReconcileRound({ ...deps, pool }, createObserve(deps), {
    owner: 'reconciler',
    scale: 1,
  })
  await round(new AbortController().signal)
  const { platformId } = await slowly
  t.same(typesOf(await world.eventsOf(lost)), ['TaskRequested', 'TaskSubmissionUncertain'])
  t.same(typesOf(await world.eventsOf(platformId)), ['TaskRequested', 'TaskSubmitted'])
})

t.test(
  'a lost creation that upstream has finished is settled by the round that finds it',
  async (t) => {
    const world = await startWorld(t)
    const { tasks } = world.replica()
    const id = await uncertain(tasks.createTask, { prompt: 'x [[sandbox drop-after-accept]]' })
    await world.settle()
    await eventually('its end upstream', () =>
      Promise.resolve(world.sandbox.accepted()[0]?.status === 'succeeded' ? true : undefined),
    )
    const { deps } = world.replica({ clock: ahead })
    const round = createReconcileRound(deps, createObserve(deps), { owner: 'reconciler', scale: 1 })
    await round(new AbortController().signal)
    t.same(typesOf(await world.eventsOf(id)).slice(-2), ['TaskSucceeded', 'TaskSettled'])
  },
)

t.test('an unreadable request delays no other and is tried again soon', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const { tasks } = world.replica()
  const [damaged, sound] = await Promise.all(
    [1, 2].map(() => uncertain(tasks.createTask, { prompt: 'x [[sandbox drop-after-accept]]' })),
  )
  await world.settle()
  const log = {
    ...world.log,
    readStream: async (...given: Parameters<typeof world.log.readStream>) => {
      if (given[0] === `task-${damaged}`) throw new Error('a damaged stream')
      return world.log.readStream(...given)
    },
  }
  const { deps } = world.replica({ log, clock: ahead })
  const settings = { owner: 'reconciler', scale: 1 }
  await createReconcileRound(deps, createObserve(deps), settings)(new AbortController().signal)
  t.same(typesOf(await world.eventsOf(sound!)).at(-1), 'TaskSubmitted')
  t.ok((await waitOf(world, damaged!)) < 20_000)
})

t.test('a round that fails as a whole puts its tasks back soon', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const { tasks } = world.replica()
  const id = await uncertain(tasks.createTask, { prompt: 'x [[sandbox drop-after-accept]]' })
  await world.settle()
  const log = { ...world.log, endPosition: () => Promise.reject(new Error('the log is away')) }
  const { deps } = world.replica({ log, clock: ahead })
  const round = createReconcileRound(deps, createObserve(deps), { owner: 'reconciler', scale: 1 })
  await t.rejects(round(new AbortController().signal), /the log is away/)
  t.ok((await waitOf(world, id)) < 20_000)
})

/** How long from now until a task is looked for again. */
async function waitOf(world: World, platformId: string): Promise<number> {
  const { rows } = await world.pool.query<{ due_at_ms: string }>(
    'select due_at_ms from tasks.polls where platform_id = $1',
    [platformId],
  )
  return Number(rows[0]?.due_at_ms) - ahead.nowMs()
}

t.test(
  'where lists show no marker, only an unambiguous match in every member is adopted',
  async (t) => {
    const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
    await world.tenant('tenant_2', '100')
    await world.settle()
    const { tasks } = world.replica()
    const drop = 'x [[sandbox drop-after-accept]]'
    const alone = await uncertainOf(tasks.createTask, unmarkedInput(`${drop} [[client=alone]]`))
    const twins = await Promise.all(
      ['tenant_1', 'tenant_2'].map((tenantId) =>
        uncertainOf(tasks.createTask, unmarkedInput(drop, { tenantId, duration: 7 })),
      ),
    )
    await tasks.createTask(unmarkedInput('known', { tenantId: 'tenant_2', duration: 8 }))
    const hasty = world.replica({ channels: channelsWaiting(world, 300) })
    const neverSent = await uncertainOf(
      hasty.tasks.createTask,
      unmarkedInput('x [[sandbox hang]]', { duration: 8 }),
    )
    // A task of another family: this family's tasks must not decide which of its list are the
    // gateway's.
    const marked = await uncertain(tasks.createTask, { prompt: drop })
    let aheadMs = 6_000
    const clock = { nowMs: () => Date.now() + aheadMs }
    const { deps } = world.replica({ policies: true, clock })
    for (const id of [alone, marked])
      await eventually('the adoption', async () =>
        (await world.eventsOf(id)).find((event) => event.type === 'TaskSubmitted'),
      )
    const [made] = world.sandbox.accepted({ client_marker: 'alone' })
    t.match(
      (await world.eventsOf(alone)).find((event) => event.type === 'TaskSubmitted'),
      { data: { nativeId: made?.id, via: 'reconciliation' } },
    )
    await eventually('rounds over the others', async () => {
      const { rows } = await world.pool.query<{ least: number }>(
        `select min(attempts) as least from tasks.polls where kind = 'reconcile'`,
      )
      return (rows[0]?.least ?? 0) >= 2 ? true : undefined
    })
    for (const id of [...twins, neverSent])
      t.same(typesOf(await world.eventsOf(id)), ['TaskRequested', 'TaskSubmissionUncertain'])
    // Nothing can be proved of them, so they end with the family's shorter wait.
    aheadMs += 2 * 3_600_000
    for (const id of [...twins, neverSent])
      t.match(
        await eventually('the expiry', async () =>
          (await world.eventsOf(id)).find((event) => event.type === 'TaskExpired'),
        ),
        { data: { reason: 'deadline', possibleCostLeak: true } },
      )
    t.equal((await deps.metrics.possibleCostLeaks.get()).values[0]?.value, 3)
  },
)
