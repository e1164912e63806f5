import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { queriesOf, tasksOf } from '../e2e/support/client.ts'
import { readTable } from '../helpers/csv.ts'
import { readParquet } from '../helpers/parquet.ts'
import { sharedStack } from '../helpers/stack.ts'
import { tollgate } from './support/commands.ts'

const stack = await sharedStack(t)
const { demo, other } = stack
const env = {
  EVENTSTORE_URL: stack.eventStoreUrl,
  DATABASE_URL: stack.databaseUrl,
  EVENTSTORE_NAMESPACE: stack.namespace,
  MARKER_SECRET: 'a marker secret of the tests',
  PUBLIC_BASE_URL: 'https://gateway.example/v',
}
const exported = (...args: readonly string[]) => tollgate(['export', 'lines', ...args], env)
const ours = ['--tenant', demo.tenantId] as const

for (const [token, n] of [
  [demo.modelToken, 2],
  [other.modelToken, 1],
] as const)
  for (let made = 0; made < n; made += 1) {
    const tasks = tasksOf(stack.url, token)
    await tasks.reaches(await tasks.created(), 'succeeded')
  }
await stack.caughtUp()
const finance = queriesOf(stack.url, demo.queryToken)
const { body } = await finance.lines('')
const { items, as_of: asOf } = body.data
const today = String(items[0].settled_at).slice(0, 10)

t.test('each format is the file of the API', async (t) => {
  const of = async (format: string) => {
    const address = `${stack.url}/api/query/v1/ledger/lines?format=${format}&as_of=${asOf}`
    const answer = await fetch(address, { headers: { authorization: `Bearer ${demo.queryToken}` } })
    return answer.text()
  }
  for (const format of ['csv', 'ndjson']) {
    const made = await exported(...ours, '--format', format, '--as-of', asOf)
    t.equal(made.code, 0, made.stderr)
    t.equal(made.stdout, await of(format), format)
    t.equal(made.stderr, `2 lines as of position ${asOf}\n`)
  }
  const focus = await exported(...ours, '--format', 'focus', '--as-of', asOf, '--bom')
  t.ok(focus.stdout.startsWith('\uFEFF'))
  const rows = readTable(focus.stdout.slice(1))
  const named = readTable(await of('focus'))
  t.match(rows[0], { InvoiceIssuerName: 'gateway.example', ChargeCategory: 'Usage' })
  const ids = (all: typeof rows) =>
    all.map((row) => [row['x_LineId'], row['BilledCost'], row['ChargeCategory']])
  t.same(ids(rows), ids(named))
  t.ok(rows.some((row) => row['ChargeCategory'] === 'Purchase' && row['BilledCost'] !== '0'))
})

t.test(
  'Parquet has the lines of the other formats, and is whole once it has its name',
  async (t) => {
    const folder = t.testdir({})
    const made = await exported(...ours, '--format', 'parquet', '--as-of', asOf, '--out', folder)
    t.equal(made.code, 0, made.stderr)
    const name = `ledger-lines_${demo.tenantId}_at-${asOf}.parquet`
    t.same(readdirSync(folder), [name])
    const { columns, rows } = await readParquet(readFileSync(join(folder, name)))
    const json = await exported(...ours, '--format', 'ndjson', '--as-of', asOf)
    const lines = json.stdout.trim().split('\n')
    const expected = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    t.same(
      columns.map((column) => column.name),
      Object.keys(expected[0] ?? {}),
    )
    t.same(
      rows.map(({ amount, net, quantity, line_id, hash }) => [
        amount,
        net,
        quantity,
        line_id,
        hash,
      ]),
      expected.map((line) => [
        line['amount'],
        line['net'],
        BigInt(line['quantity'] as number),
        line['line_id'],
        line['hash'],
      ]),
    )
  },
)

t.test('a FOCUS file of a position is the same after terms and names were changed', async (t) => {
  const focus = async (...args: readonly string[]) => {
    const made = await exported('--format', 'focus', ...args)
    t.equal(made.code, 0, made.stderr)
    return made.stdout
  }
  const before = await focus('--as-of', asOf)
  const party = ['--legal-name', 'L', '--address', 'A', '--country', 'CN', '--number-prefix', 'L']
  for (const args of [
    ['billing', 'set', ...ours, ...party, '--terms', 'postpaid'],
    ['tenant', 'rename', demo.tenantId, 'another name'],
    ['tenant', 'rename-user', demo.userId, 'another name', ...ours],
  ]) {
    const set = await tollgate(args, env)
    t.equal(set.code, 0, set.stderr)
  }
  await stack.caughtUp()
  t.equal(await focus('--as-of', asOf), before)
  const now = await focus()
  t.match(now, /another name/, 'names of the position')
  const rows = readTable(now)
  const carried = rows.filter(
    (row) => row['ChargeDescription'] === 'balance at the change to postpaid terms',
  )
  t.ok(carried.every((row) => row['BillingAccountId'] === demo.tenantId))
  t.same(new Set(carried.map((row) => row['BillingCurrency'])), new Set(['CNY', 'USD']))
  const figures = (text: string) =>
    readTable(text).map((row) =>
      ['ChargeCategory', 'BilledCost', 'EffectiveCost', 'x_LineId'].map((name) => row[name]).join(),
    )
  t.same(
    figures(before).filter((row) => !figures(now).includes(row)),
    [],
    'what was billed before the change is billed the same',
  )
})

t.test('a range of days or a month of a zone, of one tenant or of all', async (t) => {
  const count = async (...args: readonly string[]) =>
    readTable((await exported('--as-of', asOf, ...args)).stdout).length
  t.equal(await count(...ours, '--month', today.slice(0, 7)), 2)
  t.equal(await count(...ours, '--month', '2020-02', '--tz', 'Asia/Shanghai'), 0)
  t.equal(await count(...ours, '--from', today), 2)
  t.equal(await count(...ours, '--to', today), 0)
  t.ok((await count()) >= 3, 'all tenants')
})

t.test('a file is named by what it holds, and has its name only when it is complete', async (t) => {
  const folder = t.testdir({})
  const named = await exported(...ours, '--month', '2020-02', '--out', folder, '--as-of', asOf)
  const name = `ledger-lines_${demo.tenantId}_2020-02-01_2020-03-01_at-${asOf}.csv`
  t.same([named.code, named.stdout, readdirSync(folder)], [0, '', [name]])
  t.match(named.stderr, new RegExp(`^0 lines as of position ${asOf}: .*${name}\n$`))
  const path = join(folder, 'lines.ndjson')
  t.equal((await exported(...ours, '--format', 'ndjson', '--out', path)).code, 0)
  t.equal(readFileSync(path, 'utf8').split('\n').length, 3)
})

t.test('a file that is cut off is named so', async (t) => {
  const folder = t.testdir({})
  const path = join(folder, 'full.csv')
  // The device that is always full stands for a disk.
  symlinkSync('/dev/full', `${path}.partial`)
  for (const [format, lines] of [
    ['csv', 0],
    ['parquet', 2],
  ] as const) {
    const { code, stderr } = await exported(...ours, '--format', format, '--out', path)
    t.equal(code, 1)
    const words = `cut off after ${lines} lines; they are in .*full\\.csv\\.partial: ENOSPC`
    t.match(stderr, new RegExp(words), format)
  }
  t.same(readdirSync(folder), ['full.csv.partial'])
})

t.test('what cannot be read is refused, naming the option', async (t) => {
  const cases: readonly (readonly [string, readonly string[], number?])[] = [
    ['--month', ['--month', '2026-13']],
    ['--month', ['--month', '2026-11', '--from', '2026-11-01']],
    ['--tz', ['--tz', 'Mars/Base', '--month', '2026-11']],
    ['--from', ['--from', 'yesterday']],
    ['--from', ['--from', '2026-02-02', '--to', '2026-02-01']],
    ['--as-of', ['--as-of', '-1']],
    ['--as-of', ['--as-of', '999999999999999999'], 1],
    ['--format', ['--format', 'xml']],
    ['--bom', ['--format', 'ndjson', '--bom']],
    ['--bom', ['--format', 'parquet', '--bom']],
    ['tenant_nobody', ['--tenant', 'tenant_nobody'], 1],
    ['missing', ['--out', '/missing/folder/x.csv'], 1],
  ]
  for (const [named, args, status = 2] of cases) {
    const { code, stdout, stderr } = await exported(...args)
    t.equal(code, status, args.join(' '))
    t.equal(stdout, '')
    t.match(stderr, named)
    t.notMatch(stderr, /\n {4}at /, 'no stack')
  }
})
