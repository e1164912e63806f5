import t from 'tap'
import { streamPrefixes } from '../../../src/domain/any-event.ts'
import { NoAnswerError } from '../../../src/eventlog/log/client-internals.ts'
import { createEventLog } from '../../../src/eventlog/log/client.ts'
import { createConnection, type PullOptions } from '../../../src/eventlog/log/connection.ts'
import { createEndFinder } from '../../../src/eventlog/log/read.ts'
import { createHealth, type Health } from '../../../src/eventlog/log/health.ts'
import { defaultLimits } from '../../../src/eventlog/log/limits.ts'
import { placeOf } from '../../../src/eventlog/log/position.ts'
import type { EventLog } from '../../../src/eventlog/log/types.ts'
import { newNamespace, startEventStore } from '../../helpers/eventstore.ts'
import { cancelled, range } from '../support/sample-events.ts'

const server = await startEventStore()
t.teardown(() => server.stop())

function open(namespace: string): EventLog {
  const log = createEventLog({ url: server.url, namespace })
  t.teardown(() => log.close())
  return log
}

async function streamsIn(log: EventLog): Promise<readonly string[]> {
  const streams: string[] = []
  for await (const event of log.readAll()) streams.push(event.stream)
  return streams
}

void t.test('a namespace that is a prefix of another reads none of its events', async (t) => {
  const outer = newNamespace()
  const [production, staging] = [open(outer), open(`${outer}staging.`)]
  await production.append('task-1', [cancelled('task-1', 'c')], 'no_stream')
  const end = await production.endPosition()
  await staging.append('task-2', [cancelled('task-2', 'c')], 'no_stream')
  t.same(await streamsIn(production), ['task-1'])
  t.same(await streamsIn(staging), ['task-2'])
  t.equal(await production.endPosition(), end)
})

void t.test('only streams with a known prefix are read', async (t) => {
  const namespace = newNamespace()
  const log = open(namespace)
  await log.append('task-1', [cancelled('task-1', 'c')], 'no_stream')
  await log.append('somebody-elses', [cancelled('somebody-elses', 'c')], 'no_stream')
  t.same(await streamsIn(log), ['task-1'])
  for (const prefix of streamPrefixes) {
    const stream = `${prefix}2`
    await log.append(stream, [cancelled(stream, 'c')], 'no_stream')
  }
  t.same(await streamsIn(log), ['task-1', ...streamPrefixes.map((prefix) => `${prefix}2`)])
})

void t.test('the end position ignores other namespaces, and is found at once', async (t) => {
  const [log, crowd] = [open(newNamespace()), open(newNamespace())]
  t.equal(await log.endPosition(), undefined)
  await log.append('task-1', [cancelled('task-1', 'c')], 'no_stream')
  const ours = await log.endPosition()
  for (const part of range(3)) {
    const noise = range(500).map((index) => cancelled(`task-${part}`, 'n', index))
    await crowd.append(`task-${part}`, noise, 'no_stream')
    t.equal(await log.endPosition(), ours)
  }
  await log.append('task-1', [cancelled('task-1', 'd')], 0n)
  const moved = await log.endPosition()
  t.ok(moved !== undefined && ours !== undefined && moved > ours)
  t.equal(await log.endPosition(), moved)
})

void t.test(
  'a passed position is not searched again, and is the end if no event follows',
  async (t) => {
    const namespace = newNamespace()
    await open(namespace).append('task-1', [cancelled('task-1', 'c')], 'no_stream')
    const end = await open(namespace).endPosition()
    if (end === undefined) return t.fail('there is an end')
    const log = open(namespace)
    log.passed(placeOf(end))
    t.equal(await log.endPosition(), end)
    await log.append('task-1', [cancelled('task-1', 'd')], 0n)
    t.ok(((await log.endPosition()) ?? 0n) > end)
  },
)

void t.test('a search that takes too long does not count against the log', async (t) => {
  const connection = createConnection(server.url, 'batch')
  t.teardown(() => connection.close())
  const failures: string[] = []
  const health: Health = createHealth({
    probe: () => Promise.resolve(),
    limits: defaultLimits,
    observer: {},
  })
  t.teardown(() => health.close())
  const finder = createEndFinder({
    connection: {
      ...connection,
      // The server searches others' events, and says nothing meanwhile.
      pull: (request, options) =>
        request.getOptions()?.hasFilter() === true
          ? silence(options)
          : connection.pull(request, options),
    },
    namespace: newNamespace(),
    prefixes: ['none-'],
    limits: { ...defaultLimits, readTryMs: 200, readDeadlineMs: 10_000 },
    health: { ...health, failed: (call) => failures.push(call) },
    observer: {},
  })
  await t.rejects(finder.find(), { code: 'log_unavailable' }, 'bounded by one try')
  t.same(failures, [])
})

// oxlint-disable-next-line require-yield -- it has nothing to say
async function* silence(options: PullOptions): AsyncGenerator<never> {
  await new Promise((resolve) => options.signal?.addEventListener('abort', resolve))
  throw new NoAnswerError('aborted')
}
