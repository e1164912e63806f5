import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client, type QueryResultRow } from 'pg'
import { build, compiled } from './build.ts'
import { start, startWithUrl, type Running } from './process.ts'

/** The gateway as an operator runs it, a process of its own on embedded stores. */

const SETTLE_TIMEOUT_MS = 300_000
const COMMAND_TIMEOUT_MS = 300_000
const CREDIT = '1000000000'
/** Tenants that are made at the same time. */
const MADE_AT_ONCE = 8

/** A running gateway. */
export interface BenchGateway extends Running {
  readonly url: string
  readonly dataDir: string
  /** Undefined when its channels come from a file. */
  readonly sandboxUrl: string | undefined
  readonly token: string
  /** Runs a command of the program on its data; returns what it prints. */
  readonly command: (...args: readonly string[]) => Promise<string>
  /** Waits until every read model has caught up with the log, so that the next row starts quiet. */
  readonly settled: () => Promise<void>
  /** A metric's value summed over its labels. */
  readonly metric: (name: string) => Promise<number>
  /** Model tokens of so many new tenants, each with credit. */
  readonly tenants: (count: number) => Promise<readonly string[]>
  /** What Postgres has done since it began. */
  readonly postgres: () => Promise<PostgresWork>
  /** Rows that were inserted or updated since Postgres began, by table. */
  readonly rowsByTable: () => Promise<ReadonlyMap<string, number>>
}

/** Of the gateway's database; the log of changes is the whole server's. */
export interface PostgresWork {
  readonly commits: number
  /** By scans of tables, and entries of indexes. */
  readonly rowsRead: number
  readonly rowsWritten: number
  readonly walBytes: number
  /** Tables that autovacuum has vacuumed or analysed. */
  readonly autovacuums: number
}

/** A port nobody uses at the moment. */
export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}

interface Demo {
  readonly baseUrl: string
  readonly modelToken: string
  readonly adminToken: string
  readonly tenantId: string
  readonly sandboxUrl?: string
}

async function isUp(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    (answer) => answer.body?.cancel().then(() => answer.ok) ?? answer.ok,
    () => false,
  )
}

async function settled(url: string): Promise<void> {
  const untilMs = performance.now() + SETTLE_TIMEOUT_MS
  for (;;) {
    const answer = (await fetch(`${url}/readyz`).then((response) => response.json())) as {
      readonly projections?: readonly { readonly lagMs: number }[]
    }
    if (answer.projections?.every(({ lagMs }) => lagMs === 0) === true) return
    if (performance.now() > untilMs) throw new Error('the read models do not catch up')
    await sleep(200)
  }
}

async function metric(url: string, name: string): Promise<number> {
  const text = await fetch(`${url}/metrics`).then((response) => response.text())
  let sum = 0
  for (const line of text.split('\n')) {
    if (!line.startsWith(name) || !/[ {]/.test(line[name.length] ?? '')) continue
    sum += Number(line.slice(line.lastIndexOf(' ') + 1))
  }
  return sum
}

async function tenants(url: string, adminToken: string, count: number): Promise<readonly string[]> {
  const ask = async (path: string, body: object): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await fetch(`${url}/api/admin/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`)
    return (JSON.parse(text) as { readonly data: Readonly<Record<string, unknown>> }).data
  }
  const tokens: string[] = []
  let next = 0
  const makeNext = async (): Promise<void> => {
    const n = next
    next += 1
    if (n >= count) return
    const id = `bench_${n}`
    const grant = { currency: 'USD', amount: CREDIT, reason: 'bench', grant_id: `bench_${n}` }
    await ask('tenants', { tenant_id: id, name: id })
    await ask(`tenants/${id}/users`, { user_id: `user_${n}`, name: id })
    await ask(`tenants/${id}/credit/grants`, grant)
    const issued = { tenant_id: id, user_id: `user_${n}`, kind: 'model', name: id }
    tokens[n] = String((await ask('tokens', issued))['secret'])
    await makeNext()
  }
  await Promise.all(Array.from({ length: MADE_AT_ONCE }, makeNext))
  return tokens
}

/** One statement in the gateway's database. */
async function asked<Row extends QueryResultRow>(
  dataDir: string,
  sql: string,
): Promise<readonly Row[]> {
  const { databaseUrl } = JSON.parse(await readFile(join(dataDir, 'runtime.json'), 'utf8')) as {
    readonly databaseUrl: string
  }
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end()
  }
}

async function postgresWork(dataDir: string): Promise<PostgresWork> {
  const [row] = await asked<PostgresWork>(
    dataDir,
    `select xact_commit::float8 as commits, tup_returned::float8 as "rowsRead",
       (tup_inserted + tup_updated)::float8 as "rowsWritten",
       (select wal_bytes::float8 from pg_stat_wal) as "walBytes",
       (select sum(autovacuum_count + autoanalyze_count)::float8 from pg_stat_all_tables) as autovacuums
     from pg_stat_database where datname = current_database()`,
  )
  return row ?? { commits: 0, rowsRead: 0, rowsWritten: 0, walBytes: 0, autovacuums: 0 }
}

async function rowsByTable(dataDir: string): Promise<ReadonlyMap<string, number>> {
  const rows = await asked<{ readonly name: string; readonly rows: number }>(
    dataDir,
    `select relid::regclass::text as name, (n_tup_ins + n_tup_upd)::float8 as rows
     from pg_stat_user_tables`,
  )
  return new Map(rows.map(({ name, rows: count }) => [name, count]))
}

interface LaunchOptions {
  readonly name: string
  readonly dataDir: string
  readonly env: Readonly<Record<string, string>>
  readonly args?: readonly string[]
}

async function launch(options: LaunchOptions): Promise<Running & { readonly url: string }> {
  await build()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const process = await start({
    name: options.name,
    args: [compiled('src/main'), 'serve', ...(options.args ?? [])],
    env: {
      LOG_LEVEL: 'info',
      // One token asks for everything.
      OWN_REQUESTS_RPM: '60000',
      FREE_REQUESTS_RPM: '60000',
      REFUSED_FORMS_RPM: '60000',
      ...options.env,
      PORT: String(port),
      HOST: '127.0.0.1',
      DATA_DIR: options.dataDir,
    },
    isReady: () => isUp(url),
  })
  return { ...process, url }
}

/** Starts a gateway on a fresh data directory, its demo tenant rich. `stop` removes the data. */
export async function startGateway(
  env: Readonly<Record<string, string>> = {},
): Promise<BenchGateway> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-bench-'))
  const remove = (): Promise<void> => rm(dataDir, { recursive: true, force: true })
  const process = await launch({ name: 'gateway', dataDir, env }).catch(async (error: unknown) => {
    await remove()
    throw error
  })
  const demo = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')) as Demo
  const command = async (...args: readonly string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(
      globalThis.process.execPath,
      [compiled('src/main'), ...args],
      {
        env: { ...globalThis.process.env, ...env, DATA_DIR: dataDir, LOG_LEVEL: 'warn' },
        cwd: dataDir,
        maxBuffer: 1 << 30,
        timeout: COMMAND_TIMEOUT_MS,
      },
    )
    return stdout
  }
  for (const currency of ['CNY', 'USD'])
    await command('credit', 'grant', CREDIT, '--tenant', demo.tenantId, '--currency', currency)
  return {
    ...process,
    dataDir,
    sandboxUrl: demo.sandboxUrl,
    token: demo.modelToken,
    command,
    settled: () => settled(process.url),
    metric: (name) => metric(process.url, name),
    tenants: (count) => tenants(process.url, demo.adminToken, count),
    postgres: () => postgresWork(dataDir),
    rowsByTable: () => rowsByTable(dataDir),
    stop: async () => {
      await process.stop()
      await remove()
    },
  }
}

/**
 * A second process of the same gateway, serving the API only, whose log forgets settlements: it
 * shares the first one's Postgres and reads its log through `peers/null-log.ts`.
 */
export async function startOnNullLog(
  gateway: BenchGateway,
  env: Readonly<Record<string, string>>,
): Promise<Running & { readonly url: string }> {
  const runtime = JSON.parse(await readFile(join(gateway.dataDir, 'runtime.json'), 'utf8')) as {
    readonly eventStoreUrl: string
    readonly databaseUrl: string
  }
  const nullLog = await startWithUrl({
    name: 'null log',
    args: [compiled('test/bench/peers/null-log'), runtime.eventStoreUrl],
  })
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-bench-null-'))
  const end = async (): Promise<void> => {
    await nullLog.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
  try {
    const process = await launch({
      name: 'gateway on a null log',
      dataDir,
      args: ['--role', 'api'],
      env: {
        ...env,
        EVENTSTORE_URL: nullLog.url.replace('http://', 'esdb://').concat('?tls=false'),
        DATABASE_URL: runtime.databaseUrl,
        MARKER_SECRET: await readFile(join(gateway.dataDir, 'marker.secret'), 'utf8'),
      },
    })
    return {
      ...process,
      stop: async () => {
        await process.stop()
        await end()
      },
    }
  } catch (error) {
    await end()
    throw error
  }
}

/** The one model the static upstream serves, and its prices. */
export const TEXT_MODEL = 'text-basic'
export const IMAGE_MODEL = 'image-2'
/** The model of `/provB` video that waits for ever upstream. */
export const VIDEO_MODEL = 'h3-video'
export const SPEECH_MODEL = 'speech-2.8-hd'
const PRICES = `version: 'bench'
effective_from: '2026-01-01T00:00:00Z'
prices:
  - { sku: ${TEXT_MODEL}-input-token, currency: USD, unit: token, per: 1000000, price: '0.5' }
  - { sku: ${TEXT_MODEL}-output-token, currency: USD, unit: token, per: 1000000, price: '2' }
  - { sku: ${IMAGE_MODEL}-low-image, currency: USD, unit: image, per: 1, price: '0.0001' }
  - { sku: h3-768p-second, currency: USD, unit: second, per: 1, price: '0.0001' }
  - { sku: ${SPEECH_MODEL}-character, currency: USD, unit: character, per: 1000000, price: '100' }
`

/** Settings that send every chat call to this upstream; `remove` takes the files away. */
export async function chatSettings(upstreamUrl: string): Promise<{
  readonly env: Readonly<Record<string, string>>
  readonly remove: () => Promise<void>
}> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-channels-'))
  const channels = join(folder, 'channels.yaml')
  const prices = join(folder, 'prices.yaml')
  await writeFile(
    channels,
    `channels:
  - id: bench-chat
    family: chat
    region: overseas
    base_url: ${upstreamUrl}/v1
    credential: { env: BENCH_UPSTREAM_KEY }
    models: { ${TEXT_MODEL}: ${TEXT_MODEL} }
    largest_output_tokens: { ${TEXT_MODEL}: 8192 }
  - id: bench-messages
    family: messages
    region: overseas
    base_url: ${upstreamUrl}/v1
    credential: { env: BENCH_UPSTREAM_KEY }
    models: { ${TEXT_MODEL}: ${TEXT_MODEL} }
    largest_output_tokens: { ${TEXT_MODEL}: 8192 }
  - id: bench-image
    family: image
    region: overseas
    base_url: ${upstreamUrl}/v1
    credential: { env: BENCH_UPSTREAM_KEY }
    models: { ${IMAGE_MODEL}: ${IMAGE_MODEL} }
  - id: bench-video
    family: video-b
    region: overseas
    base_url: ${upstreamUrl}
    credential: { env: BENCH_UPSTREAM_KEY }
    models: { ${VIDEO_MODEL}: ${VIDEO_MODEL} }
  - id: bench-speech
    family: speech
    region: overseas
    base_url: ${upstreamUrl}
    credential: { env: BENCH_UPSTREAM_KEY }
    models: { ${SPEECH_MODEL}: ${SPEECH_MODEL} }
`,
  )
  await writeFile(prices, PRICES)
  return {
    env: { CHANNELS_FILE: channels, PRICEBOOK_FILE: prices, BENCH_UPSTREAM_KEY: 'bench' },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
