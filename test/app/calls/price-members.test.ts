import type { TextSettings } from '../../../src/families/text/settings.ts'
import t from 'tap'
import { priceBookFromPublished } from '../../../src/domain/pricing/price-book.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { sandboxTextChannels, withTextSettings } from '../../helpers/sandbox-channels.ts'
import { collect, startTextWorld, textInput } from './support/text-world.ts'

const world = await startTextWorld(t)
const plain = sandboxTextChannels({ baseUrl: world.sandbox.url })

const price = (sku: string, of: string) =>
  ({ sku, currency: 'USD', unit: 'token', price: of, per: 1_000_000 }) as const
const entries = [
  price('text-basic-input-token', '1'),
  price('text-basic-output-token', '2'),
  price('text-basic-input-token-flex', '0.5'),
  price('text-basic-output-token-flex', '1'),
]
const book = priceBookFromPublished({ version: 'of tiers', entries })

async function replica(settings: TextSettings) {
  const channels = plain.map((channel) => withTextSettings(channel, settings))
  const { calls, deps } = await world.text({ channels })
  const prices = { ...deps.prices, of: () => Promise.resolve(book) }
  return { ...(await world.text({ channels, deps: { prices } })), plainCalls: calls }
}

const refusal = (error: unknown) =>
  isDomainError(error) ? { code: error.code, param: error.details['param'] } : { error }

t.test('a member that no channel passes on is refused by name, unsent', async (t) => {
  const { calls } = await replica({})
  const sent = () => world.sandbox.calls().length
  const before = sent()
  const cases = [
    ['chat', { provider: { order: ['a'] } }, 'provider'],
    ['chat', { service_tier: 'flex' }, 'service_tier'],
    ['responses', { models: ['dearer'] }, 'models'],
    [
      'native',
      { generationConfig: { responseModalities: ['AUDIO'] } },
      'generationConfig.responseModalities',
    ],
  ] as const
  for (const [family, body, param] of cases) {
    const refused = await calls.complete(textInput({ family, body })).then(() => 'made', refusal)
    t.same(refused, { code: 'invalid_request', param }, param)
  }
  t.equal(sent(), before)
})

t.test('a member that a channel passes on is sent, through such a channel only', async (t) => {
  const { calls } = await replica({ passes: ['provider'] })
  await calls.complete(textInput({ body: { provider: { order: ['a'] } } }))
  const both = { provider: { order: ['a'] }, plugins: [{ id: 'web' }] }
  const refused = await calls.complete(textInput({ body: both })).then(() => 'made', refusal)
  t.same(refused, { code: 'invalid_request', param: 'plugins' })
})

t.test('an offered tier is priced by its own SKUs, an unpriced tier is refused', async (t) => {
  const { calls, deps } = await replica({ serviceTiers: ['flex', 'priority'] })
  for (const streamed of [false, true]) {
    const input = textInput({ body: { service_tier: 'flex' } })
    if (streamed) await collect((await calls.stream(input)).frames)
    else await calls.complete(input)
    await world.settle()
    const settled = (await world.callEvents()).at(-1)
    t.match(settled?.data, {
      settlement: {
        lines: [
          { sku: 'text-basic-input-token-flex', rule: 'text/chat/flex/input', price: '0.5' },
          { sku: 'text-basic-output-token-flex', rule: 'text/chat/flex/output', price: '1' },
        ],
      },
      // The sandbox has one tier alone, and says so.
      answeredOtherwise: { serviceTier: 'default' },
    })
  }
  const { values } = await deps.metrics.answeredOtherwise.get()
  const counted = values.filter(({ value }) => value > 0)
  t.match(counted, [{ value: 2, labels: { family: 'chat', what: 'service_tier' } }])
  const unpriced = await calls
    .complete(textInput({ body: { service_tier: 'priority' } }))
    .then(() => 'made', refusal)
  t.match(unpriced, { code: 'price_not_configured' })
  const two = { service_tier: 'flex', serviceTier: 'priority' }
  const torn = await calls.complete(textInput({ body: two })).then(() => 'made', refusal)
  t.match(torn, { code: 'invalid_request' }, 'which of two counts is not known')
})

t.test('the settlement of an ordinary answer records no differing answer', async (t) => {
  const { calls } = await replica({})
  for (const family of ['chat', 'responses', 'native'] as const) {
    const body = family === 'native' ? {} : { service_tier: 'auto', modalities: ['text'] }
    await calls.complete(textInput({ family, body }))
    await collect((await calls.stream(textInput({ family, body }))).frames)
    await world.settle()
    const settled = (await world.callEvents()).filter(
      ({ data }) => data.surface === `test.${family}`,
    )
    t.notOk(
      settled.slice(-2).some(({ data }) => 'answeredOtherwise' in data),
      family,
    )
  }
})
