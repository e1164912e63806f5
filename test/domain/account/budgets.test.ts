import t from 'tap'
import {
  type Budget,
  MAX_BUDGETS,
  type WantedBudgets,
} from '../../../src/domain/account/budgets.ts'
import { accountDecider } from '../../../src/domain/account/decider.ts'
import type { AccountEvent } from '../../../src/domain/account/events.ts'
import { valueOf } from '../../../src/domain/account/setting.ts'
import type { SetSetting } from '../../../src/domain/account/settings.ts'

const tenantId = 'tenant_1'
const at = '2026-01-02T03:04:05.000Z'
const opened: AccountEvent = {
  type: 'TenantOpened',
  data: { tenantId, name: 'Demo', openedAt: at },
}
const ofTenant: Budget = {
  subject: { kind: 'tenant' },
  currency: 'USD',
  period: 'month',
  hard: '100',
}
const ofUser: Budget = {
  subject: { kind: 'user', userId: 'user_1' },
  currency: 'USD',
  period: 'day',
  hard: '10',
  soft: '8',
}

type Said = Partial<WantedBudgets> & { readonly basis?: number }

function set({ basis, ...said }: Said): SetSetting {
  const wanted = { timeZone: 'UTC', budgets: [], ...said }
  return { kind: 'set-setting', setting: 'budgets', tenantId, wanted, basis, at }
}

function after(...commands: readonly SetSetting[]) {
  const start = accountDecider.evolve(accountDecider.initial, opened)
  const state = commands.reduce(
    (known, command) => accountDecider.decide(command, known).reduce(accountDecider.evolve, known),
    start,
  )
  return { when: (said: Said) => accountDecider.decide(set(said), state), state }
}

t.test('budgets are set as a whole, canonical, with a revision', async (t) => {
  const first = after().when({ budgets: [{ ...ofTenant, hard: '100.00' }, ofUser] })
  t.strictSame(first, [
    {
      type: 'BudgetsSet',
      data: { tenantId, revision: 1, timeZone: 'UTC', budgets: [ofTenant, ofUser], setAt: at },
    },
  ])
  const known = after(set({ budgets: [ofTenant, ofUser] }))
  t.match(known.when({ budgets: [ofUser] }), [{ data: { revision: 2, budgets: [ofUser] } }])
  t.match(known.when({ timeZone: 'Asia/Kolkata', budgets: [ofTenant, ofUser] }), [
    { data: { revision: 2, timeZone: 'Asia/Kolkata' } },
  ])
  const [event] = first
  if (event?.type !== 'BudgetsSet') return t.fail('they are not set')
  t.same(known.state.settings.budgets, valueOf(event))
})

t.test('equal budgets in another order or spelling decide to no event', async (t) => {
  const known = after(set({ budgets: [ofTenant, ofUser] }))
  t.strictSame(known.when({ budgets: [{ ...ofUser, soft: '8.0' }, ofTenant], basis: 0 }), [])
  t.strictSame(after().when({}), [], 'none of a tenant that has none')
  t.throws(() => known.when({ budgets: [ofUser], basis: 0 }), {
    code: 'setting_changed',
    details: { setting: 'budgets', revision: 1 },
  })
  t.equal(known.when({ budgets: [ofUser], basis: 1 }).length, 1)
})

t.test('an invalid budget is refused, naming its position', async (t) => {
  for (const [said, param] of [
    [{ timeZone: 'Mars/Olympus' }, 'time_zone'],
    [{ timeZone: '+05:30' }, 'time_zone'],
    [{ budgets: [ofUser, { ...ofUser, hard: '11' }] }, 'budgets'],
    [{ budgets: [ofTenant, { ...ofUser, hard: '7' }] }, 'budgets[1].soft'],
    [{ budgets: [{ ...ofUser, hard: '-1' }] }, 'budgets[0].hard'],
    [{ budgets: [{ subject: { kind: 'tenant' }, currency: 'USD', period: 'day' }] }, 'budgets[0]'],
    [{ budgets: Array.from({ length: MAX_BUDGETS + 1 }, () => ofUser) }, 'budgets'],
  ] as const)
    t.throws(
      () => after().when(said),
      { code: 'setting_invalid', details: { setting: 'budgets', param } },
      JSON.stringify(said).slice(0, 100),
    )
  for (const hard of ['1e3', 'ten', '0.0000000000001'])
    t.throws(() => after().when({ budgets: [{ ...ofUser, hard }] }), { code: 'amount_invalid' })
  t.throws(() => accountDecider.decide(set({}), accountDecider.initial), {
    code: 'tenant_not_found',
  })
  t.equal(after().when({ budgets: [{ ...ofTenant, hard: '0' }] }).length, 1, 'nothing at all')
})
