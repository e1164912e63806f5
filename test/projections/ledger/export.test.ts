import type { QueryConfig } from 'pg'
import t from 'tap'
import { accessProjection } from '../../../projections/access/projection.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import {
  type Cells,
  creditCell,
  exportCredits,
  exportLines,
  exportRefunds,
  type LedgerFilter,
  lineCell,
  listLines,
  PAGE_ROWS,
  refundCell,
} from '../../../projections/ledger/query.ts'
import { pricesProjection } from '../../../projections/prices/projection.ts'
import type { AccountEvent } from '../../../src/domain/account/events.ts'
import { toTimestamp } from '../../../src/kernel/clock.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import { applied, testPool } from '../support/database.ts'
import { openTenant, overlappingTasks, recordCall, Recorder, START_MS } from '../support/history.ts'

const projections = [accessProjection, pricesProjection, ledgerProjection]
const DAY_MS = 86_400_000

async function rowsOf(pages: AsyncIterable<readonly Cells[]>): Promise<readonly Cells[]> {
  const rows: Cells[] = []
  for await (const page of pages) rows.push(...page)
  return rows
}

type Adjusted = Extract<AccountEvent, { readonly type: 'AdjustmentPosted' }>['data']

/** An adjustment of a line in USD, or of a grant in CNY, so many days after the beginning. */
function adjusting(
  recorder: Recorder,
  adjustmentId: string,
  amount: string,
  corrects: Adjusted['corrects'],
  day = 0,
) {
  return recorder.record('account-tenant_1', {
    type: 'AdjustmentPosted',
    data: {
      tenantId: 'tenant_1',
      adjustmentId,
      currency: corrects.kind === 'line' ? 'USD' : 'CNY',
      amount,
      corrects,
      code: 'quality',
      reason: 'broken',
      postedAt: toTimestamp(START_MS + day * DAY_MS),
    },
  })
}

t.test('an export has what lists have, with refunds and names', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const events = [
    ...openTenant(recorder, 'tenant_1'),
    ...openTenant(recorder, 'tenant_0'),
    ...overlappingTasks(recorder, {
      tasks: 40,
      width: 9,
      shape: (n) => ({ tenantId: `tenant_${n % 2}` }),
    }),
    recordCall(recorder, 3, 'tenant_1'),
  ]
  const known = events.length
  const line = { kind: 'line', lineId: 'call_3:1' } as const
  const all = [
    ...events,
    adjusting(recorder, 'adj_1', '0.0003', line),
    adjusting(recorder, 'adj_2', '-0.0001', line, 40),
  ]
  await applied(t, pool, all, projections)
  const before = all[known - 1]?.position
  const filters: readonly LedgerFilter[] = [
    {},
    { tenantId: 'tenant_1' },
    { userIds: ['user_1', 'user_2'] },
    { tenantId: 'tenant_1', currency: 'USD', asOf: before },
    { fromMs: START_MS + 3_600_000, toMs: START_MS + 10 * 3_600_000 },
  ]
  for (const filter of filters)
    await t.test(`lines of ${Object.keys(filter).join()}`, async (t) => {
      const { items } = await listLines(pool, filter, { limit: 1_000 })
      t.same(
        (await rowsOf(exportLines(pool, filter, {}))).map((row) => [
          row[lineCell.line_id],
          row[lineCell.amount],
          row[lineCell.adjusted],
          row[lineCell.net],
          row[lineCell.hash],
          `${row[lineCell.settled_at]?.slice(0, 23)}Z`,
        ]),
        items.map(({ lineId, amount, adjusted, hash, settledAtMs }) => [
          lineId,
          amount,
          adjusted,
          formatAmount(parseAmount(amount) - parseAmount(adjusted)),
          hash,
          toTimestamp(settledAtMs),
        ]),
      )
      const [, after] = items
      t.same(
        (await rowsOf(exportLines(pool, filter, { after: after?.lineId, limit: 2 }))).map(
          (row) => row[lineCell.line_id],
        ),
        items.slice(2, 4).map(({ lineId }) => lineId),
        'behind a line',
      )
    })
  await t.test('refunds by the time they were posted, each with its line', async (t) => {
    const of = async (filter: LedgerFilter) =>
      (await rowsOf(exportRefunds(pool, filter))).map((row) => [
        row[refundCell.adjustment_id],
        row[refundCell.refunded],
        row[refundCell.line_id],
        row[refundCell.adjusted],
        row[refundCell.code],
      ])
    const [first, second] = [
      ['adj_1', '0.0003', 'call_3:1', '0.0002', 'quality'],
      ['adj_2', '-0.0001', 'call_3:1', '0.0002', 'quality'],
    ]
    t.same(await of({}), [second, first])
    t.same(await of({ toMs: START_MS + DAY_MS }), [first])
    t.same(await of({ fromMs: START_MS + DAY_MS, tenantId: 'tenant_1' }), [second])
    t.same(await of({ asOf: before }), [])
    t.same(await of({ tenantId: 'tenant_0' }), [])
    t.same(await of({ model: 'another' }), [])
    t.same(await of({ since: all[known]?.position }), [second])
  })
})

t.test('credit that was granted, and what was corrected of it', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const granted = (grantId: string, credit?: 'paid' | 'promotional', reference?: string) =>
    recorder.record('account-tenant_1', {
      type: 'CreditGranted',
      data: {
        tenantId: 'tenant_1',
        grantId,
        currency: 'CNY',
        amount: '100',
        reason: 'paid',
        grantedAt: toTimestamp(START_MS + 1_000),
        ...(credit && { credit }),
        ...(reference && { reference }),
      },
    })
  const [opened] = openTenant(recorder, 'tenant_1')
  const events = [
    ...(opened === undefined ? [] : [opened]),
    granted('paid-77', 'paid', 'INV-77'),
    granted('old'),
    granted('gift', 'promotional'),
    adjusting(recorder, 'adj_3', '-5', { kind: 'grant', grantId: 'paid-77' }, 1),
    adjusting(recorder, 'adj_4', '-1', { kind: 'grant', grantId: 'gift' }, 1),
  ]
  await applied(t, pool, events, projections)
  const of = async (filter: LedgerFilter) =>
    (await rowsOf(exportCredits(pool, filter))).map((row) => [
      row[creditCell.id],
      row[creditCell.grant_id],
      row[creditCell.credit],
      row[creditCell.amount],
      row[creditCell.reference],
    ])
  const grants = [
    ['gift', 'gift', 'promotional', '100', null],
    ['old', 'old', 'paid', '100', null],
    ['paid-77', 'paid-77', 'paid', '100', 'INV-77'],
  ]
  const corrected = [
    ['adj_4', 'gift', 'promotional', '-1', null],
    ['adj_3', 'paid-77', 'paid', '-5', 'INV-77'],
  ]
  t.same(await of({ tenantId: 'tenant_1' }), [...corrected, ...grants])
  t.same(await of({ tenantId: 'tenant_1', toMs: START_MS + DAY_MS }), grants)
  t.same(await of({ tenantId: 'tenant_1', currency: 'USD' }), [])
  t.same(await of({ tenantId: 'tenant_0' }), [])
})

/** Lines a few microseconds apart, so that some pages end within a millisecond. */
const LINES = 2 * PAGE_ROWS + 300
const linesSql = `
  insert into ledger.lines
    (seq, line_id, settled_at, tenant_id, user_id, token_id, source_id, surface, model, sku, rule, quantity, unit,
     price, per, currency, amount, price_book_version, measurement, request_id, position, hash)
  select n, 'call_' || n || ':1', timestamptz '2026-11-01T00:00Z' + (n / 3) * interval '7 microseconds', 'tenant_1',
         'user_' || n % 5, 'token', 'call_' || n, 'v1.chat', 'model', 'sku', 'text/chat/input', 1000, 'token', 46,
         1000000, 'CNY', 0.046, '2026-01-01', 'reported', 'req_' || n, n, ''
  from generate_series(1, ${LINES}) as n`

t.test('pages join up, and one is read when it is asked for', async (t) => {
  const pool = await testPool(t)
  await applied(t, pool, [], projections)
  await pool.query(linesSql)
  let read = 0
  const counting: Queryable = {
    query: async (asked: QueryConfig | string, values: readonly unknown[] = []) => {
      read += 1
      return (
        typeof asked === 'string' ? pool.query(asked, [...values]) : pool.query(asked)
      ) as never
    },
  }
  for (const userIds of [undefined, ['user_1', 'user_2', 'user_3', 'user_4', 'user_0']]) {
    read = 0
    const pages = exportLines(counting, { tenantId: 'tenant_1', userIds }, { limit: LINES - 1 })
    const seen: string[] = []
    for await (const page of pages) {
      t.ok(page.length <= PAGE_ROWS)
      seen.push(...page.map((row) => row[lineCell.seq] ?? ''))
      t.equal(read, Math.ceil(seen.length / PAGE_ROWS), 'no page is read ahead')
    }
    t.same(
      seen,
      Array.from({ length: LINES - 1 }, (_, n) => String(LINES - n)),
    )
  }
})

t.test(
  'list prices are those of the book, for as many units as the line is priced for',
  async (t) => {
    const pool = await testPool(t)
    await applied(t, pool, [], projections)
    await pool.query(`insert into prices.books values ('2026-01-01', now(), now(), '', null, 1)`)
    await pool.query(`insert into prices.entries values
    ('2026-01-01', 1, 'own', 'CNY', 'token', 0.05, 1000, null),
    ('2026-01-01', 2, 'own', 'USD', 'token', 9, 1000, null),
    ('2026-01-01', 3, 'other-unit', 'CNY', 'image', 7, 1, null)`)
    await pool.query(linesSql.replace(String(LINES), '4'))
    await pool.query(`update ledger.lines set account_prices = 2 where seq <> 3`)
    await pool.query(`update ledger.lines set sku = 'own' where seq = 1`)
    await pool.query(`update ledger.lines set sku = 'other-unit' where seq = 4`)
    const rows = await rowsOf(exportLines(pool, {}, { listPrices: true }))
    t.same(
      rows.map((row) => [row[lineCell.seq], row[lineCell.list_price], row[lineCell.list_amount]]),
      [
        ['4', null, null],
        ['3', '46', '0.046'],
        ['2', null, null],
        ['1', '50', '0.05'],
      ],
      'none for another unit, of the line itself, of none, of the book',
    )
  },
)
