import t from 'tap'
import { billing, type WantedBillingProfile } from '../../../src/domain/account/billing.ts'
import { accountDecider } from '../../../src/domain/account/decider.ts'
import type { AccountEvent } from '../../../src/domain/account/events.ts'
import { settingIn, type SetSetting } from '../../../src/domain/account/settings.ts'
import { isCountry } from '../../../src/kernel/countries.ts'

const tenantId = 'tenant_1'
const at = '2026-01-02T03:04:05.000Z'
const opened: AccountEvent = {
  type: 'TenantOpened',
  data: { tenantId, name: 'Demo', openedAt: at },
}
const profile: WantedBillingProfile = {
  legalName: '晶石影业（上海）有限公司',
  address: ['南京西路 1 号', '上海 200040'],
  country: 'CN',
  emails: ['billing@acme.example'],
  language: 'zh',
  numberPrefix: 'ACME',
}
const ofOperator = { timeZone: 'Asia/Shanghai', terms: 'postpaid', graceHours: 0 } as const

const set = (wanted: WantedBillingProfile, basis?: number): SetSetting => ({
  kind: 'set-setting',
  setting: 'billing',
  tenantId,
  wanted,
  basis,
  at,
})
const after = (...commands: readonly SetSetting[]) =>
  commands.reduce(
    (known, command) => accountDecider.decide(command, known).reduce(accountDecider.evolve, known),
    accountDecider.evolve(accountDecider.initial, opened),
  )
const decide = (command: SetSetting, state = after()) => accountDecider.decide(command, state)
const now = (...commands: readonly SetSetting[]) =>
  settingIn(after(...commands).settings, 'billing')

t.test('a first profile has UTC, prepaid and 72 hours where it names none', async (t) => {
  t.same(decide(set(profile)), [
    {
      type: 'BillingProfileSet',
      data: {
        ...profile,
        tenantId,
        revision: 1,
        timeZone: 'UTC',
        terms: 'prepaid',
        graceHours: 72,
        setAt: at,
      },
    },
  ])
})

t.test('absent terms of operators stay as they are; an absent tax id is removed', async (t) => {
  const first = set({ ...profile, ...ofOperator, taxId: '91310000MA1K', poNumber: 'PO-7' })
  const { numberPrefix: _, ...rest } = profile
  t.match(now(first, set({ ...rest, poNumber: 'PO-8' })), {
    ...ofOperator,
    revision: 2,
    numberPrefix: 'ACME',
    poNumber: 'PO-8',
    taxId: undefined,
  })
})

t.test('the same profile again decides to no event, also with an old basis', async (t) => {
  const first = set({ ...profile, ...ofOperator })
  t.same(decide(set(profile, 0), after(first)), [])
  t.throws(() => decide(set({ ...profile, country: 'HK' }, 0), after(first)), {
    code: 'setting_changed',
    details: { setting: 'billing', revision: 1 },
  })
})

t.test('the four terms of operators are named where an administrator changes one', async (t) => {
  const { operatorsOnly } = billing
  if (typeof operatorsOnly !== 'function') return t.fail('not a function')
  const standing = now(set({ ...profile, ...ofOperator }))
  t.equal(operatorsOnly({ ...profile, legalName: 'Other' }, standing), undefined)
  t.equal(operatorsOnly({ ...profile, ...ofOperator }, standing), undefined, 'repeated unchanged')
  for (const [change, param] of [
    [{ timeZone: 'UTC' }, 'time_zone'],
    [{ numberPrefix: 'OTHER' }, 'number_prefix'],
    [{ terms: 'prepaid' }, 'terms'],
    [{ graceHours: 72 }, 'grace_hours'],
  ] as const)
    t.match(
      operatorsOnly({ ...profile, ...change }, standing),
      { param, message: /^Only an operator sets the / },
      param,
    )
})

t.test('a bad value is refused in words that name its member', async (t) => {
  const many = (count: number, of: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => of(n))
  const { numberPrefix: _, ...unnumbered } = profile
  const refused = (wanted: object, param: string): void => {
    t.throws(
      () => decide(set({ ...profile, ...wanted })),
      {
        code: 'setting_invalid',
        message: new RegExp(`^${param.replace('[', String.raw`\[`)}: [a-z]`),
        details: { setting: 'billing', param },
      },
      `${param} ${JSON.stringify(wanted).slice(0, 80)}`,
    )
  }
  for (const legalName of ['', ' ', ' Acme', 'Acme\n', 'A\u202eB', '\ud800', 'x'.repeat(201)])
    refused({ legalName }, 'legal_name')
  refused({ address: [] }, 'address')
  refused({ address: many(7, String) }, 'address')
  for (const line of ['', 'two\nlines', 'x'.repeat(101)])
    refused({ address: ['one', line] }, 'address[1]')
  for (const country of ['', 'cn', 'CHN', 'ZZ', 'EU', 'UK']) refused({ country }, 'country')
  for (const id of ['', ' 7', 'x'.repeat(65), '\t']) {
    refused({ taxId: id }, 'tax_id')
    refused({ poNumber: id }, 'po_number')
  }
  refused({ emails: many(11, (n) => `a${n}@acme.example`) }, 'emails')
  refused({ emails: ['a@acme.example', 'a@acme.example'] }, 'emails')
  for (const email of ['', 'a', '@b', 'a@', 'a@b@c', 'a b@c', 'a,b@c', `${'x'.repeat(254)}@c`])
    refused({ emails: [email] }, 'emails[0]')
  refused({ language: 'de' }, 'language')
  for (const timeZone of ['', 'CST', 'Asia/Nowhere', '+08:00']) refused({ timeZone }, 'time_zone')
  for (const numberPrefix of ['', '-A', 'acme', 'A_B', 'A\n', 'A'.repeat(17)])
    refused({ numberPrefix }, 'number_prefix')
  refused({ terms: 'later' }, 'terms')
  for (const graceHours of [-1, 721, 1.5, Number.NaN]) refused({ graceHours }, 'grace_hours')
  t.throws(() => decide(set(unnumbered)), {
    message: /^number_prefix: is missing: an operator sets it/,
    details: { param: 'number_prefix' },
  })
})

t.test('the largest values are accepted', async (t) => {
  const largest: WantedBillingProfile = {
    ...profile,
    legalName: '😀'.repeat(200),
    address: Array.from({ length: 6 }, () => '号'.repeat(100)),
    taxId: 'x'.repeat(64),
    poNumber: 'x'.repeat(64),
    emails: Array.from({ length: 10 }, (_, n) => `${n}@${'x'.repeat(252)}`),
    numberPrefix: 'A-2345678901234-',
    graceHours: 720,
  }
  t.match(now(set(largest)), { ...largest, revision: 1 })
})

t.test('the countries are those of ISO 3166-1 that this platform has a name of', async (t) => {
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('')
  const codes = letters.flatMap((one) => letters.map((other) => `${one}${other}`))
  const known = codes.filter(isCountry)
  t.equal(known.length, 249)
  t.same(
    known.filter((code) => names.of(code) === undefined),
    [],
  )
})
