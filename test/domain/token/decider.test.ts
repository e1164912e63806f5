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

t.test('a disabled token stays disabled', async (t) => {
  t.strictSame(after(issue).when(disable), [
    { type: 'TokenDisabled', data: { tokenId, reason: 'leaked', disabledAt: at } },
  ])
  t.strictSame(after(issue, disable).when(disable), [])
  t.throws(() => after(issue, disable).when(rotate), { code: 'token_disabled' })
})

t.test('token_not_found for what was never issued', async (t) => {
  for (const command of [rotate, disable])
    t.throws(() => after().when(command), { code: 'token_not_found', details: { tokenId } })
})
