import t from 'tap'
import { createReadModelPrices } from '../../../../src/app/finance/prices/model-prices.ts'
import { bookForAccount } from '../../../../src/domain/pricing/account-prices.ts'
import type { PriceEntry } from '../../../../src/domain/pricing/events.ts'
import {
  type PriceBook,
  priceBookFromPublished,
} from '../../../../src/domain/pricing/price-book.ts'
import { catalog } from '../../../../src/families/index.ts'
import { DomainError } from '../../../../src/kernel/errors.ts'

const entry = (unit: string, members: Partial<PriceEntry> = {}): PriceEntry => ({
  sku: `m-${unit}-token`,
  currency: 'USD',
  unit: 'token',
  per: 1_000_000,
  price: '0.000007',
  ...members,
})
const list = priceBookFromPublished({
  version: 'v1',
  entries: [entry('input'), entry('output'), entry('input', { sku: 'm-input-token-flex' })],
})
const channels = [
  { family: 'chat', models: { m: 'up' }, settings: { serviceTiers: ['flex'] } },
  { family: 'responses', models: { m: 'up', n: 'up-n' } },
]
const readerOf = (of: () => Promise<PriceBook>) =>
  createReadModelPrices({ catalog, channels, prices: { of } })

t.test('each SKU once, over every family and tier that serves the model', async (t) => {
  const read = readerOf(() => Promise.resolve(list))
  const prices = await read('tenant_1', ['m'])
  t.same(
    prices.map(({ sku, listPrice, accountPrices }) => [sku, listPrice, accountPrices]),
    [
      ['m-input-token', '0.000007', undefined],
      ['m-output-token', '0.000007', undefined],
      ['m-input-token-flex', '0.000007', undefined],
    ],
  )
  t.same(await read('tenant_1', ['n', 'unserved']), [])
})

t.test('the list price is that of as many units, exact, and none of another unit', async (t) => {
  const own = [
    entry('input', { per: 1, price: '1' }),
    entry('output', { unit: 'second', price: '2' }),
    entry('cached-input', { price: '3' }),
  ]
  const account = { revision: 4, multiplier: undefined, prices: own }
  const read = readerOf(() => Promise.resolve(bookForAccount(list, account)))
  t.same(
    (await read('tenant_1', ['m'])).map((one) => [one.price, one.listPrice, one.accountPrices]),
    [
      ['1', '0.000000000007', 4],
      ['3', undefined, 4],
      ['2', undefined, 4],
      ['0.000007', '0.000007', undefined],
    ],
  )
})

t.test('there is no price before any book; a store that is away is a failure', async (t) => {
  const failing = (code: 'price_not_configured' | 'database_unavailable') =>
    readerOf(() => Promise.reject(new DomainError(code, '', {})))
  t.same(await failing('price_not_configured')('tenant_1', ['m']), [])
  await t.rejects(failing('database_unavailable')('tenant_1', ['m']), {
    code: 'database_unavailable',
  })
})
