import t from 'tap'
import { accountDecider } from '../../src/domain/account/decider.ts'
import { MAX_USERS } from '../../src/domain/account/users.ts'
import type { AccountEvent } from '../../src/domain/account/events.ts'
import { MAX_TOKEN_CHANGES, tokenDecider } from '../../src/domain/token/decider.ts'
import type { TokenEvent } from '../../src/domain/token/events.ts'

/**
 * Streams of accounts and tokens grow for years, and the event loop folds one without a pause. Where each
 * event copied what came before, these would take an hour.
 */

const POSTINGS = 50_000
const at = '2026-01-02T03:04:05.000Z'
const tenantId = 'tenant_1'
const numbered = <T>(count: number, make: (n: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, n) => make(n))

t.test('an account with all its users and many postings is folded', async (t) => {
  const events: readonly AccountEvent[] = [
    { type: 'TenantOpened', data: { tenantId, name: 'T', openedAt: at } },
    ...numbered(MAX_USERS, (n): AccountEvent => {
      return { type: 'UserAdded', data: { tenantId, userId: `u${n}`, name: 'U', addedAt: at } }
    }),
    ...numbered(POSTINGS, (n): AccountEvent => {
      const terms = { grantId: `g${n}`, currency: 'USD', amount: '1', reason: 'r' } as const
      return {
        type: 'CreditGranted',
        data: { tenantId, ...terms, keyHash: `k${n}`, grantedAt: at },
      }
    }),
    ...numbered(POSTINGS, (n): AccountEvent => {
      const terms = { limitId: `l${n}`, currency: 'USD', limit: String(n) } as const
      return { type: 'CreditLimitSet', data: { tenantId, ...terms, setAt: at } }
    }),
    ...numbered(POSTINGS, (n): AccountEvent => {
      const corrects = { kind: 'grant', grantId: `g${n}` } as const
      const terms = { adjustmentId: `a${n}`, currency: 'USD', amount: '-1', reason: 'r' } as const
      return { type: 'AdjustmentPosted', data: { tenantId, ...terms, corrects, postedAt: at } }
    }),
  ]
  const state = events.reduce(accountDecider.evolve, accountDecider.initial)
  t.same([...state.users.keys()].slice(0, 12).join(' '), 'u0 u1 u2 u3 u4 u5 u6 u7 u8 u9 u10 u11')
  t.equal(state.postedPico.get('USD'), 0n)
  const again = {
    kind: 'grant',
    tenantId,
    grantId: 'g7',
    currency: 'USD',
    reason: 'r',
    at,
  } as const
  t.same(accountDecider.decide({ ...again, amount: '1' }, state), [])
  t.throws(() => accountDecider.decide({ ...again, amount: '2' }, state), {
    code: 'posting_id_taken',
  })
})

t.test('a token with all its rotations is folded', async (t) => {
  const secretHash = (n: number) => n.toString(16).padStart(64, '0')
  const events: readonly TokenEvent[] = [
    {
      type: 'TokenIssued',
      data: {
        tokenId: 'token_1',
        secretHash: secretHash(0),
        lastFour: 'wxyz',
        tenantId,
        userId: 'u1',
        kind: 'model',
        name: 'first',
        issuedAt: at,
      },
    },
    ...numbered(MAX_TOKEN_CHANGES - 1, (n): TokenEvent => {
      const secret = { secretHash: secretHash(n + 1), lastFour: 'wxyz' }
      return {
        type: 'TokenRotated',
        data: { tokenId: 'token_1', ...secret, oldValidUntil: at, rotatedAt: at },
      }
    }),
  ]
  const state = events.reduce(tokenDecider.evolve, tokenDecider.initial)
  const rotate = (n: number) =>
    tokenDecider.decide(
      {
        kind: 'rotate',
        tokenId: 'token_1',
        secretHash: secretHash(n),
        lastFour: 'wxyz',
        oldValidUntil: at,
        at,
      },
      state,
    )
  t.throws(() => rotate(1), 'a secret is never used again')
  t.equal(rotate(MAX_TOKEN_CHANGES).length, 1)
})
