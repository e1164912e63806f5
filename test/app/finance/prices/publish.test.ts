import { catalog } from '../../../../src/families/index.ts'
import { Registry } from 'prom-client'
import t from 'tap'
import { priceConcern } from '../../../../src/app/finance/prices/price-readiness.ts'
import {
  publishAtStart,
  type StartedBook,
  withoutDemonstrationPrices,
} from '../../../../src/app/finance/prices/publish-at-start.ts'
import {
  createPriceBookSource,
  type PriceBookSource,
} from '../../../../src/app/finance/prices/price-book.ts'
import {
  bookOf as readFile,
  previewPublication,
  publishPriceBook,
} from '../../../../src/app/finance/prices/publish.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { codeOf, startWorld } from '../../support/world.ts'

const entry = (sku: string, price: string, rest = '') =>
  `  - { sku: ${sku}, currency: CNY, unit: token, per: 1000000, price: "${price}"${rest} }`

function bookOf(version: string, ...entries: readonly string[]): string {
  const head = `version: "${version}"\neffective_from: "2026-01-01T00:00:00Z"\nprices:`
  return [head, ...entries].join('\n')
}

function book(version: string, price: string): string {
  return bookOf(version, entry('some-sku', price), entry('other-sku', '1', ', demonstration: true'))
}

t.test('publishing and reading prices', async (t) => {
  const world = await startWorld(t, { prices: false })
  const deps = { log: world.log, catalog, clock: systemClock }
  const publish = (yamlText: string, demonstrations = true) =>
    publishPriceBook(deps, { yamlText, demonstrations, correlationId: 'test', actor: 'Ada' })
  let nowMs = Date.now()
  const prices = createPriceBookSource(world.pool, { nowMs: () => nowMs }, { nowMs: () => nowMs })

  t.equal(await codeOf(prices.current()), 'price_not_configured')
  t.equal((await publish(book('v1', '46.00'))).published, true)
  t.equal((await publish(book('v1', '46.00'))).published, false, 'the same book again is nothing')
  t.equal(await codeOf(publish(book('v1', '47.00'))), 'price_book_version_taken')
  t.equal(await codeOf(publish('prices: [')), 'price_book_invalid')
  await world.settle()
  nowMs += 100
  t.equal((await prices.current()).lookup('some-sku', 'CNY')?.price, '46')
  const [event] = await world.log.readStream('pricebook')
  t.equal(event?.metadata.actor, 'Ada')

  await publish(book('v2', '50'))
  await world.settle()
  t.equal((await prices.current()).version, 'v1', 'the book is kept for a moment')
  nowMs += 2_001
  const [one, two] = await Promise.all([prices.current(), prices.current()])
  t.equal(one.version, 'v2')
  t.equal(two, one)
  const listed = withoutDemonstrationPrices(prices)
  const [narrow, again] = [await listed.current(), await listed.current()]
  t.equal(narrow, again, 'one book, so that quotes are kept')
  t.equal(narrow.lookup('other-sku', 'CNY'), undefined, 'nobody is sold at a demonstration')
  t.equal(narrow.lookup('some-sku', 'CNY')?.price, '50')

  const list = await publish(book('v3', '50'), false)
  t.equal(list.version, 'v3-list')
  await world.settle()
  nowMs += 2_001
  t.equal((await prices.current()).lookup('other-sku', 'CNY'), undefined)
  t.equal(await codeOf(publish(book('v2', '50'))), 'price_book_replaced', 'never a silent nothing')
  t.equal((await publish(book('v3', '50'))).published, true, 'with demonstrations it is another')
  t.equal(await codeOf(publish(book('v3', '50'), false)), 'price_book_replaced')
})

t.test('of two operators who previewed the same prices, the second is refused', async (t) => {
  const world = await startWorld(t, { prices: false })
  const deps = { log: world.log, catalog, clock: systemClock }
  const file = (version: string) => ({ yamlText: book(version, '1'), demonstrations: true })
  const looks = await Promise.all(
    ['a', 'b'].map((version) =>
      previewPublication(deps, readFile(catalog, file(version)), undefined),
    ),
  )
  const outcomes = await Promise.all(
    looks.map(({ version, basis }) =>
      codeOf(
        publishPriceBook(deps, { ...file(version), basis, correlationId: 'test', actor: version }),
      ),
    ),
  )
  t.same(outcomes.toSorted(), ['no error', 'price_books_changed'])
  t.equal((await world.log.readStream('pricebook')).length, 1)
})

t.test('a start withholds a price book that lacks a price in use', async (t) => {
  const world = await startWorld(t, { prices: false })
  const deps = { log: world.log, catalog, clock: systemClock }
  const start = (yamlText: string, demonstrations = false) =>
    publishAtStart(deps, { yamlText, demonstrations })
  const outcomes = await Promise.all([1, 2, 3].map(() => start(book('v1', '46'))))
  t.same(
    outcomes.map(({ outcome }) => outcome !== 'withheld'),
    [true, true, true],
    'replicas that start together publish one book',
  )
  const published = async () => (await world.log.readStream('pricebook')).length
  t.equal(await published(), 1)
  t.match(await start(bookOf('v2', entry('new-sku', '1'))), {
    version: 'v2',
    outcome: 'withheld',
    lacking: ['some-sku'],
  })
  t.match(await start(bookOf('v3', entry('some-sku', '40'), entry('x', '1'))), {
    outcome: 'published',
  })
  t.match(await start(book('v1', '46')), { version: 'v1-list', outcome: 'replaced' })
  t.equal(await published(), 2)
})

t.test('each start has its prices, from the sandbox to real accounts and back', async (t) => {
  const world = await startWorld(t, { prices: false })
  const deps = { log: world.log, catalog, clock: systemClock }
  const start = async (demonstrations: boolean) =>
    (await publishAtStart(deps, { yamlText: book('v1', '46'), demonstrations })).outcome
  t.equal(await start(false), 'published', 'v1-list')
  t.equal(await start(true), 'published', 'v1, with demonstrations')
  t.equal(await start(false), 'known', 'what it sells at is the same')
  t.equal(await start(true), 'known')
})

t.test('no call waits while a book that is still fresh is read again', async (t) => {
  const world = await startWorld(t, { prices: false })
  const deps = { log: world.log, catalog, clock: systemClock }
  const publish = async (version: string) => {
    const yamlText = book(version, '46')
    await publishPriceBook(deps, {
      yamlText,
      demonstrations: true,
      correlationId: 'test',
      actor: 'A',
    })
    await world.settle()
  }
  await publish('v1')
  let nowMs = Date.now()
  let reads = 0
  let held: Promise<unknown> = Promise.resolve()
  const pool = new Proxy(world.pool, {
    get: (target, name) =>
      name === 'query'
        ? async (...given: unknown[]) => {
            reads += 1
            await held
            return Reflect.apply(target.query.bind(target), undefined, given) as unknown
          }
        : (Reflect.get(target, name, target) as unknown),
  })
  const prices = createPriceBookSource(pool, { nowMs: () => nowMs }, { nowMs: () => nowMs })
  await prices.current()
  const before = reads
  await publish('v2')
  nowMs += 1_500
  let release = (): void => undefined
  held = new Promise<void>((resolve) => (release = resolve))
  t.equal((await prices.current()).version, 'v1', 'the read is held')
  t.equal((await prices.current()).version, 'v1')
  t.equal(reads, before + 1, 'one read at a time')
  nowMs += 500
  const waiting = prices.current()
  release()
  t.equal((await waiting).version, 'v2', 'a book past its time is waited for')
})

t.test('readiness names models without a price, and a withheld price book', async (t) => {
  const world = await startWorld(t, { prices: false })
  const registry = new Registry()
  let nowMs = Date.now()
  const prices = createPriceBookSource(world.pool, { nowMs: () => nowMs }, { nowMs: () => nowMs })
  const served = [
    { family: 'chat', model: 'text-basic' },
    { family: 'chat', model: 'text-none' },
    { family: 'video-a', model: 'overseas-video-2-0-mini' },
  ]
  const started: StartedBook = { version: 'v9', outcome: 'known', lacking: [] }
  const concern = priceConcern({ catalog, prices, served, started, registry })
  const gauge = async () => /^tollgate_unpriced_models (\d+)$/m.exec(await registry.metrics())?.[1]
  t.same(await concern.look(), ['no price book is in effect'])
  t.equal(await gauge(), '3')
  const yamlText = bookOf(
    'v1',
    entry('text-basic-input-token', '1'),
    entry('text-basic-output-token', '2'),
  )
  await publishPriceBook(
    { log: world.log, catalog, clock: systemClock },
    { yamlText, demonstrations: true, correlationId: 'test', actor: 'tests' },
  )
  await world.settle()
  nowMs += 2_001
  t.same(await concern.look(), [
    'price book v1 has no price for text-none (text-none-input-token), overseas-video-2-0-mini ' +
      '(overseas-video-2-0-mini-novideo, overseas-video-2-0-mini-video)',
  ])
  t.equal(await gauge(), '2')
  t.match(await registry.metrics(), /^tollgate_price_book_withheld 0$/m)
  const others = new Registry()
  const withheld = priceConcern({
    catalog,
    prices,
    served: served.slice(0, 1),
    started: { ...started, outcome: 'withheld', lacking: ['gone-sku'] },
    registry: others,
  })
  t.match(await others.metrics(), /^tollgate_price_book_withheld 1$/m)
  t.match(await withheld.look(), [
    /^price book v9 was not published.*gone-sku.*prices publish --yes/,
  ])
})

t.test('readiness names the price book that it checked', async (t) => {
  let asked = 0
  // Another book comes into effect with every look at the prices.
  const prices: PriceBookSource = {
    renew: () => undefined,
    current: async () => {
      asked += 1
      return { version: `v${asked}`, lookup: () => undefined }
    },
  }
  const concern = priceConcern({
    catalog,
    prices,
    served: [{ family: 'chat', model: 'text-none' }],
    started: { version: 'v0', outcome: 'known', lacking: [] },
    registry: new Registry(),
  })
  t.match(await concern.look(), [/^price book v1 has no price for text-none/])
  t.equal(asked, 1)
})
