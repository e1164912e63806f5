import t from 'tap'
import { createAccountFacts } from '../../../../src/app/accounts/account-facts.ts'
import { createReplicaGauges } from '../../../../src/app/spending/replica-gauges.ts'
import type { FreeRequests } from '../../../../src/app/spending/throttle/free-requests.ts'
import { noLimits } from '../../../../src/app/spending/throttle/limits.ts'
import {
  createThrottle,
  type LimitedCaller,
} from '../../../../src/app/spending/throttle/throttle.ts'
import type { TokenKind } from '../../../../src/domain/token/events.ts'
import { sharerOf } from '../../../../src/domain/token/sharer.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'
import { TENANT_FOLD } from '../../../../src/kernel/sharers.ts'

/** A user issues itself any number of tokens, and a tenant has many users: no rate of the gateway's own grows by it. */

const PER_MINUTE = 60
const clock = { nowMs: () => 1_767_323_045_000 }
const away = { query: () => Promise.reject(new Error('the database is away')) }

function throttle() {
  return createThrottle({
    facts: createAccountFacts({ log: { readStream: () => Promise.resolve([]) } }, clock),
    gauges: createReplicaGauges({ db: away, replica: 'replica_1', clock }),
    monotonic: clock,
    ownRequestsPerMinute: PER_MINUTE,
    absorbedCostPerHour: PER_MINUTE,
    freeRequestsPerMinute: PER_MINUTE,
    refusedFormsPerMinute: PER_MINUTE,
  })
}

const caller = (kind: TokenKind, userId: string, tokenId: string): LimitedCaller => ({
  tenantId: 'tenant_1',
  userId,
  tokenId,
  kind,
  ...(kind === 'admin' ? { scope: { level: 'all_users' } } : {}),
  limits: { ...noLimits, requestsPerMinute: PER_MINUTE },
})

type Throttle = ReturnType<typeof throttle>

/** Whether a request begins at once. */
type Begins = (limits: Throttle, of: LimitedCaller) => boolean

/** A request begins now if nothing has to be waited for. */
function isNow(turn: Promise<unknown> | undefined): boolean {
  turn?.catch(() => undefined)
  return turn === undefined
}

/** A request that is counted if it begins. */
function isCounted(requests: FreeRequests, of: LimitedCaller): boolean {
  const begins = isNow(requests.begin(sharerOf(of)))
  if (begins) requests.count(sharerOf(of))
  return begins
}

function passes(take: () => unknown): boolean {
  try {
    take()
    return true
  } catch (error) {
    if (!isDomainError(error, 'rate_limited')) throw error
    return false
  }
}

const query: Begins = (limits, of) => passes(() => limits.query(of))
const bounds: readonly (readonly [string, TokenKind, Begins])[] = [
  ['queries', 'query', query],
  ['requests of profiles', 'profile', query],
  ['requests of accounts', 'admin', query],
  ['own requests', 'model', (limits, of) => isNow(limits.own(sharerOf(of)))],
  ['free requests', 'model', ({ free }, of) => isCounted(free, of)],
  ['refused forms', 'model', ({ refusedForms }, of) => isCounted(refusedForms, of)],
  [
    'absorbed cost',
    'model',
    ({ absorbed }, of) => {
      const begins = passes(() => absorbed.check(sharerOf(of)))
      if (begins) absorbed.add(sharerOf(of), '1')
      return begins
    },
  ],
]

/** How many requests of these callers in turn begin before the first that does not. */
function begun(begins: Begins, callers: readonly LimitedCaller[]): number {
  const limits = throttle()
  for (let count = 0; ; count += 1) {
    const [of] = callers.slice(count % callers.length)
    if (of === undefined || !begins(limits, of)) return count
  }
}

for (const [name, kind, begins] of bounds)
  t.test(
    `${name}: many tokens of a user have no more than one, and a tenant has a bound`,
    async (t) => {
      const alone = begun(begins, [caller(kind, 'ann', 'token_1')])
      t.ok(alone > 0, `${alone} begin`)
      const tokens = Array.from({ length: 10 }, (_, n) => caller(kind, 'ann', `token_${n}`))
      t.equal(begun(begins, tokens), alone)
      const users = Array.from({ length: 3 * TENANT_FOLD }, (_, n) =>
        caller(kind, `user_${n}`, `token_${n}`),
      )
      t.ok(begun(begins, users) <= alone * TENANT_FOLD)
      t.ok(begun(begins, users) > alone, 'one user leaves room to others')
    },
  )
