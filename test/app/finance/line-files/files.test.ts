import { type ChildProcess, execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { type Cells, exportLines, lineCell } from '../../../../projections/ledger/query.ts'
import { createLineFiles, type MadeFile } from '../../../../src/app/finance/line-files/files.ts'
import type { LinesJob } from '../../../../src/app/finance/line-files/job.ts'
import { createJobProcess } from '../../../../src/app/finance/statements/process.ts'
import { silentLog } from '../../../../src/kernel/log.ts'
import { createDiskFloor } from '../../../../src/storage/local/disk.ts'
import { launchStatements } from '../../../../src/start/statements.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { readParquet } from '../../../helpers/parquet.ts'
import { notLinux } from '../../../helpers/requirements.ts'
import { startClosingWorld } from '../statements/support/closing-world.ts'

const run = promisify(execFile)

const world = await startClosingWorld(t)
const tenantId = 'tenant_files'
const atMs = Date.parse('2026-01-20T00:00:00Z')
await world.tenant(tenantId)
await world.grant(tenantId, 'CNY', '100')
const [first = ''] = await world.call({ tenantId, currency: 'CNY', atMs, lines: [{}] })
await world.call({
  tenantId,
  currency: 'CNY',
  atMs: atMs + 1,
  lines: [{ price: '0' }, { quantity: Number.MAX_SAFE_INTEGER, price: '0.000001' }],
})
await world.settle()
await world.refund(tenantId, 'CNY', first, '0.000000000001')
await world.settle()

const filter = { tenantId, asOf: (await world.log.endPosition()) ?? 0n }
const lines: Cells[] = []
for await (const page of exportLines(world.pool, filter, {})) lines.push(...page)
const present = new AbortController().signal
const hasRoom = () => Promise.resolve()

/** Files made by children of this test. */
function started(t: Test, mostLines?: number) {
  const directory = join(t.testdir({}), 'line-files')
  const children: ChildProcess[] = []
  const launch = (): ChildProcess => {
    const child = launchStatements(world.databaseUrl)
    children.push(child)
    return child
  }
  const process = createJobProcess({ launch, logger: silentLog })
  t.teardown(() => process.stop())
  const files = createLineFiles({
    directory,
    checkDisk: hasRoom,
    write: (job: LinesJob, callerGone) => process.run('lines', job, callerGone),
    ...(mostLines !== undefined && { mostLines }),
  })
  const left = () => (existsSync(directory) ? readdirSync(directory) : [])
  return { files, children, directory, left, process }
}

async function contentOf(made: MadeFile | undefined) {
  const parts: Uint8Array[] = []
  for await (const part of made?.parts ?? []) parts.push(part)
  const bytes = Buffer.concat(parts)
  t.equal(made?.sizeBytes, bytes.length)
  return readParquet(bytes)
}

/** Whether a file has every line, to the last digit. */
async function isWhole(t: Test, made: MadeFile | undefined): Promise<void> {
  const { rows } = await contentOf(made)
  const of = (name: keyof typeof lineCell) => lines.map((line) => line[lineCell[name]])
  t.same(lines.length, 3)
  for (const name of ['line_id', 'price', 'amount', 'adjusted', 'net', 'hash'] as const)
    t.same(
      rows.map((row) => row[name]),
      of(name),
      name,
    )
  t.same(
    rows.map((row) => String(row['quantity'])),
    of('quantity'),
  )
}

t.test('a file is whole, exact, and has no name while it is sent', async (t) => {
  const { files, directory, left } = started(t)
  const made = await files.parquet({ filter }, present)
  t.same(left(), [])
  t.equal(statSync(directory).mode & 0o777, 0o700)
  await isWhole(t, made)
  const behind = await files.parquet(
    { filter, after: lines[0]?.[lineCell.line_id] ?? '', limit: 1 },
    present,
  )
  const { rows } = await contentOf(behind)
  t.same(
    rows.map((row) => row['line_id']),
    [lines[1]?.[lineCell.line_id]],
  )
})

t.test('a start removes what a former process left', async (t) => {
  const directory = t.testdir({ 'line-files': { '1.parquet': 'PAR1' } })
  const files = createLineFiles({
    directory: join(directory, 'line-files'),
    checkDisk: hasRoom,
    write: () => Promise.reject(new Error('no process')),
  })
  await t.rejects(files.parquet({ filter }, present), /no process/)
  t.same(readdirSync(join(directory, 'line-files')), [])
})

t.test('a child that is killed in the job leaves no part of its file', async (t) => {
  const { files, children, left } = started(t)
  const made = files.parquet({ filter }, present)
  await eventually('a child runs', () => Promise.resolve(children.length === 1))
  children[0]?.kill('SIGKILL')
  await isWhole(t, await made)
  t.equal(children.length, 2)
  t.same(left(), [])
})

t.test('a file that no child survives fails, and the next one does not', async (t) => {
  const { files, children, left } = started(t)
  const failed = t.rejects(files.parquet({ filter }, present), /ended again and again/)
  for (let lives = 0; lives < 3; lives += 1) {
    await eventually('a child runs', () => Promise.resolve(children.length > lives))
    const child = children[lives]
    child?.kill('SIGKILL')
    if (child?.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  await failed
  t.same(left(), [])
  await isWhole(t, await files.parquet({ filter }, present))
})

t.test(
  'a full disk fails the file in words, and harms no other one',
  { skip: notLinux },
  async (t) => {
    const { files, left, process } = started(t)
    await isWhole(t, await files.parquet({ filter }, present))
    // A limit on the size of its files stands for a disk.
    const limit = (bytes: string) =>
      run('prlimit', ['--pid', String(process.pid()), `--fsize=${bytes}:unlimited`])
    await limit('100')
    await t.rejects(files.parquet({ filter }, present), { code: 'storage_full' })
    t.same(left(), [])
    await limit('unlimited')
    await isWhole(t, await files.parquet({ filter }, present))
  },
)

t.test('a caller who has gone withdraws the file', async (t) => {
  const { files, left, children } = started(t)
  const gone = new AbortController()
  const asked = [1, 2].map(() => files.parquet({ filter }, gone.signal))
  const outcomes = Promise.allSettled(asked)
  await eventually('a child runs', () => Promise.resolve(children.length === 1))
  gone.abort(new Error('gone'))
  const withdrawn = {
    status: 'rejected',
    reason: { code: 'overloaded', message: 'the caller no longer waits' },
  }
  t.match(await outcomes, [withdrawn, withdrawn])
  await isWhole(t, await files.parquet({ filter }, present))
  t.same(left(), [])
  t.equal(children.length, 1)
})

t.test('more lines than a file may have, and a line that is not there, make none', async (t) => {
  const { files, left } = started(t, lines.length - 1)
  t.equal(await files.parquet({ filter }, present), undefined)
  const made = await files.parquet({ filter, limit: lines.length - 1 }, present)
  t.equal((await contentOf(made)).rows.length, 2)
  const foreign = files.parquet({ filter, after: 'line_of_another' }, present)
  await t.rejects(foreign, { name: 'DomainError', code: 'invalid_cursor' })
  t.same(left(), [])
})

t.test('files that wait, and files that are sent, have a bound', async (t) => {
  const { files, children } = started(t)
  const asked = Array.from({ length: 10 }, () => files.parquet({ filter }, present))
  const outcomes = await Promise.allSettled(asked)
  const refused = outcomes.filter(({ status }) => status === 'rejected')
  t.match(refused, [{ reason: { code: 'overloaded' } }], 'one is made, eight wait')
  const sent = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  for (let more = sent.length; more < 16; more += 1)
    sent.push(await files.parquet({ filter }, present))
  await t.rejects(files.parquet({ filter }, present), {
    code: 'overloaded',
    message: /16 files of lines/,
  })
  const reading = sent[0]?.parts[Symbol.asyncIterator]()
  await reading?.next()
  await reading?.return?.()
  await isWhole(t, await files.parquet({ filter }, present))
  for (const made of sent.slice(1)) await contentOf(made)
  t.equal(children.length, 1)
})

t.test('a folder that cannot be made is an error of the file alone', async (t) => {
  const folder = t.testdir({})
  const directory = join(folder, 'taken', 'line-files')
  mkdirSync(join(folder, 'taken'))
  const files = createLineFiles({
    directory,
    checkDisk: hasRoom,
    write: () => Promise.resolve(undefined),
  })
  t.equal(await files.parquet({ filter }, present), undefined)
  const other = createLineFiles({
    directory: join(directory, 'file', 'below'),
    checkDisk: hasRoom,
    write: () => Promise.resolve(undefined),
  })
  writeFileSync(join(directory, 'file'), '')
  await t.rejects(other.parquet({ filter }, present), { code: 'ENOTDIR' })
})

t.test('a disk with little room is left to what must not be lost', async (t) => {
  const files = createLineFiles({
    directory: t.testdirName,
    checkDisk: createDiskFloor({
      directory: t.testdirName,
      floorBytes: 2,
      freeBytes: () => Promise.resolve(1),
    }),
    write: () => Promise.reject(new Error('nothing is written')),
  })
  await t.rejects(files.parquet({ filter }, present), { code: 'storage_full' })
})
