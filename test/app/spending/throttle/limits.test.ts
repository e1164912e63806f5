import t from 'tap'
import { limitsInForce, noLimits } from '../../../../src/app/spending/throttle/limits.ts'

const defaults = { ...noLimits, requestsPerMinute: 60, tokensPerMinute: 9_000 }

t.test('the limits set for a token override the defaults, also with no limit', async (t) => {
  t.same(limitsInForce(undefined, defaults), defaults)
  t.same(limitsInForce({}, defaults), defaults)
  t.same(limitsInForce({ requestsPerMinute: 5, tokensPerMinute: null }, defaults), {
    ...noLimits,
    requestsPerMinute: 5,
  })
  t.same(limitsInForce({ concurrentTasks: 2 }, noLimits), { ...noLimits, concurrentTasks: 2 })
})

t.test('limits without any value are undefined', async (t) => {
  t.equal(limitsInForce(undefined, noLimits), undefined)
  t.equal(limitsInForce({}, noLimits), undefined)
  t.equal(limitsInForce({ requestsPerMinute: null, tokensPerMinute: null }, defaults), undefined)
})
