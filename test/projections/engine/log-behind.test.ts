import t, { type Test } from 'tap'
import type { Pool } from 'pg'
import { readCheckpoint } from '../../../projections/engine/checkpoint.ts'
import { rebuildProjection } from '../../../projections/engine/rebuild.ts'
import type { Projection } from '../../../projections/engine/types.ts'
import { waitForPosition } from '../../../projections/engine/wait.ts'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import { allProjections } from '../../../projections/registry.ts'
import { audit } from '../../../src/app/audit/audit.ts'
import { placeOf } from '../../../src/eventlog/log/position.ts'
import type { EventLog, NewEvent } from '../../../src/eventlog/log/types.ts'
import { eventId } from '../../../src/kernel/ids.ts'
import { startPretendedCluster } from '../../helpers/cluster.ts'
import { testEventLog } from '../../helpers/eventstore.ts'
import { caughtUp, digestOf, startEngine, testPool } from '../support/database.ts'
import { mixedHistory, overlappingTasks, Recorder } from '../support/history.ts'
import { ScriptedLog } from '../support/memory-log.ts'

/** Rebuilds and audits over a log whose answering node has not all of it, or that lost its end. */

const cluster = await startPretendedCluster()
t.teardown(() => cluster.stop())

/** Read models of a log of tasks, each settled, that has all been applied. */
async function followed(t: Test): Promise<{ readonly pool: Pool; readonly log: EventLog }> {
  const { log, close } = await testEventLog({ server: cluster })
  t.teardown(close)
  t.teardown(() => cluster.recover())
  const pool = await testPool(t, 20)
  const engine = startEngine(t, { pool, log, projections: allProjections })
  for (const event of overlappingTasks(new Recorder(), { tasks: 12, width: 3 })) {
    const { stream, revision, id: _, position: __, recordedAt: ___, ...rest } = event
    const fresh = { ...rest, id: eventId(stream, 'test', Number(revision)) } as NewEvent
    await log.append(stream, [fresh], revision === 0n ? 'no_stream' : revision - 1n)
  }
  const end = (await log.endPosition()) ?? -1n
  for (const { name } of allProjections)
    t.equal(await waitForPosition(pool, name, end, 20_000), true, name)
  await engine.stop()
  return { pool, log }
}

/** The leader shows the log without its last events, as one does that was cut off from the others. */
const BEHIND = 4

t.test('a rebuild from a node that was behind swaps no table', async (t) => {
  const { pool, log } = await followed(t)
  const before = await digestOf(pool, ledgerProjection)
  const checkpoint = await readCheckpoint(pool, 'ledger')
  await cluster.lag(0, BEHIND)
  const rebuild = (force: boolean) =>
    rebuildProjection({ pool, log, projection: ledgerProjection, force })
  await t.rejects(rebuild(false), { code: 'log_older' })
  t.same(await digestOf(pool, ledgerProjection), before)
  t.same(await readCheckpoint(pool, 'ledger'), checkpoint)
  await cluster.recover()
  t.match(await rebuild(false), { outcome: 'swapped', comparison: { equal: true } })

  await cluster.lag(0, BEHIND)
  t.equal((await rebuild(true)).outcome, 'swapped', 'by force from what it shows')
  await cluster.recover()
  const engine = startEngine(t, { pool, log, projections: [ledgerProjection] })
  await waitForPosition(pool, 'ledger', checkpoint?.position ?? -1n, 20_000)
  await engine.stop()
  t.same(await digestOf(pool, ledgerProjection), before, 'and nothing was passed over even so')
})

t.test('a rebuild must also reach the events that the live tables applied meanwhile', async (t) => {
  const pool = await testPool(t)
  const events = [...mixedHistory(20)]
  const log = new ScriptedLog(events.slice(0, -6))
  const engine = startEngine(t, { pool, log, projections: [ledgerProjection] })
  await caughtUp(pool, log, [ledgerProjection])
  const readAll = log.readAll.bind(log)
  const projection: Projection = {
    ...ledgerProjection,
    // While the two are compared more is applied, which the node that answers does not have.
    digest: async (client) => {
      if (log.events.length < events.length) {
        const known = log.events.slice()
        log.readAll = async function* (options) {
          await Promise.resolve()
          for await (const event of readAll(options)) if (known.includes(event)) yield event
        }
        log.push(...events.slice(-6))
        await caughtUp(pool, log, [ledgerProjection])
      }
      return ledgerProjection.digest(client)
    },
  }
  await t.rejects(rebuildProjection({ pool, log, projection }), {
    code: 'log_unavailable',
    details: { reason: /ended before event .*the node that answered is behind/ },
  })
  await engine.stop()
  log.readAll = readAll
  t.match(await readCheckpoint(pool, 'ledger'), { lastEvent: { id: events.at(-1)?.id } })
  const again = await rebuildProjection({ pool, log, projection: ledgerProjection })
  t.equal(again.comparison?.equal, true, 'and nothing that was applied is gone')
})

t.test('an audit ends without a verdict when the node that answered was behind', async (t) => {
  const { pool, log } = await followed(t)
  const ended = (await log.endPosition()) ?? -1n
  const states: unknown[] = []
  const onState = async (state: unknown): Promise<void> => {
    states.push(state)
    return Promise.resolve()
  }
  const behind: EventLog = {
    ...log,
    readAll: async function* (options) {
      for await (const event of log.readAll(options))
        if (event.position <= ended - BigInt(BEHIND)) yield event
    },
  }
  const options = { pool, models: allProjections, onState, stateIntervalMs: 0 }
  await t.rejects(audit({ ...options, log: behind }), { code: 'log_unavailable' })
  t.ok(
    states.every((state) => BigInt((state as { position: string }).position) < ended),
    'nor does a later one go on from where this one did not come',
  )
  await cluster.lag(0, BEHIND)
  t.match(await audit({ ...options, log }), { ok: false }, 'nor is what was not read ever clean')
})

t.test('a shorter log is accepted by force only, and later events are applied', async (t) => {
  const pool = await testPool(t)
  const events = [...mixedHistory(20)]
  const newer = new ScriptedLog(events)
  const engine = startEngine(t, { pool, log: newer, projections: [ledgerProjection] })
  await caughtUp(pool, newer, [ledgerProjection])
  await engine.stop()
  const kept = events.slice(0, -6)
  const log = new ScriptedLog(kept)
  const rebuild = (force: boolean) =>
    rebuildProjection({ pool, log, projection: ledgerProjection, force })
  await t.rejects(rebuild(false), { code: 'log_older', message: /--force/ })
  t.equal((await rebuild(true)).outcome, 'swapped')
  const last = kept.at(-1)
  t.match(await readCheckpoint(pool, 'ledger'), {
    at: placeOf(last?.position ?? -1n),
    lastEvent: { id: last?.id },
  })
  log.push(...events.slice(-6, -3))
  startEngine(t, { pool, log, projections: [ledgerProjection] })
  await caughtUp(pool, log, [ledgerProjection])
  const rebuilt = await rebuildProjection({ pool, log, projection: ledgerProjection })
  t.equal(rebuilt.comparison?.equal, true, 'what the log was given next was applied')
})

t.test('a new version does not replace an older one that is further along', async (t) => {
  const pool = await testPool(t)
  const events = [...mixedHistory(20)]
  const whole = new ScriptedLog(events)
  const engine = startEngine(t, { pool, log: whole, projections: [ledgerProjection] })
  await caughtUp(pool, whole, [ledgerProjection])
  await engine.stop()
  const next: Projection = { ...ledgerProjection, version: ledgerProjection.version + 1 }
  const behind = new ScriptedLog(events)
  const readAll = behind.readAll.bind(behind)
  behind.readAll = async function* (options) {
    for await (const event of readAll(options))
      if (events.indexOf(event) < events.length - 6) yield event
  }
  await t.rejects(rebuildProjection({ pool, log: behind, projection: next }), {
    code: 'log_unavailable',
  })
  t.equal((await readCheckpoint(pool, 'ledger'))?.version, ledgerProjection.version)
})
