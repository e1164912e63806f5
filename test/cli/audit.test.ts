import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { taskStream } from '../../src/domain/task/events.ts'
import { startStack } from '../helpers/stack.ts'
import { tasksOf } from '../e2e/support/client.ts'
import { tollgate, type Ended } from './support/tollgate.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const { pool, log } = stack.gateway
const env = {
  EVENTSTORE_URL: stack.eventStoreUrl,
  DATABASE_URL: stack.databaseUrl,
  EVENTSTORE_NAMESPACE: stack.namespace,
  MARKER_SECRET: 'a marker secret of the tests',
}
const tasks = tasksOf(stack.url, stack.demo.modelToken)
const ids = [await tasks.created(), await tasks.created({ model: 'overseas-video-2-0' })]
const settled: string[] = []
for (const id of ids) {
  const done = await tasks.reaches(id, 'succeeded')
  settled.push(done.headers.get('x-platform-id') ?? '')
}
await tasks.created({ prompt: 'x [[sandbox stall-queued]]' })
await stack.caughtUp()
const [first = '', second = ''] = settled

interface Report {
  readonly ok: boolean
  readonly findingsInAll: number
  readonly findings: readonly { readonly code: string; readonly sourceId: string }[]
}

const audit = async (): Promise<Ended & { readonly report: Report }> => {
  const ended = await tollgate(['audit', '--json'], env)
  return { ...ended, report: JSON.parse(ended.stdout) as Report }
}

/** Changes the ledger, audits, and puts it back as it was. */
async function tampered(
  t: Test,
  sql: string,
  expected: readonly (readonly [code: string, source: string])[],
): Promise<void> {
  const tables = ['lines', 'balances', 'days', 'settlements']
  for (const table of tables)
    await pool.query(`create table public.kept_${table} as table ledger.${table}`)
  await pool.query(sql)
  const { code: exitCode, report } = await audit()
  t.equal(exitCode, 1, sql)
  t.notOk(report.ok)
  const found = new Set(report.findings.map(({ code, sourceId }) => `${code} ${sourceId}`))
  for (const [code, source] of expected)
    t.ok(found.has(`${code} ${source}`), `${code} of ${source} among ${[...found].join(', ')}`)
  for (const table of tables) {
    await pool.query(`truncate ledger.${table}`)
    await pool.query(`insert into ledger.${table} select * from public.kept_${table}`)
    await pool.query(`drop table public.kept_${table}`)
  }
}

t.test('a ledger that is as the log says is clean', async (t) => {
  const { code, report, stderr } = await audit()
  t.equal(code, 0)
  t.equal(stderr, '', 'no progress for instant work')
  t.match(report, { ok: true, lines: 2, settledSources: 2, findings: [], notCompared: 0 })
})

const forged = `insert into ledger.lines
  select (jsonb_populate_record(l, jsonb_build_object(
    'line_id', 'video_forged:1', 'source_id', 'video_forged', 'seq', 1000000))).*
  from ledger.lines l where source_id = '${first}'`

for (const [what, sql, expected] of [
  [
    'a line with another amount',
    `update ledger.lines set amount = amount + 1 where source_id = '${first}'`,
    [
      ['line_differs', first],
      ['table_inconsistent', first],
    ],
  ],
  [
    'a line that belongs to somebody else, all tables in agreement',
    `update ledger.lines set tenant_id = 'tenant_other' where source_id = '${second}';
     update ledger.settlements set tenant_id = 'tenant_other' where source_id = '${second}';
     update ledger.days set tenant_id = 'tenant_other' where currency = 'USD'`,
    [['line_differs', second]],
  ],
  [
    'a hash that is not that of its line',
    `update ledger.lines set hash = decode(repeat('ab', 32), 'hex') where source_id = '${second}'`,
    [['line_differs', second]],
  ],
  [
    'a line that is gone',
    `delete from ledger.lines where source_id = '${second}'`,
    [['line_missing', second]],
  ],
  ['a line nobody settled', forged, [['line_unexplained', 'video_forged']]],
  [
    'balances with less settled, more granted, another limit',
    `update ledger.balances set settled = settled - 1 where tenant_id = 'tenant_demo' and currency = 'CNY';
     update ledger.balances set granted = granted + 1 where tenant_id = 'tenant_demo' and currency = 'USD';
     update ledger.balances set credit_limit = 5 where tenant_id = 'tenant_other' and currency = 'USD'`,
    [
      ['balance_differs', 'tenant_demo CNY'],
      ['balance_differs', 'tenant_demo USD'],
      ['balance_differs', 'tenant_other USD'],
    ],
  ],
  [
    'balances that are gone or too many',
    `delete from ledger.balances where tenant_id = 'tenant_demo' and currency = 'CNY';
     insert into ledger.balances values ('tenant_nobody', 'USD', 7, 0, 0, 0, 0, 1)`,
    [
      ['balance_differs', 'tenant_demo CNY'],
      ['balance_differs', 'tenant_nobody USD'],
    ],
  ],
  [
    'a day that counts another quantity, a result that is not there',
    `update ledger.days set quantity = quantity + 1;
     delete from ledger.settlements where source_id = '${first}'`,
    [['table_inconsistent', first]],
  ],
] as const)
  t.test(`found: ${what}`, (t) => tampered(t, sql, expected))

t.test('put back, it is clean again, in words for people', async (t) => {
  const ended = await tollgate(['audit'], env)
  t.match(ended, { code: 0, stdout: /^clean: \d+ events, 2 settled results, 2 lines/, stderr: '' })
})

t.test('a rebuild of a read model that is as the log says is equal and swaps', async (t) => {
  const ended = await tollgate(['rebuild', 'ledger', '--json'], env)
  t.equal(ended.code, 0)
  t.match(JSON.parse(ended.stdout), { outcome: 'swapped' })
  t.match((await tollgate(['rebuild', 'tasks'], env)).stdout, /tasks: swapped after \d+ events/)
})

t.test('a rebuild that differs changes nothing, says so and exits 1', async (t) => {
  await pool.query(`update ledger.lines set amount = amount + 1 where source_id = '${first}'`)
  const ended = await tollgate(['rebuild', 'ledger'], env)
  t.equal(ended.code, 1)
  t.match(ended.stdout, /ledger: different after \d+ events/)
  t.match(ended.stderr, /what is live differs/)
  const { rows } = await pool.query('select amount from ledger.lines where source_id = $1', [first])
  t.match(rows, [{ amount: /^6\.0094/ }], 'what is live was left alone')
  t.equal((await audit()).report.findings[0]?.code, 'line_differs')
  const forced = await tollgate(['rebuild', 'ledger', '--force'], env)
  t.equal(forced.code, 0)
  t.equal((await audit()).code, 0, 'the log has the last word')
})

t.test('a settlement appended to the log by hand is found', async (t) => {
  const events = await log.readStream(taskStream(first))
  const original = events.find(({ type }) => type === 'TaskSettled')
  if (original?.type !== 'TaskSettled') return t.fail('it was settled')
  const { data, metadata } = original
  await log.append(
    taskStream(first),
    [{ type: 'TaskSettled', id: randomUUID(), data, metadata }],
    'any',
  )
  const { code, report } = await audit()
  t.equal(code, 1)
  const codes = report.findings.map((finding) => finding.code)
  t.ok(codes.includes('settled_twice'), codes.join(' '))
  t.ok(codes.includes('settlement_without_success'), codes.join(' '))
  t.ok(codes.includes('ledger_stopped'), 'the ledger refuses to settle it twice')
})
