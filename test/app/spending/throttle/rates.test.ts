import * as fc from 'fast-check'
import t from 'tap'
import type { Used } from '../../../../src/app/spending/reservation.ts'
import { type Holder, type Limits, noLimits } from '../../../../src/app/spending/throttle/limits.ts'
import type { Share, Use } from '../../../../src/app/spending/throttle/allowance.ts'
import { createRates } from '../../../../src/app/spending/throttle/rates.ts'

const START_MS = 1_767_323_045_000

function withClock() {
  let nowMs = START_MS
  const rates = createRates({ nowMs: () => nowMs })
  return { rates, pass: (ms: number) => void (nowMs += ms) }
}

const holder = (limits: Partial<Limits>, id = 'token_1'): Holder => ({
  whose: 'token',
  id,
  limits: { ...noLimits, ...limits },
})
const rpm = (requestsPerMinute: number, id?: string) => holder({ requestsPerMinute }, id)
const tpm = (tokensPerMinute: number, id?: string) => holder({ tokensPerMinute }, id)
/** A call that came to its end. */
const usedTokens = (tokens: number): Used => ({ amountPico: 0n, tokens, position: undefined })
const expecting = (tokens: number) => () => tokens
const breach = (limitedBy: string, limit: number, retryAfterMs: number) => ({
  name: 'DomainError',
  code: 'rate_limited',
  details: { whose: 'token', limitedBy, limit, retryAfterMs },
})

t.test('a token without limits is neither counted nor remembered', async (t) => {
  const { rates } = withClock()
  const unlimited = holder({})
  const never = (): number => {
    throw new Error('nobody asks what it may need')
  }
  t.equal(rates.take([unlimited], never), undefined)
  t.same(rates.statuses(unlimited), {})
  const ofTasks = holder({ concurrentTasks: 1, concurrentCalls: 1 })
  t.equal(rates.take([ofTasks], never), undefined)
  await rates.exchange(() => Promise.reject(new Error('nothing is told')))
})

t.test('requests are refused at the limit, with the time until the next', async (t) => {
  const { rates, pass } = withClock()
  const who = rpm(60)
  for (let taken = 0; taken < 60; taken += 1) t.ok(rates.take([who]))
  t.throws(() => rates.take([who]), breach('requests', 60, 1_000))
  pass(400)
  t.throws(() => rates.take([who]), breach('requests', 60, 600), 'being refused costs nothing')
  pass(600)
  rates.take([who])
  t.throws(() => rates.take([who]), breach('requests', 60, 1_000))
  rates.take([rpm(60, 'token_2')])
})

t.test('tokens are reserved as expected and corrected to the usage', async (t) => {
  const { rates } = withClock()
  const who = tpm(1_000)
  const remaining = () => rates.statuses(who).tokens?.remaining
  const first = rates.take([who], expecting(600))
  t.equal(remaining(), 400)
  t.throws(() => rates.take([who], expecting(500)), breach('tokens', 1_000, 6_000))
  first?.commit(usedTokens(100))
  t.equal(remaining(), 900)
  first?.release('failed')
  first?.release('not_started')
  t.equal(remaining(), 900, 'the first end counts')
  rates.take([who], expecting(500))?.commit(usedTokens(800))
  t.equal(remaining(), 100, 'more than expected counts as well')
})

t.test('a call beyond the token limit is admitted once no other use is left', async (t) => {
  const { rates, pass } = withClock()
  const who = tpm(1_000)
  const first = rates.take([who], expecting(50_000))
  t.throws(() => rates.take([who], expecting(1)), breach('tokens', 1_000, 60))
  first?.commit(usedTokens(50_000))
  t.throws(() => rates.take([who], expecting(1)), breach('tokens', 1_000, 60_000))
  t.throws(() => rates.take([who], expecting(50_000)), breach('tokens', 1_000, 60_000), 'bounded')
  pass(120_000)
  t.ok(rates.take([who], expecting(50_000)))
})

t.test('a request refused by one limit uses no other limit', async (t) => {
  const { rates } = withClock()
  const who = holder({ requestsPerMinute: 10, tokensPerMinute: 100 })
  rates.take([who], expecting(90))
  t.throws(() => rates.take([who], expecting(20)), breach('tokens', 100, 6_000))
  t.match(rates.statuses(who), { requests: { remaining: 9 }, tokens: { remaining: 10 } })
  t.throws(() => rates.take([who], expecting(100)), breach('tokens', 100, 54_000))
})

t.test('a request refused for one holder uses no limit of another holder', async (t) => {
  const { rates } = withClock()
  const token = rpm(5, 'token_1')
  const tenant: Holder = { ...rpm(1, 'tenant_1'), whose: 'tenant' }
  rates.take([tenant])
  for (const all of [
    [token, tenant],
    [tenant, token],
  ]) {
    t.throws(() => rates.take(all), { code: 'rate_limited', details: { whose: 'tenant' } })
    t.match(rates.statuses(token), { requests: { remaining: 5 } })
  }
})

t.test('a request that was not sent is returned with its tokens', async (t) => {
  const { rates } = withClock()
  const who = holder({ requestsPerMinute: 2, tokensPerMinute: 100 })
  rates.take([who], expecting(100))?.release('not_started')
  t.match(rates.statuses(who), { requests: { remaining: 2 }, tokens: { remaining: 100 } })
  rates.take([who], expecting(100))?.release('failed')
  t.match(rates.statuses(who), { requests: { remaining: 1 }, tokens: { remaining: 100 } })
  rates.take([who])?.release('not_started')
  t.match(rates.statuses(who), { requests: { remaining: 1 }, tokens: { remaining: 100 } })
})

t.test('a limit status has limit, rest and reset time, also for an unused token', async (t) => {
  const { rates, pass } = withClock()
  const who = rpm(6)
  t.same(rates.statuses(who), { requests: { limit: 6, remaining: 6, resetMs: 0 } })
  rates.take([who])
  rates.take([who])
  pass(1_500)
  t.same(rates.statuses(who), { requests: { limit: 6, remaining: 4, resetMs: 18_500 } })
  t.same(rates.statuses(rpm(60)), { requests: { limit: 60, remaining: 58, resetMs: 1_850 } })
})

/** What replicas tell each other, as the shared table adds it up, with nothing flowing back. */
function board(): { share: Share; told: Use[][]; fail: (now: boolean) => void } {
  const used = new Map<string, number>()
  const told: Use[][] = []
  let failing = false
  return {
    told,
    fail: (now) => void (failing = now),
    share: async (uses) => {
      if (failing) throw new Error('the database is away')
      told.push([...uses])
      await Promise.resolve()
      return uses.map(({ holderId, measure, used: more }) => {
        const sum = (used.get(`${holderId} ${measure}`) ?? 0) + more
        used.set(`${holderId} ${measure}`, sum)
        return { holderId, measure, used: sum }
      })
    },
  }
}

t.test('replicas that exchange their use share one limit', async (t) => {
  const [one, two] = [withClock(), withClock()]
  const { share } = board()
  const who = rpm(10)
  for (let taken = 0; taken < 6; taken += 1) one.rates.take([who])
  two.rates.take([who])
  await one.rates.exchange(share)
  await two.rates.exchange(share)
  t.equal(two.rates.statuses(who).requests?.remaining, 3)
  await one.rates.exchange(share)
  t.equal(one.rates.statuses(who).requests?.remaining, 3)
  for (let taken = 0; taken < 3; taken += 1) one.rates.take([who])
  t.throws(() => one.rates.take([who]), { code: 'rate_limited' })
  await one.rates.exchange(share)
  await two.rates.exchange(share)
  t.throws(() => two.rates.take([who]), { code: 'rate_limited' })
})

t.test('a failed report is repeated; meanwhile the limit applies in this process', async (t) => {
  const { rates } = withClock()
  const { share, fail, told } = board()
  const who = rpm(3)
  rates.take([who])
  fail(true)
  await t.rejects(rates.exchange(share), /away/)
  rates.take([who])
  rates.take([who])
  t.throws(() => rates.take([who]), { code: 'rate_limited' })
  fail(false)
  await rates.exchange(share)
  t.same(told, [[{ holderId: 'token_1', measure: 'requests', perMinute: 3, used: 3 }]])
  t.equal(rates.statuses(who).requests?.remaining, 0)
})

t.test('use that has refilled is not reported, unless a call is still open', async (t) => {
  const { rates, pass } = withClock()
  const { share, told } = board()
  rates.take([rpm(60, 'brief')])
  const long = rates.take([tpm(1_000, 'long')], expecting(500))
  await rates.exchange(share)
  t.equal(told[0]?.length, 2)
  pass(180_000)
  await rates.exchange(share)
  t.equal(told.length, 1)
  long?.commit(usedTokens(700))
  await rates.exchange(share)
  t.match(told[1], [{ holderId: 'long', used: 200 }], 'the correction of a long call counts')
})

t.test('the number of remembered tokens is bounded', async (t) => {
  const { rates } = withClock()
  const { share, told } = board()
  const open = rates.take([tpm(1_000, 'open')], expecting(10))
  for (let n = 0; n < 20_500; n += 1) rates.take([rpm(60, `token_${n}`)])
  await rates.exchange(share)
  const uses = told.flat()
  t.equal(uses.length, 20_000)
  t.ok(told.every(({ length }) => length <= 5_000))
  t.ok(
    uses.some(({ holderId }) => holderId === 'open'),
    'one with an open call stays',
  )
  open?.commit(usedTokens(20))
})

t.test('for any order of use, settlement and return, use is never negative or lost', async (t) => {
  const step = fc.record({
    expected: fc.integer({ min: 1, max: 400 }),
    used: fc.option(fc.integer({ min: 0, max: 800 }), { nil: undefined }),
    exchanges: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (given) => {
      const { rates } = withClock()
      const { share } = board()
      const who = tpm(1_000_000)
      let sum = 0
      for (const { expected, used, exchanges } of given) {
        const taken = rates.take([who], expecting(expected))
        if (exchanges) await rates.exchange(share)
        if (used === undefined) taken?.release('not_started')
        else taken?.commit(usedTokens(used))
        sum += used ?? 0
        if (rates.statuses(who).tokens?.remaining !== 1_000_000 - sum) return false
      }
      await rates.exchange(share)
      return rates.statuses(who).tokens?.remaining === 1_000_000 - sum
    }),
    { numRuns: 60 },
  )
  t.pass()
})
