import { Client } from 'pg'
import t from 'tap'
import { exitCodes } from '../../src/cli/exit-codes.ts'
import { TASKS } from './driver/tasks/video-a.ts'
import { openScene } from './scene.ts'
import { atLength } from '../helpers/long-run.ts'

t.setTimeout(1_200_000)

/** Both ways together are less than the step that ends a process. */
const STEP_MS = 420_000
const HOUR_MS = 3_600_000

t.test('neither a stepped clock nor a late history delays billing', async (t) => {
  const scene = await openScene(t, { settableClock: true })
  const { machine } = scene.trial
  const created = async (...switches: readonly string[]): Promise<string> => {
    const answer = await scene.create(...switches)
    t.equal(answer.status, 200)
    return String(answer.body['id'])
  }
  const listed = async (): Promise<readonly unknown[]> => {
    const answer = await scene.call('list', 'GET', `${TASKS}?page_size=50`, {})
    if (answer === undefined) throw new Error('no answer')
    t.equal(answer.status, 200)
    return (answer.body['items'] as readonly { readonly id: string }[]).map(({ id }) => id)
  }
  async function query(text: string): Promise<readonly Record<string, unknown>[]> {
    const { databaseUrl } = await machine.runtime()
    const client = new Client({ connectionString: databaseUrl })
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(text)).rows
    } finally {
      await client.end()
    }
  }
  const ledgerLines = async (): Promise<number> =>
    Number((await query('select count(*) as n from ledger.lines'))[0]?.['n'])

  await scene.reaches(await scene.recovered(), 'succeeded')
  /** Never ends: nothing that is set may end it. */
  const running = await created('stall')
  await scene.reaches(running, 'running')

  const steps = [
    ['seven minutes back', -STEP_MS],
    ['fourteen minutes forward', STEP_MS],
    ['seven minutes back again', 0],
  ] as const
  for (const [what, aheadMs] of steps.slice(0, atLength(1, 3)))
    await t.test(`the wall clock goes ${what}`, async (t) => {
      const under = await created('running-ms=1500')
      await machine.setClock(aheadMs)
      const after = await created()
      for (const id of [under, after]) await scene.reaches(id, 'succeeded')
      const found = await listed()
      for (const id of [running, under, after]) t.ok(found.includes(id), `${id} is listed`)
      t.equal((await scene.get(running)).body['status'], 'running')
    })

  await t.test('a process started after the clock went back takes up open tasks', async (t) => {
    await machine.stop()
    await machine.setClock(HOUR_MS)
    await machine.start()
    const before = await ledgerLines()
    const under = await created('running-ms=3000')
    await machine.stop()
    await machine.setClock(0)
    await machine.start()
    // Only what a policy sees: nobody asks for it.
    for (let tries = 0; tries < 150 && (await ledgerLines()) === before; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 200))
    t.ok((await ledgerLines()) > before, 'it is settled')
    await scene.reaches(under, 'succeeded')
    t.equal((await scene.get(running)).body['status'], 'running')
  })

  await t.test('the timeline is an hour behind', async (t) => {
    const { databaseUrl } = await machine.runtime()
    const holder = new Client({ connectionString: databaseUrl })
    await holder.connect()
    await holder.query(
      `begin;
       update engine.checkpoints set recorded_at = recorded_at - interval '1 hour'
       where name = 'timeline';
       commit; begin; lock table timeline.events in access exclusive mode`,
    )
    const before = await ledgerLines()
    const made = [await created(), await created(), await created('running-ms=1000')]
    for (const id of made) await scene.reaches(id, 'succeeded')
    const found = await listed()
    for (const id of made) t.ok(found.includes(id), `${id} is listed`)
    t.equal(await ledgerLines(), before + made.length, 'all are settled')
    await holder.query('rollback')
    await holder.end()
  })
  await t.test(
    'a process whose machine slept for an hour ends, and the next one goes on',
    async (t) => {
      const under = await created('running-ms=3000')
      const { ended } = machine
      await machine.setClock(HOUR_MS)
      t.equal(await ended, `exited with status ${exitCodes.startAgain}`)
      t.match(machine.tail(), /clock is .* ahead of this process: .*; start it again/)
      await machine.start()
      await scene.reaches(under, 'succeeded')
      await machine.stop()
      await machine.setClock(0)
      await machine.start()
    },
  )
  await scene.judge({ clocksDiffer: true })
})
