import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { chainHash, listLines } from '../../../projections/ledger/query.ts'
import { countPassedOver } from '../../../projections/engine/passed-over.ts'
import { rebuildProjection } from '../../../projections/engine/rebuild.ts'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import { digestOf } from '../../projections/support/database.ts'
import { allProjections } from '../../../projections/registry.ts'
import { audit, type AuditReport } from '../../../src/app/audit/audit.ts'
import { parseState } from '../../../src/app/audit/state.ts'
import { nodeArguments } from '../../helpers/checkout.ts'
import type { AnyEvent } from '../../../src/domain/any-event.ts'
import { taskStream } from '../../../src/domain/task/events.ts'
import {
  platformId,
  Recorder,
  recordCall,
  recordStep,
  taskSteps,
} from '../../projections/support/history.ts'
import { append, history, kept, startAudited, takenIn } from './support/audited.ts'

t.test('an audit resumes where an earlier one ended', async (t) => {
  const run = await startAudited(t)
  const first = await kept(run)
  t.ok(first.report.ok)
  t.equal(first.state?.head, first.report.chain.head)
  // One task goes on, one begins, one call comes.
  await append(run.log, [
    recordStep(run.recorder, { n: 1_000, tenantId: 'tenant_1' }, 'requested'),
    recordCall(run.recorder, 500),
  ])
  await run.caughtUp()
  const second = await kept(run, first.state)
  t.match(second.report, { ok: true, events: 2, lines: 2, tasks: 1, findings: [] })
  t.equal(second.report.resumedFrom, first.report.position)
  await append(run.log, [
    recordStep(run.recorder, { n: 1_000, tenantId: 'tenant_1' }, 'submitted'),
    recordStep(run.recorder, { n: 1_000, tenantId: 'tenant_1' }, 'succeeded'),
    recordStep(run.recorder, { n: 1_000, tenantId: 'tenant_1' }, 'settled'),
  ])
  await run.caughtUp()
  const third = await kept(run, second.state)
  t.match(third.report, { ok: true, events: 3, lines: 1, tasks: 1, settledSources: 1 })
  const whole = await run.audit()
  t.match(whole, { ok: true, chain: third.report.chain })
  t.equal(third.state?.position, whole.position)

  await t.test('a line changed after it was audited is found by its hash', async (t) => {
    await run.pool.query(`update ledger.lines set amount = amount + 1 where line_id = 'call_2:2'`)
    const { report, state } = await kept(run, third.state)
    t.match(report.findings, [
      { code: 'row_differs', table: 'ledger.lines', key: 'call_2:2', differences: [{}] },
    ])
    t.equal(report.findingsInAll, 1, JSON.stringify(report.findings))
    t.equal(state, undefined, 'nothing is kept of an audit that found something')
    await run.pool.query(`update ledger.lines set amount = amount - 1 where line_id = 'call_2:2'`)
  })

  await t.test('a line inserted among audited lines is found by the chain of hashes', async (t) => {
    await run.pool.query(`insert into ledger.lines select (jsonb_populate_record(l,
        '{"line_id": "call_forged:1", "source_id": "call_forged", "seq": 1000000}')).*
      from ledger.lines l where line_id = 'call_2:1'`)
    const { report } = await kept(run, third.state)
    t.match(report.findings, [{ code: 'chain_broken', message: /there were \d+ lines up to here/ }])
    t.equal(report.findingsInAll, 1, JSON.stringify(report.findings))
    await run.pool.query(`delete from ledger.lines where line_id = 'call_forged:1'`)
  })

  await t.test('lines changed together with all later hashes are found', async (t) => {
    const { items } = await listLines(run.pool, {}, { limit: 500 })
    const lines = [...items].sort((a, b) => Number(BigInt(a.seq) - BigInt(b.seq)))
    let hash: Buffer = Buffer.alloc(32)
    for (const { seq, settledAtMs, position, hash: _, ...line } of lines) {
      const amount = line.lineId === 'call_2:2' ? '1' : line.amount
      const settledAt = new Date(settledAtMs).toISOString()
      hash = chainHash(hash, { ...line, amount, settledAt, position: BigInt(position) })
      await run.pool.query('update ledger.lines set amount = $2, hash = $3 where seq = $1', [
        seq,
        amount,
        hash,
      ])
    }
    const { report } = await kept(run, third.state)
    t.match(report.findings[0], { code: 'chain_broken', message: /the head was/ })
    const full = await run.audit()
    t.match(full.findings[0], {
      code: 'row_differs',
      key: 'call_2:2',
      differences: [{ field: 'amount', log: '0.000084', stands: '1' }],
    })
  })
})

t.test('other tables are compared as far as they changed, and whole by a full audit', async (t) => {
  const run = await startAudited(t)
  const { state } = await kept(run)
  await run.pool.query(
    `update tasks.tasks set marker = 'forged' where platform_id = '${platformId(1)}'`,
  )
  t.match((await kept(run, state)).report, { ok: true, tasks: 0 })
  t.match((await run.audit()).findings, [{ table: 'tasks.tasks', key: platformId(1) }])
})

t.test('the state of an audit is valid for one log only', async (t) => {
  const run = await startAudited(t)
  const { state } = await kept(run)
  if (!state) return t.fail('it was clean')
  const last = { ...state.last, id: '00000000-0000-5000-8000-000000000000' }
  await t.rejects(kept(run, { ...state, last }), { code: 'audit_state_foreign' })
  t.throws(() => parseState('{"version":1}'), TypeError)
  t.throws(() => parseState(JSON.stringify(state).slice(0, -9)), SyntaxError)
})

t.test(
  'a second settlement of a call is found after the first was audited; the first counts',
  async (t) => {
    const run = await startAudited(t)
    const { report: before, state } = await kept(run)
    // At once with others, which go on.
    await append(run.log, [
      recordCall(run.recorder, 3, 'tenant_1'),
      recordCall(run.recorder, 500),
      recordCall(run.recorder, 500),
    ])
    await run.caughtUp()
    const { rows } = await run.pool.query('select stopped from engine.checkpoints')
    t.ok(rows.every(({ stopped }) => stopped === null))
    t.equal((await countPassedOver(run.pool)).get('ledger'), 2)
    for (const resume of [state, undefined]) {
      const { report, state: next } = await kept(run, resume)
      const found = report.findings.map(({ code, table, key }) => `${code} ${table} ${key}`)
      t.same(found.sort(), ['settled_twice log call_3', 'settled_twice log call_500'])
      t.equal(report.notCompared, 0)
      t.equal(BigInt(report.chain.lines), BigInt(before.chain.lines) + 2n, 'call_500, once')
      t.equal(next, undefined, 'nothing is kept of an audit that found something')
    }
    const standing = await digestOf(run.pool, ledgerProjection)
    const rebuilt = await rebuildProjection({
      pool: run.pool,
      log: run.log,
      projection: ledgerProjection,
    })
    t.match(rebuilt, { outcome: 'swapped' }, 'a rebuild finds the same ledger')
    t.same(await digestOf(run.pool, ledgerProjection), standing)
    t.equal((await countPassedOver(run.pool)).get('ledger'), 2)
  },
)

const TASKS = 600

/** Runs an audit as a process and kills it once it kept how far it was so many times. */
async function killed(t: Test, url: string, path: string, keeps: number): Promise<string[]> {
  const script = new URL('support/audit-child.ts', import.meta.url)
  const args = [...nodeArguments(script), url, path, String(TASKS)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const said: string[] = []
  const exited = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) {
    said.push(line)
    if (said.length === keeps) child.kill('SIGKILL')
  }
  await exited
  t.ok(existsSync(path))
  return said
}

t.test('an audit killed at any position resumes there and ends the same way', async (t) => {
  const { pool, log } = await takenIn(t, history(new Recorder(), TASKS))
  const url = pool.options.connectionString ?? ''
  const whole = await audit({ pool, log, models: allProjections })
  t.ok(whole.ok)
  const path = join(t.testdir(), 'audit.json')
  const positions: string[] = []
  let events = 0
  for (let keeps = 1; keeps < 20; keeps += 1) {
    const said = await killed(t, url, path, keeps)
    const state = parseState(readFileSync(path, 'utf8'))
    positions.push(`${state.position} ${state.walk.after ?? ''}`)
    const last = said.at(-1) ?? ''
    if (!last.startsWith('{')) continue
    const report = JSON.parse(last) as AuditReport
    t.match(report, { ok: true, findings: [], chain: whole.chain, position: whole.position })
    events = report.events
    break
  }
  t.ok(events < whole.events, `${events} of ${whole.events} events were read in the end`)
  t.ok(new Set(positions).size >= 3, positions.join(', '))
  const walked = positions.some((position) => !position.endsWith(' '))
  t.ok(walked, 'it was killed among the tasks too')
})

t.test('two settled tasks with one native id are found', async (t) => {
  const run = await startAudited(t)
  const { state } = await kept(run)
  const [first] = (
    await run.pool.query<{ native_id: string }>(
      `select native_id from tasks.tasks where settled and channel_id = 'channel_1' limit 1`,
    )
  ).rows
  const steps = taskSteps({ n: 900 })
  const twin = { nativeId: first?.native_id ?? '' }
  const record = (event: AnyEvent) => run.recorder.record(taskStream(platformId(900)), event)
  await append(run.log, [
    record(steps.requested),
    record({ ...steps.submitted, data: { ...steps.submitted.data, ...twin } }),
    record({ ...steps.succeeded, data: { ...steps.succeeded.data, ...twin } }),
    record({ ...steps.settled, data: { ...steps.settled.data, ...twin } }),
  ])
  await run.caughtUp()
  for (const resume of [state, undefined])
    t.match((await kept(run, resume)).report.findings, [
      {
        code: 'settled_twice',
        table: 'log',
        key: platformId(900),
        message: /^cgt-\d+ of channel_1/,
      },
    ])
})

t.test(
  'rows of events that the log does not have are named: the log is older than the read models',
  async (t) => {
    const events = history(new Recorder())
    const { pool, log } = await takenIn(t, events)
    log.events.splice(-1)
    const report = await audit({ pool, log, models: allProjections })
    t.same(
      report.findings.map(({ code, table }) => `${code} ${table}`),
      [
        'row_unexplained ledger.lines',
        'row_unexplained ledger.lines',
        'row_unexplained ledger.settlements',
        'row_unexplained ledger.entries',
        'row_unexplained timeline.events',
        'row_differs ledger.balances',
        'row_differs ledger.chain',
        'row_differs ledger.days',
        'row_differs ledger.days',
        'row_differs ledger.hours',
        'row_differs ledger.hours',
        'row_differs ledger.quarters',
        'row_differs ledger.quarters',
      ],
    )
  },
)
