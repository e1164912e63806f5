import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { prepareDataDir } from '../../infra/embedded/data-dir.ts'
import { journalStream } from '../../src/domain/call/events.ts'
import { eventId } from '../../src/kernel/ids.ts'
import { append, publishBook } from '../app/audit/support/audited.ts'
import { metadataOf } from '../eventlog/support/sample-events.ts'
import { adoptDatabase } from '../helpers/adopted.ts'
import { nodeArguments } from '../helpers/checkout.ts'
import { bareEnvironment } from '../helpers/child.ts'
import { startEventStore, testEventLog } from '../helpers/eventstore.ts'
import { acquireGatewayDatabase } from '../helpers/postgres.ts'
import { openTenant, Recorder } from '../projections/support/history.ts'
import { tollgate } from './support/commands.ts'

const CALLS = 20

const server = await startEventStore()
t.teardown(() => server.stop())
const { log, close, namespace } = await testEventLog({ server })
t.teardown(close)
const database = await acquireGatewayDatabase()
t.teardown(() => database.drop())
const env = {
  EVENTSTORE_URL: server.url,
  DATABASE_URL: database.url,
  EVENTSTORE_NAMESPACE: namespace,
  MARKER_SECRET: 'a marker secret of the tests',
}
await adoptDatabase(database.url, log)
const recorder = new Recorder()
await append(log, [publishBook(recorder), ...openTenant(recorder, 'tenant_1')])

const folder = t.testdir()
const replica = join(folder, 'replica')
const drain = (dataDir: string) => tollgate(['spool', 'drain'], { ...env, DATA_DIR: dataDir })

/** Calls that the log has, each as often as it has it. */
async function settled(): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { type, data } of log.readAll())
    if (type === 'CallSettled') ids.push(data.callId)
  return ids.sort()
}

const all = Array.from({ length: CALLS }, (_, n) => `call_${n}`).sort()

t.test('a replica that is killed while the log is away leaves a full spool', async (t) => {
  await server.kill9()
  const script = new URL('support/spooling-child.ts', import.meta.url)
  const args = [...nodeArguments(script), replica, server.url, String(CALLS)]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...bareEnvironment(), EVENTSTORE_NAMESPACE: namespace },
  })
  const exited = once(child, 'exit')
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await exited
  t.match(await drain(replica), { code: 75 }, 'the log is still away')
  await server.restart()
  t.same(await settled(), [])
  for (const copy of ['first copy', 'second copy'])
    await cp(replica, join(folder, copy), { recursive: true })
})

t.test('a folder in use, and one without a spool, are refused', async (t) => {
  const held = await prepareDataDir(replica)
  t.match(await drain(replica), { code: 1, stderr: /is in use by/ })
  await held.release()
  await mkdir(join(folder, 'empty'))
  t.match(await drain(join(folder, 'empty')), {
    code: 1,
    stderr: /there is no spool in .*DATA_DIR/,
  })
})

t.test(
  'it is drained while a copy of it is, then again: each record is settled once',
  async (t) => {
    const both = await Promise.all([drain(replica), drain(join(folder, 'first copy'))])
    for (const ended of both)
      t.match(ended, { code: 0, stdout: `${CALLS} records left the spool, which is empty` })
    t.same(await settled(), all)
    t.same(await readdir(join(replica, 'spool')), ['spool-id'])
    t.match(await drain(replica), { code: 0, stdout: /^0 records/ })
    t.same(await settled(), all)
  },
)

t.test('a copy that is drained after the spool was given up settles nothing twice', async (t) => {
  const id = eventId('tenant_1\nUSD', 'give-up-spool:r:1', 0)
  const at = '2026-03-04T05:06:07.000Z'
  const data = {
    tenantId: 'tenant_1',
    currency: 'USD',
    amount: '1',
    spool: 'a spool',
    replica: 'r',
    reportedAt: at,
    givenUpAt: at,
  } as const
  const metadata = { ...metadataOf('give-up-spool:r:1'), tenantId: 'tenant_1' }
  await log.append(
    journalStream(id, 0),
    [{ type: 'SpoolGivenUp', data, id, metadata }],
    'no_stream',
  )
  t.match(await drain(join(folder, 'second copy')), { code: 0 })
  t.same(await settled(), all)
})

t.test('the ledger is whole', async (t) => {
  const { code, stdout } = await tollgate(['audit', '--json'], { ...env, DATA_DIR: replica })
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { ok: true, settledSources: CALLS, lines: 2 * CALLS, findings: [] })
})
