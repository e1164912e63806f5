import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'pg'
import t from 'tap'
import { LogOlderError } from '../../projections/engine/older-log.ts'
import { allProjections } from '../../projections/registry.ts'
import { NotBelongingError, requireBelonging } from '../../src/app/access/installation.ts'
import { accountStream } from '../../src/domain/account/events.ts'
import { installationStream } from '../../src/domain/installation/events.ts'
import { createEventLog } from '../../src/eventlog/log/client.ts'
import type { EventLog, NewEvent } from '../../src/eventlog/log/types.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { newUuid } from '../../src/kernel/ids.ts'
import { pause } from '../../src/kernel/pause.ts'
import { eventually } from '../helpers/eventually.ts'
import { startLocalEventStore } from '../helpers/eventstore.ts'
import { acquireGatewayDatabase } from '../helpers/postgres.ts'
import { type Replica, startStack } from '../helpers/stack.ts'
import { call, tasksOf, type Answer } from './support/client.ts'

/** No call is sold into a log that its database does not follow, nor by two databases on one log. */

const eventStore = await startLocalEventStore()
const stack = await startStack({ eventStore })
t.teardown(() => stack.stop())
const { demo } = stack
await stack.caughtUp()

/** The replica that callers reach. */
let served: Replica = stack

const chat = (content = 'hi', headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  call(`${served.url}/v1/chat/completions`, {
    token: demo.modelToken,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content }] }),
  })
const ready = async (status: number): Promise<Answer> =>
  eventually(`/readyz is ${status}`, async () => {
    const answer = await call(`${served.url}/readyz`)
    return answer.status === status ? answer : undefined
  })

/** How many events of ours a log holds. */
async function countOf(log: EventLog): Promise<number> {
  let events = (await log.readStream(installationStream)).length
  for await (const _event of log.readAll()) events += 1
  return events
}

const settledCalls = async (): Promise<number> => {
  const { rows } = await served.gateway.pool.query<{ n: string }>(
    `select count(*) as n from timeline.events where type = 'CallSettled'`,
  )
  return Number(rows[0]?.n)
}

t.test('a replica on another, empty log ends before it writes', async (t) => {
  const other = await startLocalEventStore()
  t.teardown(() => other.stop())
  await t.rejects(stack.replica(['api', 'worker'], { eventStoreUrl: other.url }), LogOlderError)
  await t.rejects(stack.replica(['projector'], { eventStoreUrl: other.url }), LogOlderError)
  const log = createEventLog({ url: other.url, namespace: stack.namespace })
  t.teardown(() => log.close())
  t.equal(await countOf(log), 0)
})

t.test('a log replaced under a running gateway refuses sales until put back', async (t) => {
  t.equal((await chat()).status, 200)
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-eventstore-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  await stack.caughtUp()
  const settledBefore = await settledCalls()
  // It is under way while the store is replaced.
  const underWay = chat('[[words=8 frame-ms=300]] hi')
  await eventually('it is at the provider', async () => {
    const { text } = await call(`${stack.url}/metrics`)
    return /^tollgate_calls_in_flight(?:\{[^}]*\})? [1-9]/m.test(text) ? true : undefined
  })
  await eventStore.serveFrom(directory)

  const [sold, created] = [await chat(), await tasksOf(stack.url, demo.modelToken).create()]
  t.match([sold.status, created.status], [503, 503])
  const { body } = await ready(503)
  t.match(body.reasons, [/^event_log is older than the database: the log does not hold event/])
  const answered = await underWay
  t.equal(answered.status, 200, 'a call that the provider had taken is answered')

  const other = createEventLog({ url: eventStore.url, namespace: stack.namespace })
  t.teardown(() => other.close())
  t.equal(await countOf(other), 0, 'and is not in the other log')
  // Beyond where the read models stand, so that they would take it in.
  const grant: NewEvent = {
    type: 'CreditGranted',
    data: {
      tenantId: demo.tenantId,
      grantId: 'grant_of_another_log',
      currency: 'CNY',
      amount: '77777',
      reason: 'x'.repeat(200_000),
      grantedAt: '2026-01-01T00:00:00.000Z',
    },
    id: newUuid(),
    metadata: { schemaVersion: 1, correlationId: 'test', commandId: 'test' },
  }
  for (let n = 0; n < 5; n += 1)
    await other.append(
      accountStream(demo.tenantId),
      [{ ...grant, id: newUuid() }],
      n === 0 ? 'no_stream' : BigInt(n - 1),
    )
  await eventually('the read models are stopped', async () => {
    const { rows } = await stack.gateway.pool.query<{ kind: string }>(
      `select distinct stopped->>'kind' as kind from engine.checkpoints`,
    )
    return rows.length === 1 && rows[0]?.kind === 'log_older' ? true : undefined
  })

  // A log that lacks something for a moment only is a node that was behind.
  await pause(6_000)
  await eventStore.serveFrom(eventStore.directory)
  await eventually('it ends, to be started again', async () => stack.startsAgain[0])
  t.equal((await chat()).status, 503, 'and sells nothing until then')
  await served.gateway.stop()
  served = await stack.replica(undefined, { dataDir: stack.dataDir })
  await ready(200)
  t.equal((await chat()).status, 200)
  await eventually('what waited is settled', async () =>
    (await settledCalls()) >= settledBefore + 2 ? true : undefined,
  )
  t.equal(await settledCalls(), settledBefore + 2)
  const { rows } = await served.gateway.pool.query(
    `select 1 from timeline.events where data->>'grantId' = 'grant_of_another_log'`,
  )
  t.same(rows, [], 'nothing of the other log was applied')
})

t.test('a second database on the log is refused until it replaces the first', async (t) => {
  const second = await acquireGatewayDatabase()
  t.teardown(() => second.drop())
  const stores = { databaseUrl: second.url }
  await t.rejects(stack.replica(['api'], stores), NotBelongingError)
  const { pool, log } = served.gateway
  const { rows } = await pool.query<{ databaseId: string }>(
    'select database_id as "databaseId" from ops.installation',
  )
  t.match(await log.readStream(installationStream), [{ data: rows[0] }])

  // An operator has the log adopt it, while the first one is still served.
  const replacing = new Pool({ connectionString: second.url, max: 2 })
  await requireBelonging(
    { pool: replacing, log, projections: allProjections, clock: systemClock },
    { adopts: true, actor: 'operator' },
  )
  await replacing.end()
  const { body } = await ready(503)
  t.match(body.reasons, [/^event_log is another one: .*belongs to another database since/])
  t.equal((await chat()).status, 503)
  const replica = await stack.replica(undefined, stores)
  t.equal((await call(`${replica.url}/readyz`)).status, 200)
})
