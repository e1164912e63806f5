import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { loadConfig } from '../../src/config.ts'
import { chooseConnectionBounds, openFilesLimit } from '../../src/start/open-files.ts'
import { nodeArguments } from '../helpers/checkout.ts'

const plain = loadConfig({})
const withEnv = (env: Readonly<Record<string, string>>) => loadConfig(env)

void t.test('the bounds leave spare files below the limit on open files', async (t) => {
  for (const limit of [1_024, 1_500, 20_000]) {
    const { bounds, warning } = chooseConnectionBounds(plain, limit)
    t.ok(bounds.all * 2 < limit - 150, `${limit}: ${bounds.all}`)
    t.ok(bounds.perAddress <= Math.ceil(bounds.all / 4))
    t.equal(warning, undefined)
  }
  t.same(chooseConnectionBounds(plain, 1_048_576).bounds, { all: 10_000, perAddress: 2_500 })
})

void t.test('configured bounds apply, except beyond the limit, with a warning', async (t) => {
  const some = withEnv({ MAX_CONNECTIONS: '300', MAX_CONNECTIONS_PER_ADDRESS: '400' })
  const chosen = chooseConnectionBounds(some, 20_000)
  t.same(chosen, { bounds: { all: 300, perAddress: 300 }, warning: undefined })
  const many = chooseConnectionBounds(withEnv({ MAX_CONNECTIONS: '5000' }), 1_024)
  t.ok(many.bounds.all < 500)
  t.match(many.warning, /may open 1024 files/)
  const few = chooseConnectionBounds(plain, 100)
  t.equal(few.bounds.all, 16)
  t.match(few.warning, /ulimit -n/)
})

void t.test('the open-file limit of this process is read', async (t) => {
  t.ok((openFilesLimit() ?? 1) > 0)
})

void t.test(
  'connections beyond the open files are refused, the operations port answers',
  async (t) => {
    const child = spawn(
      'sh',
      [
        '-c',
        'ulimit -n 400 && exec "$0" "$@"',
        process.execPath,
        ...nodeArguments(new URL('support/limited-child.ts', import.meta.url)),
      ],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    )
    t.teardown(() => child.kill('SIGKILL'))
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
    const { port, operationsPort, all } = JSON.parse(line) as Record<string, number>
    if (port === undefined || operationsPort === undefined || all === undefined)
      throw new Error(line)
    t.ok(all > 16 && all < 200, `${all} connections`)
    const sockets: Socket[] = []
    t.teardown(() => sockets.forEach((socket) => socket.destroy()))
    // From several addresses: one alone may not take all of them.
    for (let made = 0; made < 600; made += 1) {
      const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (made % 8)}` })
      socket.on('error', () => undefined)
      sockets.push(socket)
      await once(socket, 'connect')
    }
    const health = await fetch(`http://127.0.0.1:${operationsPort}/readyz`)
    t.equal(health.status, 200)
    const late = connect({ port, host: '127.0.0.1' })
    late.on('error', () => undefined)
    late.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    t.notMatch(await text(late).catch(() => ''), / 200 /)
    for (const socket of sockets) socket.destroy()
    let status = 0
    for (let tries = 0; status !== 200 && tries < 200; tries += 1)
      status = await fetch(`http://127.0.0.1:${port}/healthz`, {
        headers: { connection: 'close' },
      }).then(
        (answer) => answer.status,
        () => 0,
      )
    t.equal(status, 200, 'callers are served once the others have gone')
  },
)
