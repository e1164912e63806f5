import t from 'tap'
import { tryLead } from '../../../../projections/engine/leadership.ts'
import { createPresence } from '../../../../src/app/queue/presence.ts'
import { createSweep } from '../../../../src/app/tasks/watch/sweep.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { recordingStatements } from '../../support/recorded-statements.ts'
import { createInput, startWorld } from '../../support/world.ts'

const HOUR_MS = 3_600_000

t.test('one process sweeps for all replicas, whatever their clocks', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 600_000 } })
  const { tasks } = world.replica()
  await tasks.createTask(createInput())
  await world.settle()

  await t.test('the first process leads, another one only after it', async (t) => {
    const [one, two] = [world.replica(), world.replica()]
    const [first, second] = [createSweep(one.deps), createSweep(two.deps)]
    t.teardown(() => Promise.all([first.stop(), second.stop()]))
    const shown = async (replica: typeof one) =>
      (await replica.deps.metrics.openTasks.get()).values.length
    await first.round()
    await second.round()
    t.equal(await shown(one), 9)
    t.equal(await shown(two), 0, 'the tasks that are open are counted once')
    await first.stop()
    await second.round()
    t.equal(await shown(two), 9)
    await first.round()
    t.equal(await shown(one), 0)
  })

  await t.test('a leader that is silent for too long loses the lead', async (t) => {
    const frozen = await tryLead(world.pool, 'a-test', { silentMs: 100 })
    t.equal(await tryLead(world.pool, 'a-test'), undefined)
    const next = await eventually('the lead', () => tryLead(world.pool, 'a-test'))
    t.equal(frozen?.lost.aborted, true)
    await frozen?.release()
    await next.release()
  })

  await t.test('a task due further ahead than any postponement is due now', async (t) => {
    const { deps } = world.replica()
    const sweep = createSweep(deps)
    t.teardown(() => sweep.stop())
    const dueIn = async (kind: string, ms: number): Promise<number> => {
      const nowMs = deps.clock.nowMs()
      await world.pool.query('update tasks.polls set kind = $1, due_at_ms = $2, lease_owner = $3', [
        kind,
        nowMs + ms,
        'somebody',
      ])
      await sweep.round()
      const { rows } = await world.pool.query<{ due: string }>(
        'select due_at_ms as due from tasks.polls',
      )
      return Math.max(0, Number(rows[0]?.due) - nowMs)
    }
    t.ok((await dueIn('poll', HOUR_MS)) < 10_000)
    t.equal(await dueIn('poll', 60_000), 60_000, 'a lease')
    t.ok((await dueIn('reconcile', HOUR_MS)) < 10_000)
    t.equal(await dueIn('watch', HOUR_MS), HOUR_MS)
    t.ok((await dueIn('watch', 2 * HOUR_MS)) < 10_000)
  })

  await t.test('silence of a worker is measured by the observer’s clock', async (t) => {
    let elapsedMs = 0
    const { deps } = world.replica({ monotonic: { nowMs: () => elapsedMs } })
    const presence = createPresence(deps, 'measuring', [])
    const say = (at: string) =>
      world.pool.query(
        `insert into ops.workers values ('other', now() + $1::interval)
         on conflict (owner) do update set seen_at = excluded.seen_at`,
        [at],
      )
    const knows = async () => {
      await presence.round()
      const { rows } = await world.pool.query(`select 1 from ops.workers where owner = 'other'`)
      return rows.length === 1
    }
    await say('-1 hour')
    t.equal(await knows(), true)
    elapsedMs += 4_000
    t.equal(await knows(), true)
    await say('1 hour')
    elapsedMs += 4_000
    t.equal(await knows(), true, 'it said something')
    elapsedMs += 5_000
    t.equal(await knows(), false, 'and then nothing')
    await presence.leave()
  })
})

t.test('a sweep without anything to tidy asks one planned statement', async (t) => {
  const world = await startWorld(t)
  const { pool, asked } = recordingStatements(world.pool)
  const sweep = createSweep({ ...world.replica().deps, pool })
  t.teardown(() => sweep.stop())
  await sweep.round()
  t.same(asked.splice(0), ['sweep-look'])
  const old = `clock_timestamp() - interval '8 days'`
  await world.pool.query(`
    insert into ops.task_urls (platform_id, urls, expires_at) values ('t', '{}', ${old});
    insert into ops.rate_use (holder, measure, per_minute, used, at)
      values ('t', 'requests', 1, 1, ${old});
    insert into ops.calls_under_way (holder, replica, calls, told_at) values ('t', 'r', 1, ${old});
    insert into ops.call_claims (claim_key, body_hash, call_id, lease_until, expires_at)
      values ('t', '', 'c', ${old}, ${old});
    insert into ops.text_spending (tenant_id, currency, replica, held, settled, turn, told_at)
      values ('t', 'USD', 'r', 0, 0, 1, ${old})`)
  const left = async (): Promise<string[]> => {
    const tables = ['task_urls', 'rate_use', 'calls_under_way', 'call_claims', 'text_spending']
    const counts = await Promise.all(
      tables.map((table) =>
        world.pool.query<{ n: string }>(`select count(*) as n from ops.${table}`),
      ),
    )
    return tables.filter((_, at) => counts[at]?.rows[0]?.n !== '0')
  }
  await sweep.round()
  t.same(await left(), [], 'what is there is tidied in the same round')
  asked.splice(0)
  await sweep.round()
  t.same(asked, ['sweep-look'])
})
