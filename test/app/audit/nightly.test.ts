import { Pool } from 'pg'
import t, { type Test } from 'tap'
import { tryLead } from '../../../projections/engine/leadership.ts'
import type { AuditReport } from '../../../src/app/audit/audit.ts'
import { keepLastAudit } from '../../../src/app/audit/last-audit.ts'
import {
  NIGHTLY_AUDIT,
  nightlyAuditPolicies,
  type NightlyOutcome,
  nightlyReport,
} from '../../../src/app/audit/nightly.ts'
import { readDailyTime } from '../../../src/kernel/daily-time.ts'
import { acquireGatewayDatabase } from '../../helpers/postgres.ts'

const database = await acquireGatewayDatabase()
const pool = new Pool({ connectionString: database.url, max: 4 })
t.teardown(async () => {
  await pool.end()
  await database.drop()
})

const report = { position: '100', events: 7, resumedFrom: '90', findingsInAll: 0, findings: [] }
const SETTLED_MS = 600_000

/** The last audit ended so long ago, by the clock of Postgres. */
async function endedBefore(minutes: number): Promise<void> {
  await keepLastAudit(pool, report)
  await pool.query(`update ops.last_audit set ended_at = now() - make_interval(mins => $1)`, [
    minutes,
  ])
}

/** A process whose audits end at once, unless `run` is given. */
function started(
  t: Test,
  options: { readonly at?: string; readonly run?: () => Promise<NightlyOutcome | undefined> } = {},
) {
  const time = { wall: '2026-11-30T05:30:00Z', monotonicMs: 0 }
  const logged: (readonly [string, object, string])[] = []
  const record = (level: string) => (fields: object, message: string) =>
    void logged.push([level, fields, message])
  const logger = {
    debug: record('debug'),
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
  }
  const at = readDailyTime(options.at ?? '03:30')
  if (typeof at === 'string') throw new Error(at)
  let runs = 0
  const policies = nightlyAuditPolicies({
    pool,
    at,
    clock: { nowMs: () => Date.parse(time.wall) },
    monotonic: { nowMs: () => time.monotonicMs },
    logger,
    run: async () => {
      runs += 1
      if (options.run !== undefined) return options.run()
      await keepLastAudit(pool, report)
      return { report }
    },
  }).policies
  const [policy] = policies
  /** How many audits one round makes. */
  const round = async (): Promise<number> => {
    const before = runs
    await policy?.round(new AbortController().signal)
    return runs - before
  }
  time.monotonicMs = SETTLED_MS
  t.teardown(() => pool.query('delete from ops.last_audit'))
  return { time, logged, round }
}

t.test('an audit is due where the last one ended before the time of the night', async (t) => {
  const { round, logged } = started(t)
  t.equal(await round(), 1, 'none was ever made')
  t.equal(await round(), 0)
  await endedBefore(119)
  t.equal(await round(), 0, 'after 03:30, also by another process')
  const another = started(t)
  await endedBefore(121)
  t.equal(await another.round(), 1)
  await endedBefore(121)
  t.equal(await another.round(), 0, 'a record that was lost repeats no audit of this process')
  t.same(logged.at(-1), [
    'info',
    { position: '100', events: 7, resumedFrom: '90', findingsInAll: 0 },
    'the nightly audit found no difference',
  ])
})

t.test(
  'a night for which the gateway was stopped is made up for, some time after the start',
  async (t) => {
    const { time, round } = started(t)
    await endedBefore(30 * 60)
    time.monotonicMs = SETTLED_MS - 1
    t.equal(await round(), 0)
    time.monotonicMs = SETTLED_MS
    t.equal(await round(), 1)
  },
)

t.test('a clock that is set causes one audit more at most', async (t) => {
  const { time, round } = started(t)
  time.wall = '2026-11-30T03:29:00Z'
  await endedBefore(23 * 60)
  t.equal(await round(), 0)
  time.wall = '2026-11-30T03:30:00Z'
  t.equal(await round(), 1)
  // An hour back, and the clock of Postgres with it.
  time.wall = '2026-11-30T02:30:00Z'
  await endedBefore(-60)
  t.equal(await round(), 0)
  time.wall = '2026-11-30T03:30:01Z'
  t.equal(await round(), 0, 'this night has one')
  // The same hour back, and Postgres stands on another machine.
  await endedBefore(60)
  t.equal(await round(), 0)
  const other = started(t)
  other.time.wall = time.wall
  t.equal(await other.round(), 1, 'another process makes one more')
  time.wall = '2026-12-24T12:00:00Z'
  t.equal(await round(), 0, 'a clock set far ahead')
  time.wall = '2026-11-01T12:00:00Z'
  t.equal(await round(), 0, 'and far back')
})

t.test('the hour that a zone repeats, and the one that it skips, have one audit', async (t) => {
  const { time, round } = started(t, { at: '02:30 Europe/Berlin' })
  const audits = async (fromMs: number): Promise<number> => {
    let count = 0
    for (let minutes = 0; minutes < 180; minutes += 15) {
      time.wall = new Date(fromMs + minutes * 60_000).toISOString()
      // Both clocks go on; the time that the test takes comes on top.
      await pool.query(`update ops.last_audit set ended_at = ended_at - interval '14 minutes'`)
      count += await round()
    }
    return count
  }
  await endedBefore(20 * 60)
  t.equal(await audits(Date.parse('2026-10-24T23:30:00Z')), 1, 'back')
  await endedBefore(20 * 60)
  t.equal(await audits(Date.parse('2026-03-29T00:00:00Z')), 1, 'forward')
})

t.test('none is made while another process makes one', async (t) => {
  const { round } = started(t)
  const lead = await tryLead(pool, NIGHTLY_AUDIT)
  t.equal(await round(), 0)
  await lead?.release()
  t.equal(await round(), 1)
})

t.test(
  'an audit that could not end is tried again, and one that was stopped says nothing',
  async (t) => {
    const outcomes: (Error | NightlyOutcome | undefined)[] = [new Error('no log'), 'led', undefined]
    const { round, logged } = started(t, {
      run: () => {
        const outcome = outcomes.shift()
        return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome)
      },
    })
    await t.rejects(round(), /no log/, 'which the loop of policies counts, and logs')
    t.equal(await round(), 1)
    t.equal(await round(), 1)
    t.same(logged, [])
  },
)

t.test('findings are named, a bounded number of them, without values', async (t) => {
  const findings = Array.from({ length: 50 }, (_, n) => {
    return { code: 'row_differs', table: 'ledger.lines', key: `line_${n}`, position: String(n) }
  })
  const whole = { ...report, findingsInAll: 3_000 } as unknown as AuditReport
  const withValues = findings.map((finding) => ({
    ...finding,
    message: 'amount is 1',
    differences: [],
  }))
  const found = nightlyReport({ ...whole, findings: withValues } as unknown as AuditReport)
  const { round, logged } = started(t, { run: () => Promise.resolve({ report: found }) })
  await round()
  t.same(
    logged.slice(0, 20),
    findings
      .slice(0, 20)
      .map((finding) => ['error', finding, 'the nightly audit found a difference']),
  )
  t.equal(logged.length, 21)
  t.match(logged[20], ['error', { findingsInAll: 3_000 }, /tollgate audit/])
})
