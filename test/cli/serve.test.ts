import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { askConsole } from '../e2e/support/console.ts'
import { call, tasksOf } from '../e2e/support/client.ts'
import { eventKey } from '../../infra/embedded/eventstore/keys.ts'
import { openStored } from '../infra/embedded/eventstore/support/small-log.ts'
import { identify, isAlive, processesOf, signal } from '../faults/driver/processes.ts'
import { eventually } from '../helpers/eventually.ts'
import { isLong } from '../helpers/long-run.ts'
import { pageText, printedCalls } from '../helpers/printed-calls.ts'
import { removeFolder } from '../helpers/remove-folder.ts'
import { tollgate } from './support/commands.ts'
import { serve, shell, tollgateProcess } from './support/tollgate.ts'

const folder = await mkdtemp(join(tmpdir(), 'tollgate-serve-'))
t.teardown(() => removeFolder(folder))
// As the README has it, seen from the folder it is started in.
const dataDir = join(folder, 'data')

/**
 * The first calls of the README and those that open a tenant, to this address and about this task; each
 * must succeed.
 */
function firstCalls(baseUrl: string, id: string): string {
  const [, section = ''] = /^## First calls$([\s\S]*?)^## /m.exec(pageText('README.md')) ?? []
  const [opening = ''] = pageText('docs/surfaces/admin.md').split('\n## ')
  const written = printedCalls(`${opening}\n${section}`, baseUrl)
    .replaceAll('cgt-…', id)
    .replaceAll('npm run tollgate --', 'tollgate')
  return `curl() { command curl --silent --show-error --fail-with-body "$@"; }\n${written}`
}

/** How a process was started, and what its C library was told. */
async function startOf(
  pid: number,
): Promise<{ readonly args: string; readonly malloc: readonly string[] }> {
  const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'utf8')
  const [args, variables] = await Promise.all([read('cmdline'), read('environ')])
  return {
    args: args.replaceAll('\0', ' '),
    malloc: variables.split('\0').filter((variable) => variable.startsWith('MALLOC_')),
  }
}

t.test('first start, calls, commands while it runs, kill -9, restart, SIGTERM', async (t) => {
  const first = await serve(dataDir)
  const { demo } = first
  const malloc = ['MALLOC_ARENA_MAX=1', 'MALLOC_MMAP_THRESHOLD_=131072']
  const bounded = { args: /--max-semi-space-size=16 .*--expose-gc .*main\.js serve/, malloc }
  const asGiven = { args: /^\S*node \S*main\.js serve/, malloc: [] } as const
  t.match(await startOf(first.pid), 'execve' in process ? bounded : asGiven)
  t.equal((await stat(join(dataDir, 'demo.json'))).mode & 0o777, 0o600)
  t.equal((await stat(join(dataDir, 'runtime.json'))).mode & 0o777, 0o600)
  t.match(demo, { tenantId: 'tenant_demo', modelToken: /^sk-/, queryToken: /^qak-/ })
  t.match(demo, { profileToken: /^pat-/, adminToken: /^adm-/, sandboxUrl: /^http/ })
  await eventually('the first steps are shown', () =>
    /Tollgate is ready at http.*\/docs[\s\S]*curl/.test(first.stderr()) ? true : undefined,
  )

  const [printed = ''] = /^ *TOKEN=[\s\S]*?^ *-d .*$/m.exec(first.stderr()) ?? []
  t.match((await shell(printed, folder)).stdout, /"object":"chat.completion"/, printed)

  const [, link = ''] = /(http\S*\/console\/enter\?code=\S+)/.exec(first.stderr()) ?? []
  const { origin, pathname, search, searchParams } = new URL(link)
  const form = { code: searchParams.get('code') ?? '' }
  t.match(await askConsole(origin, pathname + search), { status: 200, text: /signs you in once/ })
  const entered = await askConsole(origin, pathname, { form })
  t.match(entered, { status: 303, cookie: /^tollgate=tcs-/ })
  const { cookie } = entered
  t.match(await askConsole(origin, '/console', { cookie }), { status: 200, text: /operator/ })
  t.match(await askConsole(origin, pathname, { form }), {
    status: 403,
    text: /link was already used/,
  })

  const at = (text: string): number => {
    const line = first.log.find((one) => one.includes(text)) ?? '{}'
    return (JSON.parse(line) as { time: number }).time
  }
  const waitedMs = at('"msg":"Server listening') - at('"outcome":"published"')
  // How long it takes depends on the machine.
  t.comment(`it listened ${waitedMs} ms after the prices were published`)

  const tasks = tasksOf(demo.baseUrl, demo.modelToken)
  const id = await tasks.created()
  await tasks.reaches(id, 'succeeded')
  const lost = await tasks.created({ prompt: 'x [[sandbox queued-ms=0 running-ms=1500]]' })
  t.equal((await call(`${demo.baseUrl}/readyz`)).status, 200)

  const told = await shell(firstCalls(demo.baseUrl, id), folder)
  t.equal(told.code, 0, told.stdout)
  t.match(told.stdout, /"id":"cgt-[\s\S]*data: \[DONE\][\s\S]*"line_id"[\s\S]*clean: \d+ events/)

  const env = { DATA_DIR: dataDir }
  const audited = await tollgateProcess(['audit'], env)
  t.match(audited, { code: 0, stdout: /^clean: \d+ events/, stderr: '' })
  const second = await tollgateProcess(['serve'], { ...env, PORT: '0' })
  t.equal(second.code, 1, 'one process at a time on a data directory')
  t.match(second.stderr, new RegExp(`is in use by process ${first.pid}`))
  t.notMatch(second.stderr, /\n\s+at /)

  t.equal(await first.end('SIGKILL'), null)
  const again = await serve(dataDir, { NODE_OPTIONS: '--max-semi-space-size=32' })
  t.match(await startOf(again.pid), asGiven, 'an operator has bounded it already')
  t.same({ ...again.demo, baseUrl: '', sandboxUrl: '' }, { ...demo, baseUrl: '', sandboxUrl: '' })
  const later = tasksOf(again.demo.baseUrl, demo.modelToken)
  t.equal((await later.get(id)).body.status, 'succeeded')
  t.equal((await later.reaches(lost, 'succeeded')).status, 200, 'work goes on where it stood')

  const [projector, ...others] = processesOf(again.pid, 'projector').map(identify)
  if (projector === undefined) throw new Error('no projector runs')
  t.same(others, [])
  t.ok(signal(projector.pid, 'SIGKILL'))
  await later.reaches(await later.created(), 'succeeded')
  await eventually('the list shows a task that ended after the projector died', async () => {
    const { body } = await later.list('filter.status=succeeded')
    return body.total === 4 ? true : undefined
  })
  t.notOk(isAlive(projector))

  t.equal(await again.end('SIGTERM'), 0)
  t.notMatch(again.stderr(), /although something was open/)
  t.match(again.log.at(-1), /"msg":"stopped"/)
  const lines = [...first.log, ...again.log].map((line) => JSON.parse(line) as { msg?: string })
  for (const line of lines) t.type(line.msg, 'string')
  for (const text of again.log) t.equal(text.split('"time":').length, 2, 'one time a line')
  t.notMatch(again.log.join('\n'), /child said|unreadable/)
  for (const secret of [demo.modelToken, demo.adminToken])
    t.notOk([...first.log, ...again.log, first.stderr()].join('\n').includes(secret))

  const alone = await tollgateProcess(['audit', '--json'], env)
  t.equal(alone.code, 0)
  t.match(JSON.parse(alone.stdout), { ok: true, settledSources: 8, notCompared: 0 })
  await t.rejects(stat(join(dataDir, 'runtime.json')), { code: 'ENOENT' })
})

/** Sets the wall clock of a process by a signal: half a minute ahead. */
const SLEEPER = `const now = Date.now.bind(Date)
let setMs = 0
Date.now = () => now() + setMs
process.on('SIGUSR2', () => { setMs = 30_000 })`

if (isLong) {
  t.test('a lost secret is not replaced automatically', async (t) => {
    const path = join(dataDir, 'marker.secret')
    const env = { DATA_DIR: dataDir, PORT: '0' }
    for (const [lose, how] of [
      [() => writeFile(path, ''), 'empty'],
      [() => rm(path), 'missing'],
    ] as const) {
      await lose()
      const ended = await tollgateProcess(['serve'], env)
      t.equal(ended.code, 78)
      t.match(ended.stderr, new RegExp(`marker\\.secret is ${how}, .*put it back from a backup`))
      t.equal(await readFile(path, 'utf8').catch(() => ''), '', 'nothing stands there instead')
    }
    const replaced = await tollgateProcess(['marker-secret', 'replace', '--json'], env)
    t.match(replaced, { code: 0, stdout: /replaced/ })
    t.equal((await tollgateProcess(['audit'], env)).code, 0)
    // The next test starts with it.
  })

  t.test('a process whose machine slept says so', async (t) => {
    const sleeper = join(folder, 'sleeper.mjs')
    await writeFile(sleeper, SLEEPER)
    const gateway = await serve(dataDir, { NODE_OPTIONS: `--import=${sleeper}` })
    signal(gateway.pid, 'SIGUSR2')
    const off = await eventually('the clock is off', async () => {
      const { body } = await call(`${gateway.demo.baseUrl}/readyz`)
      const found = body.degraded.find((word: string) => word.startsWith('clock:'))
      return typeof found === 'string' ? found : undefined
    })
    t.match(
      off,
      /machine's clock is \d+\.\d s ahead of this process: it was set, or the machine slept/,
    )
    const { text } = await call(`${gateway.demo.baseUrl}/metrics`)
    t.match(text, /^tollgate_clock_off_seconds [12]?\d(?:\.\d+)?$/m)
    t.equal(await gateway.end('SIGTERM'), 0)
  })
}

t.test('verify-log checks the files of the log while no gateway runs', async (t) => {
  const env = { DATA_DIR: dataDir }
  const whole = await tollgateProcess(['verify-log'], env)
  t.match(whole, { code: 0, stdout: /^whole: \d+ events\n$/, stderr: '' })
  const json = await tollgate(['verify-log', '--json'], env)
  t.match(JSON.parse(json.stdout), { hasChecksums: true, damagedInAll: 0, damaged: [] })
  t.match(await tollgate(['convert-log'], env), { code: 0, stdout: /already has checksums/ })

  const level = await openStored(join(dataDir, 'eventstore'))
  const value = (await level.get(eventKey(2))) ?? Buffer.alloc(0)
  await level.put(eventKey(2), Buffer.concat([value.subarray(0, -1), Buffer.from([0])]))
  await level.close()
  const damaged = await tollgate(['verify-log'], env)
  t.equal(damaged.code, 1)
  t.match(damaged.stdout, /^event 2 is not as it was written\ndamaged: 1 findings in \d+ events\n$/)
  await rm(join(dataDir, 'eventstore', 'db', 'CURRENT'))
  const refused = await tollgate(['verify-log'], env)
  t.equal(refused.code, 1)
  t.match(refused.stderr, /no CURRENT.*Nothing was changed: put the folder back from a backup/)
  t.notMatch(refused.stderr, /\n\s+at /)

  await rm(join(dataDir, 'eventstore'), { recursive: true })
  for (const command of ['verify-log', 'convert-log']) {
    const none = await tollgate([command], env)
    t.match(none, { code: 1, stderr: /there is no log in .*eventstore/ })
  }
  await t.rejects(stat(join(dataDir, 'eventstore')), { code: 'ENOENT' }, 'and none is made')
})
