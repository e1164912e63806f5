import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createJobProcess } from '../../../../src/app/finance/statements/process.ts'
import { buildTree, type TreeJob } from '../../../../src/app/finance/statements/tree.ts'
import { statementPdf } from '../../../../src/app/finance/statements/document/paper/pdf.ts'
import { silentLog } from '../../../../src/kernel/log.ts'
import { launchStatements } from '../../../../src/start/statements.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { issued } from './document/support/source.ts'
import { startClosingWorld } from './support/closing-world.ts'

const world = await startClosingWorld(t)
const tenantId = 'tenant_child'
const atMs = Date.parse('2026-01-20T00:00:00Z')
await world.tenant(tenantId)
await world.grant(tenantId, 'CNY', '100')
for (let n = 0; n < 20; n += 1)
  await world.call({ tenantId, currency: 'CNY', atMs: atMs + n, lines: [{}, {}] })
await world.settle()

const job: TreeJob = {
  tenantId,
  currency: 'CNY',
  fromMs: Date.parse('2026-01-01T00:00:00Z'),
  toMs: Date.parse('2026-02-01T00:00:00Z'),
  asOf: String(await world.log.endPosition()),
  since: '-1',
  late: 0,
  first: '["close",1]',
}
const expected = await buildTree(world.pool, job)

/** Does jobs in a child, and has the children that it started. */
function started(t: Test, idleMs?: number) {
  const children: ChildProcess[] = []
  const launch = (): ChildProcess => {
    const child = launchStatements(world.databaseUrl)
    children.push(child)
    return child
  }
  const { run, pid, stop } = createJobProcess({
    launch,
    logger: silentLog,
    ...(idleMs === undefined ? {} : { idleMs }),
  })
  t.teardown(stop)
  const build = (of = job, signal?: AbortSignal) => run('tree', of, signal)
  return { run, build, pid, stop, children }
}

t.test('a child builds the tree, starts with the first job and ends without one', async (t) => {
  const { build, pid, children } = started(t, 50)
  t.equal(pid(), undefined)
  t.same(await build(), expected)
  t.equal(children.length, 1)
  await eventually('the child has ended', () => Promise.resolve(pid() === undefined))
  t.same(await build(), expected, 'the next job starts another one')
  t.equal(children.length, 2)
})

t.test('a job whose child is killed is given to the next one', async (t) => {
  const { build, children } = started(t)
  const built = build()
  children[0]?.kill('SIGKILL')
  t.same(await built, expected)
  t.equal(children.length, 2)
})

t.test('a job that no child survives fails, and the next one does not', async (t) => {
  const { build, children } = started(t)
  const built = build()
  const failed = t.rejects(built, /ended again and again/)
  for (let lives = 0; lives < 3; lives += 1) {
    await eventually('a child runs', () => Promise.resolve(children.length > lives))
    const child = children[lives]
    child?.kill('SIGKILL')
    if (child?.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  await failed
  t.same(await build(), expected)
})

t.test('an error of Postgres fails the job in words', async (t) => {
  const { build } = started(t)
  await t.rejects(build({ ...job, asOf: '99999999999999999999' }), /out of range/)
  t.same(await build(), expected)
})

t.test('more than eight waiting jobs are refused, and a stop ends them all', async (t) => {
  const { build, pid, stop, children } = started(t)
  const jobs = Array.from({ length: 9 }, () => build())
  const ended = Promise.allSettled(jobs)
  await t.rejects(build(), { code: 'overloaded' })
  await stop()
  const refusal = { code: 'overloaded', message: 'the service is shutting down' }
  for (const one of await ended) t.match(one, { status: 'rejected', reason: refusal })
  await t.rejects(build(), refusal)
  await sleep(0)
  t.equal(children.length, 1)
  t.equal(pid(), undefined)
})

t.test('a job that its caller takes back is not done, and the next one is', async (t) => {
  const { build, children } = started(t)
  const left = new AbortController()
  const gone = { code: 'overloaded', message: 'the caller no longer waits' }
  const running = t.rejects(build(job, left.signal), gone)
  const waiting = t.rejects(build(job, left.signal), gone)
  const next = build()
  left.abort()
  await Promise.all([running, waiting])
  t.same(await next, expected)
  await t.rejects(build(job, left.signal), gone)
  t.equal(children.length, 1, 'no child was ended for it')
})

t.test('paper is the same bytes from every process, also from one that takes over', async (t) => {
  const { run, children } = started(t)
  const here = await statementPdf({ source: issued })
  const asked = run('pdf', { source: issued })
  children[0]?.kill('SIGKILL')
  t.ok(here.equals(await asked))
  t.equal(children.length, 2)
})
