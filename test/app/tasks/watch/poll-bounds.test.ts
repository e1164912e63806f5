import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { eventually } from '../../../helpers/eventually.ts'
import { createInput, startWorld, taskKey } from '../../support/world.ts'

/** More listeners than those at which Node warns of a leak by default. */
const HANGING = 15
/** More tasks than one channel is asked for at once. */
const CROWD = 1_500

t.test('a channel that hangs does not delay another channel', async (t) => {
  const world = await startWorld(t)
  let givenUp = 0
  const silent = createServer((_request, response) => response.on('close', () => (givenUp += 1)))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as AddressInfo
  const { tasks } = world.replica()
  const [hanging] = await Promise.all(
    Array.from({ length: HANGING }, () =>
      tasks.createTask(createInput({ model: 'overseas-video-2-0' })),
    ),
  )
  const channels = world.channels.map((channel) =>
    channel.region === 'overseas'
      ? { ...channel, baseUrl: `http://127.0.0.1:${port}/api/v3`, timeoutMs: 60_000 }
      : channel,
  )
  const polling = world.replica({ channels })
  t.teardown(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const warnings: Error[] = []
  const warn = (warning: Error): void => void warnings.push(warning)
  process.on('warning', warn)
  polling.startPolicies()
  await eventually('the first query of the silent channel', async () => {
    const { rows } = await world.pool.query(
      'select 1 from tasks.polls where platform_id = $1 and attempts > 0',
      [hanging?.platformId],
    )
    return rows.length > 0 ? true : undefined
  })
  const { platformId } = await tasks.createTask(createInput())
  await eventually('the settlement on the other channel', async () =>
    (await world.eventsOf(platformId)).find((event) => event.type === 'TaskSettled'),
  )
  t.equal(givenUp, 0, 'before the silent one timed out')
  process.off('warning', warn)
  t.same(warnings, [], 'so many queries under way are no leak')
})

t.test('tasks beyond a channel’s concurrency are neither leased nor changed', async (t) => {
  const world = await startWorld(t)
  const { tasks } = world.replica()
  const { platformId } = await tasks.createTask(createInput())
  await world.settle()
  world.sandbox.faults.add({ faults: ['hang'], match: { op: ['get', 'list'] } })
  await world.pool.query(
    `insert into tasks.polls
     select (jsonb_populate_record(p, jsonb_build_object(
       'platform_id', p.platform_id || n, 'native_id', p.native_id || n, 'due_at_ms', n))).*
     from tasks.polls p, generate_series(1, $2) n where platform_id = $1`,
    [platformId, CROWD],
  )
  world.replica({ policies: true })
  const waiting = async (): Promise<number> => {
    const { rows } = await world.pool.query<{ n: number }>(
      'select count(*)::int as n from tasks.polls where attempts = 0 and due_at_ms <= $1',
      [CROWD],
    )
    return rows[0]?.n ?? 0
  }
  const left = await eventually('that no place is left', async () => {
    const before = await waiting()
    await world.pool.query('select pg_sleep(1)')
    return before < CROWD && (await waiting()) === before ? before : undefined
  })
  t.ok(left > 0 && left <= CROWD - 400, `${left} of ${CROWD} wait, as they were written`)
  await world.pool.query('select pg_sleep(2)')
  t.equal(await waiting(), left)
})

t.test('queries stay within the bound, including those of callers', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const { tasks } = world.replica({ policies: true, scale: 0.01, perSecond: 10 })
  const made = await Promise.all(Array.from({ length: 8 }, () => tasks.createTask(createInput())))
  await new Promise((resolve) => setTimeout(resolve, 1_200))
  const before = queries(world)
  const fromMs = performance.now()
  while (performance.now() < fromMs + 2_000)
    await Promise.all(made.map(({ platformId }) => tasks.getTask(taskKey(platformId))))
  const count = queries(world) - before
  const seconds = (performance.now() - fromMs) / 1_000
  t.ok(count > 0 && count <= seconds * 10 + 6, `${count} queries in ${seconds} s`)
})

function queries(world: Awaited<ReturnType<typeof startWorld>>): number {
  const { routes } = world.sandbox.requests()
  return (routes['video-a.get']?.count ?? 0) + (routes['video-a.list']?.count ?? 0)
}
