import * as fc from 'fast-check'
import t from 'tap'
import {
  type AccountCommand,
  accountDecider,
  type AccountState,
} from '../../../src/domain/account/decider.ts'
import { settingIn, type SettingValueOf } from '../../../src/domain/account/settings.ts'
import {
  CLOSED_READ_DAYS,
  MAX_SUSPENDED_USERS,
  requireAllowed,
  type RequestPurpose,
  type WantedTenantStatus,
} from '../../../src/domain/account/status.ts'
import type { QueryScope, TokenKind } from '../../../src/domain/token/events.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'

const tenantId = 'acme'
const at = '2026-01-02T03:04:05.000Z'
const DAY_MS = 86_400_000

const run = (state: AccountState, command: AccountCommand): AccountState =>
  accountDecider.decide(command, state).reduce(accountDecider.evolve, state)
const open = run(run(accountDecider.initial, { kind: 'open', tenantId, name: 'Acme', at }), {
  kind: 'add-user',
  tenantId,
  userId: 'ann',
  name: 'Ann',
  at,
})
const set = (wanted: WantedTenantStatus, basis?: number, when = at): AccountCommand => ({
  kind: 'set-setting',
  setting: 'status',
  tenantId,
  wanted,
  basis,
  at: when,
})
const step = (status: 'open' | 'suspended' | 'closed', reason = '') =>
  set({ tenant: { status, reason } })
const statusOf = (state: AccountState) => settingIn(state.settings, 'status')

t.test('suspend, resume, suspend and close: each again changes nothing', (t) => {
  let state = open
  const steps = [
    step('suspended', 'overdue'),
    step('open'),
    step('suspended', 'ends'),
    step('closed', 'ended'),
  ]
  for (const command of steps) {
    state = run(state, command)
    t.same(accountDecider.decide(command, state), [])
  }
  t.match(statusOf(state), { status: 'closed', reason: 'ended', since: at, revision: 4 })
  t.end()
})

t.test('closing is possible for a suspended tenant only, and nothing opens it again', (t) => {
  t.throws(() => run(open, step('closed', 'ends')), { code: 'status_refused' })
  const suspended = run(open, step('suspended', 'overdue'))
  const closed = run(suspended, step('closed', 'ended'))
  for (const command of [
    step('open'),
    step('suspended', 'again'),
    step('closed', 'another reason'),
    set({ user: { userId: 'ann', reason: 'left' } }),
  ])
    t.throws(() => run(closed, command), { code: 'status_refused' })
  t.end()
})

t.test('a reason is needed where callers read it, and is one line', (t) => {
  for (const reason of ['', '  ', 'two\nlines', 'x'.repeat(257), 'a\u0000b'])
    t.throws(() => run(open, step('suspended', reason)), { code: 'setting_invalid' })
  t.throws(() => run(open, set({ user: { userId: 'ann', reason: '' } })), {
    code: 'setting_invalid',
  })
  t.equal(statusOf(run(open, step('suspended', '  overdue '))).reason, 'overdue')
  t.end()
})

t.test('a bounded number of users is suspended, each once', (t) => {
  const users = Array.from({ length: MAX_SUSPENDED_USERS }, (_, n) => ({
    userId: `user_${n}`,
    reason: 'r',
  }))
  const full = run(open, set({ suspendedUsers: users }))
  t.equal(statusOf(full).suspendedUsers.length, MAX_SUSPENDED_USERS)
  t.throws(() => run(full, set({ user: { userId: 'one-more', reason: 'r' } })), {
    code: 'setting_invalid',
  })
  t.throws(() => run(open, set({ suspendedUsers: [...users.slice(1), users[1] as never] })), {
    code: 'setting_invalid',
  })
  t.end()
})

t.test('a change that is based on an older revision is refused in words', (t) => {
  const suspended = run(open, step('suspended', 'overdue'))
  const late = { tenant: { status: 'suspended', reason: 'other' } } as const
  t.throws(() => run(suspended, set(late, 0)), {
    code: 'setting_changed',
    message: /set in the meantime, to revision 1/,
  })
  t.end()
})

t.test('names: the same again changes nothing, and opening again keeps the new name', (t) => {
  const rename = (name: string): AccountCommand => ({
    kind: 'set-setting',
    setting: 'name',
    tenantId,
    wanted: { name },
    at,
  })
  t.same(accountDecider.decide(rename('Acme'), open), [])
  const named = run(open, rename(' Acme Films '))
  t.equal(named.name, 'Acme Films')
  t.same(accountDecider.decide(rename('Acme Films'), named), [])
  for (const name of ['Acme', 'Acme Films'])
    t.same(accountDecider.decide({ kind: 'open', tenantId, name, at }, named), [])
  t.throws(() => run(named, { kind: 'open', tenantId, name: 'Other', at }), {
    code: 'tenant_exists',
  })
  for (const wrong of ['', ' ', 'a\nb', 'x'.repeat(129), 'a\u202eb'])
    t.throws(() => run(open, rename(wrong)), { code: 'setting_invalid' })
  const user = (name: string, userId = 'ann') =>
    ({ kind: 'rename-user', tenantId, userId, name, at }) as const
  const renamed = run(named, user('Ann Lee'))
  t.equal(renamed.users.get('ann')?.name, 'Ann Lee')
  t.same(accountDecider.decide(user('Ann Lee'), renamed), [])
  const again = { kind: 'add-user', tenantId, userId: 'ann', name: 'Ann', at } as const
  t.same(accountDecider.decide(again, renamed), [])
  t.throws(() => run(named, user('Bob', 'bob')), { code: 'user_not_found' })
  t.end()
})

const reasons = fc.constantFrom('a', 'b')
const commands = fc.oneof(
  fc
    .record({ status: fc.constantFrom('open', 'suspended', 'closed'), reason: reasons })
    .map((tenant): WantedTenantStatus => ({ tenant })),
  fc
    .record({
      userId: fc.constantFrom('ann', 'bob', 'eve'),
      reason: fc.option(reasons, { nil: undefined }),
    })
    .map((user): WantedTenantStatus => ({ user })),
)

t.test('any sequence of commands keeps the rules, and the same again is no event', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(commands, fc.nat(9)), { maxLength: 30 }), (sequence) => {
      let state = open
      for (const [wanted, second] of sequence) {
        const command = set(wanted, undefined, `2026-01-02T03:04:0${second}.000Z`)
        const before = statusOf(state)
        try {
          state = run(state, command)
        } catch (error) {
          const isRefused = isDomainError(error, 'status_refused')
          if (!isRefused) throw error
          const goesWrong = before.status === 'closed' || wanted.tenant?.status === 'closed'
          if (!goesWrong) throw error
          continue
        }
        const after = statusOf(state)
        if (before.status === 'closed' && after.revision !== before.revision)
          throw new Error('a closed tenant was changed')
        if (after.status === 'closed' && before.status === 'open')
          throw new Error('an open tenant was closed')
        if ((after.since !== before.since) !== (after.status !== before.status)) {
          const isSameSecond = after.since === before.since
          if (!isSameSecond) throw new Error('the time is not that of the status')
        }
        if (accountDecider.decide(command, state).length > 0)
          throw new Error('the same again changed something')
        const ids = after.suspendedUsers.map(({ userId }) => userId)
        if (ids.join() !== [...new Set(ids)].toSorted().join()) throw new Error(ids.join())
      }
    }),
  )
  t.end()
})

type TenantStatus = SettingValueOf<'status'>

const subject = (kind: TokenKind, scope?: QueryScope) => ({ kind, scope, userId: 'ann' })
const ownAdmin = subject('admin', { level: 'all_users' })
const closedAt = Date.parse(at)
const lateMs = closedAt + CLOSED_READ_DAYS * DAY_MS + 1

t.test('the table of what a suspended and a closed tenant may do', (t) => {
  const status = (part: Partial<TenantStatus>): TenantStatus => ({
    revision: 1,
    status: 'open',
    reason: 'r',
    since: at,
    suspendedUsers: [],
    ...part,
  })
  const suspended = status({ status: 'suspended' })
  const ofUser = status({ suspendedUsers: [{ userId: 'ann', reason: 'left' }] })
  const closed = status({ status: 'closed' })
  const refusal = (
    value: TenantStatus,
    who: ReturnType<typeof subject>,
    purpose: RequestPurpose,
    nowMs = closedAt,
  ): string | undefined => {
    try {
      requireAllowed(value, who, purpose, nowMs)
      return undefined
    } catch (error) {
      return isDomainError(error) ? error.code : 'defect'
    }
  }
  const model = subject('model')
  const others = [subject('query', { level: 'all_users' }), subject('profile')]
  for (const [value, code] of [
    [suspended, 'tenant_suspended'],
    [ofUser, 'user_suspended'],
    [closed, 'tenant_closed'],
  ] as const) {
    t.equal(refusal(value, model, 'create'), code)
    t.equal(refusal(value, model, 'read'), undefined)
    for (const who of others) t.equal(refusal(value, who, 'change'), undefined)
    t.equal(refusal(value, ownAdmin, 'read', lateMs), undefined)
    t.equal(refusal(value, ownAdmin, 'change'), value === closed ? code : undefined)
    for (const operator of [subject('admin'), subject('query', { level: 'all_tenants' })])
      t.equal(refusal(value, operator, 'change', lateMs), undefined)
  }
  for (const who of [model, ...others]) {
    t.equal(refusal(closed, who, 'read', lateMs - 1), undefined)
    t.equal(refusal(closed, who, 'read', lateMs), 'tenant_closed')
  }
  t.equal(refusal(ofUser, { ...model, userId: 'bob' }, 'create'), undefined)
  t.equal(refusal(status({}), model, 'create', lateMs), undefined)
  t.end()
})
