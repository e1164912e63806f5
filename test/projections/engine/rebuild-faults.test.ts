import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fc from 'fast-check'
import type { Pool } from 'pg'
import t from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { startProjections } from '../../../projections/engine/engine.ts'
import { rebuildProjection, RebuildRunningError } from '../../../projections/engine/rebuild.ts'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import { allProjections } from '../../../projections/registry.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { nodeArguments } from '../../helpers/checkout.ts'
import { caughtUp, digestOf, startEngine, testPool } from '../support/database.ts'
import { mixedHistory } from '../support/history.ts'
import { ScriptedLog } from '../support/memory-log.ts'

t.test('a rebuild killed at any time leaves the live tables and can be repeated', async (t) => {
  const pool = await testPool(t)
  const events = mixedHistory(400)
  const log = new ScriptedLog(events)
  const engine = startEngine(t, { pool, log, projections: [ledgerProjection] })
  await caughtUp(pool, log, [ledgerProjection])
  await engine.stop()
  const before = await digestOf(pool, ledgerProjection)
  for (const delayMs of [0, 90, 250, 600]) {
    await killedRebuild(pool, delayMs)
    t.same(await digestOf(pool, ledgerProjection), before)
  }
  await eventually('the lock of the killed one is free', async () => {
    try {
      return (
        (await rebuildProjection({ pool, log, projection: ledgerProjection })).outcome === 'swapped'
      )
    } catch (error) {
      if (error instanceof RebuildRunningError) return false
      throw error
    }
  })
  t.same(await digestOf(pool, ledgerProjection), before)
  t.equal(
    (await pool.query(`select from pg_namespace where nspname in ('ledger_next', 'ledger_old')`))
      .rowCount,
    0,
  )
})

/** Begins to rebuild the ledger in another process, and kills that after its first report. */
async function killedRebuild(pool: Pool, delayMs: number, ...more: readonly string[]) {
  const child = spawn(
    process.execPath,
    [
      ...nodeArguments(new URL('../support/rebuild-child.ts', import.meta.url)),
      pool.options.connectionString ?? '',
      ...more,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  await once(child.stdout, 'data')
  await new Promise((resolve) => setTimeout(resolve, delayMs))
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

t.test('a check killed at any time swaps no table, and the next check starts over', async (t) => {
  const pool = await testPool(t)
  const log = new ScriptedLog(mixedHistory(400))
  const engine = startEngine(t, { pool, log, projections: [ledgerProjection] })
  await caughtUp(pool, log, [ledgerProjection])
  await engine.stop()
  const liveSchema = async () =>
    (await pool.query(`select oid from pg_namespace where nspname = 'ledger'`)).rows
  const before = { digest: await digestOf(pool, ledgerProjection), schema: await liveSchema() }
  for (const delayMs of [0, 90, 250, 600]) {
    await killedRebuild(pool, delayMs, 'check')
    t.same({ digest: await digestOf(pool, ledgerProjection), schema: await liveSchema() }, before)
  }
  await eventually('the lock of the killed check is free', async () => {
    try {
      const checked = { pool, log, projection: ledgerProjection, check: true }
      return (await rebuildProjection(checked)).outcome === 'equal'
    } catch (error) {
      if (error instanceof RebuildRunningError) return false
      throw error
    }
  })
  t.same(await liveSchema(), before.schema)
  const { rowCount } = await pool.query(
    `select from pg_namespace where nspname in ('ledger_next', 'ledger_old')`,
  )
  t.equal(rowCount, 0, 'the tables of the killed checks are gone')
})

/** Forgets every read model and how far it was. */
async function dropAll(pool: Pool): Promise<void> {
  for (const { name } of allProjections) await pool.query(`drop schema if exists "${name}" cascade`)
  await pool.query('delete from engine.checkpoints')
}

/** Follows the events up to `end` in batches of `size`, as a process that is stopped there. */
async function foldTo(pool: Pool, events: readonly RecordedEvent[], size: number): Promise<void> {
  const log = new ScriptedLog(events)
  const engine = startProjections({
    pool,
    log,
    projections: allProjections,
    clock: systemClock,
    logger: silentLog,
    limits: { maxEvents: size, maxBytes: 1e6 },
  })
  try {
    await caughtUp(pool, log, allProjections)
  } finally {
    await engine.stop()
  }
}

t.test('live in any batches = rebuilt = folded to any position and on', async (t) => {
  const pool = await testPool(t)
  const deadline = performance.now() + 6_000
  let runs = 0
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: 9 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 60 }),
      async (seed, share, firstSize, secondSize) => {
        // On a busy machine fewer runs are enough; a run that began is finished.
        if (performance.now() > deadline) return
        runs += 1
        const events = mixedHistory(25, seed)
        const cut = Math.floor(share * events.length)
        await dropAll(pool)
        await foldTo(pool, events.slice(0, cut), firstSize)
        for (const projection of allProjections) {
          const result = await rebuildProjection({
            pool,
            log: new ScriptedLog(events.slice(0, cut)),
            projection,
          })
          if (result.comparison?.equal !== true)
            throw new Error(`${projection.name} differs at ${cut}`)
        }
        await foldTo(pool, events, secondSize)
        const split = await Promise.all(
          allProjections.map((projection) => digestOf(pool, projection)),
        )
        await dropAll(pool)
        await foldTo(pool, events, events.length)
        const whole = await Promise.all(
          allProjections.map((projection) => digestOf(pool, projection)),
        )
        if (JSON.stringify(split) !== JSON.stringify(whole)) throw new Error('the batches show')
      },
    ),
    { numRuns: 8 },
  )
  t.ok(runs > 0, `${runs} runs`)
})
