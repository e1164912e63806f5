import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hasLeader, tryLead } from '../../projections/engine/leadership.ts'
import { NIGHTLY_AUDIT, type NightlyOutcome } from '../../src/app/audit/nightly.ts'
import { readLastAudit } from '../../src/app/audit/last-audit.ts'
import type { AuditState } from '../../src/app/audit/state.ts'
import { readStateFile } from '../../src/app/audit/state-file.ts'
import { auditInChild } from '../../src/start/nightly-audit.ts'
import { tasksOf } from '../e2e/support/client.ts'
import { tollgate, environmentOf } from '../cli/support/commands.ts'
import { descendants } from '../faults/driver/processes.ts'
import { eventually, until } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'

/** The nightly audit, in the process that the gateway starts for it. */

const stack = await startStack({
  storeProcess: true,
  env: { AUDIT_AT: '03:30', POLL_SCALE: '0.01' },
})
t.teardown(() => stack.stop())
const { pool } = stack.gateway
const tasks = tasksOf(stack.url, stack.demo.modelToken)
const done = await tasks.reaches(await tasks.created(), 'succeeded')
const settled = done.headers.get('x-platform-id') ?? ''
await stack.caughtUp()

function auditing(t: Test, dataDir = t.testdir()) {
  const logged: (readonly [string, string, object])[] = []
  const record = (level: string) => (fields: object, message: string) =>
    void logged.push([level, message, fields])
  const logger = {
    debug: record('debug'),
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
  }
  const stopping = new AbortController()
  t.teardown(() => stopping.abort())
  const { eventStoreUrl, databaseUrl, namespace } = stack
  const run = (stores: { readonly databaseUrl?: string } = {}) =>
    auditInChild(
      { config: { dataDir, namespace }, eventStoreUrl, databaseUrl, logger, ...stores },
      stopping.signal,
    )
  return { run, logged, stop: () => stopping.abort(), state: join(dataDir, 'audit.json') }
}

function reportOf(outcome: NightlyOutcome | undefined) {
  if (outcome === undefined || outcome === 'led') throw new Error(`no report: ${outcome}`)
  return outcome.report
}
const warnings = (logged: readonly (readonly [string, string, object])[]) =>
  logged.filter(([level]) => level !== 'debug')

t.test('it audits, records that, and continues the next night from its state', async (t) => {
  const { run, state, logged } = auditing(t)
  const first = reportOf(await run())
  t.match(first, { findingsInAll: 0, findings: [], resumedFrom: undefined })
  t.ok(first.events > 5)
  t.match(await readLastAudit(pool), { findings: 0 })
  t.match(await readStateFile(state), { position: first.position })
  // Postgres may end the session of a process that has ended a little later.
  await until(async () => !(await hasLeader(pool, NIGHTLY_AUDIT)))

  await pool.query(`update ledger.lines set amount = amount + 1 where source_id = '${settled}'`)
  const second = reportOf(await run())
  t.match(second, { events: 0, resumedFrom: first.position, findingsInAll: 1 })
  t.match(second.findings, [{ code: 'row_differs', table: 'ledger.lines', message: undefined }])
  t.match(await readLastAudit(pool), { findings: 1 })
  t.match(await readStateFile(state), { position: first.position }, 'the state stays before it')
  await pool.query(`update ledger.lines set amount = amount - 1 where source_id = '${settled}'`)
  t.same(warnings(logged), [])

  const { code, stdout } = await tollgate(['audit', '--state', state], environmentOf(stack))
  t.equal(code, 0)
  t.match(stdout, `after position ${first.position}`, 'the command takes the state over')
})

t.test(
  'an audit that cannot be recorded is no audit, and is made again from its state',
  async (t) => {
    const { run, state } = auditing(t)
    await pool.query('alter table ops.last_audit rename to kept')
    await t.rejects(run(), /last_audit/)
    await pool.query('alter table ops.kept rename to last_audit')
    const kept = await readStateFile(state)
    t.ok(kept)
    t.match(reportOf(await run()), { resumedFrom: kept?.position, findingsInAll: 0 })
  },
)

t.test('a state that is of no use is said, and the audit begins at the start', async (t) => {
  const { run, state, logged } = auditing(t)
  await tollgate(['audit', '--state', state], environmentOf(stack))
  const right = JSON.parse(await readFile(state, 'utf8')) as AuditState
  const foreign = { ...right, last: { ...right.last, id: 'another' } }
  for (const [content, reason] of [
    [JSON.stringify({ ...right, version: 1 }), /is not an audit state of this version/],
    [JSON.stringify(foreign), /another log, or one from a backup/],
  ] as const) {
    await writeFile(state, content)
    t.match(reportOf(await run()), { resumedFrom: undefined, findingsInAll: 0 })
    const [warning, ...more] = warnings(logged.splice(0))
    t.match(warning, ['warn', /audits from the start/, { child: 'audit', reason }])
    t.same(more, [])
    t.match(await readStateFile(state), { last: right.last }, 'and is replaced')
  }
})

t.test('a state that cannot be kept is said once, and ends no audit', async (t) => {
  const { run, logged } = auditing(t, join(t.testdir(), 'none'))
  t.equal(reportOf(await run()).findingsInAll, 0)
  t.match(warnings(logged), [
    ['warn', 'the state of the audit cannot be kept', { reason: /ENOENT/ }],
  ])
  t.equal(warnings(logged).length, 1)
})

t.test('while another process leads, none is made', async (t) => {
  const lead = await tryLead(pool, NIGHTLY_AUDIT)
  t.equal(await auditing(t).run(), 'led')
  await lead?.release()
})

t.test('of two processes that begin at once one audits, or both do no harm', async (t) => {
  const dataDir = t.testdir()
  const both = [auditing(t, dataDir), auditing(t, dataDir)]
  const outcomes = await Promise.all(both.map(({ run }) => run()))
  t.ok(outcomes.some((outcome) => outcome !== 'led'))
  for (const outcome of outcomes) if (outcome !== 'led') t.equal(reportOf(outcome).findingsInAll, 0)
  t.ok(await readStateFile(both[0]?.state ?? ''))
})

/** Starts an audit and holds it once it has read the log; it goes on when it is released. */
async function heldAudit(t: Test) {
  const client = await pool.connect()
  await client.query('begin; lock table ledger.summed_days in access exclusive mode')
  const audit = auditing(t)
  const running = audit.run()
  running.catch(() => undefined)
  await eventually('it waits for the totals of days', async () => {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rowCount === 0 ? undefined : true
  })
  const release = async (): Promise<void> => {
    await client.query('rollback')
    client.release()
  }
  return { ...audit, running, release }
}

t.test('a gateway that stops ends the audit at once', async (t) => {
  const { running, stop, release, logged } = await heldAudit(t)
  t.ok(await hasLeader(pool, NIGHTLY_AUDIT))
  stop()
  t.equal(await running, undefined)
  t.same(warnings(logged), [])
  await release()
})

t.test('an audit that is killed is said, and the next one continues from its state', async (t) => {
  const { running, run, release, state } = await heldAudit(t)
  const pid = descendants(process.pid).find(({ command }) => command.includes('audit-process'))?.pid
  process.kill(pid ?? Number.NaN, 'SIGKILL')
  await t.rejects(running, /ended by SIGKILL/)
  await release()
  const kept = await readStateFile(state)
  await eventually('its lead is free', async () =>
    (await hasLeader(pool, NIGHTLY_AUDIT)) ? undefined : true,
  )
  t.match(reportOf(await run()), { resumedFrom: kept?.position, events: 0, findingsInAll: 0 })
})

t.test('a worker makes the audit that its gateway has missed', async (t) => {
  await pool.query(`update ops.last_audit set ended_at = now() - interval '2 days'`)
  const ahead = { ms: 0 }
  const monotonic = { nowMs: () => performance.now() + ahead.ms }
  const { dataDir, stop } = await stack.replica(['worker'], { monotonic })
  ahead.ms = 600_000
  await eventually('it was made', async () => {
    const last = await readLastAudit(pool)
    return last === undefined || last.ageSeconds > 86_400 ? undefined : true
  })
  t.ok(await readStateFile(join(dataDir, 'audit.json')))
  await eventually('and logged', () =>
    Promise.resolve(stack.logged().includes('the nightly audit found no difference') || undefined),
  )
  await stop()
})

t.test('an audit whose stores are away says so, and its state stays', async (t) => {
  const { run, state } = auditing(t)
  await tollgate(['audit', '--state', state], environmentOf(stack))
  const before = await readFile(state, 'utf8')
  await t.rejects(run({ databaseUrl: 'postgres://127.0.0.1:1/none' }), /ECONNREFUSED/)
  await stack.eventStore.stop()
  await t.rejects(run(), /log|store/i)
  t.equal(await readFile(state, 'utf8'), before)
})
