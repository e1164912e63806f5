import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { chainHead } from '../../projections/ledger/query.ts'
import { readLastAudit } from '../../src/app/audit/last-audit.ts'
import { taskStream } from '../../src/domain/task/events.ts'
import { startStack } from '../helpers/stack.ts'
import { tasksOf } from '../e2e/support/client.ts'
import { environmentOf, tollgate } from './support/commands.ts'
import { tollgateProcess, type Ended } from './support/tollgate.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const { pool, log } = stack.gateway
const env = environmentOf(stack)
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
  readonly position: string
  readonly events: number
  readonly onTrust: readonly string[]
  readonly findingsInAll: number
  readonly findings: readonly {
    readonly code: string
    readonly table: string
    readonly key: string
  }[]
  readonly chain: { readonly lines: string; readonly head: string }
}

const audit = async (
  ...options: readonly string[]
): Promise<Ended & { readonly report: Report }> => {
  const ended = await tollgate(['audit', '--json', ...options], env)
  return { ...ended, report: JSON.parse(ended.stdout) as Report }
}

t.test('read models that equal the log are clean', async (t) => {
  const { code, report, stderr } = await audit()
  t.equal(code, 0)
  t.equal(stderr, '', 'no progress for instant work')
  t.match(report, { ok: true, lines: 2, settledSources: 2, findings: [], notCompared: 0 })
  t.equal(report.chain.head, (await chainHead(pool)).hash)
  t.match(await readLastAudit(pool), { ageSeconds: Number, findings: 0 }, 'metrics can tell of it')
})

t.test('a row changed by hand is named with both values, and the exit code is 1', async (t) => {
  const changed = `update tasks.tasks set status = 'failed' where platform_id = '${first}';
    update ledger.lines set amount = amount + 1 where source_id = '${second}'`
  await pool.query(changed)
  const { code, stdout } = await tollgateProcess(['audit'], env)
  t.equal(code, 1)
  const lines = stdout.trimEnd().split('\n')
  t.match(lines, [
    new RegExp(
      `^row_differs  ledger\\.lines ${second}:1  @\\d+  amount is \\S+, the log says \\S+$`,
    ),
    new RegExp(
      `^row_differs  tasks\\.tasks ${first}  @\\d+  status is failed, the log says succeeded$`,
    ),
    /^2 finding\(s\): /,
    /^chain: 2 lines, head [0-9a-f]{64} as stored$/,
  ])
  t.equal(lines.length, 4, stdout)
  await pool.query(`update tasks.tasks set status = 'succeeded' where platform_id = '${first}';
    update ledger.lines set amount = amount - 1 where source_id = '${second}'`)
})

t.test('an audit resumes from the given file', async (t) => {
  const path = join(t.testdir(), 'audit.json')
  const whole = await audit('--state', path)
  t.equal(whole.code, 0)
  t.ok(whole.report.events > 10)
  t.match(JSON.parse(await readFile(path, 'utf8')), { version: 2, head: whole.report.chain.head })
  const { code, report } = await audit('--state', path)
  t.equal(code, 0)
  t.match(report, { resumedFrom: whole.report.position, events: 0, chain: whole.report.chain })
  t.same(whole.report.onTrust, [], 'a full audit takes nothing on trust')
  const { stdout } = await tollgate(['audit', '--state', path], env)
  t.match(stdout, /^no finding in the compared rows: 0 events/)
  t.notMatch(stdout, 'clean')
  t.match(stdout, /^not compared again after an earlier audit: ledger\.settlements, .*rows up to/m)
  t.match(stdout, /tasks\.tasks, tasks\.polls, ledger\.holds: tasks without an event after/)
  await writeFile(path, '{"version": 99}')
  const refused = await tollgate(['audit', '--state', path], env)
  t.match(refused, { code: 1, stderr: /is not an audit state of this version/ })
})

t.test('restored read models are clean, in plain text', async (t) => {
  const ended = await tollgate(['audit'], env)
  t.match(ended, { code: 0, stdout: /^clean: \d+ events, 2 settled results, 2 lines/, stderr: '' })
  t.match(ended.stdout, `head ${(await chainHead(pool)).hash} as stored`)
})

t.test('a rebuild of a read model that equals the log swaps it', async (t) => {
  const ended = await tollgate(['rebuild', 'ledger', '--json'], env)
  t.equal(ended.code, 0)
  t.match(JSON.parse(ended.stdout), { outcome: 'swapped' })
  const both = await tollgate(['rebuild', 'tasks', 'timeline'], env)
  t.match(both.stdout, /tasks: swapped after \d+ events[\s\S]*timeline: swapped after \d+ events/)
  const unknown = await tollgate(['rebuild', 'tasks', 'no-such'], env)
  t.match(unknown, { code: 2, stdout: '', stderr: /no read model has the name no-such; there are/ })
})

t.test('a check of equal read models swaps no schema and leaves none behind', async (t) => {
  const oids = async () =>
    (await pool.query(`select oid, nspname from pg_namespace where nspname ~ '^(ledger|access)'`))
      .rows
  const before = await oids()
  const ended = await tollgate(['rebuild', 'ledger', 'access', '--check'], env)
  t.match(ended, { code: 0, stderr: '' })
  t.match(ended.stdout, /^lines +\d+ +\d+ +equal$/m)
  t.match(ended.stdout, /ledger: equal after \d+ events[\s\S]*access: equal after \d+ events/)
  t.same(await oids(), before, 'the same schemas')
  const both = await tollgate(['rebuild', 'ledger', '--check', '--force'], env)
  t.match(both, { code: 2, stdout: '', stderr: /--check' cannot be used with option '--force'/ })
})

t.test('a check of a read model that differs names the table and exits 1', async (t) => {
  await pool.query(`update access.users set name = name || 'x'`)
  const ended = await tollgate(['rebuild', 'access', '--check', '--json'], env)
  t.equal(ended.code, 1)
  t.match(JSON.parse(ended.stdout), { outcome: 'different', comparison: { tables: ['users'] } })
  await pool.query(`update access.users set name = left(name, -1)`)
  t.equal((await tollgate(['rebuild', 'access', '--check'], env)).code, 0)
})

t.test('a rebuild that differs changes no table, shows both totals and exits 1', async (t) => {
  await pool.query(`update ledger.lines set amount = amount + 1 where source_id = '${first}'`)
  const ended = await tollgate(['rebuild', 'ledger'], env)
  t.equal(ended.code, 1)
  t.match(ended.stdout, /ledger: different after \d+ events/)
  t.match(ended.stdout, /^lines +2 +2 +differs$/m)
  t.match(ended.stdout, /^settled CNY +5\S+ +5\S+$/m, 'totals side by side')
  t.match(ended.stdout, /^tenant_demo +domestic-video\S+ +1 +1 +6\.0094\S* +5\.0094\S* +-1 +CNY$/m)
  t.match(ended.stderr, /The live tables differ from the log; nothing was changed/)
  t.match(ended.stderr, /tollgate rebuild ledger --force/)
  const { rows } = await pool.query('select amount from ledger.lines where source_id = $1', [first])
  t.match(rows, [{ amount: /^6\.0094/ }], 'what is live was left alone')
  t.match((await audit()).report.findings, [{ code: 'row_differs', table: 'ledger.lines' }])
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
  t.notOk(codes.includes('read_model_stopped'), 'the first one counts, and the ledger goes on')
  t.notOk(codes.includes('row_missing'), codes.join(' '))
  t.notOk(codes.includes('event_not_applied'), codes.join(' '))
})
