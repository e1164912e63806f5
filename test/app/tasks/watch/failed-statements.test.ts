import type { Pool } from 'pg'
import t from 'tap'
import type { EventLog } from '../../../../src/eventlog/log/types.ts'
import { createObserve } from '../../../../src/app/tasks/observe.ts'
import { createPoller } from '../../../../src/app/tasks/watch/poll.ts'
import { createTaskLeases, createTaskLook } from '../../../../src/app/tasks/watch/task-work.ts'
import { createReconcileRound } from '../../../../src/app/tasks/watch/reconcile.ts'
import { monotonicClock } from '../../../../src/kernel/clock.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { imageInput, startImageScene } from '../images/support/scene.ts'
import { recordingStatements } from '../../support/recorded-statements.ts'
import { createInput, startWorld, uncertain, type World } from '../../support/world.ts'

/** Far below every lease of a task: of 150 s for a poll, of 600 s for the others. */
const SOON_MS = 60_000

/** Refuses statements as Postgres does where it is out of space; returns what ends that. */
async function refuse(pool: Pool, which: string, first = ''): Promise<() => Promise<unknown>> {
  // One transaction: no worker comes between.
  await pool.query(`${first}
    create function public.refuse() returns trigger language plpgsql as
      $$ begin raise exception 'refused'; end $$;
    create trigger refused before update on tasks.polls ${which} execute function public.refuse();`)
  return () => pool.query('drop trigger refused on tasks.polls; drop function public.refuse();')
}

/** Statements that set when a task is due next, and free its lease. */
const givingBack = `for each row when (old.lease_owner is not null and new.lease_owner is null)`

/** A pool that loses the answer of the first statement that matches. */
function losing(pool: Pool, text: RegExp): Pool {
  let isLost = false
  return new Proxy(pool, {
    get(target, name) {
      if (name !== 'query') return Reflect.get(target, name, target) as unknown
      return async (query: { readonly text?: string }, ...rest: unknown[]) => {
        const answer: unknown = await Reflect.apply(target.query.bind(target), undefined, [
          query,
          ...rest,
        ])
        if (isLost || !text.test(query.text ?? '')) return answer
        isLost = true
        throw new Error('the answer is lost')
      }
    },
  })
}

const LEASING = /set due_at_ms = \$2::bigint \+ \$3::bigint/

const looksAt = ({ sandbox }: World): number => {
  const { routes } = sandbox.requests()
  return (routes['video-a.get']?.count ?? 0) + (routes['video-a.list']?.count ?? 0)
}

t.test('a round whose lease fails still polls the tasks that it held', async (t) => {
  const world = await startWorld(t)
  const { tasks, deps } = world.replica({ policies: true })
  await tasks.createTask(createInput({ prompt: 'x [[sandbox running-ms=3600000]]' }))
  await eventually('it is held', () => looksAt(world) >= 5)
  const failures = async (): Promise<number> => {
    const { values } = await deps.metrics.policyFailures.get()
    return values.find(({ labels }) => labels.policy === 'poll')?.value ?? 0
  }
  const other = await tasks.createTask(createInput({ prompt: 'y [[sandbox running-ms=3600000]]' }))
  await eventually('it is polled too', async () => {
    const { rowCount } = await world.pool.query(
      "select 1 from tasks.polls where platform_id = $1 and kind = 'poll'",
      [other.platformId],
    )
    return rowCount === 1
  })
  const makeDue = `update tasks.polls set lease_owner = null, due_at_ms = 0
                   where platform_id = '${other.platformId}';`
  const end = await refuse(world.pool, 'for each statement', makeDue)
  await eventually('rounds fail', async () => (await failures()) >= 2)
  await end()
  const before = looksAt(world)
  await eventually('it is asked for again', () => looksAt(world) > before, SOON_MS)
  t.pass('long before its lease ends')
})

t.test('tasks whose lease was not answered are leased again soon', async (t) => {
  const world = await startWorld(t)
  const { tasks, deps } = world.replica()
  const prompt = 'x [[sandbox running-ms=3600000]]'
  await tasks.createTask(createInput({ prompt }))
  await eventually('it is due', async () => {
    const { rowCount } = await world.pool.query(
      `select 1 from tasks.polls where kind = 'poll' and due_at_ms <= $1`,
      [Date.now()],
    )
    return rowCount === 1
  })
  const shaky = { ...deps, pool: losing(deps.pool, LEASING) }
  const poller = createPoller(shaky, createObserve(deps), { owner: 'shaky', scale: 1 })
  const { signal } = new AbortController()
  await t.rejects(poller.round(signal), /the answer is lost/)
  await eventually(
    'it is asked for',
    async () => {
      await poller.round(signal)
      await poller.drain()
      return looksAt(world) > 0
    },
    SOON_MS,
  )
})

t.test('a search whose postponement failed is repeated soon', async (t) => {
  const world = await startWorld(t)
  const { tasks } = world.replica()
  await uncertain(tasks.createTask, { prompt: 'x [[sandbox drop-after-accept]]' })
  await world.settle()
  const clock = { nowMs: () => Date.now() + 60_000 }
  const log = { ...world.log, endPosition: () => Promise.reject(new Error('the log is away')) }
  const { deps } = world.replica({ log, clock })
  const settings = { owner: 'unlucky', scale: 1 }
  const round = createReconcileRound(deps, createObserve(deps), settings)
  const { signal } = new AbortController()
  const end = await refuse(world.pool, givingBack)
  await t.rejects(round(signal), /refused/)
  await end()
  await eventually(
    'it is leased again',
    async () => {
      const outcome = await round(signal).catch((error: unknown) => error)
      return outcome instanceof Error && outcome.message === 'the log is away'
    },
    SOON_MS,
  )
})

t.test('a picture that cannot be begun now is begun soon, whichever statement fails', async (t) => {
  const scene = await startImageScene(t)
  const { world } = scene
  const { images } = scene.replica()
  let isAway = true
  const awayFor = (log: EventLog): EventLog => ({
    ...log,
    readStream: (...given) =>
      isAway ? Promise.reject(new Error('the log is away')) : log.readStream(...given),
  })
  const [unread, undone] = [
    await images.create(imageInput({ prompt: 'x [[client=unread]]' })),
    await images.create(imageInput({ prompt: 'x [[client=undone]]' })),
  ]
  await world.settle()
  const attempts = async (): Promise<number> => {
    const { rows } = await world.pool.query<{ n: number }>(
      'select coalesce(min(attempts), 0)::int as n from tasks.polls',
    )
    return rows[0]?.n ?? 0
  }
  const { log } = world
  // Neither its stream can be read nor can it be put off.
  const end = await refuse(world.pool, givingBack)
  const worker = scene.replica({ policies: true, log: awayFor(log) })
  await eventually('both were tried', async () => (await attempts()) >= 1)
  await new Promise((resolve) => setTimeout(resolve, 500))
  await end()
  isAway = false
  for (const { platformId } of [unread, undone])
    await eventually(
      `${platformId} is made`,
      async () => (await scene.typesOf(platformId)).includes('TaskSettled'),
      SOON_MS,
    )
  await worker.stop()
  t.equal(scene.sent('unread') + scene.sent('undone'), 2)
})

t.test('idle lanes share one planned statement, and lease what becomes due', async (t) => {
  const world = await startWorld(t)
  const { pool, asked } = recordingStatements(world.pool)
  const deps = { pool, dueTasks: createTaskLook(pool, monotonicClock) }
  const lanes = (['poll', 'reconcile', 'watch', 'make', 'finish'] as const).map((lane) =>
    createTaskLeases(deps, { owner: 'one', lane, leaseMs: 60_000 }),
  )
  const take = () =>
    Promise.all(lanes.map((leases) => leases.take({ nowMs: Date.now(), limit: 10 })))
  t.same(await take(), [[], [], [], [], []])
  t.same(asked, ['tasks.polls.due'])
  const { tasks } = world.replica()
  await tasks.createTask(createInput({ prompt: 'x [[sandbox running-ms=3600000]]' }))
  const found = await eventually('it is leased', async () => {
    const counts = (await take()).map(({ length }) => length)
    return counts.some((count) => count > 0) && counts
  })
  t.same(found, [1, 0, 0, 0, 0], 'in its own lane only')
})
