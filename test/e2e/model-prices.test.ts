import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { setSetting } from '../../src/app/accounts/settings.ts'
import type { PriceEntry } from '../../src/domain/pricing/events.ts'
import { formatAmount, parseAmount } from '../../src/kernel/money.ts'
import { eventually } from '../helpers/eventually.ts'
import { openTestTenant, sharedStack } from '../helpers/stack.ts'
import { call, queriesOf, TASKS } from './support/client.ts'
import { silentWav } from '../helpers/silent-wav.ts'

/** Prices that a caller sees are those by which its requests are quoted and settled. */

const stack = await sharedStack(t)
const { url, access } = stack
const tenant = await openTestTenant(access, 'priced')
const { tenantId, userId, modelToken } = tenant
const own: PriceEntry = {
  sku: 'text-basic-output-token',
  currency: 'USD',
  unit: 'token',
  per: 1_000,
  price: '0.007',
}
await setSetting(access, 'prices', { tenantId, wanted: { multiplier: '0.333333', prices: [own] } })

interface Price {
  readonly model: string
  readonly sku: string
  readonly unit: string
  readonly per: number
  readonly price: string
  readonly currency: string
  readonly list_price: string | null
  readonly price_book: string
  readonly account_prices: number | null
}

const get = (path: string, token = modelToken) => call(`${url}/v1${path}`, { token })
const post = (path: string, body: object) =>
  call(`${url}${path}`, {
    method: 'POST',
    token: modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** Prices once the tenant's own apply; the log notifies the gateway within moments. */
const prices = await eventually('the prices of the account apply', async () => {
  const { body } = await get('/prices')
  const data = body.data as readonly Price[]
  return data.some((one) => one.account_prices === 1) ? data : undefined
})
const models = (await get('/models')).body.data.map(({ id }: { readonly id: string }) => id)
const keyOf = ({ model, sku, currency }: Pick<Price, 'model' | 'sku' | 'currency'>) =>
  `${model} ${sku} ${currency}`
const priceByKey = new Map(prices.map((one) => [keyOf(one), one]))

/** A file for clones of voices. */
async function sampleId(): Promise<string> {
  const wav = silentWav(12)
  const form = new FormData()
  form.append('purpose', 'voice_clone')
  form.append('file', new Blob([new Uint8Array(wav)]), 'me.wav')
  const path = `${url}/provB/v1/files/upload`
  const { body } = await call(path, { method: 'POST', token: modelToken, body: form })
  return String(body.file.file_id)
}

type Request = readonly [path: string, body: object]

/** The stack has no storage for results. */
const response_format = 'b64_json'
const picture = 'https://media.example.com/boat.png'
const messages = [{ role: 'user', content: 'Hello' }]
const speechModels = models.filter((model: string) => model.startsWith('speech-'))
const fileId = await sampleId()

/** Requests for a model that differ in what they are billed by; those that it does not take are refused. */
function requestsFor(model: string): readonly Request[] {
  const text = (tools: readonly object[]): readonly Request[] => [
    ['/v1/chat/completions', { model, messages, tools: tools.slice(0, 1) }],
    ['/v1/responses', { model, input: 'Hello', tools }],
  ]
  const content = [{ type: 'text', text: 'a fox' }]
  const clone = { voice_id: `Voice${Date.now()}`, file_id: Number(fileId), text: 'Good morning.' }
  return [
    ['/v1/chat/completions', { model, messages }],
    ['/v1/chat/completions', { model, messages, web_search_options: {} }],
    ...['web_search', 'code_interpreter'].flatMap((type) => text([{ type }])),
    ...text([{ type: 'file_search', vector_store_ids: ['vs_1'] }]),
    ...[{}, { speed: 'fast' }].map((more): Request => [
      '/v1/messages',
      { model, max_tokens: 9, messages, ...more },
    ]),
    ...[{}, { tools: [{ googleSearch: {} }] }].map((more): Request => [
      `/v1beta/models/${model}:generateContent`,
      { contents: [{ parts: [{ text: 'Hello' }] }], ...more },
    ]),
    ...['480p', '540p', '720p', '768p', '1080p', '2k', '4k'].flatMap((resolution) =>
      [
        [],
        [picture],
        Array.from({ length: 7 }, () => picture),
        [{ type: 'video', url: picture }],
      ].map((given): Request => [
        '/v1/videos',
        {
          model,
          prompt: 'a fox',
          resolution,
          ...(given.length === 0
            ? {}
            : {
                input_reference: given.map((one) =>
                  typeof one === 'string' ? { type: 'image', url: one } : one,
                ),
              }),
        },
      ]),
    ),
    [TASKS, { model, content, duration: 5, tools: [{ type: 'web_search' }] }],
    ...['low', 'medium', 'high'].flatMap((quality) =>
      [undefined, '512', '1K', '2K', '4K'].map((size): Request => [
        '/v1/images/generations',
        { model, prompt: 'a boat', quality, size, response_format },
      ]),
    ),
    ...[undefined, '512', '1K', '2K', '4K'].map((size): Request => [
      '/v1/images/generations',
      { model, prompt: 'a boat', size, response_format },
    ]),
    [
      '/v1/images/generations',
      { model, prompt: 'a boat', size: '2K', response_format, tools: [{ type: 'web_search' }] },
    ],
    ['/provB/v1/t2a_v2', { model, text: 'Good morning.', voice_id: 'nova' }],
    ['/v1/audio/speech', { model, input: 'Good morning.', voice: 'alloy' }],
    ...(model === 'voice-clone'
      ? speechModels.map((audition: string): Request => [
          '/provB/v1/voice_clone',
          { ...clone, model: audition },
        ])
      : []),
  ]
}

t.test('prices of a model are the SKUs and prices that its quotes have', async (t) => {
  const taken: Request[] = []
  for (const model of models as readonly string[]) {
    const quoted = new Set<string>()
    const paths = new Set<string>()
    for (const [path, body] of requestsFor(model)) {
      const answer = await post('/v1/quote', { path, body })
      if (answer.status !== 200) continue
      const { currency, price_book: book, lines } = answer.body
      if (!paths.has(path)) taken.push([path, body])
      paths.add(path)
      for (const { sku, unit, price, per, account_prices } of lines) {
        const key = keyOf({ model, sku, currency })
        quoted.add(key)
        t.match(
          priceByKey.get(key),
          { unit, price, per, account_prices, price_book: book },
          `${key} at ${path}`,
        )
      }
    }
    const listed = prices.filter((one) => one.model === model).map(keyOf)
    t.ok(listed.length > 0, model)
    t.same(listed.toSorted(), [...quoted].toSorted(), model)
    const shown = await get(`/models/${encodeURIComponent(model)}`)
    const withModel = shown.body.prices.map((one: object) => ({ model, ...one }))
    t.same(
      withModel,
      prices.filter((one) => one.model === model),
      model,
    )
    t.same((await get(`/prices?model=${encodeURIComponent(model)}`)).body.data, withModel, model)
  }

  for (const [path, body] of taken) {
    const made = await post(path, body)
    t.equal(made.status, 200, `${path} ${made.text}`)
  }
  const finance = queriesOf(url, tenant.queryToken)
  const settled = await eventually('a line of each model', async () => {
    await stack.caughtUp()
    const { items } = (await finance.lines('limit=500')).body.data
    const billed = new Set(items.map(({ model }: Price) => model))
    return billed.size === models.length ? items : undefined
  })
  for (const line of settled) {
    const found = priceByKey.get(keyOf(line))
    const { unit, price, per, account_prices, price_book_version: price_book } = line
    t.match(found, { unit, price, per, account_prices, price_book }, keyOf(line))
    const amount = formatAmount((BigInt(line.quantity) * parseAmount(price)) / BigInt(per))
    t.equal(amount, line.amount, line.line_id)
  }
})

t.test('a price of the tenant stands beside the list price for as many units', async (t) => {
  const { data } = (await get('/prices?model=text-basic')).body
  const output = data.find(({ sku }: Price) => sku === own.sku)
  t.match(output, { price: '0.007', per: 1_000, account_prices: 1, list_price: /^\d/ })
  const other = (await get('/prices?model=text-basic', stack.demo.modelToken)).body.data
  for (const one of other as readonly Price[]) {
    t.equal(one.list_price, one.price)
    t.equal(one.account_prices, null)
    const mine = data.find(({ sku }: Price) => sku === one.sku)
    const scaled = (parseAmount(one.price) * BigInt(mine.per)) / BigInt(one.per)
    t.equal(parseAmount(mine.list_price), scaled, one.sku)
  }
})

t.test('only models that the token may use; any other is as missing', async (t) => {
  const bound = await issueToken(access, {
    tenantId,
    userId,
    kind: 'model',
    name: 'bound',
    models: ['image-2'],
  })
  await stack.caughtUp()
  const { data } = (await get('/prices', bound.secret)).body
  t.same([...new Set(data.map(({ model }: Price) => model))], ['image-2'])
  const missing = await get('/prices?model=nothing', bound.secret)
  t.match(missing, { status: 404, body: { error: { code: 'model_not_found', param: 'model' } } })
  t.equal((await get('/prices?model=text-basic', bound.secret)).text, missing.text)
  t.equal((await get('/prices?modle=image-2')).status, 400)
  t.equal((await get('/prices', tenant.queryToken)).status, 403)
})
