import t from 'tap'
import { pricesProjection } from '../../../projections/prices/projection.ts'
import {
  currentPriceBook,
  listPriceBooks,
  priceBookVersion,
} from '../../../projections/prices/query.ts'
import { applied, testPool } from '../support/database.ts'
import { Recorder } from '../support/history.ts'

const DAY_MS = 86_400_000
const FIRST_MS = Date.parse('2026-01-01T00:00:00.000Z')

t.test(
  'the book in effect is the latest effective one, of equals the last published',
  async (t) => {
    const pool = await testPool(t)
    const recorder = new Recorder()
    const published = (version: string, days: number, price: string) => {
      const event = recorder.record('pricebook', {
        type: 'PriceBookPublished',
        data: {
          version,
          effectiveFrom: new Date(FIRST_MS + days * DAY_MS).toISOString(),
          publishedAt: new Date(FIRST_MS).toISOString(),
          digest: `d-${version}`,
          entries: [
            { sku: 'a', currency: 'CNY', unit: 'token', price, per: 1_000_000 },
            { sku: 'a', currency: 'USD', unit: 'token', price: '0.5', per: 1, demonstration: true },
          ],
        },
      })
      return { ...event, metadata: { ...event.metadata, actor: `ops of ${version}` } }
    }
    await applied(
      t,
      pool,
      [
        published('one', 0, '70.00'),
        published('later', 10, '71'),
        published('two', 5, '60'),
        published('three', 5, '61'),
      ],
      [pricesProjection],
    )
    const at = (days: number) => currentPriceBook(pool, FIRST_MS + days * DAY_MS)
    t.equal(await at(-1), undefined)
    t.equal((await at(0))?.version, 'one')
    t.equal((await at(7))?.version, 'three')
    t.equal((await at(10))?.version, 'later')
    const one = await priceBookVersion(pool, 'one')
    t.same(one?.entries, [
      { sku: 'a', currency: 'CNY', unit: 'token', price: '70', per: 1_000_000 },
      { sku: 'a', currency: 'USD', unit: 'token', price: '0.5', per: 1, demonstration: true },
    ])
    t.equal(one?.lookup('a', 'USD')?.price, '0.5')
    t.equal(one?.lookup('b', 'USD'), undefined)
    t.equal(one?.digest, 'd-one')
    t.equal(one?.publishedBy, 'ops of one')
    t.equal(await priceBookVersion(pool, 'none'), undefined)
    t.match((await listPriceBooks(pool))[0], { publishedBy: 'ops of later', prices: 2 })
    t.same(
      (await listPriceBooks(pool)).map(({ version }) => version),
      ['later', 'three', 'two', 'one'],
    )
    const statesAt = async (days: number) =>
      (await listPriceBooks(pool, { atMs: FIRST_MS + days * DAY_MS })).map(({ state }) => state)
    t.same(await statesAt(-1), ['upcoming', 'upcoming', 'replaced', 'upcoming'])
    t.same(await statesAt(4), ['upcoming', 'upcoming', 'replaced', 'in_effect'])
    t.same(await statesAt(7), ['upcoming', 'in_effect', 'replaced', 'replaced'])
    t.same(await statesAt(11), ['in_effect', 'replaced', 'replaced', 'replaced'])
    t.match(
      await listPriceBooks(pool, { atMs: FIRST_MS + 7 * DAY_MS, after: 'three', limit: 1 }),
      [{ version: 'two', state: 'replaced' }],
      'the state of a book does not depend on the page',
    )
    t.equal((await listPriceBooks(pool, { after: 'one' })).length, 0)
  },
)
