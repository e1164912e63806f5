import t from 'tap'
import { accountDecider, type AccountCommand } from '../../../src/domain/account/decider.ts'
import type { AccountEvent } from '../../../src/domain/account/events.ts'

const tenantId = 'tenant_1'
const at = '2026-01-02T03:04:05.000Z'
const open: AccountCommand = { kind: 'open', tenantId, name: 'Demo', at }
const addUser: AccountCommand = { kind: 'add-user', tenantId, userId: 'user_1', name: 'Ada', at }
const grant: Extract<AccountCommand, { readonly kind: 'grant' }> = {
  kind: 'grant',
  tenantId,
  grantId: 'grant_1',
  currency: 'CNY',
  amount: '10000.00',
  reason: 'demo',
  at,
}
const setLimit: Extract<AccountCommand, { readonly kind: 'set-limit' }> = {
  kind: 'set-limit',
  tenantId,
  limitId: 'limit_1',
  currency: 'USD',
  limit: '50.0',
  at,
}
const adjust: Extract<AccountCommand, { readonly kind: 'post-adjustment' }> = {
  kind: 'post-adjustment',
  tenantId,
  adjustmentId: 'adj_1',
  currency: 'USD',
  amount: '1.50',
  correction: {
    kind: 'line',
    line: { lineId: 'call_1:2', tenantId, currency: 'USD', amount: '2.000000000001' },
  },
  reason: 'rendered twice',
  at,
}

function after(...commands: readonly AccountCommand[]): {
  readonly when: (command: AccountCommand) => readonly AccountEvent[]
} {
  const state = commands.reduce(
    (state, command) => accountDecider.decide(command, state).reduce(accountDecider.evolve, state),
    accountDecider.initial,
  )
  return { when: (command) => accountDecider.decide(command, state) }
}

t.test('a tenant is opened once', async (t) => {
  t.strictSame(after().when(open), [
    { type: 'TenantOpened', data: { tenantId, name: 'Demo', openedAt: at } },
  ])
  t.strictSame(after(open).when(open), [], 'the same again is a repetition')
  t.throws(() => after(open).when({ ...open, name: 'Other' }), { code: 'tenant_exists' })
})

t.test('tenant_not_found for any command before opening', async (t) => {
  for (const command of [addUser, grant, setLimit, adjust])
    t.throws(() => after().when(command), { code: 'tenant_not_found', details: { tenantId } })
})

t.test('a user is added once', async (t) => {
  t.strictSame(after(open).when(addUser), [
    { type: 'UserAdded', data: { tenantId, userId: 'user_1', name: 'Ada', addedAt: at } },
  ])
  t.strictSame(after(open, addUser).when(addUser), [])
  t.throws(() => after(open, addUser).when({ ...addUser, name: 'Bea' }), { code: 'user_exists' })
  t.equal(after(open, addUser).when({ ...addUser, userId: 'user_2' }).length, 1)
})

t.test(
  'the same name in another form of Unicode is a repetition, and another name says which there is',
  async (t) => {
    const [one, two] = ['Zo\u00eb', 'Zoe\u0308']
    const opened = { ...open, name: one }
    const added = { ...addUser, name: one }
    t.strictSame(after(opened).when({ ...open, name: two }), [])
    t.strictSame(after(open, added).when({ ...addUser, name: two }), [])
    t.strictSame(after(open, added).when({ ...addUser, kind: 'rename-user', name: two }), [])
    const renamed: AccountCommand = {
      kind: 'set-setting',
      tenantId,
      setting: 'name',
      wanted: { name: two },
      basis: undefined,
      at,
    }
    t.strictSame(after(opened).when(renamed), [])
    t.throws(() => after(opened).when({ ...open, name: 'Zoe' }), { message: /named `Zo\u00eb`/ })
    t.throws(() => after(open, added).when({ ...addUser, name: 'ZO\u00cb' }), {
      code: 'user_exists',
      message: /named `Zo\u00eb`/,
    })
  },
)

t.test('credit is granted once per id, in canonical figures', async (t) => {
  t.strictSame(after(open).when(grant), [
    {
      type: 'CreditGranted',
      data: {
        tenantId,
        grantId: 'grant_1',
        currency: 'CNY',
        amount: '10000',
        reason: 'demo',
        grantedAt: at,
      },
    },
  ])
  t.strictSame(after(open, grant).when({ ...grant, amount: '10000' }), [])
  t.equal(after(open, grant).when({ ...grant, grantId: 'grant_2' }).length, 1)
})

t.test(
  'posting_id_taken when an id names another amount, currency or kind of posting',
  async (t) => {
    const others: readonly AccountCommand[] = [
      { ...grant, amount: '1' },
      { ...grant, currency: 'USD' },
      { ...grant, credit: 'promotional' },
      { ...grant, reference: 'INV-77' },
      { ...adjust, adjustmentId: 'grant_1', currency: 'CNY', amount: '10000' },
    ]
    for (const other of others)
      t.throws(() => after(open, grant).when(other), { code: 'posting_id_taken' })
  },
)

t.test('a grant that is paid for is the same whether it says so or not', async (t) => {
  t.strictSame(after(open, grant).when({ ...grant, credit: 'paid' }), [])
  const [made] = after(open).when({ ...grant, credit: 'paid', reference: 'INV-77' })
  t.notOk(Object.hasOwn(made?.data ?? {}, 'credit'))
  t.match(made, { data: { reference: 'INV-77' } })
})

t.test(
  'an adjustment under a key is posted once, also when another person repeats it',
  async (t) => {
    const by = (userId: string) => ({ tenantId, userId, tokenId: `token_${userId}` })
    const first = { ...adjust, keyHash: 'a1', code: 'quality', by: by('ann') } as const
    const before = after(open, first)
    t.strictSame(before.when({ ...first, by: by('ben') }), [])
    for (const other of [{ code: 'fraud' }, { reason: 'other' }, { amount: '1' }] as const)
      t.throws(() => before.when({ ...first, ...other }), { code: 'idempotency_key_reused' })
  },
)

t.test(
  'a credit limit is per currency and says which one it replaces, and who set it',
  async (t) => {
    const terms = { tenantId, limitId: 'limit_1', currency: 'USD' as const, limit: '50' }
    t.strictSame(after(open).when(setLimit), [
      { type: 'CreditLimitSet', data: { ...terms, before: '0', setAt: at } },
    ])
    t.strictSame(after(open, setLimit).when({ ...setLimit, limit: '50' }), [])
    const by = { tenantId, userId: 'ann', tokenId: 'token_1' }
    const next = { ...setLimit, limitId: 'limit_2', limit: '20', by }
    t.match(after(open, setLimit).when(next), [{ data: { limit: '20', before: '50', by } }])
    t.match(after(open, setLimit).when({ ...next, currency: 'CNY' }), [{ data: { before: '0' } }])
    const reasoned = { ...next, reason: 'contract 3', keyHash: 'k1' }
    t.match(after(open, setLimit).when(reasoned), [{ data: { limit: '20', reason: 'contract 3' } }])
    const repeated = after(open, setLimit, reasoned)
    t.strictSame(repeated.when(reasoned), [])
    for (const other of ['contract 4', undefined])
      t.throws(() => repeated.when({ ...reasoned, limitId: 'limit_3', reason: other }), {
        code: 'idempotency_key_reused',
      })
  },
)

t.test('a credit limit under an id is set once, whatever was set since', async (t) => {
  const raise = { ...setLimit, limitId: 'raise' }
  const lower = { ...setLimit, limitId: 'lower', limit: '0' }
  t.match(after(open).when(raise), [{ data: { limitId: 'raise', limit: '50' } }])
  t.equal(after(open, setLimit).when(raise).length, 1, 'also where it is so: the id is kept')
  t.strictSame(after(open, raise, lower).when({ ...raise, limit: '50.00' }), [])
  t.throws(() => after(open, raise).when({ ...raise, limit: '51' }), { code: 'limit_id_taken' })
  t.throws(() => after(open, raise).when({ ...raise, currency: 'CNY' }), { code: 'limit_id_taken' })
})

t.test('a command under a key is done once, and the key accepts no other command', async (t) => {
  const keyed = { ...grant, keyHash: 'k' }
  t.match(after(open).when(keyed), [{ data: { keyHash: 'k' } }])
  t.strictSame(after(open, keyed).when({ ...keyed, amount: '10000' }), [])
  for (const other of [{ amount: '1' }, { currency: 'USD' as const }, { reason: 'x' }])
    t.throws(() => after(open, keyed).when({ ...keyed, ...other }), {
      code: 'idempotency_key_reused',
    })
  t.throws(() => after(open, keyed).when({ ...keyed, grantId: 'grant_2' }), {
    code: 'idempotency_key_reused',
  })
  t.equal(after(open, keyed).when({ ...grant, grantId: 'grant_2', keyHash: 'other' }).length, 1)
  t.strictSame(after(open, keyed).when(grant), [], 'by its id alone')
  const limit = { ...setLimit, limitId: 'raise', keyHash: 'k' }
  t.throws(() => after(open, keyed).when(limit), { code: 'idempotency_key_reused' })
})

t.test('an adjustment names the line it corrects and is posted once per id', async (t) => {
  t.strictSame(after(open).when(adjust), [
    {
      type: 'AdjustmentPosted',
      data: {
        tenantId,
        adjustmentId: 'adj_1',
        currency: 'USD',
        amount: '1.5',
        corrects: { kind: 'line', lineId: 'call_1:2' },
        reason: 'rendered twice',
        postedAt: at,
      },
    },
  ])
  t.strictSame(after(open, adjust).when(adjust), [])
  t.match(after(open).when({ ...adjust, amount: '0.000000000001' }), [{}])
  const ofGrant = { ...adjust, correction: { kind: 'grant', grantId: 'grant_1' } } as const
  t.throws(() => after(open, grant, adjust).when(ofGrant), { code: 'posting_id_taken' })
})

t.test('an adjusted line costs from zero up to its settled amount', async (t) => {
  const more = (amount: string) => ({ ...adjust, adjustmentId: 'adj_2', amount })
  const given = after(open, adjust)
  for (const amount of ['0.500000000001', '-1.5', '-0.000000000001'])
    t.equal(given.when(more(amount)).length, 1, amount)
  for (const amount of ['0.500000000002', '-1.500000000001', '999999999999999'])
    t.throws(
      () => given.when(more(amount)),
      {
        code: 'adjustment_out_of_bounds',
        message:
          'line call_1:2 is 2.000000000001 USD with adjustments of 1.5 so far: ' +
          'a further adjustment must be from -1.5 to 0.500000000001',
      },
      amount,
    )
  t.throws(() => after(open).when(more('-1')), { code: 'adjustment_out_of_bounds' })
  const back = after(open, adjust, more('-1.5'))
  t.equal(back.when({ ...adjust, adjustmentId: 'adj_3', amount: '2' }).length, 1, 'given anew')
})

t.test('a grant is taken back up to its amount', async (t) => {
  const back = (amount: string, adjustmentId = 'adj_2') =>
    ({
      ...adjust,
      adjustmentId,
      currency: 'CNY',
      amount,
      correction: { kind: 'grant', grantId: 'grant_1' },
    }) as const
  const granted = after(open, grant)
  t.match(granted.when(back('-10000')), [
    { data: { amount: '-10000', corrects: { kind: 'grant', grantId: 'grant_1' } } },
  ])
  for (const amount of ['-10000.000000000001', '1'])
    t.throws(() => granted.when(back(amount)), { code: 'adjustment_out_of_bounds' }, amount)
  t.equal(after(open, grant, back('-4')).when(back('4', 'adj_3')).length, 1)
  t.throws(() => granted.when({ ...back('-1'), currency: 'USD' }), {
    code: 'adjustment_source_invalid',
    message: 'grant grant_1 is in CNY',
  })
  t.throws(() => after(open).when(back('-1')), {
    code: 'adjustment_source_invalid',
    message: 'tenant tenant_1 has no grant grant_1',
  })
})

t.test('adjustment_source_invalid for a line of another tenant or currency', async (t) => {
  const line = { lineId: 'call_1:2', tenantId, currency: 'USD', amount: '2' } as const
  for (const other of [
    { ...line, tenantId: 'tenant_2' },
    { ...line, currency: 'CNY' as const },
  ])
    t.throws(() => after(open).when({ ...adjust, correction: { kind: 'line', line: other } }), {
      code: 'adjustment_source_invalid',
    })
})

t.test('amount_invalid for malformed amounts and for impossible signs', async (t) => {
  for (const amount of ['', 'x', '1e3', '0.0000000000001', '0', '-1', '-0', '01', '00.5'])
    t.throws(() => after(open).when({ ...grant, amount }), { code: 'amount_invalid' }, amount)
  for (const limit of ['-1', 'x'])
    t.throws(() => after(open).when({ ...setLimit, limit }), { code: 'amount_invalid' }, limit)
  for (const amount of ['0', '0.000', 'NaN', '-01'])
    t.throws(() => after(open).when({ ...adjust, amount }), { code: 'amount_invalid' }, amount)
})

t.test(
  'amount_invalid beyond 15 digits before the point, also for the sum of postings',
  async (t) => {
    const largest = '999999999999999.999999999999'
    const full: AccountCommand = { ...grant, currency: 'USD', amount: largest }
    const more: AccountCommand = { ...full, grantId: 'grant_2', amount: '0.000000000001' }
    t.equal(after(open).when(full).length, 1)
    for (const amount of ['1000000000000000', '60000000000000000000000000']) {
      t.throws(() => after(open).when({ ...grant, amount }), { code: 'amount_invalid' })
      t.throws(() => after(open).when({ ...setLimit, limit: amount }), { code: 'amount_invalid' })
      t.throws(() => after(open).when({ ...adjust, amount: `-${amount}` }), {
        code: 'amount_invalid',
      })
    }
    t.throws(() => after(open, full).when(more), { code: 'amount_invalid' })
    t.throws(() => after(open, full).when(adjust), { code: 'amount_invalid' })
    t.equal(after(open, full).when({ ...more, currency: 'CNY' }).length, 1, 'each currency apart')
    t.strictSame(after(open, full).when(full), [], 'the same again is a repetition')
    const back: AccountCommand = {
      ...adjust,
      amount: '-1',
      correction: { kind: 'grant', grantId: 'grant_1' },
    }
    t.equal(after(open, full, back).when(more).length, 1, 'what was taken back counts no more')
  },
)
