import t from 'tap'
import {
  createAttempts,
  LEAST_ATTEMPTS_PER_MINUTE,
} from '../../../../src/app/spending/throttle/attempts.ts'
import { type Holder, noLimits } from '../../../../src/app/spending/throttle/limits.ts'

const holder = (
  whose: Holder['whose'],
  id: string,
  requestsPerMinute: number | undefined,
): Holder => ({ whose, id, limits: { ...noLimits, requestsPerMinute } })

t.test('refused requests are bounded by the limit of the token', (t) => {
  let nowMs = 1_000
  const { begin } = createAttempts({ nowMs: () => nowMs })
  const token = [holder('token', 'a', 60)]
  for (let n = 0; n < 60; n += 1) t.ok(begin(token))
  t.throws(() => begin(token), {
    code: 'rate_limited',
    message: 'This token is at its limit of requests a minute, including refused ones (60)',
    details: { whose: 'token', limitedBy: 'attempts', limit: 60, retryAfterMs: 1_000 },
  })
  t.ok(begin([holder('token', 'b', 60)]), 'another token has its own')
  nowMs += 1_000
  t.ok(begin(token), 'one comes back each second')
  t.throws(() => begin(token), { code: 'rate_limited' })
  t.end()
})

t.test('a released attempt does not count, however many there are', (t) => {
  const { begin } = createAttempts({ nowMs: () => 1_000 })
  const token = [holder('token', 'a', 10)]
  for (let n = 0; n < 1_000; n += 1) begin(token)?.release()
  for (let n = 0; n < 10; n += 1) t.ok(begin(token))
  t.throws(() => begin(token), { code: 'rate_limited' }, 'none is saved up')
  t.end()
})

t.test('a low limit allows a few errors; without a limit none is counted', (t) => {
  const { begin } = createAttempts({ nowMs: () => 1_000 })
  const slow = [holder('token', 'slow', 1)]
  for (let n = 0; n < LEAST_ATTEMPTS_PER_MINUTE; n += 1) t.ok(begin(slow))
  t.throws(() => begin(slow), {
    code: 'rate_limited',
    details: { limit: LEAST_ATTEMPTS_PER_MINUTE },
  })
  for (let n = 0; n < 1_000; n += 1) t.equal(begin([holder('token', 'any', undefined)]), undefined)
  t.end()
})

t.test('a refusal for one holder uses no attempt of another', (t) => {
  const { begin } = createAttempts({ nowMs: () => 1_000 })
  const [token, tenant] = [holder('token', 'a', 100), holder('tenant', 't', 10)]
  for (let n = 0; n < 10; n += 1) begin([tenant])
  for (let n = 0; n < 200; n += 1)
    t.throws(() => begin([token, tenant]), { code: 'rate_limited', details: { whose: 'tenant' } })
  for (let n = 0; n < 100; n += 1) t.ok(begin([token]))
  t.throws(() => begin([token]), { code: 'rate_limited' })
  t.end()
})
