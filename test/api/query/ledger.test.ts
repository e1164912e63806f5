import t from 'tap'
import { startApp } from '../support/app.ts'

const { app, ledger } = await startApp()
t.teardown(async () => app.close())

const lines = '/api/query/v1/ledger/lines'
const summary = '/api/query/v1/ledger/summary'

async function get(url: string, secret = 'qak-all', headers: Record<string, string> = {}) {
  return app.inject({ url, headers: { authorization: `Bearer ${secret}`, ...headers } })
}

interface Page {
  readonly success: boolean
  readonly data: {
    readonly items: readonly Record<string, unknown>[]
    readonly next_cursor: string | null
  }
}

async function ids(url: string, secret?: string): Promise<readonly unknown[]> {
  const answer = await get(url, secret)
  t.equal(answer.statusCode, 200, url)
  return answer.json<Page>().data.items.map((item) => item['line_id'])
}

t.beforeEach(() => {
  ledger.lines = []
  ledger.failure = undefined
})

void t.test('a line explains its amount, with money as decimal strings', async (t) => {
  ledger.add({ nativeId: null })
  const answer = await get(lines)
  t.equal(answer.statusCode, 200)
  t.same(answer.json(), {
    success: true,
    message: '',
    data: {
      items: [
        {
          line_id: 'line_000001',
          settled_at: '2026-03-04T05:06:07.001Z',
          tenant_id: 'tenant_1',
          user_id: 'user_1',
          token_id: 'tok_1',
          source_id: 'video_1',
          native_id: null,
          surface: 'provA.tasks',
          model: 'overseas-video-2-0-mini',
          sku: 'overseas-video-2-0-mini-novideo',
          rule: 'video-a/2.0',
          quantity: 108_900,
          unit: 'token',
          price: '3.5',
          per: 1_000_000,
          currency: 'USD',
          amount: '0.38115',
          price_book_version: '2026-01',
          measurement: 'reported',
          request_id: 'req_1',
          position: '1',
          adjusted: '0',
          account_prices: null,
          net: '0.38115',
          tags: null,
          end_user: null,
          tenant_name: 'name of tenant_1',
          user_name: null,
          token_name: null,
        },
      ],
      next_cursor: null,
      as_of: '1',
    },
  })
})

void t.test('pages follow each other by cursor without gap or repetition', async (t) => {
  for (let n = 0; n < 25; n += 1) ledger.add()
  const seen: unknown[] = []
  let cursor: string | null = ''
  let pages = 0
  while (cursor !== null) {
    const answer = await get(`${lines}?limit=10${cursor === '' ? '' : `&cursor=${cursor}`}`)
    const { data } = answer.json<Page>()
    seen.push(...data.items.map((item) => item['line_id']))
    cursor = data.next_cursor
    pages += 1
  }
  t.equal(pages, 3)
  t.same(
    seen,
    ledger.lines.map((line) => line.lineId),
  )
})

void t.test('a hundred lines are a page by default', async (t) => {
  for (let n = 0; n < 101; n += 1) ledger.add()
  t.equal((await ids(lines)).length, 100)
})

void t.test('every filter narrows', async (t) => {
  ledger.add({ sku: 'a', model: 'm', currency: 'CNY', sourceId: 'video_x', userId: 'user_2' })
  ledger.add()
  for (const query of ['sku=a', 'model=m', 'currency=CNY', 'source_id=video_x', 'user_id=user_2'])
    t.same(await ids(`${lines}?${query}`), ['line_000001'], query)
  t.same(await ids(`${lines}?tenant_id=tenant_1`), ['line_000002', 'line_000001'])
})

void t.test('from is inclusive, to exclusive, in any offset', async (t) => {
  ledger.add({ settledAtMs: Date.parse('2026-03-01T00:00:00Z') })
  ledger.add({ settledAtMs: Date.parse('2026-03-02T00:00:00Z') })
  t.same(await ids(`${lines}?from=2026-03-01&to=2026-03-02`), ['line_000001'])
  t.same(await ids(`${lines}?from=2026-03-02T08:00:00%2B08:00`), ['line_000002'])
  t.same(await ids(`${lines}?from=2026-03-02T08:00:00+08:00`), ['line_000002'])
  t.same(await ids(`${lines}?to=2026-03-02T00:00:00.000Z`), ['line_000001'])
})

void t.test('400 names the parameter that cannot be read', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=ten', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['currency=EUR', 'currency'],
    ['from=yesterday', 'from'],
    ['from=1767323045', 'from'],
    ['from=2026-13-01', 'from'],
    ['from=0000-01-01', 'from'],
    ['to=1969-12-31', 'to'],
    ['to=9999-12-31T23:59:59-00:01', 'to'],
    ['from=2026-02-30', 'from'],
    ['to=2026-03-01T00:00:00%2B16:00', 'to'],
    ['from=2026-03-01T99:00:00Z', 'from'],
    ['to=2026-03-01T00:00', 'to'],
    ['from=2026-03-02&to=2026-03-01', 'from'],
    ['sku=', 'sku'],
    ['sku=%00', 'sku'],
    ['model=%F0%9F%92%A9', 'model'],
    [`source_id=${'x'.repeat(129)}`, 'source_id'],
    ['cursor=', 'cursor'],
    ['cursor=%25', 'cursor'],
    ['cursor=AAAA', 'cursor'],
    [`cursor=${'x'.repeat(300)}`, 'cursor'],
    ['format=xml', 'format'],
  ]
  for (const [query, param] of cases) {
    const answer = await get(`${lines}?${query}`)
    t.equal(answer.statusCode, 400, query)
    t.match(answer.json(), { success: false, error: { code: 'invalid_request', param } })
  }
  t.match((await get(`${summary}?group_by=line`)).json(), { error: { param: 'group_by' } })
})

void t.test('an unknown filter is refused, never ignored', async (t) => {
  ledger.add()
  for (const name of ['start', 'group', 'Currency', 'a~b/c', '__proto__']) {
    const answer = await get(`${lines}?${encodeURIComponent(name)}=x`)
    t.equal(answer.statusCode, 400, name)
    t.match(answer.json(), { error: { code: 'invalid_request', param: name } })
    t.match(answer.json(), { message: /tenant_id, .*cursor/ }, 'and those it knows')
  }
  const history = await get('/api/query/v1/tasks/video_1/history?from=x')
  t.match(history.json(), { message: /has none/, error: { param: 'from' } })
})

void t.test('parameters of reports are refused by name', async (t) => {
  ledger.add()
  const usage = '/api/query/v1/usage'
  const tags = Array.from({ length: 9 }, (_, n) => `tag=key:${n}`).join('&')
  for (const [url, param, message] of [
    [`${lines}?tag=apollo`, 'tag', /`key:value`/],
    [`${lines}?tag=:apollo`, 'tag', /`key:value`/],
    [
      `${lines}?tag=project:apollo`,
      'tag',
      /has not declared a tag `project`.*it has declared none/,
    ],
    [`${lines}?${tags}`, 'tag', /./],
    [`${usage}?group_by=tag:project`, 'group_by', /has not declared a tag `project`/],
    [`${usage}?group_by=tag:`, 'group_by', /one or two of tenant, .*month, tag:<key>/],
    [`${usage}?group_by=day,hour`, 'group_by', /only one of hour, day, month/],
    [`${usage}?group_by=model,model`, 'group_by', /one or two/],
    [`${usage}?from=2000-01-01&to=2001-01-01&group_by=hour`, 'group_by', /3660 hours/],
    [`${usage}?from=2000-01-01&to=2020-01-01&group_by=month`, 'group_by', /3660 days/],
    [`${summary}?group_by=day,hour`, 'group_by', /only one of hour, day, month/],
    [`${summary}?tz=Mars/Phobos`, 'tz', /zone/],
    [`${summary}?since=-1`, 'since', /./],
    [`${lines}?from=2026-01-01&time_preset=last_month`, 'time_preset', /combined with from or to/],
    [`${lines}?time_preset=next_month`, 'time_preset', /last_month/],
    ['/api/query/v1/tasks?as_of=1', 'as_of', /tenant_id/],
    ['/api/query/v1/tasks?tag=a:b', 'tag', /tenant_id/],
  ] as const) {
    const answer = await get(url)
    t.equal(answer.statusCode, 400, url)
    t.match(answer.json(), { message, error: { code: 'invalid_request', param } }, url)
  }
  t.equal((await get(`${lines}?tag=a:b`, 'qak-operator')).statusCode, 200, 'of all tenants')
  t.same(ledger.filters.at(-1)?.tags, [['a', 'b']])
})

void t.test('a token sees the lines of its scope level only', async (t) => {
  ledger.add()
  ledger.add({ userId: 'user_2' })
  ledger.add({ userId: 'user_3' })
  ledger.add({ tenantId: 'tenant_2', userId: 'user_1' })
  t.same(await ids(lines, 'qak-user'), ['line_000001'])
  t.same(await ids(lines, 'qak-some'), ['line_000002', 'line_000001'])
  t.same(await ids(lines, 'qak-all'), ['line_000003', 'line_000002', 'line_000001'])
  t.equal((await ids(lines, 'qak-operator')).length, 4)
  t.same(await ids(`${lines}?tenant_id=tenant_2`, 'qak-operator'), ['line_000004'])
  t.same(await ids(`${lines}?user_id=user_2`, 'qak-some'), ['line_000002'])
})

void t.test('403 scope_denied for a tenant or user outside the scope', async (t) => {
  for (const [query, secret] of [
    ['tenant_id=tenant_2', 'qak-all'],
    ['tenant_id=tenant_2', 'qak-user'],
    ['user_id=user_2', 'qak-user'],
    ['user_id=user_3', 'qak-some'],
  ] as const)
    for (const path of [lines, summary]) {
      const answer = await get(`${path}?${query}`, secret)
      t.equal(answer.statusCode, 403, `${path} ${query} ${secret}`)
      t.match(answer.json(), {
        success: false,
        error: { code: 'scope_denied', param: query.split('=')[0] },
      })
    }
})

void t.test('CSV by format or by Accept, JSON otherwise', async (t) => {
  ledger.add()
  const isCsv = async (query: string, accept?: string) => {
    const answer = await get(lines + query, 'qak-all', accept ? { accept } : {})
    return String(answer.headers['content-type']).startsWith('text/csv')
  }
  t.equal(await isCsv('?format=csv'), true)
  t.equal(await isCsv('?format=csv', 'application/json'), true)
  t.equal(await isCsv('', 'text/csv'), true)
  t.equal(await isCsv('', 'application/json;q=0.5, text/csv'), true)
  t.equal(await isCsv('?format=json', 'text/csv'), false)
  t.equal(await isCsv('', 'application/json, text/csv;q=0.9'), false)
  t.equal(await isCsv('', '*/*'), false)
  t.equal(await isCsv(''), false)
  t.equal(await isCsv('', 'text/csv;q=0'), false)
})

void t.test('a CSV export has all lines, read page by page', async (t) => {
  for (let n = 0; n < 2_500; n += 1) ledger.add()
  ledger.pagesRead = 0
  const answer = await get(`${lines}?format=csv`)
  const rows = answer.body.split('\r\n')
  t.match(answer.headers, {
    'content-disposition': 'attachment; filename="ledger-lines_tenant_1_at-2500.csv"',
    'x-as-of': '2500',
    vary: 'Accept',
  })
  t.equal(
    rows[0],
    'line_id,settled_at,tenant_id,user_id,token_id,source_id,native_id,surface,model,sku,rule,quantity,unit,price,per,currency,amount,price_book_version,measurement,request_id,position,adjusted,account_prices,net,tags,end_user,tenant_name,user_name,token_name,hash',
  )
  t.equal(rows.length, 2_502, 'header, lines and the end')
  t.equal(new Set(rows.slice(1, -1).map((row) => row.split(',')[0])).size, 2_500)
  t.equal(ledger.pagesRead, 3)
})

void t.test('limit and cursor bound a CSV export as well', async (t) => {
  for (let n = 0; n < 30; n += 1) ledger.add()
  const first = (await get(`${lines}?limit=10`)).json<Page>().data.next_cursor
  const answer = await get(`${lines}?format=csv&limit=5&cursor=${first}`)
  const found = answer.body.split('\r\n').slice(1, -1)
  t.same(
    found.map((row) => row.split(',')[0]),
    ledger.lines.slice(10, 15).map((line) => line.lineId),
  )
})

void t.test(
  '400 for a cursor of the list with another filter, time or zone, or of a wider token',
  async (t) => {
    for (let n = 0; n < 30; n += 1) ledger.add()
    const asked = `${lines}?model=overseas-video-2-0-mini&time_preset=custom&start_time=0&end_time=99999999999&tz=Asia/Tokyo`
    const next = (await get(`${asked}&limit=10`)).json<Page>().data.next_cursor
    for (const same of [asked, `${asked}&format=csv&bom=true`, `${asked}&limit=3&as_of=30`])
      t.equal((await get(`${same}&cursor=${next}`)).statusCode, 200, same)
    const others = [
      lines + '?limit=10',
      asked.replace('overseas-video-2-0-mini', 'image-2'),
      asked.replace('start_time=0', 'start_time=1'),
      asked.replace('Tokyo', 'Seoul'),
      ...['currency=USD', 'sku=x', 'surface=provA.tasks', 'user_id=user_1', 'since=3'].map(
        (more) => `${asked}&${more}`,
      ),
    ]
    const refused = {
      message: /of this query/,
      error: { code: 'invalid_request', param: 'cursor' },
    }
    for (const other of others) {
      const answer = await get(`${other}&cursor=${next}`)
      t.equal(answer.statusCode, 400, other)
      t.match(answer.json(), refused)
    }
    t.match((await get(`${asked}&cursor=${next}`, 'qak-user')).json(), refused)
  },
)

void t.test('formulas in an export are text', async (t) => {
  ledger.add({ rule: '=HYPERLINK("https://evil.example")' })
  const answer = await get(`${lines}?format=csv`)
  t.match(answer.body, `,"'=HYPERLINK(""https://evil.example"")",`)
})

void t.test('503 when the database is away, in JSON also where CSV was asked for', async (t) => {
  ledger.failure = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  for (const url of [lines, `${summary}?format=csv`]) {
    const answer = await get(url)
    t.equal(answer.statusCode, 503)
    t.match(answer.json(), { success: false, error: { code: 'service_unavailable' } })
  }
})
