import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createEventLog } from '../../../src/eventlog/log/client.ts'
import { LogGuard } from '../../../src/eventlog/log/guard.ts'
import type { EventLog } from '../../../src/eventlog/log/types.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { eventually } from '../../helpers/eventually.ts'
import { newNamespace, startLocalEventStore } from '../../helpers/eventstore.ts'
import { cancelled } from '../support/sample-events.ts'

/** The log against what the process knows of it, beside what the database knows. */

/** A node that is behind for so long is not waited for. */
const BEHIND_MS = 2_000

interface Guarded {
  readonly log: EventLog
  /** Reasons to start again. */
  readonly ends: readonly string[]
  /** Lets time pass, as far as the guard can tell. */
  readonly pass: (ms: number) => void
  /** Resolves when servers have accepted its subscription so often: only an open one is cut off by a restart. */
  readonly follows: (times: number) => Promise<unknown>
}

function guarded(
  t: Test,
  { url, namespace }: { readonly url: string; readonly namespace: string },
  compare: () => Promise<unknown>,
): Guarded {
  const ends: string[] = []
  let nowMs = 0
  let acceptances = 0
  const guard = new LogGuard({
    clock: { nowMs: () => nowMs },
    logger: silentLog,
    observer: {},
    refusalOf: (error) => `is another one: ${String(error)}`,
    startAgain: (reason) => ends.push(reason),
  })
  const bare = createEventLog({ url, namespace, observer: guard.observer })
  const log = guard.guard(bare, compare)
  const stop = new AbortController()
  t.teardown(() => (stop.abort(), guard.stop(), bare.close()))
  // Each process follows something of the log, which a restart of its server cuts off.
  void follow(log, stop.signal, async () => (acceptances += 1))
  return {
    log,
    ends,
    pass: (ms) => void (nowMs += ms),
    follows: (times) => eventually('it follows the log', () => acceptances >= times),
  }
}

async function follow(
  log: EventLog,
  signal: AbortSignal,
  onOpened: () => Promise<unknown>,
): Promise<void> {
  for await (const _message of log.subscribe({ streamPrefix: 'account-', signal, onOpened }))
    continue
}

async function storeWithACopy(t: Test) {
  const store = await startLocalEventStore()
  const copy = await mkdtemp(join(tmpdir(), 'tollgate-guard-'))
  t.teardown(async () => {
    await store.stop()
    await rm(copy, { recursive: true, force: true })
  })
  return { store, copy, place: { url: store.url, namespace: newNamespace() } }
}

const belongs = (): Promise<void> => Promise.resolve()

t.test('a log that lost the newest event is not gone on with, though it belongs', async (t) => {
  const { store, copy, place } = await storeWithACopy(t)
  const writer = guarded(t, place, belongs)
  const { log, ends, pass } = writer
  const reader = guarded(t, place, belongs)
  const bystander = guarded(t, place, belongs)
  const allFollow = (times: number) =>
    Promise.all([writer, reader, bystander].map(({ follows }) => follows(times)))
  await allFollow(1)
  await log.append('task-a', [cancelled('task-a', 'first')], 'no_stream')
  t.equal((await bystander.log.readStream('task-a')).length, 1)
  await store.copyTo(copy)
  await log.append('task-a', [cancelled('task-a', 'second')], 0n)
  t.equal((await reader.log.readStream('task-a')).length, 2)
  await allFollow(2)

  await store.serveFrom(copy)
  // Of another process, so that the stream is as long as it was.
  const other = createEventLog(place)
  t.teardown(() => other.close())
  await other.append('task-a', [cancelled('task-a', 'of another')], 0n)
  await t.rejects(log.append('task-a', [cancelled('task-a', 'third')], 1n), {
    code: 'log_unavailable',
  })
  pass(BEHIND_MS)
  await eventually('who appended it starts again', async () => ends[0])
  await eventually('who read it is refused', async () => reader.log.denial())
  reader.pass(BEHIND_MS)
  await eventually('who read it starts again', async () => reader.ends[0])
  t.match(log.denial(), /^went back: it does not hold event .* \(revision 1 of task-a\)/)
  t.equal(ends.length, 1, 'once')
  t.equal((await bystander.log.readStream('task-a')).length, 2)
  t.same(bystander.ends, [], 'who knew nothing of it goes on')
})

t.test('an event of a subscription is known as well', async (t) => {
  const { store, copy, place } = await storeWithACopy(t)
  const { log, ends, pass } = guarded(t, place, belongs)
  const other = createEventLog(place)
  t.teardown(() => other.close())
  await other.append('task-a', [cancelled('task-a', 'first')], 'no_stream')
  await store.copyTo(copy)
  await other.append('task-b', [cancelled('task-b', 'lost')], 'no_stream')
  const stop = new AbortController()
  for await (const message of log.subscribe({ signal: stop.signal }))
    if (message.kind === 'event' && message.event.stream === 'task-b') stop.abort()
  await store.serveFrom(copy)
  await eventually('it is refused', async () => log.denial())
  pass(BEHIND_MS)
  await eventually('it starts again', async () => ends[0])
})

t.test('a node that is behind for a moment is waited for', async (t) => {
  const { store, copy, place } = await storeWithACopy(t)
  const { log, ends, pass, follows } = guarded(t, place, belongs)
  await follows(1)
  await log.append('task-a', [cancelled('task-a', 'first')], 'no_stream')
  await store.copyTo(copy)
  await log.append('task-a', [cancelled('task-a', 'second')], 0n)
  await follows(2)
  await store.serveFrom(copy)
  await eventually('it is refused', async () => log.denial())
  pass(BEHIND_MS - 1)
  await store.serveFrom(store.directory)
  await eventually('it is used again', async () => (log.healthy() ? true : undefined))
  t.same(ends, [])
  t.equal((await log.readStream('task-a')).length, 2)
})

t.test('a log that was another one for long is not gone on with', async (t) => {
  const { place } = await storeWithACopy(t)
  let fault: Error | undefined
  let refusals = 0
  const { log, ends, pass } = guarded(t, place, async () => {
    if (fault === undefined) return
    refusals += 1
    throw fault
  })
  await log.append('task-a', [cancelled('task-a', 'first')], 'no_stream')
  fault = new Error('the database says so')
  await eventually('it is refused', async () => log.denial())
  pass(BEHIND_MS)
  const before = refusals
  await eventually('for long', async () => (refusals > before + 1 ? true : undefined))
  t.same(ends, [], 'while it is another one, a new process would not start')
  fault = undefined
  await eventually('it starts again', async () => ends[0])
  await t.rejects(log.readStream('task-a'), { code: 'log_unavailable' })
})
