import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { createEventLog } from '../../../src/eventlog/log/client.ts'
import { newNamespace, startEventStore } from '../../helpers/eventstore.ts'
import { cancelled, range } from '../support/sample-events.ts'
import { until } from '../../helpers/eventually.ts'

const server = await startEventStore()
t.teardown(() => server.stop())

void t.test('kill -9 in the middle of appends: every stream holds each event once', async (t) => {
  const limits = { outagePatienceMs: 60_000 }
  const log = createEventLog({ url: server.url, namespace: newNamespace(), limits })
  t.teardown(() => log.close())
  const writers = 8
  const stopping = new AbortController()
  const written = range(writers).map(() => 0)
  const writing = range(writers).map(async (writer) => {
    const stream = `task-${writer}`
    for (let next = 0; !stopping.signal.aborted; written[writer] = next += 1)
      await log.append(
        stream,
        [cancelled(stream, `c${next}`)],
        next === 0 ? 'no_stream' : BigInt(next - 1),
        { deadlineMs: 60_000 },
      )
  })
  for (const pauseMs of [400, 700]) {
    await sleep(pauseMs)
    await server.kill9()
    await server.restart()
  }
  const before = [...written]
  await until(() => written.every((count, writer) => count > before[writer]! + 10))
  stopping.abort()
  await Promise.all(writing)
  for (const writer of range(writers)) {
    const ids = (await log.readStream(`task-${writer}`)).map((event) => event.id)
    t.same(
      ids,
      range(written[writer]!).map((index) => cancelled(`task-${writer}`, `c${index}`).id),
    )
  }
})

void t.test('health falls with the server and comes back with it', async (t) => {
  const changes: boolean[] = []
  const log = createEventLog({
    url: server.url,
    namespace: newNamespace(),
    limits: { probeIntervalMs: 100, readDeadlineMs: 600 },
    observer: { healthChanged: (healthy) => changes.push(healthy) },
  })
  t.teardown(() => log.close())
  await log.endPosition()
  t.equal(log.healthy(), true)
  await server.kill9()
  await t.rejects(log.readStream('task-1'), { code: 'log_unavailable' })
  t.equal(log.healthy(), false)
  await server.restart()
  await until(() => log.healthy())
  t.same(changes, [false, true])
})

void t.test('a frozen server leaves outcomes unknown, and works again when resumed', async (t) => {
  const log = createEventLog({
    url: server.url,
    namespace: newNamespace(),
    limits: { appendTryMs: 300, readTryMs: 300, readDeadlineMs: 800, probeIntervalMs: 100 },
  })
  t.teardown(() => log.close())
  await log.append('task-1', [cancelled('task-1', 'c0')], 'no_stream')
  server.freeze()
  t.teardown(() => server.thaw())
  const next = [cancelled('task-1', 'c1')]
  await t.rejects(log.append('task-1', next, 0n, { deadlineMs: 800 }), {
    code: 'log_outcome_unknown',
  })
  await t.rejects(log.readStream('task-1'), { code: 'log_unavailable' })
  t.equal(log.healthy(), false)
  server.thaw()
  await until(() => log.healthy())
  await log.append('task-1', next, 0n)
  t.equal((await log.readStream('task-1')).length, 2)
})
