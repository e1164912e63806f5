import { catalog } from '../../../src/families/index.ts'
import t from 'tap'
import { unpricedModels } from '../../../src/domain/pricing/coverage.ts'
import type { PriceBookPublished, PriceEntry } from '../../../src/domain/pricing/events.ts'
import { priceBookDifference } from '../../../src/domain/pricing/price-book-difference.ts'
import {
  priceBookDigest,
  type PriceBookDocument,
  withoutDemonstrations,
} from '../../../src/domain/pricing/price-book-document.ts'
import { priceBookFromPublished } from '../../../src/domain/pricing/price-book.ts'
import { publicationOf, reasonsToConfirm } from '../../../src/domain/pricing/publication.ts'
import { videoAModels } from '../../../src/families/video-a/rules/models.ts'
import { shippedBook, shippedDocument } from './books.ts'

const NOW = '2026-05-01T00:00:00Z'
const nowMs = Date.parse(NOW)
const entry = (sku: string, price = '1'): PriceEntry => ({
  sku,
  currency: 'USD',
  unit: 'token',
  price,
  per: 1_000_000,
})
const book = (version: string, effectiveFrom: string, ...entries: readonly PriceEntry[]) =>
  ({ version, effectiveFrom, entries }) satisfies PriceBookDocument
const published = (document: PriceBookDocument): PriceBookPublished => ({
  ...document,
  entries: [...document.entries],
  publishedAt: NOW,
  digest: priceBookDigest(document.entries),
})
const text = [entry('m-input-token'), entry('m-output-token')]
const current = published(book('now', '2026-01-01T00:00:00Z', ...text, entry('gone')))
const served = [{ family: 'chat', model: 'm' }]
const LATER = '2026-06-01T00:00:00Z'

t.test('a difference names added, removed and changed prices, by currency', async (t) => {
  const yuan: PriceEntry = { ...entry('a'), currency: 'CNY' }
  const dearer = entry('b', '2')
  t.strictSame(
    priceBookDifference(
      [entry('a'), yuan, entry('b'), entry('c')],
      [entry('a'), dearer, entry('d')],
    ),
    {
      added: [entry('d')],
      removed: [yuan, entry('c')],
      changed: [{ before: entry('b'), after: dearer, percent: '+100.00' }],
      unchanged: 1,
    },
  )
  const same = [{ ...entry('a'), demonstration: false }]
  t.match(priceBookDifference([entry('a')], same), { changed: [], unchanged: 1 })
  for (const other of [{ per: 1 as const }, { unit: 'call' }, { demonstration: true }])
    t.equal(priceBookDifference([entry('a')], [{ ...entry('a'), ...other }]).changed.length, 1)
})

t.test('a later book that only adds prices needs no confirmation', async (t) => {
  const next = book('next', LATER, ...current.entries, entry('new'))
  const look = publicationOf(catalog, next, [current], served, nowMs)
  t.match(look, { takesEffect: 'later', replaces: 'now', published: false, basis: 1, unpriced: [] })
  t.strictSame(reasonsToConfirm(look), [])
})

t.test('a book that loses prices of its own or of served models is confirmed', async (t) => {
  const look = publicationOf(
    catalog,
    book('next', LATER, entry('m-input-token')),
    [current],
    served,
    nowMs,
  )
  t.match(look.difference.removed, [{ sku: 'm-output-token' }, { sku: 'gone' }])
  t.strictSame(look.unpriced, [
    { family: 'chat', model: 'm', skus: ['m-output-token'], soldNow: true },
  ])
  t.match(reasonsToConfirm(look), [/lacks 2 of the prices of now/, /no price: m$/])
  const unknown = publicationOf(catalog, book('next', LATER, ...text), [current], undefined, nowMs)
  t.equal(unknown.unpriced, undefined)
  t.match(reasonsToConfirm(unknown), [/lacks 1 of the prices/], 'the book alone says it')
})

t.test('a model without a price today is not reported as losing one', async (t) => {
  const other = [...served, { family: 'chat', model: 'never' }]
  const look = publicationOf(
    catalog,
    book('next', LATER, ...current.entries),
    [current],
    other,
    nowMs,
  )
  t.match(look.unpriced, [{ model: 'never', soldNow: false }])
  t.strictSame(reasonsToConfirm(look), [])
})

t.test('a book that takes effect immediately, or never, needs confirmation', async (t) => {
  const past = publicationOf(
    catalog,
    book('next', NOW, ...current.entries),
    [current],
    served,
    nowMs,
  )
  t.equal(past.takesEffect, 'at_once')
  t.match(reasonsToConfirm(past), [/takes effect immediately/])
  const old = book('next', '2025-01-01T00:00:00Z', ...current.entries)
  const never = publicationOf(catalog, old, [current], served, nowMs)
  t.match(never, { takesEffect: 'never', replaces: 'now' })
  t.match(reasonsToConfirm(never), [/never takes effect: now begins later/])
  const first = publicationOf(catalog, book('next', LATER, ...text), [], served, nowMs)
  t.match(first, { takesEffect: 'later', replaces: undefined, basis: 0 })
  t.strictSame(reasonsToConfirm(first), [])
})

t.test('a book is compared with the one in effect when it begins, not with today’s', async (t) => {
  const upcoming = published(book('soon', '2026-05-15T00:00:00Z', ...text))
  const look = publicationOf(
    catalog,
    book('next', LATER, ...text),
    [current, upcoming],
    served,
    nowMs,
  )
  t.match(look, { replaces: 'soon', difference: { removed: [], unchanged: 2 } })
  t.strictSame(reasonsToConfirm(look), [])
})

t.test('the shipped book prices every video model; without demonstrations no text', async (t) => {
  const videos = videoAModels.map(({ name }) => ({ family: 'video-a', model: name }))
  const texts = [{ family: 'responses', model: 'text-basic' }]
  t.strictSame(unpricedModels(catalog, [...videos, ...texts], shippedBook), [])
  const list = priceBookFromPublished(withoutDemonstrations(shippedDocument))
  t.match(unpricedModels(catalog, [...videos, ...texts], list), [
    { model: 'text-basic', skus: ['text-basic-input-token'] },
  ])
  const without4k = shippedDocument.entries.filter(
    ({ sku }) => sku !== 'overseas-video-2-0-4k-video',
  )
  t.strictSame(
    unpricedModels(
      catalog,
      videos,
      priceBookFromPublished({ version: '1', entries: without4k }),
    ).map(({ model, skus }) => [model, skus]),
    [
      ['overseas-video-2-0', ['overseas-video-2-0-4k-video']],
      ['overseas-video-2-0-filter-off', ['overseas-video-2-0-4k-video']],
    ],
  )
})
