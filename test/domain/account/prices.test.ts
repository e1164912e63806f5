import t from 'tap'
import { accountDecider } from '../../../src/domain/account/decider.ts'
import type { AccountEvent } from '../../../src/domain/account/events.ts'
import {
  accountPricesFromDocument,
  maxAccountPrices,
  type WantedAccountPrices,
} from '../../../src/domain/account/prices.ts'
import type { SetSetting } from '../../../src/domain/account/settings.ts'
import type { PriceEntry } from '../../../src/domain/pricing/events.ts'

const tenantId = 'tenant_1'
const at = '2026-01-02T03:04:05.000Z'
const entry: PriceEntry = {
  sku: 'a',
  currency: 'USD',
  unit: 'token',
  per: 1_000_000,
  price: '1.50',
}
const opened: AccountEvent = {
  type: 'TenantOpened',
  data: { tenantId, name: 'Demo', openedAt: at },
}

type Said = Partial<WantedAccountPrices> & { readonly basis?: number }

function set({ basis, ...said }: Said): SetSetting {
  const wanted = { prices: [], ...said }
  return { kind: 'set-setting', setting: 'prices', tenantId, wanted, basis, at }
}

function after(...commands: readonly SetSetting[]) {
  const start = accountDecider.evolve(accountDecider.initial, opened)
  const state = commands.reduce(
    (known, command) => accountDecider.decide(command, known).reduce(accountDecider.evolve, known),
    start,
  )
  return { when: (said: Said) => accountDecider.decide(set(said), state) }
}

t.test('prices are set as a whole, canonical, with a revision', async (t) => {
  t.strictSame(after().when({ multiplier: '0.850', prices: [entry] }), [
    {
      type: 'AccountPricesSet',
      data: {
        tenantId,
        revision: 1,
        multiplier: '0.85',
        prices: [{ ...entry, price: '1.5' }],
        by: null,
        setAt: at,
      },
    },
  ])
  t.strictSame(after(set({ multiplier: '0.85', prices: [entry] })).when({ multiplier: '0.9' }), [
    {
      type: 'AccountPricesSet',
      data: { tenantId, revision: 2, multiplier: '0.9', prices: [], by: null, setAt: at },
    },
  ])
})

t.test('equal prices in another order or spelling decide to no event', async (t) => {
  const other = { ...entry, sku: 'b' }
  const known = after(set({ multiplier: '0.85', prices: [entry, other] }))
  t.strictSame(
    known.when({ multiplier: '0.8500', prices: [other, { ...entry, price: '1.5' }] }),
    [],
  )
  t.equal(known.when({ multiplier: '0.85', prices: [entry] }).length, 1)
  t.equal(known.when({ prices: [entry, other] }).length, 1, 'without the multiplier')
})

t.test('a tenant without account prices has nothing to clear', async (t) => {
  t.strictSame(after().when({}), [])
  const cleared = after(set({ multiplier: '1' }), set({}))
  t.strictSame(cleared.when({}), [])
  t.match(after(set({ multiplier: '1' })).when({}), [{ data: { revision: 2, prices: [] } }])
  t.match(cleared.when({ multiplier: '1' }), [{ data: { revision: 3 } }], 'counted on')
})

t.test('setting_changed when prices changed since they were read', async (t) => {
  const known = after(set({ multiplier: '0.9' }))
  t.throws(() => known.when({ multiplier: '0.8', basis: 0 }), {
    code: 'setting_changed',
    details: { setting: 'account_prices', revision: 1 },
  })
  t.equal(known.when({ multiplier: '0.8', basis: 1 }).length, 1)
  t.strictSame(known.when({ multiplier: '0.90', basis: 0 }), [], 'sent again it overwrites nothing')
})

t.test('setting_invalid names the faulty entry', async (t) => {
  const invalid = (said: Said, where: string) =>
    t.throws(() => after().when(said), {
      code: 'setting_invalid',
      details: { setting: 'account_prices', param: where },
    })
  for (const multiplier of ['-1', '100.000001', '0.1234567', '1e3', '', '.5', ' 1', '1000'])
    invalid({ multiplier }, 'multiplier')
  invalid({ prices: [entry, { ...entry, price: '2' }] }, 'a')
  invalid({ prices: [{ ...entry, demonstration: true }] }, 'a')
  const many = Array.from({ length: maxAccountPrices + 1 }, (_, n) => ({ ...entry, sku: `s${n}` }))
  invalid({ prices: many }, 'prices')
  t.equal(after().when({ prices: many.slice(1) }).length, 1)
  t.equal(after().when({ prices: [entry, { ...entry, currency: 'CNY' }] }).length, 1)
  t.throws(() => accountDecider.decide(set({}), accountDecider.initial), {
    code: 'tenant_not_found',
  })
})

t.test('a file of account prices is read like a price book, and strictly', async (t) => {
  t.same(accountPricesFromDocument({ multiplier: '0.85', prices: [entry] }), {
    multiplier: '0.85',
    prices: [{ ...entry, price: '1.5' }],
  })
  t.same(accountPricesFromDocument({}), { multiplier: undefined, prices: [] })
  t.throws(() => accountPricesFromDocument({ multiplier: 0.85 }), {
    code: 'setting_invalid',
    details: { setting: 'account_prices', param: 'multiplier' },
  })
  t.throws(() => accountPricesFromDocument({ discount: '1' }), { code: 'price_book_invalid' })
  t.throws(() => accountPricesFromDocument({ prices: [{ ...entry, price: 1.5 }] }), {
    code: 'price_book_invalid',
    details: { param: 'prices[0].price' },
  })
})
