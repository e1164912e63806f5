import t, { type Test } from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { SERVER_VERSIONS, type ServerVersion } from '../../../infra/embedded/eventstore/versions.ts'
import { readCheckpoint } from '../../../projections/engine/checkpoint.ts'
import { waitForPosition } from '../../../projections/engine/wait.ts'
import { rebuildProjection } from '../../../projections/engine/rebuild.ts'
import { chainHead, listLines } from '../../../projections/ledger/query.ts'
import { allProjections } from '../../../projections/registry.ts'
import { listTasks } from '../../../projections/tasks/query.ts'
import { eventId } from '../../../src/kernel/ids.ts'
import type { NewEvent } from '../../../src/eventlog/log/types.ts'
import { startEventStore, testEventLog } from '../../helpers/eventstore.ts'
import { atLength } from '../../helpers/long-run.ts'
import { digestOf, startEngine, testPool } from '../support/database.ts'
import { overlappingTasks, Recorder, type Life } from '../support/history.ts'

const TASKS = 120

// What the versions answer differently is in `test/contract`: read models of the latest show the rest.
for (const version of atLength<readonly ServerVersion[]>(
  SERVER_VERSIONS.slice(-1),
  SERVER_VERSIONS,
))
  t.test(`from a log of version ${version} that dies on the way to read models that agree`, (t) =>
    suite(t, version),
  )

async function suite(t: Test, version: ServerVersion): Promise<void> {
  const store = await startEventStore({ version })
  t.teardown(store.stop)
  const { log, close } = await testEventLog({ server: store })
  t.teardown(close)
  const pool = await testPool(t, 20)
  const engine = startEngine(t, { pool, log, projections: allProjections })

  const lifeOf = (n: number): Life => (n % 7 === 6 ? 'failed' : 'settled')
  const events = [...overlappingTasks(new Recorder(), { tasks: TASKS, width: 10, life: lifeOf })]
  for (const [index, event] of events.entries()) {
    const { stream, revision, id: _, position: __, recordedAt: ___, ...rest } = event
    const fresh = { ...rest, id: eventId(stream, 'test', Number(revision)) } as NewEvent
    await log.append(stream, [fresh], revision === 0n ? 'no_stream' : revision - 1n)
    if (index === Math.floor(events.length / 2)) {
      await store.kill9()
      await store.restart()
      await eventually('the log answers again', () => log.healthy())
    }
  }

  const end = await log.endPosition()
  if (end === undefined) throw new Error('the log has events')
  for (const { name } of allProjections)
    t.equal(await waitForPosition(pool, name, end, 120_000), true, name)
  const settled = events.filter(({ type }) => type === 'TaskSettled').length
  t.equal(Number((await chainHead(pool)).seq), settled, 'each settlement once')
  t.equal((await listLines(pool, {}, { limit: 500 })).items.length, settled)
  const page = await listTasks(pool, {
    tenantId: 'tenant_1',
    family: 'video-a',
    pageNumber: 1,
    pageSize: 1,
  })
  t.equal(page.total, TASKS)
  t.equal((await readCheckpoint(pool, 'timeline'))?.events, BigInt(events.length))
  await eventually('nothing is behind', () =>
    engine.status().projections.every(({ lagEvents }) => lagEvents === 0),
  )

  for (const projection of allProjections) {
    const before = await digestOf(pool, projection)
    const { outcome, comparison } = await rebuildProjection({ pool, log, projection })
    t.equal(outcome, 'swapped')
    t.equal(comparison?.equal, true, `${projection.name} rebuilt is what it was`)
    t.same(await digestOf(pool, projection), before)
  }
}
