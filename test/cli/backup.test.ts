import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import t from 'tap'
import { tasksOf } from '../e2e/support/client.ts'
import { pageText, printedCalls } from '../helpers/printed-calls.ts'
import { removeFolder } from '../helpers/remove-folder.ts'
import { serve, shell, tollgateProcess } from './support/tollgate.ts'

/** Every command of `docs/backup.md`, run from the page on a gateway that is used meanwhile. */

const folder = await mkdtemp(join(tmpdir(), 'tollgate-backup-'))
t.teardown(() => removeFolder(folder))
const backups = join(folder, 'backups')
await mkdir(backups)
const dataDir = join(folder, 'data')
const restored = join(folder, 'restored')
/** Where Postgres keeps a table of it. */
let linesPath = ''

const page = pageText('docs/backup.md')
/** The commands of a section; `serve` does not end, so the test starts that itself. */
function commandsOf(title: string): string {
  const [, section = ''] = page.split(`\n## ${title}\n`)
  const [own = ''] = section.split('\n## ')
  const commands = printedCalls(own, '').replace('tollgate serve\n', '')
  t.not(commands, '', title)
  return commands
}
const run = async (title: string, at: string) =>
  shell(`export BACKUPS='${backups}' DATA_DIR='${at}'\n${commandsOf(title)}`, folder)
/** Gateways that a failed test left. */
async function started(at: string) {
  const gateway = await serve(at)
  t.teardown(() => gateway.end('SIGKILL'))
  return gateway
}
/** The file of a table, of a gateway that runs. */
async function pathOf(table: string, at: string): Promise<string> {
  const runtime = await readFile(join(at, 'runtime.json'), 'utf8')
  const { databaseUrl } = JSON.parse(runtime) as { databaseUrl: string }
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ path: string }>('select pg_relation_filepath($1) as path', [
    table,
  ])
  await client.end()
  return rows[0]?.path ?? ''
}
const audit = async (at: string) => tollgateProcess(['audit'], { DATA_DIR: at })

t.test('a log backed up in traffic and lost is restored, and so is an older log', async (t) => {
  const first = await started(dataDir)
  const { baseUrl, modelToken } = first.demo
  const tasks = tasksOf(baseUrl, modelToken)
  const before = await tasks.created()
  await tasks.reaches(before, 'succeeded')
  const running = await tasks.created({ prompt: 'x [[sandbox queued-ms=0 running-ms=600000]]' })
  const image = await fetch(`${baseUrl}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${modelToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'image-2', prompt: 'a boat', response_format: 'url' }),
  })
  const { data } = (await image.json()) as { data: readonly { url: string }[] }
  const { pathname, search } = new URL(data[0]?.url ?? '')
  const picture = Buffer.from(await (await fetch(baseUrl + pathname + search)).arrayBuffer())

  const [made] = await Promise.all([
    run('Back up embedded stores', dataDir),
    ...[1, 2, 3, 4].map(() => tasks.created()),
  ])
  t.match(made, { code: 0, stdout: /takenAt: .*\nevents: \d+\nwithObjects: true[\s\S]*"takenAt"/ })
  const later = await tasks.created()
  await tasks.reaches(later, 'succeeded')
  t.equal(await first.end('SIGKILL'), null)

  t.match(await run('Restore embedded stores', restored), { code: 0, stdout: /^whole: \d+ events/ })
  t.notOk(existsSync(join(restored, 'postgres')))
  const second = await started(restored)
  linesPath = await pathOf('ledger.lines', restored)
  const again = tasksOf(second.demo.baseUrl, modelToken)
  t.equal((await again.get(before)).body.status, 'succeeded')
  t.equal((await again.get(later)).status, 404, 'it came after the backup')
  t.equal((await again.get(running)).status, 200, 'it is looked at on')
  const same = Buffer.from(
    await (await fetch(second.demo.baseUrl + pathname + search)).arrayBuffer(),
  )
  t.ok(same.equals(picture), 'its URL is valid here too')
  t.equal(await second.end('SIGTERM'), 0)
  t.match(await audit(restored), { code: 0, stdout: /^clean/ })

  t.match(await run('Damage, and what to do', dataDir), { code: 0, stdout: /^whole/ })
  await rename(join(dataDir, 'eventstore'), join(folder, 'newer'))
  await mkdir(join(dataDir, 'eventstore'))
  await shell(`cp -a '${backups}/monday/eventstore/.' '${dataDir}/eventstore'`, folder)
  const refused = await tollgateProcess(['serve'], { DATA_DIR: dataDir, PORT: '0' })
  t.match(refused, { code: 78, stderr: /the log is older than the database[\s\S]*rebuild/ })
  const after = await run('After an older log', dataDir)
  t.match(after, { code: 0, stdout: /ledger[\s\S]*clean: / }, after.stdout)
  t.match(after.stdout, /tenant_demo/, 'what is lost is shown by tenant')
})

t.test('a database that is damaged or lost is built from the log', async (t) => {
  const table = await open(join(restored, 'postgres', 'cluster', linesPath), 'r+')
  await table.write(Buffer.alloc(64, 'damaged'), 0, 64, 0)
  await table.close()
  t.match(await audit(restored), {
    code: 1,
    stderr: /files of Postgres are damaged: invalid page .*docs\/backup\.md/,
  })
  await rm(join(restored, 'postgres'), { recursive: true })
  const gateway = await started(restored)
  t.equal(await gateway.end('SIGTERM'), 0)
  t.match(await audit(restored), { code: 0, stdout: /^clean/ })
})

t.test('a backup goes to a new folder, which has its final name once it is whole', async (t) => {
  const env = { DATA_DIR: dataDir }
  const backup = async (to: string, ...more: readonly string[]) =>
    tollgateProcess(['backup', to, ...more], env)
  t.match(await backup(join(backups, 'monday')), { code: 1, stderr: /not empty: .*monday/ })
  t.match(await backup(join(dataDir, 'copy')), { code: 1, stderr: /cannot be below DATA_DIR/ })
  const file = join(folder, 'file')
  await writeFile(file, '')
  t.match(await backup(file), { code: 1, stderr: /file is not a folder/ })
  t.match(await backup(join(file, 'copy')), { code: 1, stderr: /is not a folder/ })
  const external = await tollgateProcess(['backup', join(backups, 'x')], {
    ...env,
    EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
    DATABASE_URL: 'postgres://127.0.0.1:1/x',
    SANDBOX: 'on',
    MARKER_SECRET: 'a marker secret of the tests, of 32 characters',
  })
  t.match(external, { code: 1, stderr: /with their own tools/ })

  const partial = join(backups, 'tuesday.partial')
  await mkdir(partial)
  await writeFile(join(partial, 'left by one that was killed'), '')
  const torn = 'a record that its process did not finish'
  await mkdir(join(dataDir, 'spool'), { recursive: true })
  await writeFile(join(dataDir, 'spool', 'torn-000001.spool'), torn)
  const made = await backup(join(backups, 'tuesday'), '--no-objects', '--json')
  t.match(made, { code: 0, stdout: /"withObjects":false,"damagedSpoolRecords":1/ })
  const kept = /kept as (spool\/torn-000001\.spool\.corrupt-\w+):/.exec(made.stderr)?.[1] ?? ''
  t.equal(await readFile(join(backups, 'tuesday', kept), 'utf8'), torn)
  t.notOk(existsSync(partial))
  t.notOk(existsSync(join(backups, 'tuesday', 'objects')))

  const db = join(dataDir, 'eventstore', 'db')
  const [table = ''] = (await readdir(db)).filter((name) => name.endsWith('.ldb'))
  const bytes = await readFile(join(db, table))
  bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40)
  await writeFile(join(db, table), bytes)
  const damaged = await backup(join(backups, 'wednesday'))
  t.match(damaged, { code: 1, stderr: /damaged/ })
  t.notOk(existsSync(join(backups, 'wednesday')), 'nothing has the name of a backup')
})
