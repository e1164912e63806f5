import t from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { atLength } from '../../helpers/long-run.ts'
import { families, type Heard } from './support/caller.ts'
import { IMPATIENT_MODEL } from './support/prices.ts'
import { traffic } from './support/load.ts'
import { startTextWorld } from './support/world.ts'

const world = await startTextWorld('callers')
t.teardown(() => world.close())
t.comment(`FAULTS_SEED=${world.seed}`)
const { dice } = world
const machine = world.machine('gateway')
const calls = traffic(dice.fork('traffic'), 'c')

/** How each call that is billed was measured, by marker. */
async function measured(): Promise<ReadonlyMap<string, string>> {
  const markers = await world.upstream.markers()
  return new Map(
    (await world.logged()).map(({ requestId, outcome, settlement }) => [
      markers.get(requestId) ?? '?',
      `${outcome}, ${settlement?.lines[0]?.measurement}`,
    ]),
  )
}

/** Waits until every accepted call is billed, as a caller who left does not see it. */
async function allBilled(): Promise<void> {
  await eventually('everything accepted is billed', async () => {
    const { unbilled } = await world.account()
    return unbilled.length === 0
  })
}

const LEAVING = 42

await t.test('callers who leave at any byte pay the usage that upstream reports', async (t) => {
  t.equal(await machine.start(), 'ready')
  const heard = await Promise.all(
    Array.from({ length: LEAVING }, (_none, index) => {
      const family = families[index % families.length] ?? 'chat'
      const streamed = index % 5 !== 0
      const leave = dice.chance(0.6)
        ? { leaveAfterBytes: dice.integer(0, 4_000) }
        : { leaveAfterMs: dice.integer(0, 600) }
      return world.call(machine, calls.next({ family, streamed, ...leave }))
    }),
  )
  await allBilled()
  t.same((await world.account()).differences, [])
  const how = await measured()
  for (const [marker, measurement] of how) t.match(measurement, /reported$/, marker)
  const left = heard.filter(({ ended }) => ended === 'left').length
  t.ok(left > LEAVING / 3, `${left} left before the end`)
  t.ok([...how.values()].some((measurement) => measurement === 'disconnected, reported'))
})

await t.test('lines are estimated, and marked, where upstream reports no usage', async (t) => {
  const switches = 'words=30 frame-ms=100'
  const leaving = families.flatMap((family) =>
    [1, 2].map(() => {
      const leaveAfterBytes = dice.integer(1, 2_000)
      const more = { family, streamed: true, switches, webSearch: false, leaveAfterBytes }
      return calls.next({ ...more, model: IMPATIENT_MODEL })
    }),
  )
  const silent = families.map((family) =>
    calls.next({ family, streamed: true, switches: 'words=12 no-usage', webSearch: false }),
  )
  await Promise.all([...leaving, ...silent].map((asking) => world.call(machine, asking)))
  await allBilled()
  t.same((await world.account()).differences, [])
  const how = await measured()
  for (const { marker } of leaving) t.equal(how.get(marker), 'disconnected, estimated', marker)
  for (const { marker } of silent) t.equal(how.get(marker), 'completed, estimated', marker)
})

const STREAMS = atLength(500, 2_000)
/** Of these, so many never end by themselves. */
const STALLED = STREAMS * 0.65
const DRAIN_MS = atLength(3_000, 6_000)
/** When the others end, after all have begun: some of them too late. */
const EARLIEST_MS = DRAIN_MS / 6
const LATEST_MS = DRAIN_MS * (4 / 3)
const WORDS = 9
/** By then something of the answer has come, on every wire. */
const SPOKEN = 6
/** As many connections are opened at once; more would be refused, as anywhere. */
const OPENING = 150

await t.test(
  'hundreds of streams and a SIGTERM: each ends in time, or costs nothing',
  async (t) => {
    const draining = world.machine('draining', { DRAIN_TIMEOUT_MS: String(DRAIN_MS) })
    t.equal(await draining.start(), 'ready')
    const heard: Promise<Heard>[] = []
    let begun = 0
    let over = 0
    const startedMs = performance.now()
    const open = async (switches: () => string): Promise<void> => {
      await eventually('others begin', () => heard.length - begun < OPENING)
      let hasBegun = false
      const asking = calls.next({
        family: families[heard.length % families.length] ?? 'chat',
        streamed: true,
        model: 'text-basic',
        switches: switches(),
        webSearch: false,
        onText: () => {
          if (!hasBegun) begun += 1
          hasBegun = true
        },
      })
      heard.push(world.call(draining, asking).finally(() => (over += 1)))
    }
    while (heard.length < STALLED)
      await open(() => `words=${WORDS} stall-after=${dice.integer(SPOKEN, WORDS - 1)}`)
    // How fast this machine is just now tells how long the others must last.
    const perStreamMs = ((performance.now() - startedMs) / STALLED) * 1.3
    while (heard.length < STREAMS)
      await open(() => {
        const lengthMs =
          (STREAMS - heard.length) * perStreamMs + dice.integer(EARLIEST_MS, LATEST_MS)
        return `words=${WORDS} frame-ms=${Math.ceil(lengthMs / (WORDS + 2))}`
      })
    await eventually('all have begun', () => begun === STREAMS)
    const openAtOnce = STREAMS - over
    t.comment(`${openAtOnce} open at once after ${Math.round(performance.now() - startedMs)} ms`)
    const stopMs = performance.now()
    await draining.stop()
    t.comment(`exit code 0 after ${Math.round(performance.now() - stopMs)} ms`)
    const ends = await Promise.all(heard)
    const brokenOff = new Set(
      ends.filter((one) => !one.delivered).map(({ asking }) => asking.marker),
    )
    const found = await world.account({ brokenOff })
    t.same(found.differences, [])
    const delivered = ends.filter((one) => one.delivered).length
    t.comment(`${delivered} delivered, ${found.estimated} estimated in all`)
    t.ok(openAtOnce >= STALLED && delivered <= STREAMS - STALLED, `${openAtOnce} open at once`)
    const silent = ends.filter(
      (one) => !one.delivered && one.ended === 'whole' && !one.text.includes('error'),
    )
    t.same(
      silent.slice(0, 5).map(({ asking, status }) => `${asking.marker}: ${status}`),
      [],
      'no stream ends as if that were all',
    )
    t.same(await world.ledgerFaults(machine), [])
    const { exitCode, output } = await machine.command(['audit'])
    t.equal(exitCode, 0, output)
    await machine.stop()
  },
)
