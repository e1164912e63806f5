import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  RESTART_INITIAL_DELAY_MS,
  RESTART_MAX_DELAY_MS,
  restartDelayMs,
} from '../../../infra/embedded/supervisor.ts'
import {
  superviseChild,
  type SuperviseChildOptions,
} from '../../../infra/embedded/supervised-child.ts'
import { eventually } from '../../helpers/eventually.ts'
import type { ReadyMessage } from '../../../infra/embedded/supervisor.ts'
import { nodeArguments } from '../../helpers/checkout.ts'

const CHILD = new URL('supervisor-child.ts', import.meta.url)
const PARENT = nodeArguments(new URL('supervisor-parent.ts', import.meta.url))
const BOUND_MS = 15_000

/** What a sample child says besides its address. */
function detailsOf(message: ReadyMessage | undefined): {
  readonly port: number
  readonly pid: number
} {
  return { port: Number(message?.['port'] ?? 0), pid: Number(message?.['pid'] ?? 0) }
}

function optionsFor(
  mode: string,
  more: Partial<SuperviseChildOptions> = {},
): SuperviseChildOptions {
  return {
    name: 'sample',
    modulePath: CHILD,
    args: (last) => [mode, String(detailsOf(last).port)],
    onLine: () => undefined,
    readyTimeoutMs: BOUND_MS,
    ...more,
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function ask(message: ReadyMessage): Promise<string> {
  const socket = createConnection(detailsOf(message).port, '127.0.0.1')
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text
}

t.test('a serving child: its message, its log lines, an orderly end', async (t) => {
  const lines: string[] = []
  const child = superviseChild(optionsFor('serve', { onLine: (line) => lines.push(line) }))
  t.throws(() => child.current(), { code: 'child_failed' })
  const message = await child.ready
  t.equal(message['pid'], child.pid())
  t.equal(child.current(), message)
  t.equal(await ask(message), 'served')
  await eventually('the log line', () => lines.length > 0)
  t.match(JSON.parse(lines[0] ?? ''), { level: 'info', msg: 'child starts', mode: 'serve' })
  await child.stop()
  t.notOk(isAlive(detailsOf(message).pid))
  t.equal(child.pid(), undefined)
  await child.stop()
})

t.test('a child gets the given environment, without inherited credentials', async (t) => {
  process.env['TOLLGATE_TEST_SECRET'] = 'sk-top-secret'
  t.teardown(() => delete process.env['TOLLGATE_TEST_SECRET'])
  const child = superviseChild(optionsFor('serve', { env: { EXTRA: 'given' } }))
  t.teardown(() => child.stop())
  t.match(await child.ready, { secret: 'none', extra: 'given' })
})

t.test('a failed first start is reported in the child’s words and not repeated', async (t) => {
  const restarts: unknown[] = []
  const onRestart = (restart: unknown): number => restarts.push(restart)
  const refusing = superviseChild(optionsFor('refuse', { onRestart }))
  await t.rejects(refusing.ready, {
    code: 'child_failed',
    message: 'sample: the disk is made of cheese',
  })
  const crashing = superviseChild(optionsFor('crash', { onRestart }))
  await t.rejects(crashing.ready, { message: /exited with status 1[^]*an unexpected bug/ })
  const missing = superviseChild(
    optionsFor('serve', { onRestart, modulePath: new URL('no-such-module.ts', import.meta.url) }),
  )
  await t.rejects(missing.ready, { message: /no-such-module/ })
  t.strictSame(restarts, [])
})

t.test('a child that never becomes ready is ended and reported as late', async (t) => {
  const child = superviseChild(optionsFor('silent', { readyTimeoutMs: 1_500 }))
  const pid = child.pid()
  await t.rejects(child.ready, { message: 'sample: not ready within 1500 ms' })
  t.notOk(isAlive(pid ?? 0))
})

t.test('a killed child restarts on its port', async (t) => {
  const seen: ReadyMessage[] = []
  const restarts: { attempt: number; reason: string }[] = []
  const child = superviseChild(
    optionsFor('serve', {
      onReady: (message) => seen.push(message),
      onRestart: (restart) => restarts.push(restart),
    }),
  )
  t.teardown(() => child.stop())
  const first = await child.ready
  for (const life of [2, 3]) {
    process.kill(child.pid() ?? 0, 'SIGKILL')
    await eventually(`life ${life}`, () => seen.length === life)
  }
  t.equal(child.current().url, first.url)
  t.not(child.current()['pid'], first['pid'])
  t.equal(await ask(child.current()), 'served')
  t.match(restarts, [
    { attempt: 1, delayMs: 100, reason: /ended by SIGKILL/ },
    { attempt: 2, delayMs: 200 },
  ])
})

t.test('a child that keeps failing is given up once, with the reason', async (t) => {
  const given: string[] = []
  const attempts: number[] = []
  const child = superviseChild(
    optionsFor('once', {
      maxRestarts: 2,
      onRestart: ({ attempt }) => attempts.push(attempt),
      onGiveUp: (reason) => given.push(reason),
    }),
  )
  await child.ready
  process.kill(child.pid() ?? 0, 'SIGKILL')
  await eventually('giving up', () => given.length > 0)
  t.strictSame(attempts, [1, 2])
  t.strictSame(given, ['only the first start works'])
  await child.stop()
})

t.test('a child that ignores SIGTERM is killed after the bound', async (t) => {
  const child = superviseChild(optionsFor('deaf', { stopTimeoutMs: 300 }))
  const message = await child.ready
  await child.stop()
  t.notOk(isAlive(detailsOf(message).pid))
})

t.test('a stop between two starts prevents the next start', async (t) => {
  let lives = 0
  const child = superviseChild(
    optionsFor('serve', { onReady: () => (lives += 1), onRestart: () => void child.stop() }),
  )
  const message = await child.ready
  process.kill(detailsOf(message).pid, 'SIGKILL')
  await eventually('its end', () => child.pid() === undefined)
  await sleep(RESTART_INITIAL_DELAY_MS * 5)
  t.equal(lives, 1)
  t.equal(child.pid(), undefined)
})

t.test('a child ends when its parent is killed', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'supervisor-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'why')
  const parent = spawn(process.execPath, [...PARENT, CHILD.href, 'serve', '0', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string]
  const { childPid } = JSON.parse(line) as { childPid: number }
  t.ok(isAlive(childPid))
  parent.kill('SIGKILL')
  await eventually('the end of the child', () => !isAlive(childPid) && existsSync(file))
  t.equal(readFileSync(file, 'utf8'), 'parent gone')
})

t.test('delays double from the first to the longest and stay there', async (t) => {
  t.equal(restartDelayMs(1), RESTART_INITIAL_DELAY_MS)
  t.equal(restartDelayMs(2), 2 * RESTART_INITIAL_DELAY_MS)
  t.equal(restartDelayMs(4), 8 * RESTART_INITIAL_DELAY_MS)
  t.equal(restartDelayMs(10), RESTART_MAX_DELAY_MS)
  t.equal(restartDelayMs(1_000_000), RESTART_MAX_DELAY_MS)
})

t.test('a child that hangs is killed and restarted', async (t) => {
  const restarts: string[] = []
  const child = superviseChild(
    optionsFor('hang', { signEveryMs: 100, onRestart: ({ reason }) => restarts.push(reason) }),
  )
  t.teardown(() => child.stop())
  const { pid: first } = detailsOf(await child.ready)
  await eventually('it is started again', () => restarts.length > 0)
  t.match(restarts[0], /^hangs: no sign of life for 400 ms$/)
  t.notOk(isAlive(first))
  await eventually('another one serves', () => detailsOf(child.current()).pid !== first)
})

t.test('a child that waits for an outside service is restarted without an end', async (t) => {
  const restarts: { readonly attempt: number; readonly reason: string }[] = []
  const gaveUp: string[] = []
  let missing: string | undefined = 'a disk with room'
  const child = superviseChild(
    optionsFor('once', {
      maxRestarts: 2,
      waitsFor: () => missing,
      onRestart: (restart) => restarts.push(restart),
      onGiveUp: (reason) => gaveUp.push(reason),
    }),
  )
  t.teardown(() => child.stop())
  const { pid } = detailsOf(await child.ready)
  process.kill(pid, 'SIGKILL')
  await eventually('more starts than there may be', () => restarts.length > 4)
  t.same(gaveUp, [])
  t.same(
    restarts.slice(0, 4).map(({ attempt, reason }) => `${attempt} ${reason}`),
    ['1 a disk with room', '2 a disk with room', '2 a disk with room', '2 a disk with room'],
  )
  missing = undefined
  await eventually('it gives up as always', () => gaveUp.length > 0)
  t.same(gaveUp, ['only the first start works'])
})
