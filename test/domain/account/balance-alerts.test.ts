import t from 'tap'
import {
  type BalanceThreshold,
  type WantedBalanceAlerts,
} from '../../../src/domain/account/balance-alerts.ts'
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
const webhookUrl = 'https://hooks.example.com/low'
const thresholds: readonly BalanceThreshold[] = [
  { currency: 'CNY', below: '100' },
  { currency: 'USD', below: '12.5' },
]

const set = ({
  basis,
  ...said
}: Partial<WantedBalanceAlerts> & { readonly basis?: number } = {}): SetSetting => ({
  kind: 'set-setting',
  setting: 'balanceAlerts',
  tenantId,
  wanted: { thresholds, webhookUrl, rotateSecret: false, ...said },
  basis,
  at,
})
const after = (...commands: readonly SetSetting[]) =>
  commands.reduce(
    (known, command) => accountDecider.decide(command, known).reduce(accountDecider.evolve, known),
    accountDecider.evolve(accountDecider.initial, opened),
  )
const decide = (command: SetSetting, state = after()) => {
  const [event] = accountDecider.decide(command, state)
  if (event !== undefined && event.type !== 'BalanceAlertsSet') throw new Error(event.type)
  return event && valueOf(event)
}

t.test('balance alerts are set as a whole, amounts in canonical form', async (t) => {
  const said = decide(set({ thresholds: [{ currency: 'CNY', below: '100.50' }] }))
  t.same(said, {
    revision: 1,
    thresholds: [{ currency: 'CNY', below: '100.5' }],
    webhookUrl,
    secretVersion: 1,
  })
  const silent = decide(set({ webhookUrl: undefined }), after(set()))
  t.same(silent, { revision: 2, thresholds, secretVersion: 1 })
})

t.test('equal alerts in another order decide to no event, a new secret to one', async (t) => {
  t.equal(decide(set({ thresholds: thresholds.toReversed(), basis: 0 }), after(set())), undefined)
  t.match(decide(set({ rotateSecret: true }), after(set())), { revision: 2, secretVersion: 2 })
  const rotated = after(set(), set({ rotateSecret: true }))
  t.match(decide(set({ webhookUrl: undefined }), rotated), { secretVersion: 2 })
})

t.test('setting_changed when alerts changed since they were read', async (t) => {
  t.throws(() => decide(set({ thresholds: [], basis: 0 }), after(set())), {
    code: 'setting_changed',
    details: { setting: 'balance_alerts', revision: 1 },
  })
})

t.test('invalid thresholds are refused, naming the member', async (t) => {
  for (const [said, code, param] of [
    [[{ currency: 'CNY', below: '0' }], 'setting_invalid', 'thresholds[0].below'],
    [[{ currency: 'CNY', below: '-1' }], 'setting_invalid', 'thresholds[0].below'],
    [[{ currency: 'CNY', below: 'much' }], 'amount_invalid', undefined],
    [[{ currency: 'CNY', below: '0.0000000000001' }], 'amount_invalid', undefined],
    [
      [
        { currency: 'CNY', below: '1' },
        { currency: 'CNY', below: '2' },
      ],
      'setting_invalid',
      'thresholds',
    ],
  ] as const)
    t.throws(() => decide(set({ thresholds: said })), {
      code,
      ...(param === undefined ? {} : { details: { setting: 'balance_alerts', param } }),
    })
  t.throws(() => decide(set(), accountDecider.initial), { code: 'tenant_not_found' })
})
