import t from 'tap'
import { publishPriceBook } from '../../../src/app/pricing/publish.ts'
import { createPriceBookSource } from '../../../src/app/pricing/price-book.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { codeOf, startWorld } from '../support/world.ts'

function book(version: string, price: string): string {
  return `
version: "${version}"
effective_from: "2026-01-01T00:00:00Z"
prices:
  - { sku: some-sku, currency: CNY, unit: token, per: 1000000, price: "${price}" }
  - { sku: other-sku, currency: CNY, unit: call, per: 1, price: "1", demonstration: true }
`
}

t.test('publishing and reading prices', async (t) => {
  const world = await startWorld(t, { prices: false })
  const deps = { log: world.log, clock: systemClock }
  const publish = (yamlText: string, demonstrations = true) =>
    publishPriceBook(deps, { yamlText, demonstrations, correlationId: 'test', actor: 'tests' })
  let nowMs = Date.now()
  const prices = createPriceBookSource(world.pool, { nowMs: () => nowMs })

  t.equal(await codeOf(prices.current()), 'price_not_configured')
  t.equal((await publish(book('v1', '46.00'))).published, true)
  t.equal((await publish(book('v1', '46.00'))).published, false, 'the same book again is nothing')
  t.equal(await codeOf(publish(book('v1', '47.00'))), 'price_book_version_taken')
  t.equal(await codeOf(publish('prices: [')), 'price_book_invalid')
  await world.settle()
  t.equal((await prices.current()).lookup('some-sku', 'CNY')?.price, '46')

  await publish(book('v2', '50'))
  await world.settle()
  t.equal((await prices.current()).version, 'v1', 'the book is kept for a moment')
  nowMs += 2_001
  const [one, two] = await Promise.all([prices.current(), prices.current()])
  t.equal(one.version, 'v2')
  t.equal(two, one)

  const list = await publish(book('v3', '50'), false)
  t.equal(list.version, 'v3-list')
  await world.settle()
  nowMs += 2_001
  t.equal((await prices.current()).lookup('other-sku', 'CNY'), undefined)
})
