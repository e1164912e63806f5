import t, { type Test } from 'tap'
import { createEventLog } from '../../../src/eventlog/log/client.ts'
import type {
  AppendObservation,
  ReadAllOptions,
  RecordedEvent,
} from '../../../src/eventlog/log/types.ts'
import { placeOf } from '../../../src/eventlog/log/position.ts'
import { startEventStore, testEventLog } from '../../helpers/eventstore.ts'
import { cancelled, range, sized } from '../support/sample-events.ts'

import type { AppendPath } from '../../../src/eventlog/log/connection.ts'
const server = await startEventStore({ fault: '' })
t.teardown(() => server.stop())
async function collect(events: AsyncIterable<RecordedEvent>): Promise<RecordedEvent[]> {
  const all: RecordedEvent[] = []
  for await (const event of events) all.push(event)
  return all
}
const many = (stream: string, count: number) =>
  range(count).map((index) => cancelled(stream, 'bulk', index))

for (const appendPath of ['batch', 'unary'] as const)
  void t.test(`appends by ${appendPath}`, (t) => suite(t, appendPath))

async function suite(t: Test, appendPath: AppendPath): Promise<void> {
  const { log, url, namespace, close } = await testEventLog({ server, appendPath })
  t.teardown(close)

  void t.test('an append is read back with revisions and increasing positions', async (t) => {
    const events = many('task-a', 3)
    const appended = await log.append('task-a', events, 'no_stream')
    t.equal(appended.revision, 2n)
    const read = await log.readStream('task-a')
    t.same(
      read.map(({ id, type, data, metadata }) => ({ id, type, data, metadata })),
      events,
    )
    t.same(
      read.map(({ stream, revision }) => [stream, revision]),
      [0n, 1n, 2n].map((revision) => ['task-a', revision]),
    )
    t.ok(read[0]!.position < read[1]!.position && read[1]!.position < read[2]!.position)
    t.equal(appended.position, read[2]!.position)
    t.ok(Math.abs(read[0]!.recordedAt.getTime() - Date.now()) < 60_000)
  })

  void t.test('a repeated append is stored once', async (t) => {
    const event = cancelled('task-b', 'c1')
    const first = await log.append('task-b', [event], 'no_stream')
    await log.append('task-b', [cancelled('task-b', 'c2')], 0n)
    const again = await log.append('task-b', [event], 'no_stream')
    t.equal(again.revision, first.revision)
    t.equal((await log.readStream('task-b')).length, 2)
  })

  void t.test('wrong_expected_revision reports both revisions', async (t) => {
    await log.append('task-c', many('task-c', 2), 'no_stream')
    await t.rejects(log.append('task-c', [cancelled('task-c', 'x')], 'no_stream'), {
      code: 'wrong_expected_revision',
      details: { stream: 'task-c', expected: 'no_stream', actual: '1' },
    })
    await t.rejects(log.append('task-c', [cancelled('task-c', 'x')], 7n), {
      code: 'wrong_expected_revision',
      details: { expected: '7', actual: '1' },
    })
    await t.rejects(log.append('task-none', [cancelled('task-none', 'x')], 0n), {
      code: 'wrong_expected_revision',
      details: { actual: 'no_stream' },
    })
    await t.resolves(log.append('task-c', [cancelled('task-c', 'any')], 'any'))
  })

  void t.test('an unknown stream is an empty list', async (t) => {
    t.same(await log.readStream('task-unknown'), [])
  })

  void t.test('a long stream is read in pages, from any revision, up to a limit', async (t) => {
    const count = 1_234
    await log.append('task-long', many('task-long', count), 'no_stream')
    const paged = createEventLog({ appendPath, url, namespace, limits: { readPageEvents: 100 } })
    t.teardown(() => paged.close())
    const revisions = async (options?: { from?: bigint; limit?: number }) =>
      (await paged.readStream('task-long', options)).map((event) => Number(event.revision))
    t.same(await revisions(), range(count))
    t.same(await revisions({ from: 1_000n }), range(count).slice(1_000))
    t.same(await revisions({ from: 50n, limit: 150 }), range(count).slice(50, 200))
    t.same(await revisions({ from: 5_000n }), [])
  })

  void t.test(
    'readAll gives the events of its namespace in order, after a position, up to a limit',
    async (t) => {
      const mine = await testEventLog({ server, appendPath })
      t.teardown(mine.close)
      t.equal(await mine.log.endPosition(), undefined)
      t.same(await collect(mine.log.readAll()), [])
      for (const index of range(5)) {
        await mine.log.append(`task-${index}`, [cancelled(`task-${index}`, 'c')], 'no_stream')
        await log.append(
          `task-other-${index}`,
          [cancelled(`task-other-${index}`, 'c')],
          'no_stream',
        )
      }
      const all = await collect(mine.log.readAll())
      t.same(
        all.map((event) => event.stream),
        range(5).map((index) => `task-${index}`),
      )
      const positions = all.map((event) => event.position)
      t.same(
        positions,
        [...positions].sort((a, b) => (a < b ? -1 : 1)),
      )
      t.equal(await mine.log.endPosition(), positions[4])
      const after = async (options: ReadAllOptions) =>
        (await collect(mine.log.readAll(options))).map((event) => event.stream)
      t.same(await after({ from: placeOf(positions[2]!) }), ['task-3', 'task-4'])
      t.same(await after({ from: placeOf(positions[4]!) }), [])
      t.same(await after({ limit: 2 }), ['task-0', 'task-1'])
      t.same(await after({ from: placeOf(positions[0]!), limit: 1 }), ['task-1'])
    },
  )

  void t.test('readAll stops when its signal aborts', async (t) => {
    const abort = new AbortController()
    await t.rejects(async () => {
      for await (const _ of log.readAll({ signal: abort.signal })) abort.abort()
    })
  })

  void t.test('append_too_large, without an append', async (t) => {
    await t.rejects(log.append('task-big', [sized('task-big', 'c', 1_100_000)], 'no_stream'), {
      code: 'append_too_large',
    })
    const generous = createEventLog({
      appendPath,
      url,
      namespace,
      limits: { maxAppendBytes: 4_000_000 },
    })
    t.teardown(() => generous.close())
    await t.rejects(generous.append('task-big', [sized('task-big', 'c', 1_100_000)], 'no_stream'), {
      code: 'append_too_large',
    })
    t.same(await log.readStream('task-big'), [])
    await t.resolves(log.append('task-big', [sized('task-big', 'c', 900_000)], 'no_stream'))
    t.equal((await log.readStream('task-big')).length, 1)
  })

  void t.test('event_invalid, without an append', async (t) => {
    const good = cancelled('task-bad', 'c')
    await t.rejects(
      log.append('task-bad', [good, { ...good, id: 'x', data: {} } as never], 'no_stream'),
      { code: 'event_invalid' },
    )
    await t.rejects(log.append('task-bad', [good, good], 'no_stream'), { code: 'event_invalid' })
    await t.rejects(log.append('task-bad', [], 'no_stream'), { code: 'event_invalid' })
    t.same(await log.readStream('task-bad'), [])
  })

  void t.test('a closed log refuses', async (t) => {
    const closing = createEventLog({ appendPath, url, namespace })
    await closing.readStream('task-a')
    await closing.close()
    await t.rejects(closing.readStream('task-a'), { code: 'log_unavailable' })
    await t.rejects(closing.append('task-a', [cancelled('task-a', 'z')], 'any'), {
      code: 'log_unavailable',
    })
  })

  void t.test('without a server: log_unavailable within the deadline, and unhealthy', async (t) => {
    const unreachable = createEventLog({
      appendPath,
      url: 'esdb://127.0.0.1:9?tls=false',
      namespace,
    })
    t.teardown(() => unreachable.close())
    t.equal(unreachable.healthy(), true)
    await t.rejects(
      unreachable.append('task-x', [cancelled('task-x', 'c')], 'no_stream', { deadlineMs: 2_000 }),
      { code: 'log_unavailable' },
    )
    t.equal(unreachable.healthy(), false)
    // The deadline of some comes before the connection is refused.
    for (const deadlineMs of range(20))
      await t.rejects(
        unreachable.append('task-x', [cancelled('task-x', 'c')], 'no_stream', { deadlineMs }),
        { code: 'log_unavailable' },
        `within ${deadlineMs} ms`,
      )
    // The deadline of this one comes while a new client looks for the address.
    const fresh = createEventLog({ appendPath, url: 'esdb://127.0.0.1:9?tls=false', namespace })
    t.teardown(() => fresh.close())
    await t.rejects(
      fresh.append('task-x', [cancelled('task-x', 'c')], 'no_stream', { deadlineMs: 1 }),
      { code: 'log_unavailable' },
    )
  })

  void t.test('appends whose answers are lost', async (t) => {
    const observed: AppendObservation[] = []
    const impatient = createEventLog({
      appendPath,
      url,
      namespace,
      limits: { appendTryMs: 400 },
      observer: { appended: (append) => observed.push(append) },
    })
    t.teardown(() => impatient.close())
    const faults = server.setFault
    t.teardown(() => faults(''))

    await faults('lose-ack-every:2')
    for (const index of range(6))
      await impatient.append(
        'task-lost',
        [cancelled('task-lost', `c${index}`)],
        index === 0 ? 'no_stream' : BigInt(index - 1),
      )
    t.equal((await log.readStream('task-lost')).length, 6, 'each landed once')
    t.ok(observed.some((append) => append.tries > 1 && append.outcome === 'ok'))

    await faults('lose-ack-every:1')
    const never = [cancelled('task-never', 'c')]
    await t.rejects(impatient.append('task-never', never, 'no_stream', { deadlineMs: 900 }), {
      code: 'log_outcome_unknown',
    })
    t.equal(observed.at(-1)?.outcome, 'unknown')
    await faults('')
    t.equal((await impatient.append('task-never', never, 'no_stream')).revision, 0n)
    t.equal((await log.readStream('task-never')).length, 1)
  })
}
