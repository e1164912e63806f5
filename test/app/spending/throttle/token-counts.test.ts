import t from 'tap'
import {
  COUNTS_AT_ONCE,
  COUNTS_PER_MINUTE,
  createTokenCounts,
} from '../../../../src/app/spending/throttle/token-counts.ts'

const callerOf = (tokenId: string, userId = `user_of_${tokenId}`, tenantId = 'tenant_1') =>
  ({ tokenId, userId, tenantId, kind: 'model' }) as const

void t.test('a token has a few places at once, which come back once', async (t) => {
  const take = createTokenCounts({ nowMs: () => 0 })
  const caller = callerOf('token_1')
  const places = Array.from({ length: COUNTS_AT_ONCE }, () => take(caller))
  t.throws(() => take(caller), {
    code: 'rate_limited',
    details: { whose: 'token', limitedBy: 'concurrent_counts', limit: COUNTS_AT_ONCE },
  })
  t.doesNotThrow(() => take(callerOf('token_2')), 'another token has its own')
  const [first] = places
  first?.()
  first?.()
  places[0] = take(caller)
  t.throws(() => take(caller), { code: 'rate_limited' }, 'a place given back twice is one place')
})

void t.test('a minute has a limit of a token, of a user and of a tenant', async (t) => {
  let nowMs = 0
  const take = createTokenCounts({ nowMs: () => nowMs }, COUNTS_PER_MINUTE + 10)
  const one = (caller: ReturnType<typeof callerOf>) => take(caller)()
  for (let n = 0; n < COUNTS_PER_MINUTE; n += 1) one(callerOf('token_1', 'user_1'))
  t.throws(() => one(callerOf('token_1', 'user_1')), {
    code: 'rate_limited',
    details: { whose: 'token', limitedBy: 'counts', limit: COUNTS_PER_MINUTE },
  })
  for (let n = 0; n < 10; n += 1) one(callerOf('token_2', 'user_1'))
  t.throws(() => one(callerOf('token_2', 'user_1')), {
    code: 'rate_limited',
    details: { whose: 'user', limit: COUNTS_PER_MINUTE + 10 },
  })
  for (let user = 2; user < 6; user += 1)
    for (let n = 0; n < COUNTS_PER_MINUTE - 30; n += 1)
      one(callerOf(`token_of_${user}`, `user_${user}`))
  for (let n = 0; n < 30; n += 1) one(callerOf('token_6', 'user_6'))
  t.throws(() => one(callerOf('token_6', 'user_6')), {
    code: 'rate_limited',
    details: { whose: 'tenant', limit: 4 * (COUNTS_PER_MINUTE + 10) },
  })
  nowMs = 60_000
  t.doesNotThrow(() => one(callerOf('token_1', 'user_1')), 'a minute later all is back')
})
