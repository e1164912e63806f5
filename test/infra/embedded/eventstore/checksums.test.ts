import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { convertDatabase } from '../../../../infra/embedded/eventstore/database.ts'
import {
  eventKey,
  FORMAT_KEY,
  headKey,
  streamKey,
} from '../../../../infra/embedded/eventstore/keys.ts'
import { STARTUP_CHECK_EVENTS } from '../../../../infra/embedded/eventstore/limits.ts'
import { ServerLog } from '../../../../infra/embedded/eventstore/log.ts'
import { verifyAll } from '../../../../infra/embedded/eventstore/verify.ts'
import { createEventLog } from '../../../../src/eventlog/log/client.ts'
import type { NewEvent } from '../../../../src/eventlog/log/types.ts'
import { startEmbeddedServer } from '../../../contract/embedded-server.ts'
import {
  append,
  copied,
  EVENTS,
  eventsOf,
  fill,
  makeLog,
  openStored,
  root,
  spoil,
} from './support/small-log.ts'

/** A damaged event is never served as a good one, and the log says which it is. */

const killed = await makeLog(t)

t.test('damage at the end of the log is refused at the start, by name', async (t) => {
  const dir = await copied(killed, 'spoiled')
  await spoil(dir, headKey(Buffer.from('s3')))
  await spoil(dir, eventKey(2))
  const log = await ServerLog.open(dir).catch((error: unknown) => error)
  t.match(log, { code: 'corrupt', message: /event 2 is not as it was written/ })

  const other = await copied(killed, 'spoiled-head')
  await spoil(other, headKey(Buffer.from('s3')))
  await t.rejects(ServerLog.open(other), { code: 'corrupt', message: /the head of stream s3/ })
})

t.test('damage beyond the start’s check is refused when it is read', async (t) => {
  const dir = join(root, 'long')
  const made = await ServerLog.open(dir)
  await fill(made, 0, EVENTS)
  const more = Array.from({ length: STARTUP_CHECK_EVENTS + 10 }, (_, n) =>
    append('later', EVENTS + n),
  )
  await Promise.all(more.map((command) => made.submit(command)))
  await made.close()
  await spoil(dir, eventKey(2))
  await spoil(dir, headKey(Buffer.from('s3')))

  const log = await ServerLog.open(dir)
  t.teardown(() => log.close())
  const to = Number.MAX_SAFE_INTEGER
  await t.rejects(log.readAll({ from: 1, to }, 10, false), { code: 'damaged', message: /event 2 / })
  t.equal((await log.readAll({ from: 3, to }, 10, false)).length, 10)
  const [refused, taken] = await Promise.allSettled([
    log.submit(append('s3', 90_000)),
    log.submit(append('s4', 90_001)),
  ])
  t.match(refused, {
    status: 'rejected',
    reason: { code: 'damaged', message: /head of stream s3/ },
  })
  t.match(taken, { status: 'fulfilled', value: { kind: 'done' } })
  t.ok(log.isWritable)
})

t.test('a writer to a damaged stream is refused at once, other writers are served', async (t) => {
  const dir = join(root, 'served')
  const made = await ServerLog.open(dir)
  for (let n = 0; n < 3; n += 1) await made.submit(append('n-account-old', n))
  const more = Array.from({ length: STARTUP_CHECK_EVENTS + 10 }, (_, n) => append('later', 10 + n))
  await Promise.all(more.map((command) => made.submit(command)))
  await made.close()
  await spoil(dir, headKey(Buffer.from('n-account-old')))
  await spoil(dir, eventKey(2))

  const server = await startEmbeddedServer({ dataDir: dir })
  t.teardown(() => server.stop())
  const log = createEventLog({ url: server.url, namespace: 'n-' })
  t.teardown(() => log.close())
  const opening = (tenantId: string): NewEvent => ({
    type: 'TenantOpened',
    data: { tenantId, name: 'T', openedAt: '2026-01-02T03:04:05.000Z' },
    id: randomUUID(),
    metadata: { schemaVersion: 1, correlationId: 'test', commandId: 'test' },
  })
  const damage = { code: 'log_unavailable', details: { reason: /head of stream n-account-old/ } }
  await t.rejects(log.append('account-old', [opening('old')], 'any'), damage)
  await t.rejects(log.readStream('account-old'), damage)
  await log.append('account-new', [opening('new')], 'no_stream')
  t.equal((await log.readStream('account-new')).length, 1)
  t.ok(log.healthy())
})

t.test('a log without checksums is read, and converted while stopped', async (t) => {
  const dir = await copied(killed, 'format-1')
  const before = await ServerLog.open(dir)
  const whole = await eventsOf(before)
  await before.close()
  await stripChecksums(dir)
  const reports: string[] = []
  const old = await ServerLog.open(dir, (event) => reports.push(event))
  t.same(await eventsOf(old), whole)
  t.same(reports, ['without_checksums'])
  await fill(old, EVENTS, EVENTS + 7)
  const longer = await eventsOf(old)
  await old.close()
  t.match(await verifyAll(dir, () => undefined), { hasChecksums: false, damagedInAll: 0 })

  const stop = (): never => {
    throw new Error('stopped')
  }
  await t.rejects(convertDatabase(dir, stop), /stopped/)
  await t.rejects(ServerLog.open(dir), { code: 'unusable', message: /convert-log again/ })
  t.ok(await convertDatabase(dir, () => undefined))
  t.notOk(await convertDatabase(dir, () => undefined), 'a second time there is nothing to do')
  const converted = await ServerLog.open(dir, (event) => reports.push(event))
  t.same(await eventsOf(converted), longer)
  t.same(reports, ['without_checksums'])
  await converted.close()
  t.match(await verifyAll(dir, () => undefined), {
    events: EVENTS + 7,
    hasChecksums: true,
    damagedInAll: 0,
  })

  await spoil(dir, eventKey(5))
  await spoil(dir, headKey(Buffer.from('s1')))
  await spoil(dir, streamKey(Buffer.from('s2'), 1))
  t.same((await verifyAll(dir, () => undefined)).damaged, [
    'event 5 is not as it was written',
    'the head of stream s1 is not as it was written',
    'the place of event 1 of stream s2 is not as it was written',
  ])
})

/** As an earlier release wrote it. */
async function stripChecksums(dir: string): Promise<void> {
  const level = await openStored(dir)
  for (const [key, value] of await level.iterator().all())
    if (key[0] !== 'm'.codePointAt(0)) await level.put(key, value.subarray(0, -4))
  await level.put(FORMAT_KEY, Buffer.from('1'))
  await level.close()
}
