import { randomUUID } from 'node:crypto'
import t from 'tap'
import { Announcer } from '../../../../infra/embedded/eventstore/announcer.ts'
import { GATHER_EVENTS, GATHER_MS } from '../../../../infra/embedded/eventstore/limits.ts'
import { ServerLog } from '../../../../infra/embedded/eventstore/log.ts'
import type { Sender } from '../../../../infra/embedded/eventstore/sender.ts'
import { serveSubscription } from '../../../../infra/embedded/eventstore/subscription.ts'
import { behaviourOf } from '../../../../infra/embedded/eventstore/versions.ts'
import { until } from '../../../helpers/eventually.ts'

/** An announcer whose clock moves by hand, and the announcements that were heard. */
function heard() {
  const clock = { atMs: 0, nowMs: () => clock.atMs }
  const announcer = new Announcer(clock)
  const listener = { times: 0 }
  const leave = announcer.listen(() => {
    listener.times += 1
  })
  return { clock, announcer, listener, leave }
}

t.test('commits that follow each other are announced once, and the last one always', async (t) => {
  const { clock, announcer, listener } = heard()
  announcer.committed(1)
  t.equal(listener.times, 1, 'what comes after a quiet time is announced at once')
  for (let n = 1; n < GATHER_EVENTS; n += 1) {
    clock.atMs += GATHER_MS / GATHER_EVENTS
    announcer.committed(1)
  }
  t.equal(listener.times, 1)
  await until(() => listener.times === 2)
  clock.atMs += GATHER_MS
  announcer.committed(1)
  t.equal(listener.times, 3)
})

t.test('so many events that waiting saves no work are announced at once', async (t) => {
  const { announcer, listener } = heard()
  announcer.committed(1)
  announcer.committed(GATHER_EVENTS - 1)
  t.equal(listener.times, 1)
  announcer.committed(1)
  t.equal(listener.times, 2)
  announcer.committed(GATHER_EVENTS)
  t.equal(listener.times, 3)
  announcer.stop()
})

t.test('a commit without events, and a listener that left, hear nothing', async (t) => {
  const { clock, announcer, listener, leave } = heard()
  announcer.committed(0)
  t.equal(listener.times, 0)
  leave()
  clock.atMs += GATHER_MS
  announcer.committed(1)
  t.equal(listener.times, 0)
})

const COMMITS = 64
const NO_BYTES = new Uint8Array(0)

/** A reader to whom nothing is sent that matters, and how its subscription is woken. */
function reader() {
  let wake = (): void => undefined
  const sender = {
    isClosed: false,
    isReady: true,
    frameOf: (record: Buffer) => record,
    send: async () => undefined,
    post: () => undefined,
    wait: () => new Promise<void>((resolve) => (wake = resolve)),
    wake: () => wake(),
  }
  return sender as typeof sender & Sender
}

t.test('a filter that matches nothing is not applied at every commit', async (t) => {
  const log = await ServerLog.open(t.testdir())
  const looks = { times: 0 }
  const matches = (): boolean => {
    looks.times += 1
    return false
  }
  const filter = { matches, window: 32, checkpointEvery: 32 }
  const request = { target: 'all', start: { kind: 'end' }, filter } as const
  const sender = reader()
  const reads = t.capture(log, 'readAll', log.readAll.bind(log))
  const served = serveSubscription(
    log,
    { ...request, backwards: false, count: undefined, structuredIds: false },
    sender,
    behaviourOf('25.0'),
  )
  const begunMs = performance.now()
  for (let n = 0; n < COMMITS; n += 1)
    await log.submit({
      kind: 'append',
      stream: 'other',
      expected: { kind: 'any' },
      events: [
        { id: randomUUID(), type: 'Seen', isJson: false, data: NO_BYTES, metadata: NO_BYTES },
      ],
      sizeBytes: 4,
      isAbandoned: () => false,
    })
  await until(() => looks.times === COMMITS)
  const mostAnnouncements =
    2 + COMMITS / GATHER_EVENTS + Math.ceil((performance.now() - begunMs) / GATHER_MS)
  const { length } = reads()
  t.ok(length > 0 && length <= mostAnnouncements, `${length} reads`)
  sender.isClosed = true
  sender.wake()
  await served
  await log.close()
})
