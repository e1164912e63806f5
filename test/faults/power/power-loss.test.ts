import { execFile } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { ServerLog } from '../../../infra/embedded/eventstore/log.ts'
import { recordPosition } from '../../../infra/embedded/eventstore/record.ts'
import { verifyAll } from '../../../infra/embedded/eventstore/verify.ts'
import { scanRecords } from '../../../src/eventlog/journal/spool-record.ts'
import { serve, tollgateProcess } from '../../cli/support/tollgate.ts'
import { dice as diceOf, seedOfTests } from '../driver/random.ts'
import { processesOf } from '../driver/processes.ts'
import { eventually } from '../../helpers/eventually.ts'
import { atLength } from '../../helpers/long-run.ts'
import { removeFolder } from '../../helpers/remove-folder.ts'
import { compiler, notLinux } from '../../helpers/requirements.ts'
import { readSteps, rebuild } from './record.ts'

/**
 * The power goes at some moments of a first start and of traffic, with the log away for a while: every answer
 * that a caller had before is in the log or in the spool, and every secret is whole. Postgres is not recorded:
 * it is lost each time, and built again.
 */

const skip = notLinux || compiler.missing
const MOMENTS = atLength(15, 50)
/** So many of them are started as a user would. */
const STARTED = atLength(1, 3)
const CALLERS = 8
/** Traffic before the log is away, and after it. */
const TRAFFIC_MS = 1_000
/** The log stays away for so long once records wait in the spool: some are answered from there. */
const SPOOLING_MS = 300

const folder = await mkdtemp(join(tmpdir(), 'tollgate-power-'))
t.teardown(() => removeFolder(folder))
const dataDir = join(folder, 'data')
const record = join(folder, 'record')

async function buildRecorder(compiler: string): Promise<string> {
  const library = join(folder, 'recorder.so')
  const source = fileURLToPath(new URL('recorder.c', import.meta.url))
  const places = [`-DROOT="${dataDir}"`, `-DRECORD="${record}"`]
  await promisify(execFile)(compiler, [
    '-shared',
    '-fPIC',
    '-O1',
    ...places,
    '-o',
    library,
    source,
    '-ldl',
  ])
  return library
}

/** An answer that a caller had, and how much had been recorded by then. */
interface Answered {
  readonly requestId: string
  readonly at: number
}

async function traffic(baseUrl: string, token: string, pid: number): Promise<readonly Answered[]> {
  const answered: Answered[] = []
  const over = new AbortController()
  const caller = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const answer = await fetch(`${baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'hi' }] }),
      })
      await answer.arrayBuffer()
      if (answer.status !== 200) continue
      const requestId = answer.headers.get('x-request-id') ?? ''
      answered.push({ requestId, at: statSync(record).size })
    }
  }
  const [log] = processesOf(pid, 'event-store')
  const away = (async () => {
    await sleep(TRAFFIC_MS)
    if (log === undefined) throw new Error('there is no event store to hold')
    process.kill(log, 'SIGSTOP')
    await eventually('records wait in the spool', isSpooling)
    await sleep(SPOOLING_MS)
    process.kill(log, 'SIGCONT')
    await sleep(TRAFFIC_MS)
  })().finally(() => over.abort())
  await Promise.all([away, ...Array.from({ length: CALLERS }, caller)])
  return answered
}

function isSpooling(): boolean {
  const spool = join(dataDir, 'spool')
  return readdirSync(spool).some(
    (name) => name.endsWith('.spool') && statSync(join(spool, name)).size > 0,
  )
}

/** Everything that the log and the spool of a folder hold, as text. */
async function kept(at: string): Promise<string> {
  const log = await ServerLog.open(join(at, 'eventstore'))
  const events: string[] = []
  for (let from = 1; from <= log.lastPosition;) {
    const range = { from, to: log.lastPosition }
    const page = await log.readAll(range, 1_000, false)
    events.push(...page.map(String))
    from = recordPosition(page.at(-1)!) + 1
  }
  await log.close()
  const spool = join(at, 'spool')
  const names = existsSync(spool) ? await readdir(spool) : []
  const spooled = await Promise.all(
    names
      .filter((name) => name.endsWith('.spool'))
      .map(async (name) =>
        scanRecords(await readFile(join(spool, name))).records.map(({ record: { batch } }) =>
          JSON.stringify(batch.events),
        ),
      ),
  )
  return [...events, ...spooled.flat()].join('\n')
}

t.test('an answered request survives a loss of power', { skip }, async (t) => {
  const gateway = await serve(dataDir, { LD_PRELOAD: await buildRecorder(compiler.path()) })
  t.teardown(() => gateway.end('SIGKILL'))
  const { baseUrl, modelToken } = gateway.demo
  const readyAt = statSync(record).size
  const answered = await traffic(baseUrl, modelToken, gateway.pid)
  t.ok(answered.length > 20, `${answered.length} calls were answered`)
  const secret = await readFile(join(dataDir, 'marker.secret'), 'utf8')
  await gateway.end('SIGKILL')

  const steps = readSteps(await readFile(record)).filter(
    ({ path }) => !path.startsWith(join(dataDir, 'postgres')),
  )
  t.ok(steps.some(({ kind }) => kind === 'sync'))
  // Only what opens a file has its path.
  const spools = new Set(
    steps.filter(({ path }) => path.endsWith('.spool')).map(({ inode }) => inode),
  )
  t.ok(
    steps.some(({ kind, inode }) => kind === 'write' && spools.has(inode)),
    'some waited in the spool',
  )
  const dice = diceOf(`power ${seedOfTests()}`)
  const first = steps.findIndex(({ end }) => end > readyAt)
  for (let moment = 0; moment < MOMENTS; moment += 1) {
    // A fifth of them before the gateway was ready for the first time.
    const [from, to] = moment % 5 === 0 ? [1, first] : [first, steps.length]
    const until = dice.integer(from, to)
    const at = join(folder, `moment-${moment}`)
    await rebuild(steps.slice(0, until), { from: dataDir, to: at, dice: dice.fork(String(moment)) })
    const end = steps[until - 1]?.end ?? 0
    const before = answered.filter((one) => one.at <= end)
    await judge(t, at, { before, secret, isReady: end >= readyAt, moment })
    await rm(at, { recursive: true, force: true })
  }
})

async function judge(
  t: Test,
  at: string,
  found: {
    readonly before: readonly Answered[]
    readonly secret: string
    readonly isReady: boolean
    readonly moment: number
  },
): Promise<void> {
  const { before, secret, isReady, moment } = found
  const text = await readFile(join(at, 'marker.secret'), 'utf8').catch(() => undefined)
  t.ok(text === secret || (text === undefined && !isReady), `moment ${moment}: the secret`)
  const demo = await readFile(join(at, 'demo.json'), 'utf8').catch(() => undefined)
  t.ok(demo === undefined ? !isReady : JSON.parse(demo), `moment ${moment}: the tokens`)
  if (before.length > 0 || existsSync(join(at, 'eventstore', 'db', 'CURRENT'))) {
    const all = await kept(at)
    const lost = before.filter(({ requestId }) => !all.includes(requestId))
    t.same(lost, [], `moment ${moment}: ${before.length} answers are there`)
    t.match(await verifyAll(join(at, 'eventstore'), () => undefined), { damagedInAll: 0 })
  }
  if (moment >= STARTED) return
  const again = await serve(at)
  t.equal(await again.end('SIGTERM'), 0, `moment ${moment}: it starts`)
  t.match(await tollgateProcess(['audit'], { DATA_DIR: at }), { code: 0, stdout: /^clean/ })
}
