import type { Pool } from 'pg'
import t from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { readCheckpoint } from '../../../projections/engine/checkpoint.ts'
import { rebuildProjection, RebuildRunningError } from '../../../projections/engine/rebuild.ts'
import type { Projection } from '../../../projections/engine/types.ts'
import { ledgerProjection, ledgerSummedEvery } from '../../../projections/ledger/projection.ts'
import { chainHead } from '../../../projections/ledger/query.ts'
import { balances } from '../../helpers/ledger-balances.ts'
import { allProjections } from '../../../projections/registry.ts'
import { tasksProjection } from '../../../projections/tasks/projection.ts'
import { reschedule } from '../../../src/app/queue/tables.ts'
import { leaseDuePolls, taskWork } from '../../../src/app/tasks/watch/task-work.ts'
import { caughtUp, digestOf, occupyEntries, startEngine, testPool } from '../support/database.ts'
import {
  lives,
  openTenant,
  overlappingTasks,
  recordCall,
  Recorder,
  recordStep,
  mixedHistory,
} from '../support/history.ts'
import { ScriptedLog } from '../support/memory-log.ts'
import { summedEvery } from '../support/summed.ts'

t.test('a rebuild next to a live projection gives equal rows, hashes and balances', async (t) => {
  const pool = await testPool(t)
  const log = new ScriptedLog(mixedHistory(80))
  startEngine(t, {
    pool,
    log,
    // A rebuild has no line in the sums by time that were added to so often here.
    projections: summedEvery(11),
    limits: { maxEvents: 17, maxBytes: 1e6 },
  })
  await caughtUp(pool, log, allProjections)
  for (const projection of allProjections) {
    const before = await digestOf(pool, projection)
    const phases = new Set<string>()
    const result = await rebuildProjection({
      pool,
      log,
      projection,
      onProgress: ({ phase }) => phases.add(phase),
    })
    t.equal(result.outcome, 'swapped', projection.name)
    t.equal(result.comparison?.equal, true, `${projection.name} is what it was`)
    t.same(await digestOf(pool, projection), before)
    t.ok(['reading', 'comparing', 'swapping', 'done'].every((phase) => phases.has(phase)))
  }
})

t.test('a live projection continues across the swap', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const log = new ScriptedLog([...openTenant(recorder, 'tenant_1')])
  const engine = startEngine(t, { pool, log, projections: [tasksProjection, ledgerProjection] })
  await caughtUp(pool, log, [tasksProjection, ledgerProjection])
  const writing = new AbortController()
  const writer = (async () => {
    for (let n = 0; !writing.signal.aborted; n += 1) {
      for (const step of lives.settled) log.push(recordStep(recorder, { n }, step))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })()
  for (let round = 0; round < 3; round += 1)
    for (const projection of [tasksProjection, ledgerProjection])
      t.equal((await rebuildProjection({ pool, log, projection })).outcome, 'swapped')
  writing.abort()
  await writer
  await caughtUp(pool, log, [tasksProjection, ledgerProjection])
  t.ok(engine.status().leading)
  t.equal(log.subscriptions, 1, 'the engine never had to start again')
  t.equal(
    Number((await chainHead(pool)).seq),
    log.events.filter(({ type }) => type === 'TaskSettled').length,
  )
})

t.test('a difference is reported without a swap, unless forced', async (t) => {
  const pool = await testPool(t)
  const log = new ScriptedLog(mixedHistory(30))
  const engine = startEngine(t, { pool, log, projections: [ledgerProjection] })
  await caughtUp(pool, log, [ledgerProjection])
  await engine.stop()
  const honest = (await balances(pool, 'tenant_1'))[0]?.settled
  await pool.query(`update ledger.balances set settled = settled + 0.000000000001`)
  const refused = await rebuildProjection({ pool, log, projection: ledgerProjection })
  t.equal(refused.outcome, 'different')
  const live = refused.comparison?.live
  t.ok(typeof live === 'object' && live.hash !== refused.comparison?.rebuilt.hash)
  t.not((await balances(pool, 'tenant_1'))[0]?.settled, honest, 'the live tables are untouched')
  const forced = await rebuildProjection({ pool, log, projection: ledgerProjection, force: true })
  t.equal(forced.outcome, 'swapped')
  t.equal((await balances(pool, 'tenant_1'))[0]?.settled, honest)
})

t.test('a check compares without a swap; without live tables it is refused', async (t) => {
  const pool = await testPool(t)
  const log = new ScriptedLog(mixedHistory(30))
  const checked = { pool, log, projection: ledgerProjection, check: true }
  await t.rejects(rebuildProjection(checked), { code: 'nothing_to_compare' })
  const engine = startEngine(t, { pool, log, projections: [ledgerSummedEvery(1)] })
  await caughtUp(pool, log, [ledgerProjection])
  await engine.stop()
  const schemas = async () =>
    (await pool.query(`select oid, nspname from pg_namespace where nspname ~ '^ledger'`)).rows
  const before = await schemas()
  t.match(await rebuildProjection(checked), { outcome: 'equal', comparison: { equal: true } })
  t.same(await schemas(), before, 'the same tables, and no others')
  t.equal(await readCheckpoint(pool, 'ledger_next'), undefined)
  await pool.query(`update ledger.holds set amount = amount + 1`)
  await pool.query(`update ledger.summed_hours set lines = lines + 1`)
  const { outcome, comparison } = await rebuildProjection(checked)
  t.match(
    { outcome, tables: comparison?.tables },
    { outcome: 'different', tables: ['holds', 'summedHours'] },
  )
})

t.test('differences are reported by table, and lines and money by tenant and SKU', async (t) => {
  const pool = await testPool(t)
  const log = new ScriptedLog(mixedHistory(30))
  const engine = startEngine(t, { pool, log, projections: [ledgerSummedEvery(1)] })
  await caughtUp(pool, log, [ledgerProjection])
  await engine.stop()
  const projection = ledgerSummedEvery(1)
  const equal = await rebuildProjection({ pool, log, projection })
  t.match(equal.comparison, { equal: true, tables: [], differences: [], differencesInAll: 0 })
  const { rows } = await pool
    .query<{ lines: string; amount: string }>(
      `delete from ledger.lines where source_id = 'call_0' and sku = 'gpt-x-input-token';
     update ledger.lines set amount = amount + 2 where tenant_id = 'tenant_0';
     select count(*) as lines, trim_scale(sum(amount))::text as amount
     from ledger.lines where tenant_id = 'tenant_0'`,
    )
    .then((results) => [results].flat().at(-1) ?? { rows: [] })
  const [tampered] = rows
  const { outcome, comparison } = await rebuildProjection({
    pool,
    log,
    projection: ledgerProjection,
  })
  t.equal(outcome, 'different')
  t.same(comparison?.tables, ['lines'])
  t.equal(comparison?.differencesInAll, 2)
  const [raised, gone] = [...(comparison?.differences ?? [])].sort((a, b) =>
    a.tenantId < b.tenantId ? -1 : 1,
  )
  t.same(gone, {
    tenantId: 'tenant_1',
    sku: 'gpt-x-input-token',
    currency: 'USD',
    live: { lines: '0', amount: '0' },
    rebuilt: { lines: '1', amount: '0.00043' },
  })
  t.match(raised, { tenantId: 'tenant_0', currency: 'CNY', live: tampered })
  t.equal(raised?.rebuilt.lines, tampered?.lines)
  t.equal(Number(raised?.live.amount) - Number(raised?.rebuilt.amount), 2 * Number(tampered?.lines))
})

t.test('leases and poll times are not compared', async (t) => {
  const pool = await testPool(t)
  const log = new ScriptedLog(mixedHistory(40))
  const engine = startEngine(t, { pool, log, projections: [tasksProjection] })
  await caughtUp(pool, log, [tasksProjection])
  await engine.stop()
  const nowMs = Date.now()
  const due = await leaseDuePolls(pool, { owner: 'a', nowMs, leaseMs: 1_000, limit: 5 })
  await reschedule(pool, taskWork, 'a', [{ id: due[0]!.platformId, dueAtMs: nowMs + 5_000 }])
  t.equal((await rebuildProjection({ pool, log, projection: tasksProjection })).outcome, 'swapped')
})

t.test('dropped tables are rebuilt byte for byte', async (t) => {
  const pool = await testPool(t)
  const log = new ScriptedLog(mixedHistory(60))
  const first = startEngine(t, { pool, log, projections: allProjections })
  await caughtUp(pool, log, allProjections)
  await first.stop()
  const before = await Promise.all(allProjections.map((projection) => digestOf(pool, projection)))
  for (const { name } of allProjections) await pool.query(`drop schema "${name}" cascade`)
  startEngine(t, {
    pool,
    log,
    projections: allProjections,
    limits: { maxEvents: 9, maxBytes: 1e6 },
  })
  await eventually('the schemas are back', async () => {
    const { rowCount } = await pool.query(
      'select from pg_namespace where nspname in (select name from engine.checkpoints)',
    )
    return rowCount === allProjections.length
  })
  await caughtUp(pool, log, allProjections)
  t.same(await Promise.all(allProjections.map((projection) => digestOf(pool, projection))), before)
})

t.test('a projection of an older version is rebuilt at start while others go on', async (t) => {
  const pool = await testPool(t)
  const log = new ScriptedLog(mixedHistory(30))
  const first = startEngine(t, { pool, log, projections: [tasksProjection, ledgerProjection] })
  await caughtUp(pool, log, [tasksProjection, ledgerProjection])
  await first.stop()
  const next: Projection = {
    ...ledgerProjection,
    version: ledgerProjection.version + 1,
    tablesSql: `${ledgerProjection.tablesSql}; create table of_next_version (a int);`,
  }
  const second = startEngine(t, { pool, log, projections: [tasksProjection, next] })
  await eventually(
    'the new version is live',
    async () =>
      (await readCheckpoint(pool, 'ledger'))?.version === next.version &&
      second.status().projections.every(({ state }) => state === 'following'),
  )
  t.equal((await pool.query('select from ledger.of_next_version')).rowCount, 0)
  await second.stop()
  const older = startEngine(t, { pool, log, projections: [tasksProjection, ledgerProjection] })
  await eventually('older code leaves it alone', () =>
    older.status().projections.some(({ name, state }) => name === 'ledger' && state === 'stopped'),
  )
})

t.test(
  'the old version serves until the new one replaces it, and older code does not write',
  async (t) => {
    const pool = await testPool(t)
    const recorder = new Recorder()
    const log = new ScriptedLog([
      ...openTenant(recorder, 'tenant_1'),
      ...overlappingTasks(recorder, { tasks: 20, width: 2 }),
    ])
    const older = startEngine(t, { pool, log, projections: [ledgerProjection] })
    await caughtUp(pool, log, [ledgerProjection])
    const lines = async () =>
      Number((await pool.query<{ n: string }>('select count(*) as n from ledger.lines')).rows[0]?.n)
    t.equal(await lines(), 20)
    const next: Projection = {
      ...ledgerProjection,
      version: ledgerProjection.version + 1,
      tablesSql: `${ledgerProjection.tablesSql}; create table of_next_version (a int);`,
    }
    const seen = new Set<number>()
    const done = new AbortController()
    const readers = (async () => {
      while (!done.signal.aborted) seen.add(await lines())
    })()
    const result = await rebuildProjection({ pool, log, projection: next })
    done.abort()
    await readers
    t.equal(result.outcome, 'swapped')
    t.same([...seen], [20], 'readers never saw part of it')

    // The older engine stands exactly where the new tables do, and would go on in them.
    const before = await readCheckpoint(pool, 'ledger')
    log.push(recordCall(recorder, 9))
    await eventually('older code has noticed', () =>
      older.status().projections.some(({ state }) => state === 'stopped'),
    )
    t.same(await readCheckpoint(pool, 'ledger'), before)
    t.equal(await lines(), 20)
    await older.stop()
    startEngine(t, { pool, log, projections: [next] })
    await caughtUp(pool, log, [next])
    t.equal(await lines(), 22)
  },
)

t.test('a newer program builds next to an older leader, then leads', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const log = new ScriptedLog([
    ...openTenant(recorder, 'tenant_1'),
    ...overlappingTasks(recorder, { tasks: 10, width: 2 }),
  ])
  const projections = [tasksProjection, ledgerProjection]
  const older = startEngine(t, { pool, log, projections })
  await caughtUp(pool, log, projections)
  const next: Projection = {
    ...ledgerProjection,
    version: ledgerProjection.version + 1,
    tablesSql: `${ledgerProjection.tablesSql}; create table of_next_version (a int);`,
    // While it is being built, what comes is still in the old tables for whoever reads.
    apply: async (client, batch) => {
      if (!shown) {
        log.push(recordCall(recorder, 1))
        await caughtUp(pool, log, projections)
        shown = true
      }
      await ledgerProjection.apply(client, batch)
    },
  }
  let shown = false
  const newer = startEngine(t, { pool, log, projections: [tasksProjection, next] })
  await eventually(
    'the new version is live',
    async () => (await readCheckpoint(pool, 'ledger'))?.version === next.version,
  )
  t.ok(shown)
  t.ok(!newer.status().leading, 'it was built without leading')
  log.push(recordCall(recorder, 2))
  await caughtUp(pool, log, [tasksProjection, next])
  t.ok(newer.status().leading && !older.status().leading, 'the older one has given way')
  t.same(
    newer.status().projections.map(({ state }) => state),
    ['following', 'following'],
  )
  t.equal((await chainHead(pool)).seq, 14n)
})

t.test('at most one rebuild of a projection runs at a time', async (t) => {
  const pool = await testPool(t)
  const log = new ScriptedLog(mixedHistory(200))
  const both = await Promise.allSettled(
    [1, 2].map(() => rebuildProjection({ pool, log, projection: ledgerProjection })),
  )
  t.equal(both.filter(({ status }) => status === 'fulfilled').length, 1)
  const failed = both.find((result) => result.status === 'rejected')
  t.ok(failed?.reason instanceof RebuildRunningError)
})

t.test('a projection stopped by damaged tables continues after a rebuild', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const log = new ScriptedLog([
    ...openTenant(recorder, 'tenant_1'),
    ...overlappingTasks(recorder, { tasks: 5, width: 2 }),
  ])
  const engine = startEngine(t, { pool, log, projections: [ledgerProjection] })
  await caughtUp(pool, log, [ledgerProjection])
  const call = recordCall(recorder, 9)
  await occupyEntries(pool, call)
  log.push(call)
  await eventually('it stops', () => engine.status().projections[0]?.state === 'stopped')
  const result = await rebuildProjection({ pool, log, projection: ledgerProjection, force: true })
  t.equal(result.comparison?.equal, false)
  await eventually('it goes on', () => engine.status().projections[0]?.state === 'following')
  await caughtUp(pool, log, [ledgerProjection])
  t.equal((await chainHead(pool)).seq, 7n)
})

t.test('a slow reader delays neither the swap nor other readers', async (t) => {
  const pool = await testPool(t)
  const log = new ScriptedLog(mixedHistory(20))
  const engine = startEngine(t, { pool, log, projections: [ledgerProjection] })
  await caughtUp(pool, log, [ledgerProjection])
  await engine.stop()
  const reader = await pool.connect()
  await reader.query('begin')
  const before = await reader.query('select * from ledger.lines order by seq')
  const phases: string[] = []
  const rebuilding = rebuildProjection({
    pool,
    log,
    projection: ledgerProjection,
    onProgress: ({ phase }) => phases.push(phase),
  })
  await eventually('the swap is made', async () => {
    const { rowCount } = await pool.query(`select from pg_namespace where nspname = 'ledger_old'`)
    return rowCount === 1
  })
  t.equal((await chainHead(pool)).seq, BigInt(before.rowCount ?? 0), 'others read the new tables')
  await reader.query('commit')
  reader.release()
  t.equal((await rebuilding).outcome, 'swapped')
  t.equal((await pool.query(`select from pg_namespace where nspname = 'ledger_old'`)).rowCount, 0)
  t.ok(phases.includes('swapping'))
})

/** Which table it is; a rebuild makes another one. */
async function tableOf(pool: Pool): Promise<unknown> {
  return (await pool.query(`select 'ledger.lines'::regclass::oid as oid`)).rows
}

t.test('a newer program changes the tables of an older leader in their place', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const log = new ScriptedLog([
    ...openTenant(recorder, 'tenant_1'),
    ...overlappingTasks(recorder, { tasks: 10, width: 2 }),
  ])
  const older = startEngine(t, { pool, log, projections: [ledgerProjection] })
  await caughtUp(pool, log, [ledgerProjection])
  const table = await tableOf(pool)
  const { version } = ledgerProjection
  const upgraded = async (next: Projection): Promise<void> => {
    startEngine(t, { pool, log, projections: [next] })
    await eventually(
      'the new version is live',
      async () => (await readCheckpoint(pool, 'ledger'))?.version === next.version,
    )
    log.push(recordCall(recorder, next.version))
    await caughtUp(pool, log, [next])
  }
  const next = {
    ...ledgerProjection,
    version: version + 1,
    upgrades: { [version]: 'create table of_next_version (a int)' },
  }
  await upgraded(next)
  t.equal((await pool.query('select from ledger.of_next_version')).rowCount, 0)
  t.same(await tableOf(pool), table, 'no table was built again')
  await eventually('older code writes no more', () =>
    older.status().projections.every(({ state }) => state === 'stopped'),
  )
  const checked = { pool, log, projection: next, check: true }
  t.equal((await rebuildProjection(checked)).outcome, 'equal')

  await upgraded({ ...next, version: version + 2, upgrades: { [version + 1]: 'select 1 / 0' } })
  t.strictNotSame(await tableOf(pool), table, 'what cannot be changed is built again')
})

/** The tables as version 6 of the ledger left them: without views, all lines in the sums. */
const version6Sql = `
  drop view ledger.days, ledger.hours, ledger.quarters;
  alter table ledger.summed_days rename to days;
  alter table ledger.summed_hours rename to hours;
  alter table ledger.summed_quarters rename to quarters;
  alter index ledger.summed_days_pkey rename to days_pkey;
  alter index ledger.summed_hours_pkey rename to hours_pkey;
  alter index ledger.summed_quarters_pkey rename to quarters_pkey;
  alter table ledger.chain drop column summed, drop column unsummed_from;
  grant select on ledger.hours to public;
  update engine.checkpoints set version = 6 where name = 'ledger'`

t.test('the ledger of version 6 is taken over as it stands', async (t) => {
  const pool = await testPool(t)
  const events = mixedHistory(80)
  const [first, rest] = [events.slice(0, events.length / 2), events.slice(events.length / 2)]
  const log = new ScriptedLog(first)
  const before = startEngine(t, { pool, log, projections: [ledgerSummedEvery(1)] })
  await caughtUp(pool, log, [ledgerProjection])
  await before.stop()
  await pool.query(version6Sql)
  const table = await tableOf(pool)

  const projections = [ledgerSummedEvery(15)]
  log.push(...rest)
  startEngine(t, { pool, log, projections })
  await caughtUp(pool, log, projections)
  t.same(await tableOf(pool), table, 'no table was built again')
  t.equal((await readCheckpoint(pool, 'ledger'))?.version, ledgerProjection.version)
  const checked = { pool, log, projection: ledgerProjection, check: true }
  t.equal((await rebuildProjection(checked)).outcome, 'equal')
  const { rows } = await pool.query<{ name: string }>(
    `select relname as name from pg_class, aclexplode(relacl) r
     where relnamespace = 'ledger'::regnamespace and r.grantee = 0 order by 1`,
  )
  t.same(rows, [{ name: 'hours' }, { name: 'summed_hours' }], 'its rights are those of the view')
})
