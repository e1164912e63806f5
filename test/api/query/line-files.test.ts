import { type AddressInfo, connect } from 'node:net'
import t from 'tap'
import { PAGE_ROWS } from '../../../projections/ledger/query.ts'
import { until } from '../../helpers/eventually.ts'
import { startApp } from '../support/app.ts'
import { readCsv, readTable } from '../../helpers/csv.ts'

const { app, ledger } = await startApp()
t.teardown(async () => app.close())

const lines = '/api/query/v1/ledger/lines'

async function get(query: string, secret = 'qak-all') {
  const authorization = `Bearer ${secret}`
  return app.inject({ url: `/api/query/v1/${query}`, headers: { authorization } })
}

t.beforeEach(() => {
  ledger.lines = []
  ledger.failsAfterPages = undefined
  ledger.pagesRead = 0
  ledger.beforeFailure = () => Promise.resolve()
})

void t.test('a line of JSON is a line of the ledger with the columns of the table', async (t) => {
  ledger.add({
    nativeId: null,
    rule: 'odd "rule"\u2028',
    tags: '{"project":"apollo"}',
    accountPrices: 2,
  })
  ledger.add({ adjusted: '0.1', amount: '0.38115' })
  const answer = await get('ledger/lines?format=ndjson')
  t.match(answer.headers, {
    'content-type': 'application/x-ndjson',
    'content-disposition': 'attachment; filename="ledger-lines_tenant_1_at-2.ndjson"',
    'x-as-of': '2',
  })
  const rows = answer.body.split('\n')
  t.equal(rows.pop(), '', 'the last line ends too')
  const [second, first] = rows.map((row) => JSON.parse(row) as Record<string, unknown>)
  t.match(first, {
    line_id: 'line_000001',
    settled_at: '2026-03-04T05:06:07.001Z',
    native_id: null,
    rule: 'odd "rule"\u2028',
    quantity: 108_900,
    per: 1_000_000,
    amount: '0.38115',
    position: '1',
    account_prices: 2,
    tags: { project: 'apollo' },
    end_user: null,
    tenant_name: 'name of tenant_1',
    user_name: null,
    hash: 'ed249eef',
  })
  t.match(second, { adjusted: '0.1', net: '0.28115', tags: null })
  const [header] = readCsv((await get('ledger/lines?format=csv')).body)
  t.same(Object.keys(first ?? {}), header)
  const [shown] = (await get('ledger/lines')).json<{ data: { items: readonly object[] } }>().data
    .items
  t.match(second, shown, 'and all that the API shows of it')
})

void t.test('a file without rows has its header, and NDJSON nothing', async (t) => {
  t.equal((await get('ledger/lines?format=ndjson')).body, '')
  t.equal(readCsv((await get('ledger/lines?format=csv')).body).length, 1)
  t.equal(readCsv((await get('ledger/lines?format=focus')).body).length, 1)
})

void t.test('FOCUS is a table of charges, with a name of its own', async (t) => {
  ledger.add()
  const answer = await get(
    'ledger/lines?format=focus&from=2026-03-01&to=2026-04-01&tz=Asia/Shanghai',
  )
  t.match(answer.headers, {
    'content-type': /^text\/csv/,
    'content-disposition': 'attachment; filename="focus_tenant_1_2026-03-01_2026-04-01_at-1.csv"',
  })
  t.match(readTable(answer.body), [
    {
      BillingPeriodStart: '2026-02-28T16:00:00Z',
      BillingPeriodEnd: '2026-03-31T16:00:00Z',
      ChargePeriodStart: '2026-03-04T05:00:00Z',
      EffectiveCost: '0.38115',
      ListCost: '0.38115',
      InvoiceIssuerName: 'gateway.example',
      Tags: '{}',
    },
  ])
  for (const param of ['limit=5', 'cursor=bGluZV8x'])
    t.match((await get(`ledger/lines?format=focus&${param}`)).json(), {
      error: { code: 'invalid_request', param: param.split('=')[0] },
    })
})

void t.test('files say whose they are, of which time, and as of which position', async (t) => {
  ledger.add()
  const names: readonly (readonly [string, string])[] = [
    ['ledger/lines?', 'ledger-lines_tenant_1_at-1.csv'],
    ['ledger/lines?from=2026-03-01', 'ledger-lines_tenant_1_since-2026-03-01_at-1.csv'],
    [
      'ledger/lines?to=2026-03-01T10:30:00Z',
      'ledger-lines_tenant_1_until-20260301T103000Z_at-1.csv',
    ],
    ['ledger/summary?as_of=0', 'ledger-by-sku_tenant_1_at-0.csv'],
    [
      'usage?group_by=model,user&time_preset=last_month&tz=Asia/Shanghai',
      'usage-by-model-user_tenant_1_2026-02-01_2026-03-01_at-1.csv',
    ],
    ['logs?', 'logs_tenant_1_at-1.csv'],
    ['tasks?time_preset=yesterday', 'tasks_tenant_1_2026-03-03_2026-03-04.csv'],
  ]
  for (const [query, name] of names) {
    const answer = await get(`${query}&format=csv`)
    t.equal(answer.headers['content-disposition'], `attachment; filename="${name}"`, query)
  }
  const all = await get('ledger/lines?format=csv', 'qak-operator')
  t.match(all.headers['content-disposition'], /ledger-lines_all-tenants_at-1\.csv/)
  const odd = await get('ledger/lines?format=csv&tenant_id=a%20%22b%2F..', 'qak-operator')
  t.match(odd.headers['content-disposition'], /"ledger-lines_a--b-\.\._at-1\.csv"/)
})

void t.test('a byte order mark on request, for tables alone', async (t) => {
  ledger.add()
  for (const query of [
    'ledger/lines?format=csv',
    'ledger/lines?format=focus',
    'ledger/summary?format=csv',
    'usage?format=csv',
    'balance?format=csv',
    'assets?format=csv',
  ]) {
    const marked = await get(`${query}&bom=true`)
    t.same([...marked.rawPayload.subarray(0, 3)], [0xef, 0xbb, 0xbf], query)
    t.equal(marked.body.slice(1), (await get(`${query}&bom=false`)).body)
  }
  for (const query of [
    'ledger/lines?bom=true',
    'ledger/lines?format=ndjson&bom=true',
    'ledger/lines?format=csv&bom=odd',
  ])
    t.match((await get(query)).json(), { error: { code: 'invalid_request', param: 'bom' } }, query)
  const summary = await get('ledger/summary?format=focus')
  t.match(summary.json(), { error: { code: 'invalid_request', param: 'format' } })
})

void t.test('a cursor keeps the position of its list', async (t) => {
  for (let n = 0; n < 5; n += 1) ledger.add()
  interface Page {
    readonly data: { readonly as_of: string; readonly next_cursor: string }
  }
  const page = (await get('ledger/lines?limit=2')).json<Page>().data
  // Known later, and settled earlier: it would be on the next page.
  ledger.lines.push({ ...ledger.add(), settledAtMs: 0, lineId: 'late', position: '6' })
  ledger.lines.shift()
  const next = (await get(`ledger/lines?limit=9&cursor=${page.next_cursor}`)).json()
  t.match(next.data, { as_of: '5', items: [{ line_id: 'line_000003' }, {}, {}] })
  const file = await get(`ledger/lines?format=csv&cursor=${page.next_cursor}`)
  t.equal(file.headers['x-as-of'], '5')
  t.equal(readTable(file.body).length, 3)
  t.equal((await get(`ledger/lines?as_of=5&cursor=${page.next_cursor}`)).statusCode, 200)
  t.match((await get(`ledger/lines?as_of=6&cursor=${page.next_cursor}`)).json(), {
    error: { code: 'invalid_request', param: 'as_of' },
  })
})

const PAGES_BEFORE_FAILURE = 2
const LINES = 2_500
/** The newest line comes first. */
const lastBeforeFailure = `line_000${LINES - PAGES_BEFORE_FAILURE * PAGE_ROWS + 1}`

/**
 * All that a connection receives until it ends, and the failure that it ended with. A failure of the ledger waits
 * until this client has the last line before it: of a reset that it finds beside data it has not read, a client of
 * Node may only see an end.
 */
async function received(port: number, version: string, format: string) {
  const socket = connect(port, '127.0.0.1')
  const parts: Buffer[] = []
  const text = (): string => Buffer.concat(parts).toString()
  let failure: string | undefined
  socket.on('data', (part) => parts.push(part))
  ledger.beforeFailure = () => until(() => text().includes(lastBeforeFailure))
  socket.on('error', (error: NodeJS.ErrnoException) => (failure = error.code))
  socket.write(
    `GET ${lines}?format=${format} HTTP/${version}\r\nhost: a\r\nauthorization: Bearer qak-all\r\nconnection: close\r\n\r\n`,
  )
  await new Promise((resolve) => socket.on('close', resolve))
  return { text: text(), failure }
}

void t.test('a file that is cut off says so, to any client', async (t) => {
  for (let n = 0; n < LINES; n += 1) ledger.add()
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  for (const format of ['csv', 'ndjson', 'focus'])
    for (const version of ['1.1', '1.0']) {
      ledger.pagesRead = 0
      ledger.failsAfterPages = undefined
      const whole = await received(port, version, format)
      t.equal(whole.failure, undefined, `${format} ${version}`)
      if (version === '1.1') t.ok(whole.text.endsWith('0\r\n\r\n'), 'and its end')
      ledger.pagesRead = 0
      ledger.failsAfterPages = PAGES_BEFORE_FAILURE
      const cut = await received(port, version, format)
      t.equal(cut.failure, 'ECONNRESET', `${format} ${version} is reset`)
      t.notOk(cut.text.endsWith('0\r\n\r\n'), 'and has no end')
    }
  ledger.pagesRead = 0
  ledger.failsAfterPages = 0
  const none = await get('ledger/lines?format=csv')
  t.equal(none.statusCode, 500, 'nothing was sent yet')
  t.match(none.json(), { success: false })
  t.notOk(none.headers['content-disposition'])
})
