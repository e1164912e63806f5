import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { projectionReads } from '../../../src/api/query/projection-reads.ts'
import { createLineFiles, type LineFiles } from '../../../src/app/finance/line-files/files.ts'
import { createJobProcess } from '../../../src/app/finance/statements/process.ts'
import { catalog } from '../../../src/families/index.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { launchStatements } from '../../../src/start/statements.ts'
import { eventually } from '../../helpers/eventually.ts'
import { readTable } from '../../helpers/csv.ts'
import { readParquet } from '../../helpers/parquet.ts'
import { shell, startClosingWorld } from '../../app/finance/statements/support/closing-world.ts'
import { startApp } from '../support/app.ts'

/** The lines of a closed month, in every format, over a real Postgres and the process that writes Parquet. */

const world = await startClosingWorld(t)
const tenantId = 'tenant_1'
const january = { tenantId, currency: 'CNY', month: '2026-01' } as const
const february = { ...january, month: '2026-02' }
const at = (time: string): number => Date.parse(time)
/** Settles a call with two lines. */
const call = (time: string) =>
  world.call({ tenantId, currency: 'CNY', atMs: at(time), lines: [{}, { price: '2' }] })

world.clock.set('2026-01-10T00:00:00Z')
await world.tenant(tenantId)
await world.grant(tenantId, 'CNY', '100')
const ofJanuary = [...(await call('2026-01-20T00:00:00Z')), ...(await call('2026-01-31T15:59:59Z'))]
await world.call({ tenantId, currency: 'USD', atMs: at('2026-01-20T00:00:00Z'), lines: [{}] })
await world.settle()
world.clock.set('2026-02-04T12:00:00Z')
await world.statements.close(january, shell)
const late = await call('2026-01-30T00:00:00Z')
const ofFebruary = await call('2026-02-10T00:00:00Z')
await world.settle()
world.clock.set('2026-03-05T00:00:00Z')
const { period } = await world.statements.close(february, shell)
await call('2026-01-30T00:00:00Z')
await call('2026-02-11T00:00:00Z')
await world.refund(tenantId, 'CNY', ofFebruary[0] ?? '', '0.0001')
await world.settle()

const process = createJobProcess({
  launch: () => launchStatements(world.databaseUrl),
  logger: silentLog,
})
t.teardown(() => process.stop())
const madeFiles = createLineFiles({
  directory: join(t.testdir({}), 'line-files'),
  checkDisk: () => Promise.resolve(),
  write: (job, callerGone) => process.run('lines', job, callerGone),
})

async function appWith(lineFiles: LineFiles) {
  const { statements } = world
  const none = () => Promise.reject(new Error('no document is asked for'))
  const { app } = await startApp({
    queries: {
      reads: projectionReads({
        db: world.pool,
        catalog,
        logEnd: () => world.log.endPosition(),
        readModels: { requireCurrent: () => Promise.resolve() },
        lineFiles,
        urlsEndOf: () => Promise.resolve(undefined),
      }),
      statements: {
        ...statements,
        documents: {
          find: none,
          issued: none,
          voided: none,
          preview: none,
          users: none,
          paper: none,
        },
      },
    },
  })
  t.teardown(() => app.close())
  const get = (query: string, secret = 'qak-all', method: 'GET' | 'HEAD' = 'GET') =>
    app.inject({
      method,
      url: `/api/query/v1/ledger/lines?${query}`,
      headers: { authorization: `Bearer ${secret}` },
    })
  return { app, get }
}

const { get } = await appWith(madeFiles)
interface Page {
  readonly data: {
    readonly items: readonly { readonly line_id: string; readonly adjusted: string }[]
    readonly next_cursor: string | null
    readonly as_of: string
  }
}
const idsOf = (rows: readonly { readonly line_id?: unknown }[]) => rows.map((row) => row.line_id)

/** Lines among the postings of a month, which a close has in its tree. */
async function postedLines(of: typeof february): Promise<readonly unknown[]> {
  let text = ''
  for await (const piece of world.statements.postings(of)) text += piece
  const leaves = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as readonly unknown[])
  return leaves.filter(([kind]) => kind === 'line').map(([, id]) => id)
}

t.test(
  'a period has the lines of its statement, the late ones last, in every format',
  async (t) => {
    for (const [of, expected] of [
      [january, ofJanuary],
      [february, [...late, ...ofFebruary]],
    ] as const) {
      const newest = expected.toReversed()
      const asked = `period=${of.month}&currency=CNY`
      const page = (await get(asked)).json<Page>().data
      t.same(idsOf(page.items), newest, of.month)
      t.same(new Set(idsOf(page.items)), new Set(await postedLines(of)), 'those of its tree')
      const json = await get(`${asked}&format=ndjson`)
      t.same(
        json.body
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as { line_id: string }).line_id),
        newest,
      )
      t.same(idsOf(readTable((await get(`${asked}&format=csv`)).body)), newest)
      const { rows } = await readParquet((await get(`${asked}&format=parquet`)).rawPayload)
      t.same(idsOf(rows), newest)
    }
    const { items, as_of: asOf } = (await get('period=2026-02&currency=CNY')).json<Page>().data
    t.ok(
      items.every(({ adjusted }) => adjusted === '0'),
      'a refund that came later is in a later month',
    )
    t.equal(asOf, period.position)
    const narrowed = await get('period=2026-02&currency=CNY&sku=text-output')
    t.same(idsOf(narrowed.json<Page>().data.items), [])
  },
)

t.test('pages of a period continue behind the last line', async (t) => {
  const ids: unknown[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const further = cursor === '' ? '' : `&cursor=${cursor}`
    const page: Page = (await get(`period=2026-02&currency=CNY&limit=1${further}`)).json()
    ids.push(...idsOf(page.data.items))
    cursor = page.data.next_cursor
  }
  t.same(ids, [...late, ...ofFebruary].toReversed())
  const { next_cursor: next } = (await get('period=2026-02&currency=CNY&limit=1')).json<Page>().data
  t.match((await get(`period=2026-01&currency=CNY&cursor=${next}`)).json(), {
    error: { param: 'cursor' },
  })
})

t.test('a file of Parquet is named, sized and typed', async (t) => {
  const answer = await get('period=2026-02&currency=CNY&format=parquet')
  t.match(answer.headers, {
    'content-type': 'application/vnd.apache.parquet',
    'content-length': String(answer.rawPayload.length),
    'content-disposition': `attachment; filename="ledger-lines_tenant_1_2026-02-01_2026-03-01_at-${period.position}.parquet"`,
    'x-as-of': period.position,
    'cache-control': 'no-store',
  })
  t.equal(answer.rawPayload.subarray(-4).toString(), 'PAR1')
  const head = await get('period=2026-02&currency=CNY&format=parquet', 'qak-all', 'HEAD')
  t.equal(head.headers['content-length'], answer.headers['content-length'])
  t.equal(head.rawPayload.length, 0)
  const empty = await get('from=2020-01-01&to=2020-01-02&format=parquet')
  t.equal((await readParquet(empty.rawPayload)).rows.length, 0)
  const one = await readParquet((await get('format=parquet&limit=1')).rawPayload)
  t.equal(one.rows.length, 1)
})

t.test('400, 403 and 404 name what a request for a period has wrong', async (t) => {
  const cases: readonly (readonly [string, number, string])[] = [
    ['period=2026-2&currency=CNY', 400, 'period'],
    ['period=2026-02', 400, 'currency'],
    ['period=2026-02&currency=CNY&format=focus', 400, 'period'],
    ['period=2026-03&currency=CNY', 404, 'period'],
    ['period=2026-02&currency=USD', 404, 'period'],
    ['format=parquet&bom=true', 400, 'bom'],
    ...['from=2026-02-01', 'to=2026-02-02', 'time_preset=24h', 'tz=UTC', 'as_of=1', 'since=1'].map(
      (other) => [`period=2026-02&currency=CNY&${other}`, 400, other.split('=')[0] ?? ''] as const,
    ),
  ]
  for (const [query, status, param] of cases) {
    const answer = await get(query)
    t.equal(answer.statusCode, status, query)
    t.match(answer.json(), { error: { param } }, query)
  }
  const operator = await get('period=2026-02&currency=CNY', 'qak-operator')
  t.match(operator.json(), { error: { param: 'tenant_id' } })
  const named = await get('period=2026-02&currency=CNY&tenant_id=tenant_1', 'qak-operator')
  t.equal(named.json<Page>().data.items.length, 4)
  const foreign = async (month: string) => {
    const { statusCode, body } = await get(`period=${month}&currency=CNY&tenant_id=tenant_2`)
    return [statusCode, body.replaceAll(/req_\w+/g, '')]
  }
  t.same(await foreign('2026-02'), await foreign('2031-02'))
  t.equal((await foreign('2026-02'))[0], 403)
})

t.test('what keeps a file from being made is an answer in the envelope', async (t) => {
  const cases = [
    [() => Promise.reject(new DomainError('storage_full', 'full', {})), 503, /no room.*format=csv/],
    [() => Promise.reject(new DomainError('overloaded', 'eight wait', {})), 503, /busy/],
    [() => Promise.resolve(undefined), 422, /at most 1,000,000 lines/],
  ] as const
  for (const [parquet, status, words] of cases) {
    const other = await appWith({ parquet })
    const answer = await other.get('format=parquet')
    t.equal(answer.statusCode, status)
    t.match(answer.json(), { success: false, message: words })
  }
})

t.test('a caller who leaves ends the making of a file, and the sending', async (t) => {
  let ended = ''
  const slow: LineFiles = {
    parquet: (_, callerGone) =>
      new Promise((_resolve, reject) => {
        callerGone.addEventListener('abort', () => {
          ended += 'made '
          reject(callerGone.reason as Error)
        })
        ended += 'asked '
      }),
  }
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.alloc(1_000_000)
    } finally {
      ended += 'sent '
    }
  }
  const large: LineFiles = {
    parquet: () => Promise.resolve({ sizeBytes: 10 ** 12, parts: endless() }),
  }
  for (const [files, until, then] of [
    [slow, () => ended.includes('asked'), 'asked made '],
    [large, () => true, 'sent '],
  ] as const) {
    ended = ''
    const { app } = await appWith(files)
    await app.listen({ port: 0, host: '127.0.0.1' })
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
    let received = 0
    socket.on('data', (part) => (received += part.length))
    socket.write(
      'GET /api/query/v1/ledger/lines?format=parquet HTTP/1.1\r\nhost: a\r\nauthorization: Bearer qak-all\r\n\r\n',
    )
    await eventually('it is under way', () =>
      Promise.resolve(until() && (files === slow || received > 100_000)),
    )
    socket.destroy()
    await eventually('it has ended', () => Promise.resolve(ended === then))
  }
  t.pass('both ended')
})
