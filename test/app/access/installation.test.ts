import { Pool } from 'pg'
import t, { type Test } from 'tap'
import { resetCheckpoint } from '../../../projections/engine/checkpoint.ts'
import { allProjections } from '../../../projections/registry.ts'
import {
  checkBelonging,
  notBelonging,
  NotBelongingError,
  requireBelonging,
} from '../../../src/app/access/installation.ts'
import { exitCodeOf, exitCodes } from '../../../src/cli/exit-codes.ts'
import { explain } from '../../../src/cli/explain.ts'
import { installationStream } from '../../../src/domain/installation/events.ts'
import { eventInvalid } from '../../../src/eventlog/log/errors.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { eventId } from '../../../src/kernel/ids.ts'
import type { EventLog, NewEvent, RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { startLocalEventStore, testEventLog } from '../../helpers/eventstore.ts'
import { acquireGatewayDatabase } from '../../helpers/postgres.ts'

/** Which log and which database belong together, and who finds out that they do not. */

const server = await startLocalEventStore()
t.teardown(() => server.stop())

async function newLog(t: Test): Promise<EventLog> {
  const { log, close } = await testEventLog({ server })
  t.teardown(close)
  return log
}

async function newPool(t: Test): Promise<Pool> {
  const database = await acquireGatewayDatabase()
  const pool = new Pool({ connectionString: database.url, max: 4 })
  t.teardown(async () => {
    await pool.end()
    await database.drop()
  })
  return pool
}

const storesOf = (pool: Pool, log: EventLog) => ({
  pool,
  log,
  projections: allProjections,
  clock: systemClock,
})
const start = (pool: Pool, log: EventLog, adopts = false) =>
  requireBelonging(storesOf(pool, log), { adopts, actor: 'test' })
const named = async (log: EventLog): Promise<number> =>
  (await log.readStream(installationStream)).length

/** An event of an earlier release, which named no database. */
async function written(log: EventLog): Promise<RecordedEvent> {
  const event: NewEvent = {
    type: 'TenantOpened',
    data: { tenantId: 'tenant_1', name: 'One', openedAt: '2026-01-01T00:00:00.000Z' },
    id: eventId('account-tenant_1', 'opened', 0),
    metadata: { schemaVersion: 1, correlationId: 'test', commandId: 'opened' },
  }
  await log.append('account-tenant_1', [event], 'no_stream')
  const [recorded] = await log.readStream('account-tenant_1')
  if (recorded === undefined) throw new Error('it was not written')
  return recorded
}

/** The database has applied the event to each read model. */
async function applied(pool: Pool, { id, stream, revision }: RecordedEvent): Promise<void> {
  for (const { name, version } of allProjections) {
    await resetCheckpoint(pool, name, version)
    const last = JSON.stringify({ id, stream, revision: String(revision) })
    await pool.query('update engine.checkpoints set last_event = $2 where name = $1', [name, last])
  }
}

async function refused(t: Test, work: Promise<unknown>, words: RegExp): Promise<void> {
  const error = await work.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  t.equal(exitCodeOf(error), exitCodes.refused)
  t.match(explain(error), words)
  t.notMatch(explain(error), /\n {4}at /)
  t.match(notBelonging(error), /^is (?:another one|older than the database): /)
  t.ok(notBelonging(error)?.endsWith(explain(error)))
}

t.test('a database that another log has adopted belongs to its first log no longer', async (t) => {
  const [pool, first, second] = [await newPool(t), await newLog(t), await newLog(t)]
  await start(pool, first)
  await start(pool, second, true)
  await start(pool, second)
  await t.rejects(start(pool, first), NotBelongingError)
})

t.test(
  'of replicas that start at once on an empty log, one has it adopt the database',
  async (t) => {
    const [pool, log] = [await newPool(t), await newLog(t)]
    const started = await Promise.all(Array.from({ length: 4 }, () => start(pool, log)))
    t.equal(new Set(started.map(({ databaseId }) => databaseId)).size, 1)
    t.equal(await named(log), 1)
    await start(pool, log)
    t.equal(await named(log), 1, 'once for all starts')
    await t.resolves(checkBelonging(storesOf(pool, log)))
  },
)

t.test('of two databases that start at once on an empty log, one is refused', async (t) => {
  const log = await newLog(t)
  const pools = [await newPool(t), await newPool(t)]
  const tried = await Promise.allSettled(pools.map((pool) => start(pool, log)))
  t.same(tried.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.equal(await named(log), 1)
})

t.test('of two empty logs that start at once with a database, one is refused', async (t) => {
  const pool = await newPool(t)
  const logs = [await newLog(t), await newLog(t)]
  const tried = await Promise.allSettled(logs.map((log) => start(pool, log)))
  t.same(tried.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const again = await Promise.allSettled(logs.map((log) => start(pool, log)))
  t.same(
    again.map(({ status }) => status),
    tried.map(({ status }) => status),
  )
})

t.test('a second log is refused, empty or not, and no event is written to it', async (t) => {
  const [pool, log] = [await newPool(t), await newLog(t)]
  await start(pool, log)
  await refused(
    t,
    start(pool, await newLog(t)),
    /names no database, and this one belongs to another/,
  )
  await applied(pool, await written(log))
  await t.resolves(start(pool, log))
  const empty = await newLog(t)
  await refused(
    t,
    start(pool, empty),
    /does not hold event .*access.*timeline.*rebuild access .*--force/s,
  )
  await refused(t, checkBelonging(storesOf(pool, empty)), /does not hold event/)
  t.equal(await named(empty), 0)
  await refused(t, start(pool, empty, true), /does not hold event/)
})

t.test('a second database is refused until an operator has the log adopt it', async (t) => {
  const [pool, second, log] = [await newPool(t), await newPool(t), await newLog(t)]
  await start(pool, log)
  await refused(
    t,
    start(second, log),
    /belongs to another database since .*tollgate database adopt/s,
  )
  t.equal(await named(log), 1)
  await start(second, log, true)
  await start(second, log, true)
  t.equal(await named(log), 2)
  await t.resolves(start(second, log))
  await refused(t, checkBelonging(storesOf(pool, log)), /belongs to another database since/)
  await refused(t, start(pool, log), /belongs to another database since/)
})

t.test(
  'a log of an earlier release adopts the database that has applied it, and no other',
  async (t) => {
    const [pool, second, log] = [await newPool(t), await newPool(t), await newLog(t)]
    await applied(pool, await written(log))
    await refused(t, start(second, log), /none of them was applied to this database/)
    t.equal(await named(log), 0)
    await start(pool, log)
    t.equal(await named(log), 1)
    await t.rejects(start(second, log), NotBelongingError)
  },
)

t.test('embedded stores adopt a database that was made again', async (t) => {
  const [pool, second, log] = [await newPool(t), await newPool(t), await newLog(t)]
  await start(pool, log, true)
  await start(second, log, true)
  await t.resolves(checkBelonging(storesOf(second, log)))
})

t.test('an event that only a newer program knows counts as held', async (t) => {
  const [pool, log] = [await newPool(t), await newLog(t)]
  await start(pool, log)
  await applied(pool, await written(log))
  const newer: EventLog = {
    ...log,
    readStream: async (stream, options) =>
      stream === installationStream
        ? log.readStream(stream, options)
        : Promise.reject(eventInvalid({ type: 'TenantMoved', reason: 'unknown event type' })),
  }
  await t.resolves(start(pool, newer))
})
