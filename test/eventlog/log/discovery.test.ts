import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createEventLog } from '../../../src/eventlog/log/client.ts'
import { withDiscovery } from '../../../src/eventlog/log/discovery.ts'
import { newNamespace, startEventStore } from '../../helpers/eventstore.ts'
import { cancelled } from '../support/sample-events.ts'
import { until } from '../../helpers/eventually.ts'

const server = await startEventStore()
t.teardown(() => server.stop())

void t.test('discovery options of the URL are overruled, other options stay', (t) => {
  t.match(withDiscovery('esdb://a,b'), /^esdb:\/\/a,b\?maxDiscoverAttempts=1&gossipTimeout=\d$/)
  t.equal(
    withDiscovery('esdb://a,b?tls=false&gossipTimeout=9&maxDiscoverAttempts=3'),
    'esdb://a,b?tls=false&gossipTimeout=9&maxDiscoverAttempts=3&maxDiscoverAttempts=1',
  )
  t.end()
})

void t.test(
  'without a node for long, every call ends in time and leaves no pending promise',
  async (t) => {
    const unhandled: unknown[] = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', note)
    t.teardown(() => process.off('unhandledRejection', note))
    const { host } = new URL(server.url.replace('esdb', 'http'))
    const log = createEventLog({
      url: `esdb://127.0.0.1:9,${host},127.0.0.1:11?tls=false&maxDiscoverAttempts=2`,
      namespace: newNamespace(),
      limits: { readDeadlineMs: 1_500, probeIntervalMs: 50 },
    })
    t.teardown(() => log.close())
    await log.append('task-1', [cancelled('task-1', 'c0')], 'no_stream')
    await server.kill9()

    const deadline = { deadlineMs: 1_000 }
    const startedMs = performance.now()
    await t.rejects(log.append('task-2', [cancelled('task-2', 'c')], 'no_stream', deadline))
    await t.rejects(log.readStream('task-1'), { code: 'log_unavailable' })
    // Longer than the library looks for a node.
    while (performance.now() - startedMs < 4_000) {
      await log
        .append('task-3', [cancelled('task-3', 'c')], 'no_stream', deadline)
        .catch(() => sleep(50))
    }
    t.equal(log.healthy(), false)
    const refused = log.ready().then(
      () => 'ready',
      (error: { readonly code: string }) => error.code,
    )
    const first = await Promise.race([refused, nextTurn('waits')])
    t.equal(first, 'log_unavailable', 'long after the outage began no caller waits')

    await server.restart()
    const backMs = performance.now()
    await until(() => log.healthy())
    t.comment(`well again ${Math.round(performance.now() - backMs)} ms after the node was`)
    await log.append('task-1', [cancelled('task-1', 'c1')], 0n)
    t.equal((await log.readStream('task-1')).length, 2)
    t.same(unhandled, [])
  },
)

void t.test('a log that is closed while no node is found lets the process end', async (t) => {
  const log = createEventLog({
    url: 'esdb://127.0.0.1:9,127.0.0.1:11?tls=false&maxDiscoverAttempts=1000000',
    namespace: newNamespace(),
  })
  await t.rejects(
    log.append('task-1', [cancelled('task-1', 'c')], 'no_stream', { deadlineMs: 300 }),
    { code: 'log_unavailable' },
    'certainly not there: it was never sent',
  )
  await log.close()
})
