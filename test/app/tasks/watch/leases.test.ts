import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { nodeArguments } from '../../../helpers/checkout.ts'
import { createPresence } from '../../../../src/app/queue/presence.ts'
import { freeLeases } from '../../../../src/app/queue/tables.ts'
import { taskWork } from '../../../../src/app/tasks/watch/task-work.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { createInput, startWorld, type World } from '../../support/world.ts'
import type { WorkerOrder } from './support/worker-child.ts'

const CHILD = new URL('support/worker-child.ts', import.meta.url)
/** Far below the leases of 60 and 120 s, far above the silence after which a worker is dead. */
const SOON_MS = 40_000

/** A worker in a separate process; it dies with the test at the latest. */
function startWorker(t: Test, world: World, owner: string) {
  const child = spawn(process.execPath, nodeArguments(CHILD), {
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  const exited = once(child, 'exit')
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exited
  }
  t.teardown(kill)
  const order: WorkerOrder = {
    owner,
    eventStoreUrl: world.store.url,
    namespace: world.namespace,
    databaseUrl: String(world.pool.options.connectionString),
    channels: world.channels,
  }
  child.stdin.end(JSON.stringify(order))
  return { kill, pause: () => child.kill('SIGSTOP'), resume: () => child.kill('SIGCONT') }
}

async function leasedBy(world: World, owner: string): Promise<number> {
  const { rows } = await world.pool.query<{ n: number }>(
    'select count(*)::int as n from tasks.polls where lease_owner = $1',
    [owner],
  )
  return rows[0]?.n ?? 0
}

async function knows(world: World, owner: string): Promise<true | undefined> {
  const { rowCount } = await world.pool.query('select 1 from ops.workers where owner = $1', [owner])
  return rowCount === 1 ? true : undefined
}

/** The settlements of these tasks, or undefined until all have one. */
async function settledOnce(world: World, ids: readonly string[]): Promise<true | undefined> {
  const { rows } = await world.pool.query<{ n: number; sources: number }>(
    `select count(*)::int as n, count(distinct source_id)::int as sources
     from ledger.settlements where source_id = any($1)`,
    [ids],
  )
  return rows[0]?.n === ids.length && rows[0].sources === ids.length ? true : undefined
}

t.test('tasks leased by a killed worker are polled by the next within seconds', async (t) => {
  const world = await startWorld(t)
  const fault = world.sandbox.faults.add({ faults: ['hang'], match: { op: ['get', 'list'] } })
  const { tasks } = world.replica()
  const worker = startWorker(t, world, 'process_killed')
  const made = await Promise.all([1, 2, 3].map(() => tasks.createTask(createInput())))
  const ids = made.map(({ platformId }) => platformId)
  await eventually('leases of all three', async () =>
    (await leasedBy(world, 'process_killed')) === 3 ? true : undefined,
  )
  await worker.kill()
  world.sandbox.faults.clear(fault.id)
  world.replica({ policies: true })
  await eventually('the settlements', () => settledOnce(world, ids), SOON_MS)
  await eventually('that it is forgotten', async () =>
    (await knows(world, 'process_killed')) ? undefined : true,
  )
})

t.test('a worker that stops in order releases all its leases', async (t) => {
  const world = await startWorld(t)
  world.sandbox.faults.add({ faults: ['hang'], match: { op: ['get', 'list'] } })
  const worker = world.replica({ policies: true })
  await worker.tasks.createTask(createInput())
  await eventually('the lease', async () =>
    (await leasedBy(world, 'replica-0')) === 1 ? true : undefined,
  )
  await worker.stop()
  t.equal(await leasedBy(world, 'replica-0'), 0)
  t.equal(await knows(world, 'replica-0'), undefined)
  const { rows } = await world.pool.query<{ due: boolean }>(
    'select due_at_ms <= $1 as due from tasks.polls',
    [Date.now()],
  )
  t.same(rows, [{ due: true }])
})

t.test('a worker taken for dead that resumes causes no second event and works again', async (t) => {
  const world = await startWorld(t)
  const slow = { faults: ['first-byte-ms=2000'], match: { op: ['get', 'list'] } }
  const fault = world.sandbox.faults.add(slow)
  const { tasks } = world.replica()
  const paused = startWorker(t, world, 'process_paused')
  const { platformId } = await tasks.createTask(createInput())
  await eventually('the lease', async () =>
    (await leasedBy(world, 'process_paused')) === 1 ? true : undefined,
  )
  paused.pause()
  world.sandbox.faults.clear(fault.id)
  const other = world.replica({ policies: true })
  await eventually('the settlement', () => settledOnce(world, [platformId]), SOON_MS)
  await other.stop()
  t.equal(await knows(world, 'process_paused'), undefined)

  paused.resume()
  await eventually('that it is back', () => knows(world, 'process_paused'))
  const next = await tasks.createTask(createInput())
  await eventually('its next settlement', () => settledOnce(world, [next.platformId]))
  await world.settle()
  for (const id of [platformId, next.platformId]) {
    const types = (await world.eventsOf(id)).map((event) => event.type)
    t.equal(types.filter((type) => type === 'TaskSettled').length, 1)
  }
})

t.test('only the leases of the given owners are released', async (t) => {
  const world = await startWorld(t)
  const { tasks } = world.replica()
  await Promise.all([1, 2, 3].map(() => tasks.createTask(createInput())))
  await world.settle()
  await world.pool.query(
    `with numbered as (select platform_id, row_number() over () as n from tasks.polls)
     update tasks.polls p set due_at_ms = 9000, lease_owner = (array['a', 'b', null])[n]
     from numbered where numbered.platform_id = p.platform_id`,
  )
  t.same(await freeLeases(world.pool, taskWork, ['a', 'nobody'], 7_000), {
    released: 1,
    heldBy: [],
  })
  const { rows } = await world.pool.query<{ due_at_ms: string; lease_owner: string | null }>(
    'select due_at_ms, lease_owner from tasks.polls order by due_at_ms, lease_owner',
  )
  t.same(rows, [
    { due_at_ms: '7000', lease_owner: null },
    { due_at_ms: '9000', lease_owner: 'b' },
    { due_at_ms: '9000', lease_owner: null },
  ])
})

t.test('a lease that was locked when its owner left is released all the same', async (t) => {
  const world = await startWorld(t)
  const { tasks, deps } = world.replica()
  await tasks.createTask(createInput())
  await world.settle()
  await world.pool.query(`update tasks.polls set due_at_ms = 9000, lease_owner = 'leaving'`)
  const hold = async (): Promise<() => Promise<void>> => {
    const client = await world.pool.connect()
    await client.query('begin')
    await client.query('select 1 from tasks.polls for update')
    return async () => {
      await client.query('commit')
      client.release()
    }
  }
  const polls = async () => {
    const { rows } = await world.pool.query<{ lease_owner: string | null }>(
      'select lease_owner from tasks.polls',
    )
    return rows
  }
  const leaving = createPresence(deps, 'leaving', [taskWork])
  await leaving.round()
  let letGo = await hold()
  const left = leaving.leave()
  await eventually('it waits', async () => {
    const { rows } = await world.pool.query(
      `select 1 from pg_stat_activity where datname = current_database() and query like '%released%'`,
    )
    return rows.length > 0
  })
  t.same(await polls(), [{ lease_owner: 'leaving' }])
  await letGo()
  await left
  t.same(await polls(), [{ lease_owner: null }])

  await world.pool.query(`update tasks.polls set due_at_ms = 9000, lease_owner = 'dead'`)
  await world.pool.query(`insert into ops.workers values ('dead', now())`)
  let elapsedMs = 0
  const others = createPresence({ ...deps, monotonic: { nowMs: () => elapsedMs } }, 'living', [
    taskWork,
  ])
  const round = (): Promise<'idle'> => {
    elapsedMs += 6_000
    return others.round()
  }
  await round()
  letGo = await hold()
  await round()
  t.ok(await knows(world, 'dead'), 'what it has is not freed')
  await letGo()
  await round()
  t.same(await polls(), [{ lease_owner: null }])
  t.notOk(await knows(world, 'dead'))
  await others.leave()
})
