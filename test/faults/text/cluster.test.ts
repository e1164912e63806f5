import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { startPretendedCluster } from '../../helpers/cluster.ts'
import { atLength } from '../../helpers/long-run.ts'
import type { Machine } from '../driver/machine.ts'
import type { Heard } from './support/caller.ts'
import { type Load, startLoad, type Timed, traffic } from './support/load.ts'
import { isEmpty } from './support/store.ts'
import { startTextWorldOn } from './support/world.ts'

/** Two replicas under load on a log of three members that changes its leader, or has none. */

const world = await startTextWorldOn('cluster', () => startPretendedCluster())
t.teardown(() => world.close())
t.comment(`FAULTS_SEED=${world.seed}`)
const { dice, store: cluster } = world
const machines = [world.machine('one'), world.machine('two')] as const
const calls = traffic(dice.fork('traffic'), 'c')

const CALLS_PER_SECOND = 20
/** So many calls end before each change, and after it. */
const CALLS = atLength(20, 60)
/** At the most, to find a next leader in time. */
const ATTEMPTS = 3
/** Longer than a shared call and a gossip that the frozen one never answers. */
const FROZEN_MS = 8_000
/** Beyond the moment at which both replicas know it. */
const WITHOUT_LEADER_MS = atLength(4_000, 15_000)
/** So long whoever waits for a leader waits. */
const WAITED_MS = 2_500

const callOn = (machine: Machine): Promise<Heard> => {
  const plain = { family: 'chat', streamed: false, webSearch: false } as const
  return world.call(machine, calls.next({ ...plain, switches: 'words=3 first-byte-ms=5' }))
}

/** Short answers, to one replica and the other in turn. */
const startCalls = () => {
  let n = 0
  return startLoad(() => {
    n += 1
    return callOn(machines[n % machines.length] ?? machines[0])
  }, CALLS_PER_SECOND)
}

/** Until so many more calls have ended. */
async function callsEnd(load: Load): Promise<void> {
  const wanted = load.ended() + CALLS
  await eventually(`${CALLS} calls end`, () => load.ended() >= wanted)
}

/** Until every replica says of itself that it is ready, or that it is not. */
function allSay(ready: boolean): Promise<unknown> {
  return eventually(`each is ${ready ? '' : 'not '}ready`, async () => {
    const answers = await Promise.all(
      machines.map(async ({ address = '' }) => {
        const response = await fetch(`${address}/readyz`)
        await response.body?.cancel()
        return response.ok
      }),
    )
    return answers.every((ok) => ok === ready)
  })
}

/** Until every replica has refused a call. */
async function allRefuse(): Promise<void> {
  for (const machine of machines)
    await eventually('it refuses a call', async () => (await callOn(machine)).status === 503)
}

const said = (timed: readonly Timed[]): readonly string[] =>
  timed.map(({ heard: { status, failure, text } }) => `${status} ${failure}${text.slice(0, 200)}`)

let leader = 0
/** The member that leads next. */
const next = (): number => (leader = (leader + 1) % cluster.ports.length)

/**
 * Makes a change under load that refuses no call. A starved machine may find the next leader later
 * than callers wait: the change is made again, and must not be too slow each time. What is refused
 * in another way, or sooner than that, is a defect at once.
 */
async function refusesNone(t: Test, change: (load: Load) => Promise<void>): Promise<void> {
  let refused: readonly Timed[] = []
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const load = startCalls()
    t.teardown(() => load.stop())
    await callsEnd(load)
    const changedMs = performance.now()
    await change(load)
    const timed = await load.stop()
    await cluster.recover()
    refused = timed.filter(({ heard }) => !heard.delivered)
    t.comment(`${timed.length} calls, ${refused.length} refused`)
    const isTooSoon = ({ endedMs }: Timed): boolean => endedMs < changedMs + WAITED_MS
    t.same(said(refused.filter((one) => one.heard.status !== 503 || isTooSoon(one))), [])
    if (refused.length === 0) break
  }
  t.same(said(refused), [])
}

await t.test('a change of leader in the middle of shared appends refuses no call', async (t) => {
  for (const machine of machines) t.equal(await machine.start(), 'ready')
  await refusesNone(t, async (load) => {
    await cluster.lead(next())
    await callsEnd(load)
  })
  // Appends that were under way on the deposed leader may be in the log without an answer.
  await refusesNone(t, async (load) => {
    await cluster.depose(next(), 'connection')
    await callsEnd(load)
  })
})

await t.test('a leader that freezes, and another leads: no call is refused', (t) =>
  refusesNone(t, async (load) => {
    await cluster.silence(leader, 'freeze')
    await cluster.lead(next())
    await Promise.all([sleep(FROZEN_MS), callsEnd(load)])
  }),
)

await t.test('without a leader no process ends, and no settlement is lost', async (t) => {
  const pids = machines.map(({ pid }) => pid)
  const load = startCalls()
  t.teardown(() => load.stop())
  await callsEnd(load)
  await cluster.nobodyLeads()
  await allSay(false)
  // Readiness asks the log itself, and may say so before the first appends of calls have failed.
  await allRefuse()
  const awayMs = performance.now()
  await Promise.all([sleep(WITHOUT_LEADER_MS), callsEnd(load)])
  const backMs = performance.now()
  await cluster.lead(0)
  const timed = await load.stop()
  t.same(
    machines.map(({ pid }) => pid),
    pids,
    'no process ended',
  )
  const during = timed.filter(({ beganMs, endedMs }) => beganMs > awayMs && endedMs < backMs)
  t.ok(during.length >= CALLS / 2, `${during.length} calls while it was known to be away`)
  t.same(said(during.filter(({ heard }) => heard.status !== 503)), [], 'all are refused')
  const tookMs = during.map(({ beganMs, endedMs }) => endedMs - beganMs).sort((a, b) => a - b)
  const medianMs = tookMs[Math.floor(tookMs.length / 2)] ?? 0
  t.comment(
    `refused after ${Math.round(medianMs)} ms (median), ${Math.round(tookMs.at(-1) ?? 0)} at most`,
  )

  await allSay(true)
  const later = startCalls()
  t.teardown(() => later.stop())
  await callsEnd(later)
  const after = await later.stop()
  t.same(said(after.filter(({ heard }) => !heard.delivered)), [], 'service is back')
  for (const name of ['one', 'two']) {
    const spool = world.spoolOf(name)
    await eventually('the spool is drained', () => isEmpty(spool))
  }
})

await t.test('ledger and provider agree after the changes of leader', async (t) => {
  const found = await world.account()
  t.same(found.differences, [])
  t.comment(`${found.delivered} delivered, ${found.settled} settled`)
  for (const machine of machines) t.same(await world.ledgerFaults(machine), [])
  const { exitCode, output } = await machines[0].command(['audit'])
  t.equal(exitCode, 0, output)
  for (const machine of machines) await machine.stop()
})
