import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../../helpers/eventually.ts'
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

const CALLS_PER_SECOND = 400
const BEFORE_MS = 4_000
const STALL_MS = 6_000
/** Nothing that is begun later is refused. */
const RECOVERY_MS = 4_000
const EMPTY_WITHIN_MS = 30_000
const AFTER_MS = 4_000

/** Short answers of which many are under way at any moment. */
const next = () =>
  calls.next({
    family: 'chat',
    streamed: false,
    switches: `words=3 first-byte-ms=${dice.integer(1, 1_500)}`,
    webSearch: false,
  })

await t.test(
  'calls are served at once after a stall of the log, and the spool empties meanwhile',
  async (t) => {
    t.equal(await machine.start(), 'ready')
    const load = startLoad(() => world.call(machine, next()), CALLS_PER_SECOND)
    t.teardown(() => load.stop())
    await sleep(BEFORE_MS)
    store.freeze()
    await sleep(STALL_MS)
    t.comment(`${sizeOf(spool)} bytes spooled in ${STALL_MS} ms`)
    t.notOk(isEmpty(spool), 'the stall was felt')
    store.thaw()
    const thawedMs = performance.now()
    await eventually('the spool is empty', () => isEmpty(spool), EMPTY_WITHIN_MS)
    t.comment(`the spool is empty after ${Math.round(performance.now() - thawedMs)} ms`)
    await sleep(RECOVERY_MS + AFTER_MS)
    t.ok(isEmpty(spool), 'and stays so')
    const timed = await load.stop()
    const after = timed.map(({ beganMs, heard }) => ({ ...heard, beganMs: beganMs - thawedMs }))
    const late = after.filter(({ beganMs }) => beganMs > RECOVERY_MS)
    const refusals = after.filter(({ delivered, beganMs }) => !delivered && beganMs > 0)
    const last = Math.max(0, ...refusals.map(({ beganMs }) => beganMs))
    const perSecond = Math.round((late.length / AFTER_MS) * 1_000)
    t.comment(`${perSecond} of ${CALLS_PER_SECOND} calls a second afterwards`)
    t.comment(
      `${refusals.length} refused after the stall, the last ${Math.round(last)} ms after it`,
    )
    t.ok(late.length > 100)
    t.same(
      late.filter(({ delivered }) => !delivered).map(({ status, text }) => `${status} ${text}`),
      [],
      'nothing is refused after it',
    )
  },
)

await t.test('ledger and provider agree after the stall', async (t) => {
  const found = await world.account()
  t.same(found.differences, [])
  t.comment(`${found.delivered} delivered, ${found.settled} settled`)
  t.same(await world.ledgerFaults(machine), [])
  const { exitCode, output } = await machine.command(['audit'])
  t.equal(exitCode, 0, output)
  await machine.stop()
})
