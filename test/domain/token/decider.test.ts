import t from 'tap'
import type { ChangeToken, TokenChanges } from '../../../src/domain/token/changes.ts'
import {
  MAX_TOKEN_CHANGES,
  tokenDecider,
  type TokenCommand,
} from '../../../src/domain/token/decider.ts'
import {
  type TokenEvent,
  type TokenEventData,
  tokenRoles,
} from '../../../src/domain/token/events.ts'
import type { TokenLimitChanges } from '../../../src/domain/token/limits.ts'
import { subjectNamed } from '../../../src/domain/token/subject.ts'

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

t.test('a query token has a scope, an admin token covers its tenant or all tenants', async (t) => {
  const scope = { level: 'all_users' } as const
  t.equal(after().when({ kind: 'issue', data: { ...issued, kind: 'query', scope } }).length, 1)
  t.equal(after().when({ kind: 'issue', data: { ...issued, kind: 'query' } }).length, 1)
  const wide = { level: 'all_tenants' } as const
  for (const one of [scope, wide])
    t.equal(
      after().when({ kind: 'issue', data: { ...issued, kind: 'admin', scope: one } }).length,
      1,
    )
  const own = { level: 'current_user' } as const
  for (const part of [
    { kind: 'model', scope },
    { kind: 'profile', scope },
    { kind: 'admin', scope: own },
  ] as const)
    t.throws(() => after().when({ kind: 'issue', data: { ...issued, ...part } }), {
      code: 'token_scope_invalid',
    })
})

t.test('a query or an admin token may be of a person who signs in by name', async (t) => {
  const data = { ...issued, kind: 'query', subject: 'mia@example.com' } as const
  const named = { kind: 'issue', data } as const
  t.strictSame(after().when(named), [{ type: 'TokenIssued', data }])
  t.throws(() => after(named).when(rotate), { code: 'scope_denied' }, 'no one gets its secret')
  t.equal(after(named).when(disable).length, 1)
  const refused = { code: 'token_scope_invalid', details: { param: 'subject' } }
  for (const kind of ['model', 'profile'] as const)
    t.throws(() => after().when({ kind: 'issue', data: { ...data, kind } }), refused, kind)
  for (const subject of ['', ' mia', 'mia ', 'm\nia', 'm\u202eia', 'x'.repeat(201)])
    t.throws(() => after().when({ kind: 'issue', data: { ...data, subject } }), refused, subject)
})

t.test('an address is compared without regard to the case of A to Z alone', async (t) => {
  t.equal(subjectNamed('Mia@Example.COM'), 'mia@example.com')
  t.equal(subjectNamed('auth0|AbC'), 'auth0|AbC')
  t.not(subjectNamed('\u212Aate@example.com'), 'kate@example.com', 'the Kelvin sign is no k')
})

t.test('only a query or an admin token has a role', async (t) => {
  const data = { ...issued, kind: 'admin', role: 'finance' } as const
  for (const kind of ['query', 'admin'] as const)
    for (const role of tokenRoles) {
      const one = { ...data, kind, role }
      t.same(after().when({ kind: 'issue', data: one }), [{ type: 'TokenIssued', data: one }])
    }
  for (const kind of ['model', 'profile'] as const)
    t.throws(() => after().when({ kind: 'issue', data: { ...data, kind } }), {
      code: 'token_scope_invalid',
      message: 'only a query or an admin token has a role',
      details: { param: 'role' },
    })
})

t.test('a token with a role changes and rotates only tokens of the same role', async (t) => {
  const manager = { ...issued, role: 'finance', limits: {} } as const
  const of = { models: undefined, addresses: undefined, expiresAt: undefined }
  const change: TokenCommand = {
    kind: 'change',
    tokenId,
    changes: { name: 'second' },
    manager: { ...manager, ...of },
    at,
  }
  const admin = { ...issued, kind: 'admin' } as const
  for (const role of [undefined, 'support', 'finance'] as const) {
    const data = role === undefined ? admin : { ...admin, role }
    for (const command of [change, { ...rotate, manager: { ...manager, ...of } }]) {
      const decide = () => after({ kind: 'issue', data }).when(command)
      if (role === 'finance') t.equal(decide().length, 1)
      else t.throws(decide, { code: 'scope_denied', details: { param: 'role' } })
    }
  }
})

t.test('a token expires later than it is issued', async (t) => {
  t.equal(after().when({ kind: 'issue', data: { ...issued, expiresAt: later } }).length, 1)
  t.throws(() => after().when({ kind: 'issue', data: { ...issued, expiresAt: at } }), {
    code: 'token_expiry_invalid',
  })
})

t.test('a rotation needs a new secret and a future end of the old one', async (t) => {
  const { kind: _, at: rotatedAt, ...data } = rotate
  t.strictSame(after(issue).when(rotate), [{ type: 'TokenRotated', data: { ...data, rotatedAt } }])
  t.strictSame(after(issue, rotate).when(rotate), [], 'the same again is a repetition')
  const back = { ...rotate, secretHash: issued.secretHash }
  t.throws(() => after(issue, rotate).when(back), { code: 'token_secret_reused' })
  const another = { ...rotate, secretHash: 'c'.repeat(64) }
  t.equal(after(issue).when({ ...another, expectedLastFour: issued.lastFour }).length, 1)
  t.throws(() => after(issue, rotate).when({ ...another, expectedLastFour: issued.lastFour }), {
    code: 'token_secret_reused',
    message: /rotated in the meantime/,
  })
  t.throws(() => after(issue).when({ ...rotate, at: later, oldValidUntil: at }), {
    code: 'token_expiry_invalid',
  })
  t.equal(after(issue).when({ ...rotate, oldValidUntil: at }).length, 1, 'no overlap is allowed')
})

const change = (
  changes: TokenChanges,
  part: Partial<Pick<ChangeToken, 'onlyNarrower' | 'at'>> = {},
): TokenCommand => ({ kind: 'change', tokenId, changes, at, ...part })
const limit = (limits: TokenLimitChanges): TokenCommand => change({ limits })

t.test('limits are changed one by one, unnamed limits stay', async (t) => {
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
  const invalid = { code: 'token_limits_invalid', details: { tokenId, param: 'limits' } }
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

t.test('name, models and expiry are changed together, unnamed ones stay', async (t) => {
  const changed = (now: object) => [
    { type: 'TokenUpdated', data: { tokenId, updatedAt: at, ...now } },
  ]
  const bound = change({ models: ['a', 'b'], expiresAt: later })
  t.strictSame(
    after(issue).when(bound),
    changed({ name: 'first', models: ['a', 'b'], expiresAt: later }),
  )
  t.strictSame(
    after(issue, bound).when(change({ name: 'second' })),
    changed({ name: 'second', models: ['a', 'b'], expiresAt: later }),
  )
  t.strictSame(
    after(issue, bound).when(change({ models: null, expiresAt: null })),
    changed({ name: 'first' }),
    'back to all models and no end',
  )
  for (const same of [
    bound,
    change({}),
    change({ models: ['b', 'a'] }),
    change({ expiresAt: later.replace('.000Z', 'Z') }),
  ])
    t.strictSame(after(issue, bound).when(same), [], 'the same again')
  t.same(
    after(issue)
      .when(change({ name: 'x', limits: { tokensPerMinute: 1 } }))
      .map(({ type }) => type),
    ['TokenUpdated', 'TokenLimitsChanged'],
    'in one append',
  )
  t.throws(() => after(issue).when(change({ expiresAt: at })), { code: 'token_expiry_invalid' })
  const query: TokenCommand = { kind: 'issue', data: { ...issued, kind: 'query' } }
  t.throws(() => after(query).when(change({ models: ['a'] })), { code: 'token_models_invalid' })
  t.throws(
    () => after().when({ kind: 'issue', data: { ...issued, kind: 'query', models: ['a'] } }),
    { code: 'token_models_invalid' },
  )
})

t.test('addresses bind any kind of token, each as written', async (t) => {
  const addresses = ['203.0.113.0/24', '2001:db8::7']
  for (const kind of ['model', 'query', 'profile', 'admin'] as const) {
    const scope = kind === 'admin' ? { scope: { level: 'all_users' as const } } : {}
    const data = { ...issued, ...scope, kind, addresses }
    t.strictSame(after().when({ kind: 'issue', data }), [{ type: 'TokenIssued', data }])
    const bound: TokenCommand = { kind: 'issue', data }
    t.strictSame(after(bound).when(change({ addresses: [...addresses].reverse() })), [])
    t.match(after(bound).when(change({ name: 'x' })), [{ data: { addresses } }], 'they stay')
    const [freed] = after(bound).when(change({ addresses: null }))
    t.equal(Object.hasOwn(freed?.data ?? {}, 'addresses'), false)
  }
  for (const wrong of [[], ['nowhere'], ['203.0.113.7/24'], Array(101).fill('203.0.113.7')]) {
    const invalid = { code: 'token_addresses_invalid', details: { param: 'addresses' } }
    t.throws(() => after(issue).when(change({ addresses: wrong })), invalid)
    const data = { ...issued, addresses: wrong }
    t.throws(() => after().when({ kind: 'issue', data }), invalid)
  }
})

t.test('an actor who may not widen a token may only narrow it', async (t) => {
  const limits = { requestsPerMinute: 60, tokensPerMinute: null }
  const bound: TokenCommand = {
    kind: 'issue',
    data: {
      ...issued,
      limits,
      models: ['a', 'b'],
      addresses: ['203.0.113.0/24'],
      expiresAt: later,
    },
  }
  const narrow = (changes: TokenChanges) =>
    change(changes, { onlyNarrower: { requestsPerMinute: 100, concurrentTasks: 3 } })
  for (const changes of [
    { name: 'mine' },
    { models: ['a'] },
    { addresses: ['203.0.113.7', '203.0.113.128/25'] },
    { expiresAt: '2026-01-02T12:00:00Z' },
    { limits: { requestsPerMinute: 59 } },
    { limits: { tokensPerMinute: 9_000_000 } },
    { limits: { concurrentTasks: 3 } },
  ])
    t.equal(after(bound).when(narrow(changes)).length, 1, JSON.stringify(changes))
  for (const [changes, param] of [
    [{ models: ['a', 'c'] }, 'models'],
    [{ models: null }, 'models'],
    [{ addresses: ['203.0.112.0/23'] }, 'addresses'],
    [{ addresses: ['203.0.113.7', '198.51.100.7'] }, 'addresses'],
    [{ addresses: null }, 'addresses'],
    [{ expiresAt: null }, 'expires_at'],
    [{ expiresAt: '2027-01-01T00:00:00Z' }, 'expires_at'],
    [{ limits: { requestsPerMinute: 61 } }, 'limits'],
    [{ limits: { requestsPerMinute: 'default' } }, 'limits'],
    [{ limits: { requestsPerMinute: null } }, 'limits'],
    [{ limits: { concurrentTasks: 4 } }, 'limits'],
    [{ limits: { concurrentTasks: null } }, 'limits'],
  ] as const)
    t.throws(
      () => after(bound).when(narrow(changes)),
      { code: 'scope_denied', details: { param } },
      JSON.stringify(changes),
    )
  t.equal(after(bound, narrow({ models: ['a'] })).when(change({ models: null })).length, 1)
})

t.test('a disabled token stays disabled', async (t) => {
  t.strictSame(after(issue).when(disable), [
    { type: 'TokenDisabled', data: { tokenId, reason: 'leaked', disabledAt: at } },
  ])
  t.strictSame(after(issue, disable).when(disable), [])
  for (const command of [rotate, limit({ requestsPerMinute: 1 })])
    t.throws(() => after(issue, disable).when(command), { code: 'token_disabled' })
})

t.test('token_not_found for a token that was never issued', async (t) => {
  for (const command of [rotate, disable, limit({ requestsPerMinute: 1 })])
    t.throws(() => after().when(command), { code: 'token_not_found', details: { tokenId } })
})

t.test('the changes of a token are bounded, and it can still be disabled', async (t) => {
  const full = after(
    issue,
    ...Array.from({ length: MAX_TOKEN_CHANGES }, (_, n) => change({ name: `name ${n}` })),
  )
  for (const command of [rotate, change({ name: 'one more' }), limit({ tokensPerMinute: 1 })])
    t.throws(() => full.when(command), { code: 'token_bound_reached' })
  t.strictSame(full.when(change({ name: `name ${MAX_TOKEN_CHANGES - 1}` })), [], 'the same again')
  t.equal(full.when(disable).length, 1)
})
