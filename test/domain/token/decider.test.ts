import t from 'tap'
import { tokenDecider, type TokenCommand } from '../../../src/domain/token/decider.ts'
import type { TokenEvent, TokenEventData } from '../../../src/domain/token/events.ts'

const tokenId = 'token_1'
const at = '2026-01-02T03:04:05.000Z'
const later = '2026-01-03T03:04:05.000Z'
const issued: TokenEventData<'TokenIssued'> = {
  tokenId,
  secretHash: 'a'.repeat(64),
  lastFour: 'wxyz',
  tenantId: 'tenant_1',
  userId: 'user_1',
  kind: 'model',
  name: 'first',
  issuedAt: at,
}
const issue: TokenCommand = { kind: 'issue', data: issued }
const rotate: Extract<TokenCommand, { readonly kind: 'rotate' }> = {
  kind: 'rotate',
  tokenId,
  secretHash: 'b'.repeat(64),
  lastFour: '1234',
  oldValidUntil: later,
  at,
}
const disable: TokenCommand = { kind: 'disable', tokenId, reason: 'leaked', at }

function after(...commands: readonly TokenCommand[]): {
  readonly when: (command: TokenCommand) => readonly TokenEvent[]
} {
  const state = commands.reduce(
    (state, command) => tokenDecider.decide(command, state).reduce(tokenDecider.evolve, state),
    tokenDecider.initial,
  )
  return { when: (command) => tokenDecider.decide(command, state) }
}

t.test('a token is issued once', async (t) => {
  t.strictSame(after().when(issue), [{ type: 'TokenIssued', data: issued }])
  t.strictSame(after(issue).when(issue), [], 'the same again is a repetition')
  for (const change of [{ secretHash: 'c'.repeat(64) }, { tenantId: 'tenant_2' }])
    t.throws(() => after(issue).when({ kind: 'issue', data: { ...issued, ...change } }), {
      code: 'token_exists',
    })
})

t.test('only a query token has a scope', async (t) => {
  const scope = { level: 'all_users' } as const
  t.equal(after().when({ kind: 'issue', data: { ...issued, kind: 'query', scope } }).length, 1)
  t.equal(after().when({ kind: 'issue', data: { ...issued, kind: 'query' } }).length, 1)
  for (const kind of ['model', 'profile', 'admin'] as const)
    t.throws(() => after().when({ kind: 'issue', data: { ...issued, kind, scope } }), {
      code: 'token_scope_invalid',
    })
})

t.test('a token expires after it is issued', async (t) => {
  t.equal(after().when({ kind: 'issue', data: { ...issued, expiresAt: later } }).length, 1)
  t.throws(() => after().when({ kind: 'issue', data: { ...issued, expiresAt: at } }), {
    code: 'token_expiry_invalid',
  })
})

t.test('a rotation needs a new secret and an end of the old one that is not past', async (t) => {
  const { kind: _, at: rotatedAt, ...data } = rotate
  t.strictSame(after(issue).when(rotate), [{ type: 'TokenRotated', data: { ...data, rotatedAt } }])
  t.strictSame(after(issue, rotate).when(rotate), [], 'the same again is a repetition')
  const back = { ...rotate, secretHash: issued.secretHash }
  t.throws(() => after(issue, rotate).when(back), { code: 'token_secret_reused' })
  t.throws(() => after(issue).when({ ...rotate, at: later, oldValidUntil: at }), {
    code: 'token_expiry_invalid',
  })
  t.equal(after(issue).when({ ...rotate, oldValidUntil: at }).length, 1, 'no overlap is allowed')
})

const limit = (
  changes: Extract<TokenCommand, { readonly kind: 'change-limits' }>['changes'],
): TokenCommand => ({ kind: 'change-limits', tokenId, changes, at })

t.test('limits are changed one by one; what is not named stays', async (t) => {
  const limits = { requestsPerMinute: 60, concurrentTasks: 5 }
  const limited: TokenCommand = { kind: 'issue', data: { ...issued, limits } }
  t.strictSame(after().when(limited), [{ type: 'TokenIssued', data: { ...issued, limits } }])
  const changed = (now: object) => [
    { type: 'TokenLimitsChanged', data: { tokenId, limits: now, changedAt: at } },
  ]
  t.strictSame(
    after(limited).when(limit({ tokensPerMinute: 9_000, concurrentTasks: null })),
    changed({ requestsPerMinute: 60, tokensPerMinute: 9_000, concurrentTasks: null }),
  )
  t.strictSame(
    after(limited).when(limit({ requestsPerMinute: 'default', concurrentTasks: 'default' })),
    changed({}),
    'back to what the operator set',
  )
  t.strictSame(
    after(issue).when(limit({ requestsPerMinute: 1 })),
    changed({ requestsPerMinute: 1 }),
  )
  t.strictSame(after(limited).when(limit({ requestsPerMinute: 60 })), [], 'the same again')
  t.strictSame(after(limited, limit({ tokensPerMinute: 1 }), limit(limits)).when(limit({})), [])
})

t.test('a limit is a whole number from one to a billion, and of a model token', async (t) => {
  const invalid = { code: 'token_limits_invalid', details: { tokenId } }
  for (const value of [0, -1, 1.5, 1_000_000_001, Number.NaN]) {
    t.throws(() => after(issue).when(limit({ requestsPerMinute: value })), invalid, String(value))
    const limits = { tokensPerMinute: value }
    t.throws(() => after().when({ kind: 'issue', data: { ...issued, limits } }), invalid)
  }
  t.equal(after(issue).when(limit({ tokensPerMinute: 1_000_000_000 })).length, 1)
  for (const kind of ['query', 'profile', 'admin'] as const) {
    const other: TokenCommand = { kind: 'issue', data: { ...issued, kind } }
    t.throws(() => after(other).when(limit({ concurrentTasks: 1 })), invalid, kind)
    const limits = { concurrentTasks: 1 }
    t.throws(() => after().when({ kind: 'issue', data: { ...other.data, limits } }), invalid, kind)
  }
})

t.test('a disabled token stays disabled', async (t) => {
  t.strictSame(after(issue).when(disable), [
    { type: 'TokenDisabled', data: { tokenId, reason: 'leaked', disabledAt: at } },
  ])
  t.strictSame(after(issue, disable).when(disable), [])
  for (const command of [rotate, limit({ requestsPerMinute: 1 })])
    t.throws(() => after(issue, disable).when(command), { code: 'token_disabled' })
})

t.test('token_not_found for what was never issued', async (t) => {
  for (const command of [rotate, disable, limit({ requestsPerMinute: 1 })])
    t.throws(() => after().when(command), { code: 'token_not_found', details: { tokenId } })
})
