import { textSettings } from '../../src/families/text/settings.ts'
import { catalog } from '../../src/families/index.ts'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseEnv } from 'node:util'
import t, { type Test } from 'tap'
import { startSandbox, type Sandbox } from '../../infra/sandbox/server.ts'
import { openDemoTenant } from '../../src/app/accounts/demo.ts'
import { createEventLog } from '../../src/eventlog/log/client.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { startProjector } from '../../src/start/projector.ts'
import { families } from '../../src/families/index.ts'
import { taskBody } from '../e2e/support/client.ts'
import { checkout } from '../helpers/checkout.ts'
import { bare, bareEnvironment } from '../helpers/child.ts'
import { nginx as installed } from '../helpers/requirements.ts'
import { eventually } from '../helpers/eventually.ts'
import { newNamespace, startLocalEventStore } from '../helpers/eventstore.ts'
import { acquireGatewayDatabase } from '../helpers/postgres.ts'
import { builtProduct } from '../helpers/product.ts'
import { TASKS } from './driver/tasks/video-a.ts'
import { Machine } from './driver/machine.ts'
import { freshDirectory } from './scene.ts'

/** Three replicas behind a proxy, as the examples for production have it, restarted one after the other. */

t.setTimeout(1_200_000)

const skip = installed.missing
const REPLICAS = [1, 2, 3]
/** Both times of the examples are this much shorter here; a busy machine still keeps their order. */
const HURRY = 2.5
const PAUSE_MS = 150

const example = (name: string): string => readFileSync(new URL(`infra/${name}`, checkout), 'utf8')

interface Failed {
  readonly what: string
  readonly why: string
}

/** What callers ask of the proxy all the time, and everything that was not answered with a success. */
function startTraffic(front: string, token: string) {
  const failed: Failed[] = []
  const done: Record<string, number> = {}
  const over = new AbortController()
  const ask = async (what: string, path: string, body?: object, end = ''): Promise<void> => {
    try {
      const response = await fetch(`${front}${path}`, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(30_000),
      })
      const text = await response.text()
      if (response.status !== 200 || !text.endsWith(end))
        failed.push({ what, why: `${response.status} ${text.slice(-500)}` })
      else done[what] = (done[what] ?? 0) + 1
    } catch (error) {
      failed.push({ what, why: String(error) })
    }
  }
  const chat = (stream: boolean, switches = ''): Promise<void> =>
    ask(
      stream ? 'stream' : 'chat',
      '/v1/chat/completions',
      { model: 'text-basic', stream, messages: [{ role: 'user', content: `hello ${switches}` }] },
      stream ? 'data: [DONE]\n\n' : '',
    )
  const again = async (work: () => Promise<void>): Promise<void> => {
    while (!over.signal.aborted) {
      await work()
      await sleep(PAUSE_MS)
    }
  }
  const loops = [
    () => chat(false),
    () => chat(true),
    () => ask('create', TASKS, taskBody()),
    () => ask('list', TASKS),
  ].map(again)
  return {
    failed,
    done,
    /** A stream that outlasts the time for which a leaving replica still listens. */
    longStream: () => chat(true, '[[sandbox words=30 frame-ms=60]]'),
    stop: async () => {
      over.abort()
      await Promise.all(loops)
    },
  }
}

/** The accounts of a sandbox as a channel file. */
async function writeChannels(path: string, sandbox: Sandbox): Promise<void> {
  const channels = families
    .flatMap(({ sandbox: accounts }) => accounts)
    .filter(({ family }) => family === 'video-a' || family === 'chat')
    .map((account) => ({ ...account, largest: textSettings(account).largestOutputTokens }))
    .map(({ largest, ...account }) => ({
      id: account.id,
      family: account.family,
      region: account.region,
      base_url: `${sandbox.url}${account.path}`,
      credential: { env: 'UPSTREAM_KEY' },
      models: account.models,
      ...(largest && { largest_output_tokens: largest }),
      max_queries_per_second: 200,
    }))
  await writeFile(path, JSON.stringify({ channels }))
}

/** Stores, an upstream and a tenant, and what a replica of them is started with. */
async function startGround(t: Test, directory: string) {
  const store = await startLocalEventStore()
  t.teardown(() => store.stop())
  const database = await acquireGatewayDatabase()
  t.teardown(() => database.drop())
  const sandbox = await startSandbox({ queuedMs: 60, runningMs: 120 })
  t.teardown(() => sandbox.close())
  const namespace = newNamespace()
  const log = createEventLog({ url: store.url, namespace })
  t.teardown(() => log.close())
  const demo = await openDemoTenant({
    log,
    catalog,
    clock: systemClock,
    correlationId: 'test',
    actor: 'tests',
  })
  const channelsFile = join(directory, 'channels.json')
  await writeChannels(channelsFile, sandbox)
  // Its text prices are demonstrations, which only the sandbox is sold at.
  const priceBookFile = join(directory, 'prices.yaml')
  await writeFile(priceBookFile, example('pricebook.yaml').replaceAll(/demonstration: true,?/g, ''))
  // For all of them, so that each restart starts one process and not two.
  t.teardown(startProjector({ databaseUrl: database.url, log, logger: silentLog }).stop)
  const environment = {
    EVENTSTORE_URL: store.url,
    DATABASE_URL: database.url,
    EVENTSTORE_NAMESPACE: namespace,
    MARKER_SECRET: 'a marker secret of the tests alone',
    CHANNELS_FILE: channelsFile,
    PRICEBOOK_FILE: priceBookFile,
    UPSTREAM_KEY: 'upstream-key',
    DATABASE_POOL_SIZE: '6',
  }
  return { log, demo, sandbox, environment }
}

/** nginx as the operating system brings it, in front of replicas. */

interface Nginx {
  /** What it complained of so far. */
  readonly complaints: () => Promise<string>
  readonly stop: () => Promise<void>
}

/** Runs it with what an operator would include in its `http` block. */
async function startNginx(options: {
  readonly program: string
  readonly directory: string
  readonly included: string
  /** An address it then listens on. */
  readonly url: string
}): Promise<Nginx> {
  const { program, directory, included, url } = options
  await mkdir(directory, { recursive: true })
  const at = (name: string): string => join(directory, name)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${at(name)};`,
  )
  const main = [
    // Its workers would otherwise be another account, which may not enter this folder.
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    'daemon off;',
    'worker_processes 1;',
    `pid ${at('nginx.pid')};`,
    'events { worker_connections 256; }',
    `http { access_log off; ${temporary.join(' ')} include ${at('included.conf')}; }`,
  ]
  await writeFile(at('included.conf'), included)
  await writeFile(at('nginx.conf'), main.join('\n'))
  const log = at('error.log')
  const child: ChildProcess = spawn(
    ...bare(program, ['-p', directory, '-c', at('nginx.conf'), '-e', log]),
    { stdio: 'ignore', env: bareEnvironment() },
  )
  const complaints = (): Promise<string> => readFile(log, 'utf8').catch(() => '')
  const ended = once(child, 'exit')
  await eventually('nginx listens', async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${await complaints()}`)
    return fetch(url).then(
      async (response) => response.arrayBuffer().then(() => true),
      () => undefined,
    )
  })
  return {
    complaints,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

t.test('a rolling restart behind a proxy refuses and repeats no request', { skip }, async (t) => {
  const directory = dirname(await freshDirectory(t))
  const { log, demo, sandbox, environment } = await startGround(t, directory)

  // Addresses of this run alone: nothing else on the machine can have their ports.
  const network = `127.${randomInt(1, 255)}.${randomInt(1, 255)}`
  const settings = parseEnv(example('production.example.env')) as Record<string, string>
  const delayMs = Number(settings['SHUTDOWN_DELAY_MS'])
  const [, keptSeconds = ''] = /keepalive_timeout (\d+)s;/.exec(example('nginx.example.conf')) ?? []
  t.ok(Number(keptSeconds) * 1_000 < delayMs, 'unused connections are gone before a replica is')
  const { PORT = '', OPERATIONS_PORT = '' } = settings
  const build = await builtProduct()
  const replicas = REPLICAS.map((n) => {
    const machine = new Machine({
      build,
      roles: 'api,worker',
      dataDir: join(directory, `replica-${n}`),
      logFile: join(directory, `replica-${n}.log`),
      environment: {
        ...settings,
        ...environment,
        HOST: `${network}.${n}`,
        SHUTDOWN_DELAY_MS: String(delayMs / HURRY),
      },
    })
    t.teardown(() => machine.clear())
    return machine
  })
  await Promise.all(replicas.map(async (replica) => t.equal(await replica.start(), 'ready')))
  const readiness = async (n: number): Promise<number> =>
    (await fetch(`http://${network}.${n}:${OPERATIONS_PORT}/readyz`)).status
  t.same(await Promise.all(REPLICAS.map(readiness)), [200, 200, 200])

  const front = `http://${network}.100:${PORT}`
  const included = REPLICAS.reduce(
    (text, n) => text.replace(`10.0.0.1${n}:8080`, `${network}.${n}:${PORT}`),
    example('nginx.example.conf'),
  )
    .replace('listen 8080', `listen ${new URL(front).host}`)
    .replace(/(keepalive_timeout) \d+s/, `$1 ${(Number(keptSeconds) * 1_000) / HURRY}ms`)
  const nginx = await startNginx({
    program: installed.path(),
    directory: join(directory, 'nginx'),
    included,
    url: `${front}/healthz`,
  })
  t.teardown(() => nginx.stop())
  t.equal((await fetch(`${front}/readyz`)).status, 404, 'callers do not reach what operators ask')

  const traffic = startTraffic(front, demo.modelToken)
  const streams: Promise<void>[] = []
  for (const [index, replica] of replicas.entries()) {
    // As many as there are replicas: one of them goes through the one that leaves.
    for (const _each of REPLICAS) streams.push(traffic.longStream())
    await sleep(200)
    const { pid } = replica
    await replica.stop()
    t.equal(await replica.start(), 'ready')
    t.not(replica.pid, pid)
    // As an operator does: it is waited for before the next one leaves.
    await eventually('it is ready', async () =>
      (await readiness(index + 1)) === 200 ? true : undefined,
    )
  }
  await Promise.all([traffic.stop(), ...streams])
  t.same(traffic.failed, [])
  if (traffic.failed.length > 0) t.comment(await nginx.complaints())
  t.comment(JSON.stringify(traffic.done))
  for (const what of ['chat', 'stream', 'create', 'list'])
    t.ok((traffic.done[what] ?? 0) >= 10, `${what}: ${traffic.done[what]}`)

  await Promise.all(replicas.map((replica) => replica.stop()))
  const counts = { TaskRequested: 0, TaskSubmitted: 0, CallSettled: 0 }
  for await (const event of log.readAll())
    if (event.type in counts) counts[event.type as keyof typeof counts] += 1
  const { chat = 0, stream = 0, create = 0 } = traffic.done
  t.same(counts, { TaskRequested: create, TaskSubmitted: create, CallSettled: chat + stream })
  t.equal(sandbox.accepted().length, create, 'nothing was sent a second time')
})
