import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { atLength } from '../../helpers/long-run.ts'
import { startLoad, traffic } from './support/load.ts'
import { isEmpty, sizeOf } from './support/store.ts'
import { startTextWorld } from './support/world.ts'

const world = await startTextWorld('stall')
t.teardown(() => world.close())
t.comment(`FAULTS_SEED=${world.seed}`)
const { dice, store } = world
const machine = world.machine('gateway')
const spool = world.spoolOf('gateway')
const calls = traffic(dice.fork('traffic'), 's')

const CALLS_PER_SECOND = atLength(150, 250)
/** So many calls end before the stall, and after it. */
const CALLS = atLength(150, 1_000)
/** A machine that runs other tests as well takes long for them. */
const CALLS_WITHIN_MS = 180_000
/** Beyond the moment at which the first records wait in the spool. */
const STALL_MS = atLength(500, 4_000)
const EMPTY_WITHIN_MS = 60_000

/** Short answers of which many are under way at any moment. */
const next = () =>
  calls.next({
    family: 'chat',
    streamed: false,
    switches: `words=3 first-byte-ms=${dice.integer(1, 1_500)}`,
    webSearch: false,
  })

async function isReady(): Promise<boolean> {
  // A busy gateway may close the connection that is used again.
  const response = await fetch(`${machine.address ?? ''}/readyz`).catch(() => undefined)
  await response?.body?.cancel()
  return response?.ok ?? false
}

await t.test('calls are served after a stall of the log, and the spool empties', async (t) => {
  t.equal(await machine.start(), 'ready')
  const load = startLoad(() => world.call(machine, next()), CALLS_PER_SECOND)
  t.teardown(() => load.stop())
  const callsEnd = async (): Promise<void> => {
    const wanted = load.ended() + CALLS
    await eventually('calls end', () => load.ended() >= wanted, CALLS_WITHIN_MS)
  }
  await callsEnd()
  store.freeze()
  await eventually('the stall is felt', () => !isEmpty(spool))
  await sleep(STALL_MS)
  t.comment(`${sizeOf(spool)} bytes spooled`)
  store.thaw()
  const thawedMs = performance.now()
  await eventually('the spool is empty', () => isEmpty(spool), EMPTY_WITHIN_MS)
  t.comment(`the spool is empty after ${Math.round(performance.now() - thawedMs)} ms`)
  await eventually('the gateway says that it is ready', isReady)
  const backMs = performance.now()
  t.comment(`ready ${Math.round(backMs - thawedMs)} ms after it`)
  await callsEnd()
  await callsEnd()
  t.ok(isEmpty(spool), 'and stays so')
  const timed = await load.stop()
  const refused = timed.filter(({ heard, beganMs }) => !heard.delivered && beganMs > thawedMs)
  t.comment(`${refused.length} refused after the stall`)
  const late = timed.filter(({ beganMs }) => beganMs > backMs)
  const metrics = await (await fetch(`${machine.address ?? ''}/metrics`)).text()
  for (const [closed] of metrics.matchAll(/^tollgate_http_connections_refused_total.*[1-9]\d*$/gm))
    t.comment(closed)
  t.ok(late.length >= CALLS / 2, `${late.length} calls afterwards`)
  t.same(
    late
      .filter(({ heard }) => !heard.delivered)
      .map(({ heard: { status, failure, text } }) => `${status} ${failure}${text}`),
    [],
    'nothing is refused after it',
  )
})

await t.test('ledger and provider agree after the stall', async (t) => {
  const found = await world.account()
  t.same(found.differences, [])
  t.comment(`${found.delivered} delivered, ${found.settled} settled`)
  t.same(await world.ledgerFaults(machine), [])
  const { exitCode, output } = await machine.command(['audit'])
  t.equal(exitCode, 0, output)
  await machine.stop()
})
