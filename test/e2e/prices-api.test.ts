import { readFile } from 'node:fs/promises'
import t from 'tap'
import { parse } from 'yaml'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import type { PriceEntry } from '../../src/domain/pricing/events.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, steadyHeaders, taskBody, TASKS } from './support/client.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const { access, demo, other, url } = stack

interface Book {
  readonly version: string
  readonly effective_from: string
  readonly prices: readonly PriceEntry[]
}

const yamlText = await readFile(new URL('../../infra/pricebook.yaml', import.meta.url), 'utf8')
const shipped = parse(yamlText) as Book
const VIDEO_SKU = 'domestic-video-2-0-720p-novideo'
const FUTURE = '2999-01-01T00:00:00Z'
const PAST = '2025-01-02T00:00:00Z'

const asking =
  (token: string) =>
  (method: string, path: string, body?: unknown): Promise<Answer> => {
    const json = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    return call(`${url}/api/admin${path}`, {
      method,
      token,
      ...(body === undefined ? {} : json),
    })
  }
const ask = asking(demo.adminToken)
const done = async (method: string, path: string, body?: unknown) => {
  const answer = await ask(method, path, body)
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
  return answer.body.data
}
const scope = { level: 'all_users' } as const
const ofTenant = await issueToken(access, {
  tenantId: other.tenantId,
  userId: other.userId,
  kind: 'admin',
  name: 'console',
  scope,
})
const askOwn = asking(ofTenant.secret)

/** The shipped book as another, its demonstrations kept. */
const bookOf = (version: string, from: string, prices = shipped.prices) => ({
  version,
  effective_from: from,
  prices,
  demonstrations: true,
})
const priced = (sku: string, price: string) =>
  shipped.prices.map((entry) => (entry.sku === sku ? { ...entry, price } : entry))

const eventsOf = async (stream: string) => stack.gateway.log.readStream(stream)
const [operator] = (await done('GET', `/tokens?tenant_id=${demo.tenantId}`)).items.filter(
  ({ kind }: { kind: string }) => kind === 'admin',
)

await t.test('a book that adds and changes prices later is published and compared', async (t) => {
  const added = { sku: 'a-new-sku', currency: 'USD', unit: 'call', per: 1, price: '0.250' } as const
  const book = bookOf('later', FUTURE, [...priced(VIDEO_SKU, '46.50'), added])
  const answer = await ask('POST', '/price-books', book)
  t.equal(answer.status, 200, answer.text)
  t.equal(answer.headers.get('cache-control'), 'no-store')
  t.match(answer.body.data, {
    object: 'price_book_publication',
    version: 'later',
    changed: true,
    takes_effect: 'later',
    replaces: shipped.version,
    difference: {
      added: [{ sku: 'a-new-sku', price: '0.25' }],
      removed: [],
      changed: [{ before: { price: '46' }, after: { price: '46.5' }, percent: '+1.09' }],
    },
    unpriced: [],
  })
  const [event] = (await eventsOf('pricebook')).slice(-1)
  t.equal(event?.metadata.actor, operator.id, 'whose token did it')
  t.equal(event?.metadata.correlationId, answer.headers.get('x-request-id'))

  const prices = await done('GET', `/sku-prices?sku=${VIDEO_SKU}`)
  t.match(prices.items, [
    { price: '46.5', from: FUTURE.replace('Z', '.000Z'), until: null, is_at: false },
    { price: '46', until: FUTURE.replace('Z', '.000Z'), is_at: true },
  ])
  const then = await done('GET', `/sku-prices?sku=${VIDEO_SKU}&at=2999-06-01`)
  t.same(
    then.items.map((one: { readonly is_at: boolean }) => one.is_at),
    [true, false],
  )
  t.match(await ask('GET', '/sku-prices?sku=a-new-sk'), { status: 400, text: /no price book has/ })
  t.match(await askOwn('GET', `/sku-prices?sku=${VIDEO_SKU}`), { status: 403 })
  t.match(await done('POST', '/price-books', book), { changed: false }, 'the same again')
  t.equal((await eventsOf('pricebook')).length, 2, 'and nothing is written')
  const shown = await done('GET', '/price-books/later')
  t.match(shown, { object: 'price_book', version: 'later', published_by: operator.id })
  t.equal(shown.prices.length, shipped.prices.length + 1)
  t.match(
    shown.prices.find(({ sku }: PriceEntry) => sku === VIDEO_SKU),
    { currency: 'CNY', unit: 'token', per: 1_000_000, price: '46.5' },
  )
  const { items, next_cursor } = await done('GET', '/price-books')
  t.match(items, [
    { version: 'later', state: 'upcoming', price_count: shown.prices.length },
    { version: shipped.version, state: 'in_effect', published_by: 'tollgate' },
  ])
  t.equal(next_cursor, null)
  const first = await done('GET', '/price-books?limit=1')
  t.same(first.items, items.slice(0, 1))
  t.match(await done('GET', `/price-books?limit=1&cursor=${first.next_cursor}`), {
    items: items.slice(1),
    next_cursor: null,
  })
  const back = await done('GET', `/price-books/${shipped.version}/diff?against=later`)
  t.match(back, {
    version: shipped.version,
    against: 'later',
    added: [],
    removed: [{ sku: 'a-new-sku' }],
    changed: [{ before: { price: '46.5' }, after: { price: '46' }, percent: '-1.08' }],
    unchanged: shipped.prices.length - 1,
  })
})

await t.test('a book that changes prices at once or removes some needs confirmation', async (t) => {
  const before = await stack.gateway.log.endPosition()
  const dearer = bookOf('dearer', PAST, priced('text-basic-output-token', '7'))
  const asked = await ask('POST', '/price-books', dearer)
  t.equal(asked.status, 409)
  t.match(asked.body, {
    success: false,
    message:
      /^Nothing was published: it never takes effect: .*\. Changed: text-basic-output-token USD from .* to 7 \(.* %\)\. Send "confirm": true/,
    error: { code: 'confirmation_required', param: 'confirm' },
  })
  const lacking = await ask('POST', '/price-books', {
    ...bookOf('lacking', FUTURE, priced('none', '0')),
    demonstrations: false,
  })
  t.equal(lacking.status, 409)
  t.match(
    lacking.body.message,
    /it lacks \d+ of the prices of later; models sold now would have no price: .*\. Removed: .* and \d+ more\./,
  )
  t.same(await stack.gateway.log.endPosition(), before, 'nothing was written')

  const now = { ...dearer, effective_from: '2026-11-02T00:00:00Z' }
  t.match(await ask('POST', '/price-books', now), {
    status: 409,
    body: { message: /it takes effect immediately/ },
  })
  t.match(await done('POST', '/price-books', { ...now, confirm: true }), {
    changed: true,
    takes_effect: 'at_once',
    replaces: shipped.version,
  })
  t.match((await done('GET', '/price-books')).items, [
    { version: 'later', state: 'upcoming' },
    { version: 'dearer', state: 'in_effect' },
    { version: shipped.version, state: 'replaced' },
  ])
  for (const [book, code] of [
    [bookOf('dearer', PAST), 'price_book_version_taken'],
    [bookOf(shipped.version, shipped.effective_from), 'price_book_replaced'],
  ] as const)
    t.match(await ask('POST', '/price-books', { ...book, confirm: true }), {
      status: 409,
      body: { error: { code, param: 'version' } },
    })
  const chat = () =>
    call(`${url}/v1/chat/completions`, {
      method: 'POST',
      token: demo.modelToken,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'Hi' }] }),
    })
  await eventually('calls are priced by it', async () => {
    if ((await chat()).status !== 200) return undefined
    await stack.caughtUp()
    const { body } = await queriesOf(url, demo.queryToken).lines('sku=text-basic-output-token')
    return body.data.items[0]?.price === '7' ? true : undefined
  })
})

const PRICES = `/tenants/${demo.tenantId}/prices`
const own = { sku: VIDEO_SKU, currency: 'CNY', unit: 'token', per: 1_000_000, price: '39.50' }
const quoted = () =>
  call(`${url}/v1/quote`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ path: TASKS, body: taskBody() }),
  })
const quotedAt = (price: string, revision: number | null) =>
  eventually(`quoted at ${price}`, async () => {
    const [line] = (await quoted()).body.lines
    return line.price === price && line.account_prices === revision ? true : undefined
  })

await t.test('a tenant gets account prices, pays them, and returns to the list', async (t) => {
  t.match(await done('GET', PRICES), {
    object: 'account_prices',
    tenant_id: demo.tenantId,
    revision: 0,
    multiplier: null,
    price_book_version: 'dearer',
    prices: [],
  })
  const document = { expected_revision: 0, multiplier: '0.50', prices: [own] }
  const set = await ask('PUT', PRICES, document)
  t.equal(set.status, 200, set.text)
  const { changed, ...after } = set.body.data
  t.ok(changed)
  t.same(after, {
    object: 'account_prices',
    tenant_id: demo.tenantId,
    revision: 1,
    multiplier: '0.5',
    price_book_version: 'dearer',
    prices: [
      {
        sku: VIDEO_SKU,
        currency: 'CNY',
        list: { unit: 'token', per: 1_000_000, price: '46' },
        tenant: { unit: 'token', per: 1_000_000, price: '39.5' },
        own: true,
        percent: '-14.13',
      },
    ],
  })
  t.same(await done('GET', PRICES), after)
  const all = await done('GET', `${PRICES}?all=true`)
  t.equal(all.prices.length, shipped.prices.length)
  t.match(
    all.prices.find(({ sku }: PriceEntry) => sku === 'text-basic-output-token'),
    { list: { price: '7' }, tenant: { price: '3.5' }, own: false, percent: '-50.00' },
  )
  const [event] = (await eventsOf(`account-${demo.tenantId}`)).slice(-1)
  t.match(event, {
    type: 'AccountPricesSet',
    metadata: { actor: operator.id, correlationId: set.headers.get('x-request-id') },
  })
  await quotedAt('39.5', 1)

  t.match(await done('PUT', PRICES, document), { changed: false, revision: 1 }, 'the same again')
  const conflict = await ask('PUT', PRICES, { expected_revision: 0, multiplier: '0.9' })
  t.match(conflict, {
    status: 409,
    body: {
      message: /revision 1/,
      error: { code: 'account_prices_changed', param: 'expected_revision' },
    },
  })
  t.equal((await ask('DELETE', `${PRICES}?expected_revision=0`)).status, 409)
  const racing = await Promise.all(
    ['0.6', '0.7', '0.8'].map((multiplier) =>
      ask('PUT', PRICES, { expected_revision: 1, multiplier }),
    ),
  )
  t.equal(racing.filter(({ status }) => status === 200).length, 1, 'one of three wins')
  t.equal(racing.filter(({ status }) => status === 409).length, 2)
  t.match(await done('GET', PRICES), { revision: 2, prices: [] })

  t.match(await done('DELETE', `${PRICES}?expected_revision=2`), {
    changed: true,
    revision: 3,
    multiplier: null,
    prices: [],
  })
  t.match(await done('DELETE', PRICES), { changed: false, revision: 3 })
  await quotedAt('46', null)
})

await t.test('settlements are re-rated under another book without writing an event', async (t) => {
  await stack.caughtUp()
  const before = await stack.gateway.log.endPosition()
  const from = 'from=2026-01-01'
  const { items } = (await queriesOf(url, demo.queryToken).lines('limit=500')).body.data
  t.ok(items.length > 1)
  const under = (version: string, rest = '') =>
    done('GET', `/price-books/${version}/what-if?${from}${rest}`)
  const whole = await under('later')
  t.match(whole, {
    object: 'price_book_what_if',
    version: 'later',
    totals: [{ currency: 'USD', lines: items.length, unpriced: { lines: 0, recorded: '0' } }],
  })
  const row = whole.rows.find(({ sku }: PriceEntry) => sku === 'text-basic-output-token')
  t.match(row, { tenant_id: demo.tenantId, currency: 'USD', unit: 'token' })
  t.ok(Number(row.recorded) > Number(row.what_if), 'it was dearer')
  t.match(row.percent, /^-/)
  t.same(await under('later', `&tenant_id=${demo.tenantId}`), whole)
  t.match(await under('later', `&tenant_id=${other.tenantId}`), { rows: [], totals: [] })
  t.match(await under('later', '&to=2026-01-02'), { rows: [], totals: [] })
  t.same(await stack.gateway.log.endPosition(), before)
})

await t.test("a tenant's admin token sees its own prices and changes none", async (t) => {
  const mine = `/tenants/${other.tenantId}/prices`
  t.match(await askOwn('GET', mine), { status: 200, body: { data: { revision: 0 } } })
  const before = await stack.gateway.log.endPosition()
  for (const [method, path, body] of [
    ['GET', '/price-books', undefined],
    ['GET', '/price-books/later', undefined],
    ['GET', '/price-books/later/diff?against=none', undefined],
    ['GET', '/price-books/later/what-if?from=2026-01-01', undefined],
    ['POST', '/price-books', bookOf('mine', FUTURE)],
    ['PUT', mine, { expected_revision: 0, multiplier: '0' }],
    ['DELETE', mine, undefined],
    ['PUT', PRICES, { expected_revision: 3, multiplier: '0' }],
  ] as const) {
    const answer = await askOwn(method, path, body)
    t.match(answer, { status: 403, body: { error: { code: 'scope_denied' } } }, `${method} ${path}`)
  }
  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', { expected_revision: 3, multiplier: '0' }],
    ['DELETE', undefined],
  ] as const) {
    const [foreign, unknown] = await Promise.all(
      [demo.tenantId, 'tenant_none'].map((id) => askOwn(method, `/tenants/${id}/prices`, body)),
    )
    if (foreign === undefined || unknown === undefined) throw new Error('both were asked')
    t.equal(foreign.status, method === 'GET' ? 404 : 403)
    t.equal(foreign.text, unknown.text, 'byte for byte')
    t.same(steadyHeaders(foreign), steadyHeaders(unknown))
  }
  t.same(await stack.gateway.log.endPosition(), before, 'nothing was written')
})

await t.test('400 names the faulty member, and no event is written', async (t) => {
  const before = await stack.gateway.log.endPosition()
  const [entry] = shipped.prices
  const book = (part: object) => ({ ...bookOf('bad', FUTURE, [own as PriceEntry]), ...part })
  const price = (part: object) => book({ prices: [{ ...entry, ...part }] })
  const set = (part: object) => ({ expected_revision: 3, ...part })
  for (const [method, path, body, param] of [
    ['POST', '/price-books', undefined, ''],
    ['POST', '/price-books', book({ version: 'a b' }), 'version'],
    ['POST', '/price-books', book({ version: undefined }), 'version'],
    ['POST', '/price-books', book({ effective_from: 'tomorrow' }), 'effective_from'],
    ['POST', '/price-books', book({ effective_form: FUTURE }), 'effective_form'],
    ['POST', '/price-books', book({ prices: [] }), 'prices'],
    ['POST', '/price-books', book({ confirm: 'yes' }), 'confirm'],
    ['POST', '/price-books', book({ colour: 'red' }), 'colour'],
    ['POST', '/price-books?dry_run=true', book({}), 'dry_run'],
    ['POST', '/price-books', book({ prices: [own, own] }), 'prices[1]'],
    ['POST', '/price-books', price({ sku: 'a b' }), 'prices[0].sku'],
    ['POST', '/price-books', price({ currency: 'EUR' }), 'prices[0].currency'],
    ['POST', '/price-books', price({ unit: 'Token' }), 'prices[0].unit'],
    ['POST', '/price-books', price({ unit: 'tokens' }), 'prices[0].unit'],
    ['POST', '/price-books', price({ per: 10 }), 'prices[0].per'],
    ['POST', '/price-books', price({ price: 1.5 }), 'prices[0].price'],
    ['POST', '/price-books', price({ price: '-1' }), 'prices[0].price'],
    ['POST', '/price-books', price({ colour: 'red' }), 'prices[0].colour'],
    ['PUT', PRICES, { multiplier: '0.5' }, 'expected_revision'],
    ['PUT', PRICES, set({ expected_revision: -1 }), 'expected_revision'],
    ['PUT', PRICES, set({ multiplier: 0.5 }), 'multiplier'],
    ['PUT', PRICES, set({ multiplier: '100.1' }), 'multiplier'],
    ['PUT', PRICES, set({ multiplyer: '1' }), 'multiplyer'],
    ['PUT', PRICES, set({ prices: [{ ...own, price: '' }] }), 'prices[0].price'],
    ['PUT', PRICES, set({ prices: [{ ...own, unit: 'fortnight' }] }), own.sku],
    ['PUT', PRICES, set({ prices: [{ ...own, demonstration: true }] }), 'prices[0].demonstration'],
    ['PUT', `${PRICES}?all=true`, set({}), 'all'],
    ['DELETE', `${PRICES}?revision=3`, undefined, 'revision'],
    ['GET', `${PRICES}?all=yes`, undefined, 'all'],
    ['GET', '/price-books?cursor=!', undefined, 'cursor'],
    ['GET', '/price-books/later?all=true', undefined, 'all'],
    ['GET', '/price-books/later/diff', undefined, 'against'],
    ['GET', '/price-books/later/diff?against=later&colour=red', undefined, 'colour'],
    ['GET', '/price-books/later/what-if', undefined, 'from'],
    ['GET', '/price-books/later/what-if?from=then', undefined, 'from'],
    ['GET', '/price-books/later/what-if?from=2026-01-02&to=2026-01-02', undefined, 'to'],
    ['GET', '/price-books/later/what-if?from=2026-01-02&tenant=x', undefined, 'tenant'],
  ] as const) {
    const answer = await ask(method, path, body)
    t.equal(answer.status, 400, `${method} ${path} ${JSON.stringify(body)} ${answer.text}`)
    t.match(answer.body, { success: false, error: { code: 'invalid_request' } })
    t.equal(answer.body.error.param ?? '', param, answer.text)
  }
  for (const [method, path, body, code, param] of [
    ['GET', '/price-books/none', undefined, 'price_book_not_found', 'version'],
    ['GET', '/price-books/later/diff?against=none', undefined, 'price_book_not_found', 'against'],
    [
      'GET',
      '/price-books/none/what-if?from=2026-01-01',
      undefined,
      'price_book_not_found',
      'version',
    ],
    ['GET', '/tenants/tenant_none/prices', undefined, 'tenant_not_found', ''],
    ['PUT', '/tenants/tenant_none/prices', set({}), 'tenant_not_found', ''],
    ['DELETE', '/tenants/tenant_none/prices', undefined, 'tenant_not_found', ''],
  ] as const) {
    const answer = await ask(method, path, body)
    t.match(answer, { status: 404, body: { error: { code } } }, `${method} ${path}`)
    t.equal(answer.body.error.param ?? '', param)
  }
  const most = Array.from({ length: 5_000 }, (_, n) => ({
    ...own,
    sku: `sku-${n}`.padEnd(60, 'x'),
  }))
  t.match(await ask('POST', '/price-books', book({ prices: [...most, own] })), {
    status: 400,
    body: { error: { param: 'prices' } },
  })
  const whole = await ask('POST', '/price-books', book({ prices: most }))
  t.match(whole, { status: 409, body: { error: { code: 'confirmation_required' } } })
  t.ok(whole.text.length < 20_000, 'what would change is named up to a bound')
  const large = await ask('POST', '/price-books', book({ version: 'x'.repeat(2 * 1024 * 1024) }))
  t.match(large, {
    status: 413,
    body: {
      message: 'The request body is larger than 2 MiB',
      error: { code: 'invalid_request' },
    },
  })
  t.same(await stack.gateway.log.endPosition(), before, 'nothing was written')
})
