import { setTimeout as sleep } from 'node:timers/promises'
import { Counter } from 'prom-client'
import t from 'tap'
import { type Policy, type RoundOutcome, runLoop } from '../../../src/app/queue/policy-loop.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { until } from '../../helpers/eventually.ts'

const policyFailures = new Counter({
  name: 'failures',
  help: 'x',
  labelNames: ['policy'],
  registers: [],
})

/** Runs a policy whose rounds have these outcomes, and counts them. */
function running(policy: Partial<Policy>, outcome: (round: number) => RoundOutcome) {
  const stopping = new AbortController()
  let rounds = 0
  const round = (): Promise<RoundOutcome> => Promise.resolve(outcome((rounds += 1)))
  const whole = { name: 'test', idleMs: 4, round, ...policy }
  const done = runLoop({ logger: silentLog, metrics: { policyFailures } }, whole, stopping.signal)
  return {
    rounds: () => rounds,
    stop: () => {
      stopping.abort()
      return done
    },
  }
}

t.test('idle pauses grow up to the longest pause', async (t) => {
  const growing = running({ longestIdleMs: 60_000 }, () => 'idle')
  await sleep(400)
  await growing.stop()
  // 4 + 6 + 9 + … ms, a quarter less at the least: the tenth alone lasts over 100 ms.
  t.ok(growing.rounds() >= 2 && growing.rounds() <= 12, `${growing.rounds()} rounds`)
  const bounded = running({ longestIdleMs: 6 }, () => 'idle')
  await until(() => bounded.rounds() > 30)
  await bounded.stop()
})

t.test(
  'a round with work resets the pause, and without a longest pause it does not grow',
  async (t) => {
    const finding = running({ longestIdleMs: 60_000 }, (round) =>
      round % 6 === 0 ? 'some' : 'idle',
    )
    await until(() => finding.rounds() > 40)
    await finding.stop()
    const constant = running({}, () => 'idle')
    await until(() => constant.rounds() > 40)
    await constant.stop()
    t.pass('neither came to rest')
  },
)

t.test('a loop does not pause while there is more work', async (t) => {
  const busy = running({ idleMs: 60_000 }, (round) => (round < 500 ? 'more' : 'some'))
  await until(() => busy.rounds() === 500)
  await busy.stop()
  t.equal(busy.rounds(), 500)
})
