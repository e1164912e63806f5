import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Machine } from '../driver/machine.ts'
import { traffic } from './support/load.ts'
import { startTextWorld } from './support/world.ts'

const world = await startTextWorld('kills')
t.teardown(() => world.close())
t.comment(`FAULTS_SEED=${world.seed}`)
const { dice } = world
/** All on the same stores at once. */
const machines = ['first', 'second', 'third'].map((name) => world.machine(name))
const [first, second] = machines
if (first === undefined || second === undefined) throw new Error('no machines')
const calls = traffic(dice.fork('traffic'), 'k')
/** Markers of calls whose process was killed under them. */
const died = new Set<string>()

const BURST = 14
const ENDED_MS = 120_000

/** Starts a life, makes its calls all at once, kills it, and waits for what its callers hear. */
async function live(machine: Machine, crashAt: string | undefined, killAfterMs?: number) {
  const start = await machine.start({ crashAt })
  if (start === 'ended') throw new Error(`it did not start:\n${machine.tail()}`)
  const burst = Array.from({ length: BURST }, () => {
    const asking = calls.next()
    died.add(asking.marker)
    return world.call(machine, asking)
  })
  if (killAfterMs !== undefined) {
    await sleep(killAfterMs)
    machine.kill('gateway')
  }
  const late = sleep(ENDED_MS, `it went on: ${machine.tail()}`, { ref: false })
  const [how] = await Promise.all([Promise.race([machine.ended, late]), ...burst])
  return how
}

const KILLED = 'ended by SIGKILL'

await t.test(
  'killed between answer, log and delivery: a delivered answer is billed once',
  async (t) => {
    const points = ['call.after-provider', 'call.before-append', 'call.after-append']
    const lives = points.map((point) => `${point}:${dice.integer(2, BURST - 4)}`)
    t.comment(lives.join(', '))
    const ends = await Promise.all(machines.map((machine, index) => live(machine, lives[index])))
    t.same(ends, [KILLED, KILLED, KILLED])
    const found = await world.account({ died })
    t.same(found.differences, [])
    t.ok(found.unbilled.length >= 2, 'two of them died with an answer in hand')
    t.ok(found.settled > found.delivered, 'one of them died with a bill and nothing delivered')
    t.comment(`${found.settled} settled, ${found.delivered} delivered of ${3 * BURST}`)
  },
)

await t.test('killed at random moments of answers: ledger and provider agree', async (t) => {
  const moments = [dice.integer(30, 400), dice.integer(400, 1_200)]
  t.comment(`after ${moments.join(' and ')} ms`)
  const ends = await Promise.all(
    [first, second].map((machine, index) => live(machine, undefined, moments[index])),
  )
  t.same(ends, [KILLED, KILLED])
  t.same((await world.account({ died })).differences, [])
})

await t.test('two gateways run, one of them is killed: ledger and provider agree', async (t) => {
  t.same(await Promise.all([first.start(), second.start()]), ['ready', 'ready'])
  const spared = Array.from({ length: BURST }, () => world.call(first, calls.next()))
  const struck = Array.from({ length: BURST }, () => {
    const asking = calls.next()
    died.add(asking.marker)
    return world.call(second, asking)
  })
  await sleep(dice.integer(30, 600))
  second.kill('gateway')
  await Promise.all(struck)
  for (const one of await Promise.all(spared))
    t.ok(one.delivered, `${one.asking.marker}: ${one.status} ${one.ended}`)
  const found = await world.account({ died })
  t.same(found.differences, [])
  t.same(await world.ledgerFaults(first), [])
  const { exitCode, output } = await first.command(['audit'])
  t.equal(exitCode, 0, output)
  t.comment(
    `${found.delivered} delivered, ${found.settled} settled, ` +
      `${found.unbilled.length} accepted upstream for processes that died, not billed`,
  )
  await first.stop()
})
