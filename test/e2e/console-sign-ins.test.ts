import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { SIGN_INS_PER_MINUTE } from '../../src/app/spending/throttle/sign-ins.ts'
import { startStack } from '../helpers/stack.ts'
import { askConsole } from './support/console.ts'

/** How often one address, and one user from several addresses, may sign in. */

const stack = await startStack({ env: { TRUSTED_PROXIES: '127.0.0.1' } })
t.teardown(() => stack.stop())
const { url, demo, other, access } = stack

const signInFrom = (address: string, token: string) =>
  askConsole(url, '/console/sign-in', {
    form: { token, next: '' },
    headers: { 'x-forwarded-for': address, 'x-forwarded-proto': 'https' },
  })

/** The statuses of twice as many sign-ins as one may have in a minute, all at once. */
async function statusesFrom(addressOf: (n: number) => string, token: string) {
  const tries = Array.from({ length: 2 * SIGN_INS_PER_MINUTE }, (_, n) =>
    signInFrom(addressOf(n), token),
  )
  return new Set((await Promise.all(tries)).map(({ status }) => status))
}

t.test('429 after too many of one address, whatever the token; of IPv6 a /64', async (t) => {
  t.same(await statusesFrom(() => '203.0.113.7', demo.modelToken), new Set([403, 429]))
  t.match(await signInFrom('203.0.113.8', demo.modelToken), { status: 403 })
  const addressOf = (n: number) => `2001:db8::${n + 1}`
  t.same(await statusesFrom(addressOf, demo.modelToken), new Set([403, 429]))
})

t.test('429 after too many of one user, whatever the address and the token', async (t) => {
  const { secret } = await issueToken(access, {
    tenantId: demo.tenantId,
    userId: demo.userId,
    kind: 'query',
    name: 'second',
  })
  await stack.caughtUp()
  const addressOf = (n: number) => `198.51.100.${n}`
  t.same(await statusesFrom(addressOf, demo.queryToken), new Set([303, 429]))
  let refused = await signInFrom('198.51.100.250', secret)
  for (let n = 0; refused.status !== 429 && n < SIGN_INS_PER_MINUTE; n += 1)
    refused = await signInFrom('198.51.100.250', secret)
  t.match(refused, { text: /This user is at its limit of sign-ins a minute/, cookie: undefined })
  t.match(refused.headers.get('retry-after'), /^\d+$/)
  t.match(await signInFrom('198.51.100.1', other.queryToken), { status: 303 }, 'another user')
})
