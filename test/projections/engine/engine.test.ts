import type { Pool, QueryConfig } from 'pg'
import t, { type Test } from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { readCheckpoint } from '../../../projections/engine/checkpoint.ts'
import { waitForPosition } from '../../../projections/engine/wait.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { Projection } from '../../../projections/engine/types.ts'
import { hasLeader } from '../../../projections/engine/leadership.ts'
import { migrateEngine } from '../../../projections/engine/migrate.ts'
import { readStatus } from '../../../projections/engine/status.ts'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import { chainHead, listLines, trialBalance } from '../../../projections/ledger/query.ts'
import { balances } from '../../helpers/ledger-balances.ts'
import { allProjections } from '../../../projections/registry.ts'
import { findTask, listTasks } from '../../../projections/tasks/query.ts'
import { tasksProjection } from '../../../projections/tasks/projection.ts'
import { historyOf } from '../../../projections/timeline/query.ts'
import { placeOf } from '../../../src/eventlog/log/position.ts'
import { parseAmount } from '../../../src/kernel/money.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { pause } from '../../../src/kernel/pause.ts'
import { caughtUp, digestOf, occupyEntries, startEngine, testPool } from '../support/database.ts'
import {
  nativeId,
  openTenant,
  overlappingTasks,
  platformId,
  recordCall,
  Recorder,
  recordStep,
} from '../support/history.ts'
import { ScriptedLog } from '../support/memory-log.ts'
import { summedEvery } from '../support/summed.ts'

function history(tasks: number) {
  const recorder = new Recorder()
  return {
    recorder,
    events: [
      ...openTenant(recorder, 'tenant_1'),
      ...overlappingTasks(recorder, { tasks, width: 20 }),
      recordCall(recorder, 1),
    ],
  }
}

t.test('every read model follows the log and its later events', async (t) => {
  const pool = await testPool(t)
  const { recorder, events } = history(50)
  const log = new ScriptedLog(events)
  t.notOk(await hasLeader(pool))
  const engine = startEngine(t, { pool, log, projections: allProjections })
  await caughtUp(pool, log, allProjections)
  t.ok(await hasLeader(pool), 'which any process can see')
  t.equal(
    (
      await listTasks(pool, {
        tenantId: 'tenant_1',
        family: 'video-a',
        pageNumber: 1,
        pageSize: 10,
      })
    ).total,
    50,
  )

  const first = recordStep(recorder, { n: 50 }, 'requested')
  log.push(first, recordStep(recorder, { n: 50 }, 'submitted'))
  const end = log.events.at(-1)!.position
  for (const name of ['tasks', 'timeline'])
    t.equal(await waitForPosition(pool, name, end, 60_000), true)
  const task = await findTask(pool, {
    tenantId: 'tenant_1',
    families: ['video-a'],
    id: nativeId(50),
  })
  t.equal(task?.platformId, platformId(50))
  t.equal((await historyOf(pool, platformId(50), {}, { limit: 10 })).items.length, 2)
  const [cny] = await balances(pool, 'tenant_1')
  t.equal(cny?.held, '10.5')
  const sums = new Map<string, bigint>()
  for (const { currency, amount } of await trialBalance(pool))
    sums.set(currency, (sums.get(currency) ?? 0n) + parseAmount(amount))
  t.same(
    [...sums],
    [
      ['CNY', 0n],
      ['USD', 0n],
    ],
    'double entry sums to zero',
  )
  t.ok(engine.status().leading)
  await eventually('nothing is behind', () =>
    engine
      .status()
      .projections.every(({ lagEvents, lagSeconds }) => lagEvents === 0 && lagSeconds === 0),
  )
  t.equal(await waitForPosition(pool, 'tasks', end + 1n, 50), false)
})

t.test(
  'two engines at once: one leads, each event is applied once, the second takes over',
  async (t) => {
    const pool = await testPool(t, 30)
    const { recorder, events } = history(200)
    const log = new ScriptedLog(events)
    const engines = [1, 2].map(() =>
      startEngine(t, {
        pool,
        log,
        projections: allProjections,
        limits: { maxEvents: 50, maxBytes: 1e6 },
      }),
    )
    await caughtUp(pool, log, allProjections)
    t.equal(engines.filter((engine) => engine.status().leading).length, 1)
    t.equal((await chainHead(pool)).seq, 202n)

    const leader = engines.find((engine) => engine.status().leading)!
    const other = engines.find((engine) => engine !== leader)!
    await leader.stop()
    log.push(recordStep(recorder, { n: 999 }, 'requested'))
    await caughtUp(pool, log, allProjections)
    await eventually('the other leads', () => other.status().leading)
  },
)

t.test('tables exist before an engine runs, also where several create them at once', async (t) => {
  const pool = await testPool(t, 30)
  await Promise.all([1, 2, 3, 4].map(() => migrateEngine(pool, allProjections)))
  const page = { tenantId: 'nobody', family: 'video-a', pageNumber: 1, pageSize: 10 }
  t.same(await listTasks(pool, page), { rows: [], total: 0 })
  t.same(await listLines(pool, {}, { limit: 1 }), { items: [], next: undefined })
  const log = new ScriptedLog(history(3).events)
  startEngine(t, { pool, log, projections: allProjections })
  await caughtUp(pool, log, allProjections)
  t.equal((await listTasks(pool, { ...page, tenantId: 'tenant_1' })).total, 3)
})

t.test('a leader that lost its connections steps back, and applies no event twice', async (t) => {
  const pool = await testPool(t, 30)
  const { recorder, events } = history(300)
  const log = new ScriptedLog(events)
  const engine = startEngine(t, {
    pool,
    log,
    projections: summedEvery(40),
    limits: { maxEvents: 25, maxBytes: 1e6 },
  })
  const watcher = await testKiller(t, pool)
  for (let round = 0; round < 5; round += 1) {
    await eventually('some progress', async () => {
      const checkpoint = await readCheckpoint(pool, 'ledger').catch(() => undefined)
      return (checkpoint?.events ?? 0n) > BigInt(round * 200)
    })
    await watcher()
  }
  log.push(recordStep(recorder, { n: 900 }, 'requested'))
  await caughtUp(pool, log, allProjections)
  await eventually('it leads again', () => engine.status().leading)
  const checkpoints = await readStatus(
    pool,
    allProjections,
    log.events.at(-1)?.position,
    Date.now(),
  )
  t.ok(checkpoints.every(({ lagEvents, state }) => lagEvents === 0 && state === 'following'))

  const clean = await testPool(t)
  startEngine(t, { pool: clean, log, projections: allProjections })
  await caughtUp(clean, log, allProjections)
  for (const projection of allProjections)
    t.same(await digestOf(pool, projection), await digestOf(clean, projection), projection.name)
})

async function testKiller(t: Test, pool: Pool): Promise<() => Promise<void>> {
  const own = await pool.connect()
  const { rows } = await own.query<{ pid: number }>('select pg_backend_pid() as pid')
  t.teardown(() => own.release())
  return async () => {
    await own.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> $1 and backend_type = 'client backend'`,
      [rows[0]!.pid],
    )
  }
}

t.test('after an outage of the log the engine continues from its checkpoints', async (t) => {
  const pool = await testPool(t)
  const log = new ScriptedLog(history(100).events)
  log.breakAfter = 120
  const engine = startEngine(t, { pool, log, projections: allProjections })
  await caughtUp(pool, log, allProjections)
  t.ok(log.subscriptions > 2, 'it subscribed again')
  await eventually('the error is past', () => engine.status().lastError === undefined)
  t.equal((await chainHead(pool)).seq, 102n)
})

t.test('a poison event stops only its own projection, at that event', async (t) => {
  const pool = await testPool(t)
  const { recorder, events } = history(20)
  const log = new ScriptedLog(events)
  const errors: object[] = []
  const engine = startEngine(t, {
    pool,
    log,
    projections: allProjections,
    logger: { ...silentLog, error: (fields) => errors.push(fields) },
  })
  await caughtUp(pool, log, allProjections)
  const poison = recordCall(recorder, 99)
  await occupyEntries(pool, poison)
  for (const event of [poison, recordStep(recorder, { n: 77 }, 'requested')]) log.push(event)
  await caughtUp(
    pool,
    log,
    allProjections.filter(({ name }) => name !== 'ledger'),
  )
  await eventually('the ledger stops', () =>
    engine.status().projections.some(({ state }) => state === 'stopped'),
  )
  await eventually('it is said', () => errors.length > 0)
  const ledger = engine.status().projections.find(({ name }) => name === 'ledger')!
  t.equal(ledger.state, 'stopped')
  t.match(ledger.stopped, {
    eventId: poison.id,
    type: 'CallSettled',
    position: poison.position.toString(),
  })
  t.equal(ledger.position, events.at(-1)?.position, 'everything before it is applied')
  t.equal(ledger.lagEvents, 2)
  t.ok(ledger.lagSeconds > 0)
  t.equal(errors.length, 1)
  const status = await readStatus(pool, allProjections, log.events.at(-1)?.position, Date.now())
  t.match(
    status.find(({ name }) => name === 'ledger'),
    { state: 'stopped', lagEvents: 2 },
    'other processes see it too',
  )
  t.equal((await listLines(pool, {}, { limit: 100 })).items.length, 22)
})

t.test('events of other namespaces move the checkpoints, now and then', async (t) => {
  const pool = await testPool(t)
  const log = new ScriptedLog()
  startEngine(t, { pool, log, projections: [ledgerProjection] })
  let position = 5_000_000n
  await eventually('the checkpoint passes them', async () => {
    log.pass(placeOf((position += 1n)))
    return waitForPosition(pool, 'ledger', 5_000_000n, 0)
  })
  const moved = (await readCheckpoint(pool, 'ledger'))?.position
  log.pass(placeOf((position += 1n)))
  t.equal(await waitForPosition(pool, 'ledger', position, 300), false, 'the next one can wait')
  t.ok(moved !== undefined && moved < position)
})

t.test('an event exactly at a checkpoint’s position is applied', async (t) => {
  const pool = await testPool(t)
  const { events } = history(3)
  const [last] = events.slice(-1)
  if (last === undefined) return t.fail('a history has events')
  const log = new ScriptedLog(events.slice(0, -1))
  const options = { pool, log, projections: [ledgerProjection] }
  const first = startEngine(t, options)
  await eventually('the place is stored', async () => {
    log.pass({ commit: last.position, prepare: 0n })
    const found = await readCheckpoint(pool, 'ledger')
    return found?.at.commit === last.position && found.at.prepare === 0n
  })
  t.equal(await waitForPosition(pool, 'ledger', last.position, 0), false, 'it is not past it')
  await first.stop()
  startEngine(t, options)
  log.push(last)
  t.equal(await waitForPosition(pool, 'ledger', last.position, 60_000), true)
  const stored = await readCheckpoint(pool, 'ledger')
  t.same(stored?.at, placeOf(last.position))
  t.equal(stored?.events, BigInt(events.length), 'every event was considered, none twice')
})

t.test('a log older than the read models stops them all, with the reason', async (t) => {
  const pool = await testPool(t)
  const { recorder, events } = history(3)
  const newer = new ScriptedLog(events)
  const first = startEngine(t, { pool, log: newer, projections: allProjections })
  await caughtUp(pool, newer, allProjections)
  await first.stop()

  // Restored from a backup, and written to since: what is new stands where read models have been.
  const older = new ScriptedLog(events.slice(0, 4))
  const errors: object[] = []
  const logger = { ...silentLog, error: (fields: object) => errors.push(fields) }
  const second = startEngine(t, { pool, log: older, projections: allProjections, logger })
  await eventually('all stand still', () => {
    const { projections } = second.status()
    return (
      projections.length === allProjections.length &&
      projections.every(({ stopped }) => stopped?.kind === 'log_older')
    )
  })
  t.match(second.status().projections[0]?.stopped?.reason, /Restore the newer log.*--force/)
  t.equal(errors.length, allProjections.length)
  t.equal(older.subscriptions, 0, 'nothing is followed')
  const seen = await readStatus(pool, allProjections, undefined, Date.now())
  t.ok(
    seen.every(({ stopped }) => stopped?.kind === 'log_older'),
    'other processes see it too',
  )
  await second.stop()

  startEngine(t, { pool, log: newer, projections: allProjections })
  newer.push(recordCall(recorder, 2))
  await eventually('the newer log is followed again', async () => {
    const status = await readStatus(pool, allProjections, undefined, Date.now())
    return status.every(({ stopped }) => stopped === undefined)
  })
})

t.test('waits for positions share one query at a time', async (t) => {
  const pool = await testPool(t)
  const { recorder, events } = history(10)
  const log = new ScriptedLog(events)
  startEngine(t, { pool, log, projections: allProjections })
  await caughtUp(pool, log, allProjections)
  let looks = 0
  let underWay = 0
  const counted: Queryable = {
    query: async (asked: QueryConfig | string) => {
      looks += 1
      underWay += 1
      t.equal(underWay, 1, 'one at a time')
      try {
        return await pool.query(asked as QueryConfig)
      } finally {
        underWay -= 1
      }
    },
  }
  const next = recordStep(recorder, { n: 900 }, 'requested')
  const waiting = Array.from({ length: 500 }, (_, n) =>
    waitForPosition(counted, n % 2 === 0 ? 'tasks' : 'ledger', next.position, 60_000),
  )
  const impatient = waitForPosition(counted, 'tasks', next.position, 50)
  t.equal(await impatient, false)
  t.equal(await waitForPosition(counted, 'no-such-projection', -1n, 0), false)
  log.push(next)
  t.same(new Set(await Promise.all(waiting)), new Set([true]))
  // Each of them looking for itself would have asked at least twice.
  t.ok(looks < waiting.length, `${looks} looks for 502 waiters`)
  t.equal(await waitForPosition(counted, 'tasks', next.position, 0), true)

  const broken: Queryable = { query: () => Promise.reject(new Error('the database is away')) }
  await t.rejects(waitForPosition(broken, 'tasks', 1n, 1_000), /away/)
  await t.rejects(waitForPosition(broken, 'tasks', 1n, 1_000), /away/, 'and is asked again')
})

t.test('consecutive events share a batch, unless a reader waits', async (t) => {
  const pool = await testPool(t)
  const { recorder, events } = history(10)
  const log = new ScriptedLog(events)
  let batches = 0
  const counted: Projection = {
    ...tasksProjection,
    apply: (client, batch) => {
      batches += 1
      return tasksProjection.apply(client, batch)
    },
  }
  startEngine(t, { pool, log, projections: [counted], applyIntervalMs: 3_600_000 })
  const isApplied = (): Promise<boolean> =>
    waitForPosition(pool, 'tasks', log.events.at(-1)!.position, 20_000)
  t.equal(await isApplied(), true)
  for (let n = 900; n < 903; n += 1) {
    log.push(recordStep(recorder, { n }, 'requested'))
    t.equal(await isApplied(), true, 'a reader does not wait for the interval')
  }
  const before = batches
  for (let n = 903; n < 953; n += 1) {
    log.push(recordStep(recorder, { n }, 'requested'))
    await pause(2)
  }
  t.equal(await isApplied(), true)
  t.ok(batches - before < 10, `${batches - before} batches for 50 events`)
})

t.test('a reader whose notification is lost sees the event after the interval', async (t) => {
  const pool = await testPool(t)
  const { recorder, events } = history(10)
  const log = new ScriptedLog(events)
  const projections = [tasksProjection]
  startEngine(t, { pool, log, projections, applyIntervalMs: 100 })
  let lost = 0
  const deaf: Queryable = {
    query: async (asked: QueryConfig | string) => {
      if (typeof asked === 'string' && asked.includes('pg_notify')) {
        lost += 1
        throw new Error('the notification is lost')
      }
      return pool.query(asked as QueryConfig)
    },
  }
  await caughtUp(pool, log, projections)
  for (let n = 900; n < 920; n += 1) {
    const event = recordStep(recorder, { n }, 'requested')
    log.push(event)
    t.equal(await waitForPosition(deaf, 'tasks', event.position, 20_000), true)
  }
  t.ok(lost > 0, 'the leader was asked')
})

t.test('a full batch is applied at once', async (t) => {
  const pool = await testPool(t)
  const { recorder, events } = history(10)
  const log = new ScriptedLog(events)
  const projections = [tasksProjection]
  const limits = { maxEvents: 4, maxBytes: 1e6 }
  startEngine(t, { pool, log, projections, limits, applyIntervalMs: 3_600_000 })
  // Their number leaves less than a batch, which waits.
  const full = log.events[Math.floor(log.events.length / 4) * 4 - 1]!
  const reached = async (position: bigint): Promise<boolean> =>
    ((await readCheckpoint(pool, 'tasks').catch(() => undefined))?.position ?? -1n) >= position
  await eventually('the full batches are applied', () => reached(full.position))
  for (let n = 900; n < 904; n += 1) log.push(recordStep(recorder, { n }, 'requested'))
  await eventually('one more is full', () => reached(log.events.at(-4)!.position))
})

t.test('all read models share one subscription once they have caught up', async (t) => {
  const pool = await testPool(t)
  const { recorder, events } = history(10)
  const log = new ScriptedLog(events)
  startEngine(t, { pool, log, projections: allProjections })
  await caughtUp(pool, log, allProjections)
  await eventually('one subscription is left', () => log.reading === 1)
  const { subscriptions } = log
  for (let n = 900; n < 910; n += 1) log.push(recordStep(recorder, { n }, 'requested'))
  await caughtUp(pool, log, allProjections)
  const { rows } = await pool.query(
    `select count(*)::int as events, count(distinct position)::int as positions from timeline.events`,
  )
  t.same(rows, [{ events: log.events.length, positions: log.events.length }])
  t.equal(log.subscriptions, subscriptions)
})

t.test('a stalled timeline never delays the ledger, and catches up', async (t) => {
  const pool = await testPool(t)
  const { recorder, events } = history(10)
  const log = new ScriptedLog(events)
  // Of more than twice as many events the timeline gets a subscription of its own.
  const limits = { maxEvents: 2, maxBytes: 1e6 }
  const engine = startEngine(t, { pool, log, projections: allProjections, limits })
  await caughtUp(pool, log, allProjections)
  await eventually('one subscription is left', () => log.reading === 1)
  const { subscriptions } = log
  const holder = await pool.connect()
  await holder.query('begin; lock table timeline.events in access exclusive mode')
  const others = allProjections.filter(({ name }) => name !== 'timeline')
  for (let n = 900; n < 905; n += 1) {
    log.push(recordStep(recorder, { n }, 'requested'))
    await caughtUp(pool, log, others)
  }
  const end = log.events.at(-1)!.position
  t.equal(await waitForPosition(pool, 'timeline', end, 0), false)
  t.equal(engine.status().caughtUp, false)
  await holder.query('rollback')
  holder.release()
  await caughtUp(pool, log, allProjections)
  await eventually('it shares the subscription again', () => log.reading === 1)
  t.equal(log.subscriptions, subscriptions + 1)
  t.equal((await historyOf(pool, platformId(904), {}, { limit: 10 })).items.length, 1)
})
