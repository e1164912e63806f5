import t from 'tap'
import { acceptVideoARequest } from '../../../../src/families/video-a/rules/request.ts'
import {
  resolveVideoAModel,
  videoAModels,
  type VideoAModel,
} from '../../../../src/families/video-a/rules/models.ts'
import { priceBookFromPublished } from '../../../../src/domain/pricing/price-book.ts'
import {
  isSettleableVideoA,
  quoteVideoA,
  settleVideoA,
} from '../../../../src/families/video-a/rules/pricing.ts'
import type { TaskFacts } from '../../../../src/domain/task/events.ts'
import type { Usage } from '../../../../src/domain/pricing/usage.ts'
import { parseAmount } from '../../../../src/kernel/money.ts'
import { bodyFor, prompt, video, type Body } from './requests.ts'
import { shippedBook, shippedDocument } from '../../../domain/pricing/books.ts'

const model = (name: string): VideoAModel => resolveVideoAModel(name)!
const facts = (name: string, changes: Body = {}): TaskFacts =>
  acceptVideoARequest(bodyFor(name, changes)).facts
const quote = (name: string, changes: Body = {}) =>
  quoteVideoA(model(name), facts(name, changes), shippedBook)
const skus = (name: string, changes: Body = {}) =>
  quote(name, changes).candidates.map(({ sku }) => sku)
const settle = (name: string, changes: Body, usage: Usage, output: Body = {}) =>
  settleVideoA({
    model: model(name),
    facts: facts(name, changes),
    quote: quote(name, changes),
    usage,
    output,
  })
const withVideo = { content: [prompt, video()] }
const tokens = { completion_tokens: 1_000_000, total_tokens: 1_000_000 }

t.test(
  'standard 2.0: the requested resolution chooses the SKU, a video item its tier',
  async (t) => {
    for (const region of ['domestic', 'overseas'])
      for (const resolution of ['480p', '720p', '1080p', '4k']) {
        const name = `${region}-video-2-0`
        t.strictSame(skus(name, { resolution }), [`${name}-${resolution}-novideo`])
        t.strictSame(skus(name, { resolution, ...withVideo }), [`${name}-${resolution}-video`])
      }
  },
)

t.test(
  'standard 2.0 without a resolution: the rendered one, or 720p when not reported',
  async (t) => {
    const name = 'overseas-video-2-0'
    t.strictSame(
      skus(name),
      ['480p', '720p', '1080p', '4k'].map((resolution) => `${name}-${resolution}-novideo`),
    )
    const settled = (output: Body) => settle(name, {}, tokens, output).lines[0]
    t.match(settled({ resolution: '1080p' }), { sku: `${name}-1080p-novideo`, price: '7.7' })
    t.match(settled({ resolution: '4k' }), { sku: `${name}-4k-novideo`, price: '4' })
    t.match(settled({}), {
      sku: `${name}-720p-novideo`,
      rule: 'video-a/2.0/reported-resolution/novideo',
    })
    t.match(settled({ resolution: '8k' }), { sku: `${name}-720p-novideo` })
  },
)

t.test('the requested resolution is billed, whatever upstream reports', async (t) => {
  const { lines } = settle('overseas-video-2-0', { resolution: '480p' }, tokens, {
    resolution: '1080p',
  })
  t.match(lines, [
    { sku: 'overseas-video-2-0-480p-novideo', rule: 'video-a/2.0/requested-resolution/novideo' },
  ])
})

t.test('fast and mini have one SKU whatever the resolution', async (t) => {
  for (const region of ['domestic', 'overseas'])
    for (const tier of ['fast', 'mini'])
      for (const changes of [{}, { resolution: '480p' }, { resolution: '720p' }]) {
        const base = `${region}-video-2-0-${tier}`
        t.strictSame(skus(base, changes), [`${base}-novideo`])
        t.strictSame(skus(base, { ...changes, ...withVideo }), [`${base}-video`])
      }
})

t.test('filter-off models rate with their base model’s SKUs', async (t) => {
  t.strictSame(skus('overseas-video-2-0-filter-off', { resolution: '4k' }), [
    'overseas-video-2-0-4k-novideo',
  ])
  t.strictSame(skus('overseas-video-2-0-fast-filter-off', withVideo), [
    'overseas-video-2-0-fast-video',
  ])
})

t.test('2.5: one SKU per tier whatever the resolution', async (t) => {
  for (const name of ['domestic-video-2-5', 'overseas-video-2-5'])
    for (const changes of [{}, { resolution: '480p' }]) {
      t.strictSame(skus(name, changes), [`${name}-novideo`])
      t.strictSame(skus(name, { ...changes, ...withVideo }), [`${name}-video`])
    }
})

t.test('domestic models are quoted in CNY, overseas ones in USD', async (t) => {
  for (const { name, region } of videoAModels)
    t.equal(quote(name).currency, region === 'domestic' ? 'CNY' : 'USD', name)
})

t.test('a settlement is exact', async (t) => {
  const settled = settle(
    'overseas-video-2-0',
    { resolution: '720p', ...withVideo },
    { completion_tokens: 4_823 },
  )
  t.strictSame(settled, {
    priceBookVersion: shippedDocument.version,
    currency: 'USD',
    amount: '0.0207389',
    lines: [
      {
        sku: 'overseas-video-2-0-720p-video',
        rule: 'video-a/2.0/requested-resolution/video',
        quantity: 4_823,
        unit: 'token',
        price: '4.3',
        per: 1_000_000,
        amount: '0.0207389',
        measurement: 'reported',
      },
    ],
  })
})

t.test('web search is billed by the searches made, not by the offer', async (t) => {
  const tools = { tools: [{ type: 'web_search' }] }
  const searched = (web_search: number | undefined) =>
    settle('domestic-video-2-5', tools, {
      completion_tokens: 108_900,
      ...(web_search === undefined ? {} : { 'tool.web_search': web_search }),
    })
  t.match(searched(2), {
    amount: '7.683',
    lines: [
      { sku: 'domestic-video-2-5-novideo', amount: '7.623' },
      { sku: 'domestic-video-2-5-web-search', quantity: 2, unit: 'call', amount: '0.06' },
    ],
  })
  for (const count of [0, undefined]) t.equal(searched(count).lines.length, 1)
})

t.test('a search that was never offered is not billed', async (t) => {
  const usage = { completion_tokens: 100, 'tool.web_search': 3 }
  for (const name of ['domestic-video-2-5', 'overseas-video-2-5', 'domestic-video-2-0'])
    t.equal(settle(name, {}, usage).lines.length, 1, name)
})

t.test('an explicit zero settles at zero without lines', async (t) => {
  t.match(settle('overseas-video-2-5', {}, { completion_tokens: 0 }), { amount: '0', lines: [] })
})

t.test('a usage without usable completion tokens is not settleable', async (t) => {
  const bad: readonly Usage[] = [
    {},
    { total_tokens: 5 },
    ...[-1, 1.5, 2 ** 53].map((completion_tokens) => ({ completion_tokens })),
  ]
  for (const usage of bad) t.notOk(isSettleableVideoA(usage), JSON.stringify(usage))
  t.ok(isSettleableVideoA({ completion_tokens: 0 }))
  t.throws(() => settle('overseas-video-2-5', {}, { total_tokens: 5 }), /invariant/)
})

t.test('price_not_configured when any SKU the settlement may need has no price', async (t) => {
  const without = (sku: string) =>
    priceBookFromPublished({
      version: 'v',
      entries: shippedDocument.entries.filter((entry) => entry.sku !== sku),
    })
  const tools = { tools: [{ type: 'web_search' }] }
  const cases: readonly (readonly [string, Body, string])[] = [
    ['overseas-video-2-0', {}, 'overseas-video-2-0-4k-novideo'],
    ['overseas-video-2-0', { resolution: '4k' }, 'overseas-video-2-0-4k-novideo'],
    ['domestic-video-2-5', tools, 'domestic-video-2-5-web-search'],
  ]
  for (const [name, changes, sku] of cases)
    t.throws(() => quoteVideoA(model(name), facts(name, changes), without(sku)), {
      code: 'price_not_configured',
      details: { sku },
    })
  t.ok(
    quoteVideoA(
      model('domestic-video-2-5'),
      facts('domestic-video-2-5'),
      without('domestic-video-2-5-web-search'),
    ),
  )
})

t.test('the hold covers upstream’s pixel arithmetic for any ratio', async (t) => {
  const renderings: readonly (readonly [string, Body, number, number])[] = [
    // model, request, largest frame in pixels, rendered plus reference seconds
    ['overseas-video-2-0', { resolution: '1080p', duration: 5 }, 1_920 * 1_088, 5],
    ['overseas-video-2-0', { resolution: '4k', duration: 15 }, 3_326 * 2_494, 15],
    ['overseas-video-2-0', { resolution: '4k', duration: -1 }, 4_398 * 1_886, 15],
    ['overseas-video-2-0', { duration: 4 }, 1_280 * 720, 4],
    ['overseas-video-2-0-mini', { resolution: '480p', duration: 4 }, 864 * 496, 4],
    ['domestic-video-2-5', { resolution: '720p', duration: 30, ...withVideo }, 1_280 * 720, 60],
    ['domestic-video-2-5', { duration: -1 }, 1_280 * 720, 30],
  ]
  for (const [name, changes, pixels, seconds] of renderings) {
    const completion_tokens = Math.floor((pixels * (24 * seconds + 1)) / 1_024)
    const { amount } = settle(name, changes, { completion_tokens })
    const hold = parseAmount(quote(name, changes).hold)
    t.ok(hold >= parseAmount(amount), `${name} ${JSON.stringify(changes)} covered`)
    t.ok(hold <= (parseAmount(amount) * 3n) / 2n, 'and not far above')
  }
})
