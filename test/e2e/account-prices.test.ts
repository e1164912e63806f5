import { catalog } from '../../src/families/index.ts'
import t from 'tap'
import { rebuildProjection } from '../../projections/engine/rebuild.ts'
import { ledgerProjection } from '../../projections/ledger/projection.ts'
import { chainHead } from '../../projections/ledger/query.ts'
import { allProjections } from '../../projections/registry.ts'
import { audit } from '../../src/app/audit/audit.ts'
import { setSetting } from '../../src/app/accounts/settings.ts'
import { publishPriceBook } from '../../src/app/finance/prices/publish.ts'
import { WhatIf, type WhatIfRow } from '../../src/app/finance/prices/what-if.ts'
import type { PriceEntry } from '../../src/domain/pricing/events.ts'
import { bookForAccount } from '../../src/domain/pricing/account-prices.ts'
import { priceBookVersion } from '../../projections/prices/query.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { formatAmount, parseAmount } from '../../src/kernel/money.ts'
import { pause } from '../../src/kernel/pause.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack, type TestTenant } from '../helpers/stack.ts'
import { call, queriesOf, taskBody, TASKS, tasksOf } from './support/client.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const { demo, other, access, gateway } = stack
const VIDEO_SKU = 'domestic-video-2-0-720p-novideo'
const own: PriceEntry = {
  sku: VIDEO_SKU,
  currency: 'CNY',
  unit: 'token',
  per: 1_000_000,
  price: '39.5',
}

interface Line {
  readonly line_id: string
  readonly source_id: string
  readonly sku: string
  readonly quantity: number
  readonly price: string
  readonly per: number
  readonly currency: string
  readonly amount: string
  readonly account_prices: number | null
}

const set = (multiplier: string | undefined, prices: readonly PriceEntry[] = []) =>
  setSetting(access, 'prices', { tenantId: demo.tenantId, wanted: { multiplier, prices } })

const chat = (tenant: TestTenant, url = stack.url) =>
  call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token: tenant.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'hello' }] }),
  })

async function lines(tenant: TestTenant, query = ''): Promise<readonly Line[]> {
  await stack.caughtUp()
  const answer = await queriesOf(stack.url, tenant.queryToken).lines(`limit=500&${query}`)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body.data.items
}

const exact = ({ quantity, price, per }: Line): string =>
  formatAmount((BigInt(quantity) * parseAmount(price)) / BigInt(per))

/** Asks until a call is priced by these account prices; the log tells within moments. */
const pricedBy = (revision: number | null) =>
  eventually(`account prices ${revision} count`, async () => {
    if ((await chat(demo)).status !== 200) return undefined
    const [latest] = await lines(demo, 'model=text-basic')
    return latest?.account_prices === revision ? latest : undefined
  })

t.test('tasks and calls cost each tenant its own prices, to the digit', async (t) => {
  t.match(await set('0.333333', [own]), { changed: true })
  t.match(await set('0.333333', [own]), { changed: false })
  await pricedBy(1)
  for (const tenant of [demo, other]) {
    const tasks = tasksOf(stack.url, tenant.modelToken)
    const answer = await tasks.reaches(await tasks.created(), 'succeeded')
    const tokens = answer.body.usage.completion_tokens
    t.equal((await chat(tenant)).status, 200)
    const [video] = await lines(tenant, `sku=${VIDEO_SKU}`)
    const isDemo = tenant === demo
    t.match(video, {
      quantity: tokens,
      price: isDemo ? '39.5' : '46',
      account_prices: isDemo ? 1 : null,
    })
    const pricePico = isDemo ? 39_500_000n : 46_000_000n
    t.equal(video?.amount, formatAmount(BigInt(tokens) * pricePico))
    const quoted = await call(`${stack.url}/v1/quote`, {
      method: 'POST',
      token: tenant.modelToken,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ path: TASKS, body: taskBody() }),
    })
    const of = { price: isDemo ? '39.5' : '46', account_prices: isDemo ? 1 : null }
    t.match(quoted.body.lines, [{ sku: VIDEO_SKU, ...of }], 'as quoted')
    const receipt = await queriesOf(stack.url, tenant.queryToken).get(`/receipts/${video?.line_id}`)
    t.match(receipt.body.data.lines, [of], 'as its receipt says')
    const [input] = await lines(tenant, 'sku=text-basic-input-token')
    t.match(input, {
      // 0.5 × 0.333333 = 0.1666665, rounded half away from zero.
      price: isDemo ? '0.166667' : '0.5',
      account_prices: isDemo ? 1 : null,
    })
    t.equal(
      input?.amount,
      formatAmount(BigInt(input?.quantity ?? 0) * (isDemo ? 166_667n : 500_000n)),
    )
  }
})

t.test('the settlement in the log records how its price was formed', async (t) => {
  const events = []
  for await (const event of gateway.log.readAll()) events.push(event)
  const ofDemo = events.filter(
    (event) => 'tenantId' in event.data && event.data.tenantId === demo.tenantId,
  )
  t.match(ofDemo.findLast(({ type }) => type === 'TaskRequested')?.data, {
    quote: { candidates: [{ accountPrice: { kind: 'own', revision: 1 } }] },
  })
  t.match(ofDemo.findLast(({ type }) => type === 'TaskSettled')?.data, {
    settlement: {
      priceBookVersion: /^2026/,
      lines: [{ price: '39.5', accountPrice: { kind: 'own', revision: 1 } }],
    },
  })
  t.match(ofDemo.findLast(({ type }) => type === 'CallSettled')?.data, {
    settlement: {
      lines: [
        {
          price: '0.166667',
          accountPrice: { kind: 'multiplied', revision: 1, list: '0.5', multiplier: '0.333333' },
        },
      ],
    },
  })
})

t.test(
  'prices changed during traffic: each call has one price, an accepted task keeps its own',
  async (t) => {
    const tasks = tasksOf(stack.url, demo.modelToken)
    const accepted = await tasks.created()
    const enough = new AbortController()
    const callers = Array.from({ length: 4 }, async () => {
      const answers: number[] = []
      while (!enough.signal.aborted) {
        answers.push((await chat(demo)).status)
        // Their lines are looked at in one page.
        await pause(20)
      }
      return answers
    })
    await set('0.8')
    await pricedBy(2)
    await set(undefined, [{ ...own, sku: 'text-basic-output-token', currency: 'USD', price: '9' }])
    await eventually('the third count', async () =>
      (await lines(demo, 'sku=text-basic-output-token')).some((line) => line.account_prices === 3)
        ? true
        : undefined,
    )
    await set(undefined)
    await eventually('list prices count again', async () =>
      (await lines(demo, 'sku=text-basic-output-token'))[0]?.account_prices === null
        ? true
        : undefined,
    )
    enough.abort()
    const answers = (await Promise.all(callers)).flat()
    t.ok(answers.length > 0)
    t.ok(
      answers.every((status) => status === 200),
      'nobody is refused for a change',
    )
    await tasks.reaches(accepted, 'succeeded')
    const [video] = await lines(demo, `sku=${VIDEO_SKU}`)
    t.match(video, { price: '39.5', account_prices: 1 }, 'accepted before all of that')

    const list = await priceBookVersion(gateway.pool, '2026-11-30')
    const shown = await lines(demo, 'model=text-basic')
    const seen = new Set(shown.map((line) => line.account_prices))
    for (const revision of [1, 2, 3, null]) t.ok(seen.has(revision), `some by ${revision}`)
    for (const line of shown) {
      const input = line.sku === 'text-basic-input-token'
      const listed = list?.lookup(line.sku, 'USD')?.price
      const prices: Readonly<Record<string, string | undefined>> = {
        1: input ? '0.166667' : undefined,
        2: input ? '0.4' : undefined,
        3: '9',
        null: listed,
      }
      const said = prices[String(line.account_prices)]
      if (said !== undefined) t.equal(line.price, said, `${line.sku} by ${line.account_prices}`)
      t.equal(line.amount, exact(line))
    }
  },
)

t.test('a book that comes into effect leaves running tasks at their price', async (t) => {
  const book = await priceBookVersion(gateway.pool, '2026-11-30')
  const tasks = tasksOf(stack.url, other.modelToken)
  const accepted = await tasks.created()
  const fromMs = Date.now() + 1_500
  const prices = (book?.entries ?? []).map((entry) => ({
    ...entry,
    price: entry.sku === VIDEO_SKU ? '92' : entry.price,
  }))
  await publishPriceBook(
    { log: gateway.log, catalog, clock: systemClock },
    {
      yamlText: JSON.stringify({
        version: 'double',
        effective_from: new Date(fromMs).toISOString(),
        prices,
      }),
      demonstrations: true,
      correlationId: 'test',
      actor: 'tests',
    },
  )
  await stack.caughtUp()
  const early = await tasks.created()
  // On a busy machine it may be in effect already: then the first of the two shows alone what went before.
  const price = Date.now() < fromMs ? '46' : '92'
  await eventually('the book is in effect', () =>
    Promise.resolve(Date.now() > fromMs + 2_100 ? true : undefined),
  )
  const late = await tasks.created()
  for (const id of [accepted, early, late]) await tasks.reaches(id, 'succeeded')
  const found = await lines(other, `sku=${VIDEO_SKU}`)
  t.same(
    found.map(({ price }) => price).toSorted(),
    ['46', '46', price, '92'],
    'one of the first test, two from before the book, one after',
  )
})

async function rerated(book: ConstructorParameters<typeof WhatIf>[1]['book'], tenantId?: string) {
  const whatIf = new WhatIf(gateway, { book, fromMs: 0, toMs: Date.now() + 60_000, tenantId })
  const rows: WhatIfRow[] = []
  for await (const row of whatIf.rows()) rows.push(row)
  return { rows, totals: whatIf.totals() }
}

t.test(
  're-rating by the recorded book shows no difference; by another book, its difference',
  async (t) => {
    const book = await priceBookVersion(gateway.pool, '2026-11-30')
    if (book === undefined) throw new Error('the book is published')
    const same = await rerated(book, demo.tenantId)
    t.ok(same.rows.length >= 3)
    for (const row of same.rows) t.match(row, { difference: '0', percent: '0.00' })
    t.same(
      same.totals.map(({ currency, difference }) => [currency, difference]),
      [
        ['CNY', '0'],
        ['USD', '0'],
      ],
    )
    t.same(
      (
        await rerated(
          bookForAccount(book, { revision: 1, multiplier: '1', prices: [] }),
          demo.tenantId,
        )
      ).rows,
      same.rows,
    )

    // Twice the list: what was multiplied doubles but for its rounding, an own price stays.
    const twice = await rerated({
      version: 'twice',
      lookup: (sku, currency) => {
        const entry = book.lookup(sku, currency)
        return entry && { ...entry, price: formatAmount(parseAmount(entry.price) * 2n) }
      },
    })
    const video = (tenant: TestTenant) =>
      twice.rows.find((row) => row.tenantId === tenant.tenantId && row.sku === VIDEO_SKU)
    t.match(video(demo), { difference: '0', percent: '0.00' }, 'a price of its own')
    const charged = await lines(other, `sku=${VIDEO_SKU}`)
    const tokens = charged.reduce((sum, line) => sum + BigInt(line.quantity), 0n)
    t.match(video(other), {
      lines: 4,
      quantity: tokens.toString(),
      whatIf: formatAmount(tokens * 92_000_000n),
    })
    const inputs = (await lines(demo, 'sku=text-basic-input-token')).map((line) => {
      const price = new Map([
        [1, 333_333n],
        [2, 800_000n],
      ]).get(line.account_prices ?? 0)
      return BigInt(line.quantity) * (price ?? 1_000_000n)
    })
    t.equal(
      twice.rows.find(
        (row) => row.tenantId === demo.tenantId && row.sku === 'text-basic-input-token',
      )?.whatIf,
      formatAmount(inputs.reduce((sum, pico) => sum + pico, 0n)),
    )

    const lacking = await rerated({ version: 'none', lookup: () => undefined }, other.tenantId)
    t.ok(lacking.rows.every(({ whatIf }) => whatIf === null))
    t.match(lacking.totals, [
      { currency: 'CNY', lines: 0, recorded: '0', whatIf: '0', unpriced: { lines: 4 } },
      { currency: 'USD', lines: 0, unpriced: { lines: Number } },
    ])
  },
)

t.test('the ledger rebuilt from the log is identical, to the last hash', async (t) => {
  await stack.caughtUp()
  const { pool, log } = gateway
  const before = await chainHead(pool)
  const rebuilt = await rebuildProjection({ pool, log, projection: ledgerProjection })
  t.match(rebuilt, { outcome: 'swapped', comparison: { equal: true } })
  t.same(await chainHead(pool), before)
})

t.test('an audit finds every price explained by the log', async (t) => {
  await stack.caughtUp()
  const report = await audit({ pool: gateway.pool, log: gateway.log, models: allProjections })
  t.same(report.findings, [])
  t.equal(report.ok, true)
  t.ok(report.lines > 10)
})
