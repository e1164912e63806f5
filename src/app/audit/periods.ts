import type { Pool } from 'pg'
import { nextKeys } from '../../../projections/engine/audited-rows.ts'
import {
  comparePeriods,
  linesPerDay,
  summedLines,
  type DayRange,
  type PeriodComparison,
  type PeriodKey,
  type PeriodTable,
  type PeriodTotals,
} from '../../../projections/ledger/query.ts'
import { parseAmount } from '../../kernel/money.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { rowDiffers, sumDifferences } from './compare.ts'
import type { Corrections } from './corrections.ts'
import { Findings, MAX_FINDINGS, type Finding } from './findings.ts'
import type { LineCorrections } from './line-corrections.ts'
import { inSnapshot } from './snapshot.ts'

/** Lines summed in one snapshot, approximately: a single day is not divided. */
const RANGE_LINES = 500_000
/** Days per planning step. */
const PLANNED_DAYS = 400
/** Default of `maxTotals`. */
const MAX_TOTALS = 50_000

interface Deps {
  readonly pool: Pool
  readonly table: PeriodTable
  readonly findings: Findings
  /** Corrections for sums over lines known to be wrong. */
  readonly corrections: Corrections
  /** Sums of the events that the ledger skipped: the totals may or may not include them. */
  readonly unapplied: Corrections
  /** Most totals compared in one snapshot, when some are known to be wrong. */
  readonly maxTotals?: number
}

function keyOf(key: PeriodKey): string {
  const { tenantId, begins, currency, sku, unit, model, userId, tokenId, surface } = key
  return [tenantId, begins, currency, sku, unit, model, userId, tokenId, surface].join('\n')
}

function amountsOf({ requests, lines, quantity, amount }: PeriodTotals): readonly bigint[] {
  return [BigInt(requests), BigInt(lines), BigInt(quantity), parseAmount(amount)]
}

const fields = ['requests', 'lines', 'quantity', 'amount'] as const

/** Checks one total, corrected for lines known to be wrong. */
function judge(deps: Deps, { key, summed, stands }: PeriodComparison): void {
  const sum = amountsOf(summed)
  const correction = deps.corrections.of(keyOf(key), fields.length)
  const log = sum.map((each, n) => each + (correction[n] ?? 0n))
  const found = sumDifferences(fields, log, amountsOf(stands))
  if (found.length === 0) return
  const missed = deps.unapplied.of(keyOf(key), fields.length)
  const all = log.map((each, n) => each + (missed[n] ?? 0n))
  if (sumDifferences(fields, all, amountsOf(stands)).length === 0) return
  const name = { table: `ledger.${deps.table}`, key: Object.values(key).join(' ') }
  deps.findings.push(rowDiffers(name, found))
}

/**
 * Compares the totals by time with the lines, which were compared with the log before. It takes
 * ranges of days of one tenant, each in its own snapshot, so that lines and totals are of one
 * moment.
 */
export async function auditPeriods(deps: Deps, onTenant: (tenants: number) => void): Promise<void> {
  const { pool, table, findings, corrections } = deps
  if (corrections.overflowed || deps.unapplied.overflowed) {
    const why = 'the totals by time were not compared: too many lines are wrong'
    findings.push(notCompared(table, table, why))
    return
  }
  const columns = [
    { table: `ledger.summed_${table}`, column: 'tenant_id' },
    { table: 'ledger.lines', column: 'tenant_id' },
  ]
  const judged = new Set<string>()
  for (let after = '', tenants = 1; ; tenants += 1) {
    const from = after
    const [tenantId] = await inSnapshot(pool, ({ db }) =>
      nextKeys(db, columns, { after: from, limit: 1 }),
    )
    if (tenantId === undefined) break
    await auditTenant(deps, tenantId, judged)
    onTenant(tenants)
    after = tenantId
  }
  // These have neither a line nor a total.
  for (const key of corrections.keys()) if (!judged.has(key)) judge(deps, absent(key))
}

/** Does so for days, hours and quarters side by side, because Postgres does most of the work. */
export async function auditAllPeriods(
  { pool, wrong, unapplied }: Record<'wrong' | 'unapplied', LineCorrections> & Pick<Deps, 'pool'>,
  onTenants: (tenants: number) => void,
): Promise<Findings> {
  const all = new Findings()
  wrong.leaveOut(await inSnapshot(pool, ({ db }) => summedLines(db)))
  const done = { days: 0, hours: 0, quarters: 0 }
  const audits = (['days', 'hours', 'quarters'] as const).map(async (table) => {
    const findings = new Findings()
    const known = { corrections: wrong[table], unapplied: unapplied[table] }
    await auditPeriods({ pool, table, findings, ...known }, (tenants) => {
      done[table] = tenants
      onTenants(Math.min(...Object.values(done)))
    })
    return findings
  })
  for (const found of await allSettledOrThrow(audits)) all.add(found)
  return all
}

function notCompared(table: PeriodTable, key: string, message: string): Finding {
  return { code: 'not_compared', table: `ledger.${table}`, key, position: '', message }
}

async function auditTenant(deps: Deps, tenantId: string, judged: Set<string>): Promise<void> {
  const wrong = new Set(deps.corrections.keys(`${tenantId}\n`))
  for (let from: string | undefined, first = true; first || from !== undefined; first = false) {
    const to: string | undefined = await endOfRange(deps.pool, { tenantId, from })
    const range = { tenantId, from, to, all: wrong.size > 0 }
    const limit = wrong.size > 0 ? (deps.maxTotals ?? MAX_TOTALS) : MAX_FINDINGS
    const rows = await inSnapshot(deps.pool, ({ db }) =>
      comparePeriods(db, deps.table, { ...range, limit }),
    )
    for (const row of rows) {
      judge(deps, row)
      if (wrong.has(keyOf(row.key))) judged.add(keyOf(row.key))
    }
    if (wrong.size > 0 && rows.length === limit) {
      const key = `${tenantId} from ${from ?? 'the first day'} to ${to ?? 'the last'}`
      deps.findings.push(notCompared(deps.table, key, 'there are too many totals of these days'))
      for (const each of wrong) judged.add(each)
    }
    from = to
  }
}

/** The last day of a range that has about `RANGE_LINES`; undefined for the last range. */
async function endOfRange(
  pool: Pool,
  begin: Pick<DayRange, 'tenantId' | 'from'>,
): Promise<string | undefined> {
  const days = await inSnapshot(pool, ({ db }) =>
    linesPerDay(db, { ...begin, limit: PLANNED_DAYS }),
  )
  let lines = 0
  for (const [n, day] of days.entries()) {
    if (n > 0 && lines + day.lines > RANGE_LINES) return day.day
    lines += day.lines
  }
  return days.length < PLANNED_DAYS ? undefined : days.at(-1)?.day
}

function absent(key: string): PeriodComparison {
  const [tenantId = '', begins = '', currency = '', sku = '', unit = '', ...rest] = key.split('\n')
  const [model = '', userId = '', tokenId = '', surface = ''] = rest
  const none = { requests: '0', lines: '0', quantity: '0', amount: '0' }
  return {
    key: { tenantId, begins, currency, sku, unit, model, userId, tokenId, surface },
    summed: none,
    stands: none,
  }
}
