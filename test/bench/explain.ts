import { Pool } from 'pg'
import {
  countUpTo,
  digestBetween,
  nextKeys,
  rowsBetween,
  rowsByKey,
} from '../../projections/engine/audited-rows.ts'
import type { Queryable } from '../../projections/engine/queryable.ts'
import * as ledger from '../../projections/ledger/query.ts'
import {
  failedRequests,
  type FailureFilter,
  historyOf,
  tenantTimeline,
  timelineTables,
} from '../../projections/timeline/query.ts'
import { TimeZone } from '../../src/kernel/time-zone.ts'
import { balances } from '../helpers/ledger-balances.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import type { Figure } from './figure.ts'
import { monthFigures } from './explain-month.ts'
import { type Read, timesOf } from './kit/explained.ts'
import { BYTES_A_CALL, DAYS, fillLedger, FIRST_MS, type Line, lineOf } from './kit/ledger-rows.ts'
import { sized, sizeFrom } from './kit/sizes.ts'
import { everyFailure } from '../projections/support/every-failure.ts'

/**
 * How long Postgres executes each query that the API, the commands and the audit send to a long ledger and its timeline.
 * `BENCH_EXPLAIN_DATABASE` names a database that is filled once and kept, so that two versions can be compared.
 */

const LINES = sizeFrom('BENCH_EXPLAIN_LINES', sized(10_000_000, 20_000))
const ROUNDS = sizeFrom('BENCH_ROUNDS', sized(5, 1))
const DAY_MS = 86_400_000

const at = (day: number, ms = 0): number => FIRST_MS + day * DAY_MS + ms
const LATE = DAYS - 5
const span = (days: number) => ({ fromMs: at(LATE - days, 7_000), toMs: at(LATE, 3_600_123) })

/** A tenant with 8 % of the lines, and one with a two-thousandth of them. */
const big = { tenantId: 'tenant_0' }
const small = { tenantId: 'tenant_1000' }

function lists(middle: {
  readonly position: bigint
}): Readonly<Record<string, ledger.LedgerFilter>> {
  return {
    'all tenants': {},
    'all tenants, a month': span(30),
    'small tenant': small,
    'small tenant, a month': { ...small, ...span(30) },
    'big tenant': big,
    'big tenant, a month': { ...big, ...span(30) },
    'big tenant as of a position': { ...big, asOf: middle.position },
    'big tenant, SKU': { ...big, sku: 'model-3-input-token' },
    'big tenant, rare SKU': { ...big, sku: 'model-rare-input-token' },
    'big tenant, model': { ...big, model: 'model-3' },
    'big tenant, rare model': { ...big, model: 'model-rare' },
    'big tenant, model, a month': { ...big, model: 'model-3', ...span(30) },
    'big tenant, CNY': { ...big, currency: 'CNY' },
    'big tenant, USD': { ...big, currency: 'USD' },
    'big tenant, surface': { ...big, surface: 'v1.responses' },
    'big tenant, token': { ...big, tokenId: 'tenant_0_token_1' },
    user: { userIds: ['tenant_0_user_2'] },
    'big tenant, users': { ...big, userIds: ['tenant_0_user_1', 'tenant_0_user_2'] },
    'big tenant, user, a month': { ...big, userIds: ['tenant_0_user_1'], ...span(30) },
  }
}

const allKinds = { kinds: ledger.logKinds }

function finance(line: Line): Readonly<Record<string, Read>> {
  const { source_id: sourceId, request_id: requestId, position } = line
  const year = TimeZone.named('Asia/Kolkata').daysBetween(at(2, 1), at(LATE, 1))
  const groups = ['sku', 'day', 'model', 'tenant'] as const
  const month = { ...big, ...span(30) }
  const logs = { offset: 40, limit: 20 }
  const newest = { order: 'newest', after: undefined, limit: 100 } as const
  return {
    ...Object.fromEntries(
      Object.entries(lists(line)).flatMap(([name, filter]) => [
        [`lines: ${name}`, async (db: Queryable) => ledger.listLines(db, filter, { limit: 100 })],
        [
          `lines: ${name}, next page`,
          async (db: Queryable) => {
            const { next } = await ledger.listLines(db, filter, { limit: 100 })
            return next && ledger.listLines(db, filter, { limit: 100, after: next })
          },
        ],
      ]),
    ),
    ...Object.fromEntries(
      groups.map((by) => [
        `summary by ${by}`,
        (db: Queryable) => ledger.usage(db, { filter: month, groupBy: [by], withRefunds: true }),
      ]),
    ),
    'summary of a day of all tenants': (db) =>
      ledger.usage(db, { filter: span(1), groupBy: ['tenant'], withRefunds: true }),
    'summary by SKU of one model': (db) =>
      ledger.usage(db, {
        filter: { ...month, model: 'model-3' },
        groupBy: ['sku'],
        withRefunds: true,
      }),
    'usage of a month as of a position': (db) =>
      ledger.usage(db, { filter: { ...month, asOf: position }, groupBy: ['day', 'model'] }),
    'usage of a quarter by days of Kolkata': (db) =>
      ledger.usage(db, {
        filter: { ...big, fromMs: at(2, 1), toMs: at(LATE, 1) },
        groupBy: ['day', 'token'],
        periods: year,
      }),
    'usage of a budget': (db) =>
      ledger.usage(db, {
        filter: { ...small, fromMs: at(60), toMs: at(DAYS) },
        groupBy: ['user', 'token'],
      }),
    'usage of ten minutes': (db) =>
      ledger.usage(db, {
        filter: { ...big, fromMs: at(LATE, 1_000), toMs: at(LATE, 600_000) },
        groupBy: ['model'],
      }),
    'usage of 50 minutes': (db) =>
      ledger.usage(db, {
        filter: { ...big, fromMs: at(LATE, 1_000), toMs: at(LATE, 3_000_000) },
        groupBy: ['model'],
      }),
    'usage extent': (db) => ledger.usageExtent(db, big),
    'log of a tenant': (db) => ledger.listLogs(db, { ...big, ...allKinds }, logs),
    'log of a user': (db) =>
      ledger.listLogs(db, { userIds: ['tenant_0_user_2'], kinds: ['consume'] }, logs),
    'log of a request': (db) => ledger.listLogs(db, { ...big, ...allKinds, requestId }, logs),
    'log of a source': (db) =>
      ledger.listLogs(db, { ...big, ...allKinds, sourceIds: [sourceId] }, logs),
    'log, lines of a request counted': (db) =>
      ledger.countLines(db, { ...big, ...allKinds, requestId }),
    'log, credits counted': (db) => ledger.countCredits(db, { ...big, ...allKinds }),
    'lines by their ids': (db) => ledger.linesByIds(db, [line.line_id], 2n ** 62n),
    'what a source was settled at': (db) => ledger.settledSource(db, sourceId),
    'amounts of sources': (db) => ledger.settledAmounts(db, [sourceId]),
    'facts of a line': (db) => ledger.lineFacts(db, line.line_id),
    'corrections of a line': (db) =>
      ledger.refundsOfLines(db, [line.line_id], { asOf: 2n ** 62n, limit: 100 }),
    'adjustments of a tenant': (db) =>
      ledger.listCredits(db, { ...big, kinds: ['adjustment'] }, newest),
    'credits of a month, oldest first': (db) =>
      ledger.listCredits(
        db,
        { ...big, fromMs: at(30), toMs: at(60), kinds: ['grant', 'adjustment'] },
        { ...newest, order: 'oldest' },
      ),
    'sums of credits': (db) => ledger.sumCredits(db, { ...big, toMs: at(60) }),
    'a known model': (db) => ledger.hasLines(db, 'model', 'model-rare', undefined),
    'an unknown model': (db) => ledger.hasLines(db, 'model', 'none', undefined),
    'an unknown SKU of a tenant': (db) => ledger.hasLines(db, 'sku', 'none', 'tenant_0'),
    'prices of a tenant again': async (db) => {
      for await (const _ of ledger.pricedLines(db, { ...big, fromMs: at(30), toMs: at(31) }))
        continue
    },
    balances: (db) => balances(db, 'tenant_0'),
    totals: (db) => ledger.totals(db),
  }
}

function support(line: Line): Readonly<Record<string, Read>> {
  const page = { limit: 100 }
  const scope = { tenantId: line.tenant_id }
  const after = String(line.position)
  const range = { ...big, fromMs: at(40), toMs: at(50) }
  const failures = (part: Partial<FailureFilter>) => (db: Queryable) =>
    failedRequests(
      db,
      { ...everyFailure(BigInt(Number.MAX_SAFE_INTEGER)), ...part },
      { after: undefined, limit: 50 },
    )
  return {
    'failures of all tenants': failures({}),
    'failures of a tenant': failures(big),
    'failures of a small tenant': failures(small),
    'failures of a month': failures({ ...big, ...span(30) }),
    'failures of a token': failures({ ...big, tokenId: 'tenant_0_token_1' }),
    'failures of a code that never came': failures({ ...big, code: 'none' }),
    'failures of a request': failures({ ...big, requestId: line.request_id }),
    'history of a call': (db) => historyOf(db, line.source_id, scope, page),
    'history of a request': (db) => historyOf(db, line.request_id, {}, page),
    'history of a native id': (db) => historyOf(db, 'cgt-50', {}, page),
    'timeline of a tenant': (db) => tenantTimeline(db, big, page),
    'timeline of a tenant, next page': (db) => tenantTimeline(db, big, { ...page, after }),
    'timeline of a tenant from a time': (db) => tenantTimeline(db, range, page),
    'timeline of a tenant by type': (db) =>
      tenantTimeline(db, { ...range, types: ['CallSettled'] }, page),
  }
}

function audit({
  line_id: lineId,
  position,
  tenant_id: tenantId,
}: Line): Readonly<Record<string, Read>> {
  const { ledgerTables: tables } = ledger
  const range = { after: position, upTo: position + 2_000n * BigInt(BYTES_A_CALL), limit: 100_000 }
  const marks = { between: '|', null: '~' }
  const digested = [
    [tables.lines, 'line_id'],
    [tables.settlements, 'source_id'],
    [tables.entries, 'n'],
    [tables.adjustments, 'adjustment_id'],
    [timelineTables.events, 'event_id'],
    [timelineTables.sources, 'source_id'],
  ] as const
  const stretch = { after: position, limit: 100_000, to: position * 2n }
  const days = { from: '2026-02-01', to: '2026-02-11', all: false, limit: 100 }
  return {
    ...Object.fromEntries(
      digested.map(([table, key]) => [
        `audit: digest of a stretch of ${table.name}`,
        (db: Queryable) =>
          digestBetween(db, table, { columns: Object.keys(table.columns), key, marks }, range),
      ]),
    ),
    'audit: lines of a stretch': (db) => rowsBetween(db, tables.lines, range),
    'audit: settlements by key': (db) =>
      rowsByKey(db, tables.settlements, 'source_id', [lineId.slice(0, -2)]),
    'audit: lines up to a position': (db) => countUpTo(db, tables.lines, position),
    'audit: next tenant': (db) =>
      nextKeys(db, [{ table: 'ledger.lines', column: 'tenant_id' }], { after: tenantId, limit: 1 }),
    'audit: lines of days': (db) =>
      ledger.linesPerDay(db, { tenantId, from: undefined, limit: 400 }),
    ...Object.fromEntries(
      (['days', 'hours', 'quarters'] as const).map((table) => [
        `audit: ${table} of ten days`,
        (db: Queryable) => ledger.comparePeriods(db, table, { ...big, ...days }),
      ]),
    ),
    'audit: sum of entries': (db) => ledger.sumEntries(db, stretch),
    'audit: placed holds': (db) => ledger.placedHolds(db),
  }
}

export async function run(): Promise<readonly Figure[]> {
  const kept = process.env['BENCH_EXPLAIN_DATABASE']
  const database = kept === undefined ? await acquireDatabase() : undefined
  const pool = new Pool({ connectionString: database?.url ?? kept, max: 1 })
  const { rows } = await pool.query<{ filled: boolean }>(
    `select to_regclass('public.calls') is not null as filled`,
  )
  if (rows[0]?.filled !== true) await fillLedger(pool, LINES)
  const line = await lineOf(pool, 'tenant_0', DAYS / 2)
  const figures: Figure[] = []
  for (const [name, read] of Object.entries({
    ...finance(line),
    ...support(line),
    ...audit(line),
  })) {
    const times = await timesOf(pool, read, ROUNDS)
    const [executed, planned] = [0, 1].map((n) => Math.min(...times.map((one) => one[n] ?? 0)))
    const note = `planned in ${planned?.toFixed(2)} ms`
    figures.push({ name, value: Number(executed?.toFixed(3)), unit: 'ms', note })
  }
  await pool.end()
  await database?.drop()
  return [...(await monthFigures()), ...figures]
}

if (process.argv[1]?.endsWith('bench/explain.ts') === true)
  process.stdout.write(`${JSON.stringify(await run(), null, 1)}\n`)
