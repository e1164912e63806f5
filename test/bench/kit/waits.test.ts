import t, { type Test } from 'tap'
import type { Look, Probed, ProbedCall } from '../peers/gateway-probe.ts'
import { meanOf, timelineOf, waitsOf } from './waits.ts'

/** A loop that was looked at each millisecond, but for these milliseconds. */
function looksBut(from: number, to: number, queued: Partial<Look> = {}): readonly Look[] {
  const looks: Look[] = []
  for (let atMs = 0; atMs <= 100; atMs += 1)
    if (atMs <= from || atMs >= to) {
      const more = atMs === to ? queued : {}
      looks.push({ ownQueuedUs: 0, storeQueuedUs: 0, ...more, atUs: atMs * 1_000 })
    }
  return looks
}

function probedWith(some: Partial<Probed> = {}): Probed {
  return {
    calls: [],
    shared: [],
    statements: {},
    logRequests: {},
    collections: [],
    looks: looksBut(0, 0),
    ...some,
  }
}

/** Due at 0 ms, sent at 1, in the gateway from 2 to 40, answered at 41. */
const sent = { number: 1, dueUs: 0, sentUs: 1_000, answeredUs: 41_000 }
const inside: ProbedCall = {
  number: 1,
  startUs: 2_000,
  endUs: 40_000,
  postgres: [[3_000, 6_000]],
  upstream: [[10_000, 15_000]],
  log: [[16_000, 39_000]],
}

/** The reasons that took any time, in whole microseconds. */
function reasons(t: Test, some: Partial<Probed>): Readonly<Record<string, number>> {
  const waits = waitsOf(sent, inside, timelineOf(probedWith(some)))
  const sum = Object.values(waits).reduce((all, ms) => all + ms, 0)
  t.ok(Math.abs(sum - 41) < 1e-6, 'each moment counts once')
  return Object.fromEntries(
    Object.entries(waits).flatMap(([reason, ms]) =>
      ms > 1e-6 ? [[reason, Number(ms.toFixed(3))]] : [],
    ),
  )
}

t.test('a call waits for what it asked, where the gateway was free', (t) => {
  const plain = { generator: 1, sockets: 2, Postgres: 3, upstream: 5, log: 23 }
  t.same(reasons(t, {}), { ...plain, unexplained: 7 })
  const shared = { shared: [[6_500, 8_500]] } as const
  t.same(
    reasons(t, shared),
    { ...plain, refresh: 2, unexplained: 5 },
    'a statement of another, before the provider is asked',
  )
  t.same(reasons(t, { shared: [[17_000, 30_000]] }), { ...plain, unexplained: 7 }, 'not after that')
  t.end()
})

t.test('a held gateway is the reason, whatever else the call waited for', (t) => {
  const queued = { ownQueuedUs: 4_000 }
  const held = { looks: looksBut(20, 30, queued), collections: [[21_000, 24_000]] } as const
  t.match(reasons(t, held), {
    collection: 3,
    'no core, gateway': 4,
    'gateway at work': 3,
    log: 13,
  })
  const store = reasons(t, { looks: looksBut(20, 22, { storeQueuedUs: 1_500 }) })
  t.match(store, { 'no core, event store': 1.5, log: 21.5 })
  t.end()
})

t.test('a mean is of all calls', (t) => {
  const timeline = timelineOf(probedWith())
  const one = waitsOf(sent, inside, timeline)
  const other = waitsOf(sent, { ...inside, log: [] }, timeline)
  t.equal(meanOf([one, other]).log.toFixed(3), '11.500')
  t.end()
})
