import t from 'tap'
import {
  createSignIns,
  SIGN_INS_PER_MINUTE,
} from '../../../../src/app/spending/throttle/sign-ins.ts'

t.test('an address or a user at its limit is refused until a sign-in has flowed back', (t) => {
  let nowMs = 0
  const signIn = createSignIns({ nowMs: () => nowMs })
  for (let n = 0; n < SIGN_INS_PER_MINUTE; n += 1) signIn('address', '203.0.113.7')
  t.throws(() => signIn('address', '203.0.113.7'), {
    code: 'rate_limited',
    message: 'This address is at its limit of sign-ins a minute (60)',
    details: { whose: 'address', limitedBy: 'sign_ins', limit: 60, retryAfterMs: 1_000 },
  })
  signIn('address', '203.0.113.8')
  signIn('user', '203.0.113.7')
  nowMs = 1_000
  signIn('address', '203.0.113.7')
  t.throws(() => signIn('address', '203.0.113.7'), { code: 'rate_limited' })
  t.end()
})
