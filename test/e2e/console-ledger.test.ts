import { Client } from 'pg'
import t, { type Test } from 'tap'
import { listKeyOf, toCursor } from '../../src/api/kit/routes/queries.ts'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { grantCredit } from '../../src/app/accounts/credit.ts'
import type { QueryScope, TokenKind, TokenRole } from '../../src/domain/token/events.ts'
import { formatAmount, parseAmount } from '../../src/kernel/money.ts'
import { until } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { call, callOnce, tasksOf } from './support/client.ts'
import { askConsole, giveViewReason, signInToConsole } from './support/console.ts'

/** Pages of the ledger: every amount is one that the API answers, for each kind of reader. */

const stack = await startStack()
t.teardown(() => stack.stop())
const { url, demo, other, access } = stack

const chat = (token: string): Promise<string> => callOnce(url, token)
const callId = await chat(demo.modelToken)
const foreignCall = await chat(other.modelToken)
const task = await tasksOf(url, demo.modelToken).create()
let taskId = String(task.body.id)
// A day of 25 hours in Berlin: it is 24 October there in the first, and 25 October in the last.
for (const [at, grantId] of [
  ['2026-10-24T21:59:00Z', 'grant_before'],
  ['2026-10-24T22:00:00Z', 'grant_first'],
  ['2026-10-25T22:59:00Z', 'grant_last'],
  ['2026-10-25T23:00:00Z', 'grant_after'],
] as const)
  await grantCredit(
    { ...access, clock: { nowMs: () => Date.parse(at) } },
    { tenantId: demo.tenantId, currency: 'USD', amount: '0.25', reason: grantId, grantId },
  )
const issue = async (kind: TokenKind, level: QueryScope['level'], role?: TokenRole) => {
  const scope = { level } as QueryScope
  const owner = { tenantId: demo.tenantId, userId: demo.userId, name: `${kind} ${level}` }
  const { secret } = await issueToken(access, { ...owner, kind, scope, ...(role && { role }) })
  return secret
}
const tokens = {
  all: await issue('query', 'all_tenants'),
  administrator: await issue('admin', 'all_users'),
  finance: await issue('query', 'all_users', 'finance'),
  support: await issue('admin', 'all_tenants', 'support'),
}
await until(async () => {
  const { body } = await call(`${url}/api/query/v1/lives/${taskId}`, { token: demo.queryToken })
  // The caller knows it by the id of its surface.
  taskId = body.data?.id ?? taskId
  return body.data?.state === 'settled'
})
await stack.caughtUp()
const manage = async (method: 'GET' | 'POST' | 'PUT', path: string, body?: object) => {
  const answer = await call(`${url}/api/admin/${path}`, {
    method,
    token: demo.adminToken,
    ...(body && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body.data
}
await manage('POST', `tenants/${demo.tenantId}/adjustments`, {
  adjustment_id: 'adjustment_one',
  line_id: `${taskId}:1`,
  amount: '2.5',
  code: 'quality',
  reason: 'broken <picture>',
})
/** A header of a file; the second until which its rows go, where that is now, is left out. */
const headerOf = (answer: Response, name: string): string | undefined =>
  answer.headers.get(name)?.replace(/\d{8}T\d{6}Z/, 'now')

const ownPrice = { sku: 'web-search-call', currency: 'USD', unit: 'call', per: 1_000 }
await manage('PUT', `tenants/${demo.tenantId}/prices`, {
  expected_revision: 0,
  prices: [{ ...ownPrice, price: '9' }],
})
const version: string = (await manage('GET', 'price-books')).items[0].version
await manage('POST', 'price-books', {
  version: 'next',
  effective_from: '2099-01-01T00:00:00Z',
  confirm: true,
  prices: [{ ...ownPrice, price: '12' }],
})
await stack.caughtUp()

interface ReaderOf {
  readonly cookie: string
  /** The tokens by which the API answers the same. */
  readonly query: string
  readonly admin: string
}
const readers: Readonly<Record<'operator' | 'administrator' | 'finance' | 'reader', ReaderOf>> = {
  operator: {
    cookie: await signInToConsole(url, demo.adminToken),
    query: tokens.all,
    admin: demo.adminToken,
  },
  administrator: {
    cookie: await signInToConsole(url, tokens.administrator),
    query: demo.queryToken,
    admin: tokens.administrator,
  },
  finance: {
    cookie: await signInToConsole(url, tokens.finance),
    query: tokens.finance,
    admin: '',
  },
  reader: {
    cookie: await signInToConsole(url, demo.queryToken),
    query: demo.queryToken,
    admin: '',
  },
}
const { operator, administrator, finance, reader } = readers
const support = await signInToConsole(url, tokens.support)
await giveViewReason(url, operator.cookie, other.tenantId)
const ask = (path: string, { cookie }: Pick<ReaderOf, 'cookie'> = reader) =>
  askConsole(url, path, { cookie })

const plain = (text: string): string =>
  text.trim().replaceAll(' ', '').replace('−', '-').replaceAll('&amp;', '&')

/** The amounts of a page with the addresses of the API that answer them. */
const amountsOf = (text: string) =>
  [...text.matchAll(/<span class="money[^"]*"([^>]*)>([^<]+)/g)].map(
    ([, attributes = '', shown = '']) => ({
      address: /data-from="([^"]+)"/.exec(attributes)?.[1]?.replaceAll('&amp;', '&'),
      amount: plain(shown),
    }),
  )

/** Holds every amount of a page against the answer that it names. */
async function checkAmounts(t: Test, path: string, who: ReaderOf, least: number): Promise<string> {
  const { status, text } = await ask(path, who)
  t.equal(status, 200, `${path}: ${text.slice(-500)}`)
  const amounts = amountsOf(text)
  t.ok(amounts.length >= least, `${path}: ${amounts.length} amounts`)
  const answers = new Map<string, ReadonlySet<string>>()
  for (const { address, amount } of amounts) {
    if (address === undefined) {
      t.fail(`${path}: ${amount} names no answer of the API`)
      continue
    }
    if (!answers.has(address)) {
      const token = address.startsWith('/api/admin/') ? who.admin : who.query
      const answer = await call(`${url}${address}`, { token })
      t.equal(answer.status, 200, `${address}: ${answer.text.slice(0, 200)}`)
      answers.set(
        address,
        new Set([...answer.text.matchAll(/"(-?\d+(?:\.\d+)?)"/g)].map(([, one = '']) => one)),
      )
    }
    t.ok(answers.get(address)?.has(amount), `${path}: ${amount} is in ${address}`)
  }
  t.notMatch(text, /NaN|undefined|Infinity|\[object/)
  t.notMatch(text, /\sstyle=|\son\w+=|javascript:/)
  t.match(text, 'aria-current="true">Ledger<', 'the place stays the current one')
  return text
}

const line = `/console/ledger/lines/${taskId}:1`

t.test('every amount is one that the API answers, for each kind of reader', async (t) => {
  for (const [name, who] of Object.entries(readers)) {
    const tenant = who === operator ? `&tenant_id=${demo.tenantId}` : ''
    t.comment(name)
    for (const tz of ['UTC', 'Asia/Kolkata']) {
      const zone = `tz=${encodeURIComponent(tz)}`
      await checkAmounts(t, `/console/ledger/summary?by=day&and=model&${zone}`, who, 6)
      await checkAmounts(t, `/console/ledger/summary?by=user&time_preset=7d&${zone}`, who, 6)
      await checkAmounts(t, `/console/ledger/movements?${zone}${tenant}`, who, 8)
    }
    await checkAmounts(t, line, who, 5)
  }
  await checkAmounts(t, `/console/prices?tenant_id=${demo.tenantId}`, operator, 2)
  await checkAmounts(t, '/console/prices', administrator, 2)
  await checkAmounts(t, '/console/prices?all=true', administrator, 100)
  const asked = 'against=next&time_preset=30d'
  const text = await checkAmounts(t, `/console/prices/${version}?${asked}`, operator, 100)
  t.match(text, 'Cost of past usage at these prices')
  t.match(text, `Changes from next to ${version}`)
})

/** Sums the amounts of a column by currency, exactly. */
function sumOf(text: string, column: string): Readonly<Record<string, string>> {
  const cell = new RegExp(
    `data-name="${column}"><span class="money[^>]*>([^<]+)(?:<span class="room"[^>]*></span>)?<span class="currency"> (\\w+)`,
    'g',
  )
  const sums: Record<string, bigint> = {}
  for (const [, shown = '', currency = ''] of text.matchAll(cell))
    sums[currency] = (sums[currency] ?? 0n) + parseAmount(plain(shown))
  return Object.fromEntries(Object.entries(sums).map(([name, pico]) => [name, formatAmount(pico)]))
}

t.test(
  'the rows of a summary add up to the total of the API, and each opens its lines',
  async (t) => {
    const asked = [
      'day',
      'day,model',
      'month,sku',
      'hour',
      'tenant,user',
      'token',
      'model,day',
      'surface',
    ]
    for (const dimensions of asked)
      for (const who of [operator, reader]) {
        const [by = '', and = ''] = dimensions.split(',')
        const path = `/console/ledger/summary?by=${by}&and=${and}&tz=Asia%2FKolkata`
        const { text } = await ask(path, who)
        const { address = '' } = amountsOf(text)[0] ?? {}
        t.match(new URL(address, url).searchParams.get('group_by'), dimensions)
        const { body } = await call(`${url}${address}`, { token: who.query })
        const totals = Object.fromEntries(
          body.data.totals.map(({ currency, amount }: Record<string, string>) => [
            currency,
            amount,
          ]),
        )
        t.same(sumOf(text, 'settled'), totals, path)
        const rows = [
          ...text.matchAll(
            /<tr><td class="lead" data-name="\w+"><a href="(\/console\/ledger\/lines[^"]+)">.*?data-name="lines">(\d+).*?data-name="settled"><span class="money[^>]*>([^<]+)/g,
          ),
        ]
        t.equal(rows.length, body.data.items.length, `${path}: all rows are links`)
        for (const [, href = '', count = '', shown = ''] of rows) {
          const place = href.replaceAll('&amp;', '&')
          const { searchParams } = new URL(place, url)
          t.match(searchParams.get('from'), /^\d{4}-\d\d-\d\dT/)
          t.match(searchParams.get('to'), /^\d{4}-\d\d-\d\dT/)
          t.notOk(searchParams.has('time_preset'))
          const lines = await ask(place, who)
          t.equal(lines.status, 200, place)
          t.equal(lines.text.split('data-name="SKU"').length - 1, Number(count), place)
          const [sum = ''] = Object.values(sumOf(lines.text, 'amount'))
          t.equal(sum, plain(shown), place)
        }
      }
  },
)

t.test(
  'sums are sorted by any column, cut to the largest, and compared with the time before',
  async (t) => {
    const path = '/console/ledger/summary?by=model&and=user&time_preset=this_month'
    const cells = (text: string, column: string) =>
      [
        ...text.matchAll(
          new RegExp(`data-name="${column}">\\+?<span class="money[^>]*>([^<]+)`, 'g'),
        ),
      ].map(([, shown = '']) => Number(plain(shown)))
    const { text } = await ask(path)
    const [, largest = ''] = /<a href="([^"]+)">settled<\/a>/.exec(text) ?? []
    const down = await ask(largest.replaceAll('&amp;', '&'))
    t.match(down.text, '<th scope="col" class="right" aria-sort="descending">')
    const perCurrency = (all: string, of: string) =>
      [...all.matchAll(/<tr><td class="lead".*?<\/tr>/g)]
        .map(([row]) => row)
        .filter((row) => row.includes(`> ${of}<`))
        .flatMap((row) => cells(row, 'settled'))
    const usd = perCurrency(down.text, 'USD')
    t.same(
      usd,
      [...usd].toSorted((one, other) => other - one),
    )
    const [, smallest = ''] = /<a href="([^"]+)">settled<\/a>/.exec(down.text) ?? []
    t.match(smallest, 'sort=amount', 'the same heading turns the order')
    const first = await ask(`${path}&top=10&compare=true`)
    t.match(first.text, /Compared with/)
    const whole = await checkAmounts(t, `${path}&top=10&compare=true`, reader, 6)
    t.same(cells(whole, 'change'), cells(whole, 'net'), 'nothing was settled the month before')
    t.match(await ask('/console/ledger/summary?by=day&compare=true'), {
      status: 400,
      text: /group by other keys than day/,
    })
    t.match(await ask(`${path}&sort=colour`), { status: 400, text: /sort must be one of/ })
  },
)

t.test('a chart is of one currency, and its days open their lines', async (t) => {
  const { text } = await ask('/console/ledger/summary?by=day&and=model&tz=Europe%2FBerlin')
  const figures = text.split('<figure').slice(1)
  t.equal(figures.length, 2)
  for (const [index, currency] of ['CNY', 'USD'].entries()) {
    t.match(figures[index], `</span>`)
    t.notMatch(figures[index]?.split('</figure>')[0], currency === 'CNY' ? 'USD' : 'CNY')
  }
  t.notMatch((await ask('/console/ledger/summary?by=model&and=day')).text, '<figure')
  const autumn = '/console/ledger/summary?by=day&from=2026-10-24&tz=Europe%2FBerlin'
  const days = [...(await ask(autumn)).text.matchAll(/<a href="([^"]+)" tabindex="-1"/g)].map(
    ([, href = '']) => new URL(href.replaceAll('&amp;', '&'), url).searchParams,
  )
  const long = days.find((asked) => asked.get('from') === '2026-10-24T22:00:00.000Z')
  t.equal(long?.get('to'), '2026-10-25T23:00:00.000Z', 'this day has 25 hours')
})

t.test('movements of a day on which the clocks change are those of the zone', async (t) => {
  const day = 'from=2026-10-25&to=2026-10-26&currency=USD'
  const berlin = `/console/ledger/movements?${day}&tz=Europe%2FBerlin`
  const shown = await checkAmounts(t, berlin, reader, 6)
  for (const id of ['grant_first', 'grant_last'])
    t.match(shown, `q=${id}&amp;tz=Europe%2FBerlin"`, 'in the same zone')
  for (const id of ['grant_before', 'grant_after']) t.notMatch(shown, `q=${id}`)
  const utc = await checkAmounts(t, `/console/ledger/movements?${day}`, reader, 4)
  for (const id of ['grant_last', 'grant_after']) t.match(utc, `q=${id}"`)
  const [, before = ''] = /<a class="button" href="([^"]+)">Month before/.exec(shown) ?? []
  const month = new URL(before.replaceAll('&amp;', '&'), url).searchParams
  t.equal(month.get('from'), '2026-09-30T22:00:00.000Z')
  t.equal(month.get('to'), '2026-10-31T23:00:00.000Z', 'the month of the day before')
  t.match(await ask(before.replaceAll('&amp;', '&')), { status: 200, text: /grant_before/ })
  const now = await ask('/console/ledger/movements')
  t.match(now.text, `href="/console/ledger/lines/${encodeURIComponent(`${taskId}:1`)}`)
  const [, lines = ''] = /<a href="([^"]+)">\d+ lines?</.exec(now.text) ?? []
  t.match(await ask(lines.replaceAll('&amp;', '&')), { status: 200, text: /class="money"/ })
  t.match(await ask('/console/ledger/movements', operator), { status: 200, text: /Name a tenant/ })
})

/** The links to files of a page. */
const filesOf = (text: string): readonly string[] =>
  [...text.matchAll(/href="(\/console[^"]+\/file\?[^"]+)"/g)].map(([, href = '']) =>
    href.replaceAll('&amp;', '&'),
  )

/** The route of the API that answers the rows of each page. */
const routeOf: Readonly<Record<string, string>> = {
  '/console/ledger/lines': '/ledger/lines',
  '/console/ledger/summary': '/usage',
  '/console/ledger/movements': '/movements',
  '/console/failed': '/failures',
  '/console/failed/refused': '/refusals',
  [`/console/tenants/${demo.tenantId}/activity`]: '/lives',
  '/console/periods': '/periods',
}

t.test('lines are sorted by their headings, and files have the newest first', async (t) => {
  const page = '/console/ledger/lines?time_preset=7d&currency=USD'
  const { text } = await ask(page)
  const headings = [
    ...text.matchAll(/<th scope="col"[^>]*><a href="([^"]+)">(settled|amount)<\/a>/g),
  ]
  const [byTime = '', byAmount = ''] = headings.map(([, href = '']) =>
    href.replaceAll('&amp;', '&'),
  )
  t.match(byTime, /sort=settled_at/)
  t.match(byAmount, /sort=-amount/)
  const oldest = await ask(byTime)
  t.match(oldest, { status: 200, text: /aria-sort="ascending"/ })
  const ids = (html: string) =>
    [...html.matchAll(/ledger\/lines\/([^"?]+%3A\d+)/g)].map(([, id]) => id)
  t.same(ids(oldest.text), ids(text).toReversed())
  const largest = await ask(byAmount)
  t.match(largest.text, /aria-sort="descending"[^>]*><a href="[^"]*sort=amount/)
  const amounts = [...largest.text.matchAll(/data-name="amount"><span [^>]*>([\d. ]+)/g)]
  const values = amounts.map(([, amount = '']) => Number(amount.replaceAll(/\s/g, '')))
  t.ok(values.length > 1)
  t.same(
    values,
    values.toSorted((a, b) => b - a),
  )
  t.notMatch(filesOf(largest.text).join(), /sort/)
})

t.test('each file of a page is that of the API, of all its rows as of its position', async (t) => {
  const pages = [
    ['/console/ledger/lines?time_preset=7d&currency=USD', 4],
    ['/console/ledger/summary?by=day&and=model&tz=Asia%2FKolkata', 2],
    ['/console/ledger/summary?by=model&top=10&compare=true&time_preset=7d', 2],
    ['/console/ledger/movements?tz=Asia%2FKolkata', 4],
    ['/console/failed', 4],
    [`/console/tenants/${demo.tenantId}/activity?type=call`, 2],
    ['/console/periods?month=2026-10&show=ready', 2],
  ] as const
  for (const [page, files] of pages) {
    const links = filesOf((await ask(page)).text)
    t.equal(links.length, files, page)
    // Later calls are no part of what the page shows.
    await chat(demo.modelToken)
    await stack.caughtUp()
    for (const link of links) {
      const { pathname, searchParams } = new URL(link, url)
      const at = pathname.slice(0, -'/file'.length)
      t.equal(searchParams.has('as_of'), !/refused|periods/.test(at), link)
      const { by, and, compare, ...asked } = Object.fromEntries(searchParams)
      const query = new URLSearchParams({
        ...asked,
        ...(by && { group_by: [by, and].filter(Boolean).join(',') }),
        ...(compare && { before: compare }),
        ...(at.endsWith('/activity') && { tenant_id: demo.tenantId }),
        ...(asked['format'] === 'csv' && { bom: 'true' }),
      })
      const [file, answer] = await Promise.all([
        fetch(`${url}${link}`, { headers: { cookie: reader.cookie } }),
        fetch(`${url}/api/query/v1${routeOf[at]}?${query.toString()}`, {
          headers: { authorization: `Bearer ${demo.queryToken}` },
        }),
      ])
      t.equal(file.status, 200, link)
      for (const name of ['content-disposition', 'content-type', 'x-as-of'])
        t.equal(headerOf(file, name), headerOf(answer, name), `${name} of ${link}`)
      const [bytes, same] = await Promise.all([file.arrayBuffer(), answer.arrayBuffer()])
      t.ok(Buffer.from(bytes).equals(Buffer.from(same)), link)
      if (asked['format'] !== 'ndjson' || !/summary|periods/.test(at)) continue
      query.set('format', 'json')
      const { body } = await call(`${url}/api/query/v1${routeOf[at]}?${query.toString()}`, {
        token: demo.queryToken,
      })
      const rows = Buffer.from(bytes).toString().split('\n').slice(0, -1)
      t.equal(rows.length, body.data.items.length, link)
      for (const [index, row] of rows.entries())
        t.match(body.data.items[index], { ...JSON.parse(row), blockers: undefined }, link)
    }
  }
  const [file = ''] = filesOf((await ask('/console/ledger/lines')).text)
  t.match(await ask(file, { cookie: support }), { status: 403 })
  t.match(await ask(file, { cookie: '' }), { status: 303 }, 'without a session')
  const odd = '/console/ledger/lines/file?format='
  t.match(await ask(`${odd}pdf`), { status: 400, text: /format/ })
  t.match(await ask(`${odd}csv&cursor=x`), { status: 400, text: /cursor/ })
  t.match(await ask(`${odd}csv&tenant_id=${other.tenantId}`), { status: 403 })
  t.match(await ask('/console/ledger/movements/file?format=csv'), { status: 400, text: /currency/ })
})

t.test('files of lists of the administration are those of the API', async (t) => {
  await manage('PUT', `tenants/${demo.tenantId}/approvals`, {
    expected_revision: 0,
    limits: [{ currency: 'USD', above: '10' }],
    lapse_hours: 72,
  })
  const grant = { currency: 'USD', amount: '50', reason: '=1+1', grant_id: 'grant_waiting' }
  const waiting = await call(`${url}/api/admin/tenants/${demo.tenantId}/credit/grants`, {
    method: 'POST',
    token: demo.adminToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(grant),
  })
  t.equal(waiting.body.data.state, 'proposed')
  await stack.caughtUp()
  const bytesOf = async (path: string, headers: Record<string, string>) => {
    const answer = await fetch(`${url}${path}`, { headers })
    const names = ['content-disposition', 'content-type'].map((name) => answer.headers.get(name))
    return { status: answer.status, names, text: await answer.text() }
  }
  for (const [page, route, has] of [
    ['/console/tenants', '/tenants', `${demo.tenantId},`],
    [
      '/console/proposals',
      '/proposals',
      `,${demo.tenantId},proposed,credit_grant,grant_waiting,USD,50,`,
    ],
    ['/console/prices', '/price-books', 'next,upcoming,'],
    ['/console/prices/next', '/price-books/next', '\r\nweb-search-call,USD,call,1000,12,false\r\n'],
    [
      '/console/prices?sku=web-search-call',
      '/sku-prices',
      '\r\nweb-search-call,USD,call,1000,12,2099-01-01T00:00:00.000Z,,next,false\r\n',
    ],
    [
      `/console/prices?tenant_id=${demo.tenantId}`,
      `/tenants/${demo.tenantId}/prices`,
      '\r\nweb-search-call,USD,true,call,1000,10,call,1000,9,-10.00\r\n',
    ],
    [
      `/console/prices?tenant_id=${demo.tenantId}&all=true`,
      `/tenants/${demo.tenantId}/prices`,
      '\r\ntext-basic-output-token,USD,false,token,1000000,',
    ],
  ] as const) {
    const links = filesOf((await ask(page, operator)).text)
    const isOfMany = page.includes('?')
    t.equal(links.length, isOfMany ? 4 : 2, page)
    // The list of price books stands below the prices that a page asks for.
    for (const link of links.slice(0, 2)) {
      const asked = new URL(link, url).searchParams
      const format = asked.get('format')
      if (format === 'csv') asked.set('bom', 'true')
      if (!route.endsWith('proposals')) asked.delete('tenant_id')
      const file = await bytesOf(link, { cookie: operator.cookie })
      const same = await bytesOf(`/api/admin${route}?${asked.toString()}`, {
        authorization: `Bearer ${demo.adminToken}`,
      })
      t.equal(file.status, 200, link)
      t.same(file, same, link)
      if (format === 'csv') t.ok(file.text.includes(has), page)
    }
    t.match(await ask(links[0] ?? '', reader), { status: 403 }, page)
  }
  const pricesOf = (tenantId: string) => `/console/prices/file?format=csv&tenant_id=${tenantId}`
  t.match(await ask(pricesOf(demo.tenantId), administrator), { status: 200 })
  t.match(await ask(pricesOf(other.tenantId), administrator), { status: 403 })
  t.match(await ask('/console/prices/file?format=csv&sku=none', operator), { status: 400 })
  t.match(await ask('/console/prices/file?format=csv&all=perhaps', operator), { status: 400 })
  const { items, next_cursor: next } = await manage('GET', 'price-books?limit=1')
  t.equal(items.length, 1)
  const further = await manage('GET', `price-books?limit=1&cursor=${next}`)
  t.not(further.items[0].version, items[0].version)
  const rows = async (query: string) =>
    (
      await bytesOf(`/api/admin/price-books?format=ndjson&${query}`, {
        authorization: `Bearer ${demo.adminToken}`,
      })
    ).text
  t.equal(`${await rows('limit=1')}${await rows(`cursor=${next}`)}`, await rows(''))
})

t.test('a line shows its calculation and its refunds', async (t) => {
  const { text } = await ask(line)
  const { body } = await call(`${url}/api/query/v1/receipts/${taskId}:1`, {
    token: demo.queryToken,
  })
  const [proof] = body.data.lines
  for (const fact of [proof.formula, proof.hash, proof.rule, proof.sku]) t.match(text, fact)
  t.match(text, `tollgate receipt ${taskId}:1`)
  t.match(text, 'tollgate audit')
  t.match(text, `/console/life/${taskId}`)
  t.match(text, 'broken &lt;picture>')
  t.notMatch(text, `/console/prices/${version}`, 'a reader has no page of prices')
  t.match((await ask(line, operator)).text, `href="/console/prices/${version}"`)
  t.match((await ask('/console/ledger/lines')).text, `/console/ledger/lines/${taskId}%3A1`)
  t.match(text, '<a href="/console/ledger/lines" aria-current="true">')
})

t.test('ids of another tenant read byte for byte as missing ones', async (t) => {
  const shape = (text: string, id: string): string =>
    text
      .replaceAll(id, 'ID')
      .replaceAll(/req_\w+/g, 'REQUEST')
      .replaceAll(/position \d+ of/g, 'POSITION')
      .replaceAll(/\d{4}-\d\d-\d\dT(?:[\d:.]|%3A)+Z?/g, 'TIME')
  const missing = 'call_01M8FQ8YPDHGR5CJX5R35WXRG6'
  const tries = [
    ['/console/ledger/lines/', `${foreignCall}:1`, `${missing}:1`, 404],
    ['/console/ledger/lines/', foreignCall, missing, 404],
    ['/console/ledger/summary?tenant_id=', other.tenantId, 'tenant_x', 403],
    ['/console/ledger/summary?user_id=', other.userId, 'user_x', 400],
    ['/console/ledger/movements?tenant_id=', other.tenantId, 'tenant_x', 403],
    ['/console/prices?tenant_id=', other.tenantId, 'tenant_x', 403],
    ['/console/prices/', version, 'version_x', 403],
  ] as const
  for (const [path, foreign, none, status] of tries) {
    const [one, two] = [
      await ask(path + foreign, administrator),
      await ask(path + none, administrator),
    ]
    t.equal(one.status, status, path)
    t.equal(two.status, status, path)
    t.equal(shape(one.text, foreign), shape(two.text, none), path)
  }
  t.match(await ask(`/console/ledger/lines/${foreignCall}:1`, operator), { status: 200 })
  t.match(await ask(`/console/ledger/lines/${callId}`), { status: 404 }, 'a call is no line')
})

t.test('roles and kinds of tokens see the pages that their routes answer', async (t) => {
  const pages = [
    line,
    '/console/ledger/summary',
    '/console/ledger/movements',
    '/console/prices',
    `/console/prices/${version}`,
  ]
  for (const path of pages) {
    const refused = await ask(path, { cookie: support })
    t.match(refused, { status: 403, text: /this one has the role support/ }, path)
    const isOfPrices = path.startsWith('/console/prices')
    for (const who of [finance, reader]) {
      const { status, text } = await ask(path, who)
      t.equal(status, isOfPrices ? 403 : 200, path)
      if (isOfPrices) t.match(text, /Prices are shown only to sessions of an admin token/)
      t.notMatch(text, /href="\/console\/prices"/)
    }
  }
  const own = await ask('/console/prices', administrator)
  t.match(own, { status: 200, text: /own price/ })
  t.notMatch(own.text, /data-name="takes effect"/, 'price books are for operators')
  t.match(await ask(`/console/prices/${version}`, administrator), { status: 403 })
  t.match(await ask('/console/prices', operator), {
    text: new RegExp(`href="/console/prices/next"`),
  })
})

t.test('odd parameters are pages in words', async (t) => {
  const first = await call(`${url}/api/query/v1/failures?limit=1`, { token: tokens.all })
  t.equal(first.status, 200)
  const tries: readonly (readonly [path: string, status: number, words: RegExp])[] = [
    ['/console/ledger/summary?tz=Mars%2FBase', 400, /tz /],
    ['/console/ledger/movements?tz=Mars%2FBase', 400, /tz /],
    [`${line}?tz=Mars%2FBase`, 400, /tz /],
    ['/console/prices?tz=Mars%2FBase', 400, /tz /],
    [`/console/prices/${version}?tz=Mars%2FBase`, 400, /tz /],
    ['/console/ledger/summary?from=2026-01-02&to=2026-01-01', 400, /from must not be later/],
    [
      `/console/ledger/movements?tenant_id=${demo.tenantId}&from=2026-01-02&to=2026-01-01`,
      400,
      /from must not be later/,
    ],
    [`/console/prices/${version}?from=2026-01-02&to=2026-01-01`, 400, /from must not be later/],
    ['/console/ledger/summary?by=colour', 400, /by/],
    ['/console/ledger/summary?by=day&and=day', 400, /group_by/],
    ['/console/ledger/summary?by=day&and=hour', 400, /group_by takes only one/],
    ['/console/ledger/summary?by=hour&from=2020-01-01&to=2026-01-01', 400, /hours/],
    ['/console/ledger/summary?model=%00', 400, /NUL|model/],
    ['/console/ledger/summary?cursor=x', 400, /cursor/],
    ['/console/ledger/movements?currency=EUR', 400, /currency/],
    ['/console/prices?cursor=x', 400, /cursor/],
    [
      `/console/prices?cursor=${toCursor('a b', listKeyOf(['price books', { kind: 'all' }], {}))}`,
      400,
      /cursor/,
    ],
    ['/console/ledger/lines/%00', 400, /NUL/],
    [`/console/ledger/lines/${'x'.repeat(10_000)}`, 404, /no such|Nothing|not/i],
    [`/console/prices/${'x'.repeat(10_000)}`, 404, /price book/i],
    ['/console/prices/%00', 400, /NUL/],
    ['/console/prices/none', 404, /price book/i],
    [`/console/prices/${version}?against=none`, 404, /price book/i],
    [
      `/console/prices/${version}?time_preset=this_month&tenant_id=none`,
      400,
      /there is no tenant `none`/,
    ],
  ]
  for (const [path, status, words] of tries) {
    const answer = await ask(path, operator)
    const name = path.slice(0, 90)
    t.equal(answer.status, status, `${name}: ${answer.text.slice(-400)}`)
    t.match(answer.text, words, name)
    t.match(answer.headers.get('content-type'), 'text/html')
    t.notMatch(answer.text, /node_modules|\.tsx?:|at .*\(/, 'no stack')
  }
  t.match(await ask(`/console/ledger/lines/${'x'.repeat(16_384)}`), { status: /^4\d\d$/ })
})

t.test('the panel says that the read model is behind, and its form stands', async (t) => {
  const { body } = await call(`${url}/api/query/v1/usage`, { token: demo.queryToken })
  const next = BigInt(body.data.as_of) + 1n
  const client = new Client({ connectionString: stack.databaseUrl })
  await client.connect()
  t.teardown(() => client.end())
  await client.query('begin')
  await client.query('lock table ledger.lines in share mode')
  await chat(demo.modelToken)
  for (const path of ['lines', 'summary', 'movements']) {
    const { status, text } = await ask(`/console/ledger/${path}?as_of=${next}`)
    t.equal(status, 200, path)
    t.match(text, /may be behind the log/, path)
    t.match(text, '<form class="filter"')
  }
  await client.query('rollback')
  await stack.caughtUp()
  t.notMatch((await ask(`/console/ledger/summary?as_of=${next}`)).text, /may be behind the log/)
})
