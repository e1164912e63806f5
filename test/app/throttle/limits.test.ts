import t from 'tap'
import { limitsInForce, noLimits } from '../../../src/app/throttle/limits.ts'

const defaults = { requestsPerMinute: 60, tokensPerMinute: 9_000, concurrentTasks: undefined }

t.test('what was said for a token goes before the defaults, no limit included', async (t) => {
  t.same(limitsInForce(undefined, defaults), defaults)
  t.same(limitsInForce({}, defaults), defaults)
  t.same(limitsInForce({ requestsPerMinute: 5, tokensPerMinute: null }, defaults), {
    requestsPerMinute: 5,
    tokensPerMinute: undefined,
    concurrentTasks: undefined,
  })
  t.same(limitsInForce({ concurrentTasks: 2 }, noLimits), { ...noLimits, concurrentTasks: 2 })
})

t.test('a token without any limit has none', async (t) => {
  t.equal(limitsInForce(undefined, noLimits), undefined)
  t.equal(limitsInForce({}, noLimits), undefined)
  t.equal(limitsInForce({ requestsPerMinute: null, tokensPerMinute: null }, defaults), undefined)
})
