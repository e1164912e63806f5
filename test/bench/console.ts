import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { askConsole, giveViewReason, signInToConsole } from '../e2e/support/console.ts'
import { warmUp } from './chat-load.ts'
import { percentile, type Benchmark, type Figure } from './figure.ts'
import { median, tell, withClosers } from './kit/closers.ts'
import { between, cpuMs, total } from './kit/cpu.ts'
import type { BenchGateway } from './kit/gateway.ts'
import { paced } from './kit/paced.ts'
import { sized, sizeFrom, TENANTS } from './kit/sizes.ts'
import { vacuumEnds } from './kit/vacuum.ts'
import { startTollgate, startUpstream, type Row } from './kit/text-rows.ts'

/**
 * Measures how long readers of the console wait, and whether callers notice them: every page while calls are answered, the
 * processor time of a page, and the times of calls without readers and with them, in turns.
 */

/** A call has two lines. */
const CALLS = sizeFrom('BENCH_CONSOLE_CALLS', sized(500_000, 300))
const READERS = 8
/** A reader turns a page so often. */
const PAGE_EVERY_MS = 1_000
const PER_SECOND = sized(500, 50)
const ROUNDS = sizeFrom('BENCH_ROUNDS', sized(5, 1))
const SECONDS = sizeFrom('BENCH_SECONDS', sized(30, 2))
const WARM_UP_SECONDS = sized(3, 1)
const CONNECTIONS = 128
/** Times that each page is made for its processor time, which `/proc` counts in steps of 10 ms. */
const MADE = sized(300, 2)
/** After so many calls autovacuum works for minutes, for callers and readers alike. */
const VACUUM_MS = sized(300_000, 0)

const PAGE_MS = 200
const PAGE_CPU_MS = 5
const CALLERS_P99_RATIO = 1.05

/** A reader who has signed in, who sees one tenant or all of them. */
interface Reader {
  readonly cookie: string
  /** A tenant with calls, and ids of it. */
  readonly tenantId: string
  readonly lives: readonly string[]
  /** The address at which its page of lines goes on. */
  older: string | undefined
}

/** A page by its name; the address that a reader asks next. */
type PageOf = readonly [name: string, path: (reader: Reader, turn: number) => string]

const lifeOf = ({ lives }: Reader, turn: number): string => lives[turn % lives.length] ?? ''

const pages: readonly PageOf[] = [
  ['overview', ({ tenantId }) => `?tenant_id=${tenantId}`],
  ['lines', ({ tenantId, older }) => older ?? `/ledger/lines?tenant_id=${tenantId}`],
  ['summary', ({ tenantId }) => `/ledger/summary?by=day&and=model&tenant_id=${tenantId}`],
  ['movements', ({ tenantId }) => `/ledger/movements?tenant_id=${tenantId}`],
  ['a line', (reader, turn) => `/ledger/lines/${lifeOf(reader, turn)}:1`],
  ['activity', ({ tenantId }) => `/tenants/${tenantId}/activity`],
  ['a life', (reader, turn) => `/life/${lifeOf(reader, turn)}`],
  ['find', (reader, turn) => `/find?q=${lifeOf(reader, turn).slice(0, 'call_'.length + 8)}`],
  ['failed', ({ tenantId }) => `/failed?tenant_id=${tenantId}`],
  ['speed', ({ tenantId }) => `/speed?tenant_id=${tenantId}`],
  ['charged twice', ({ tenantId }) => `/charged-twice?tenant_id=${tenantId}`],
  ['credits', ({ tenantId }) => `/ledger/credits?tenant_id=${tenantId}`],
  ['held', ({ tenantId }) => `/ledger/held?tenant_id=${tenantId}`],
  ['changes', ({ tenantId }) => `/changes?tenant_id=${tenantId}`],
]
/** The month that runs is open, and has figures: its calls are all that there are. */
const running = new Date().toISOString().slice(0, 7)

/** Pages that only operators have. */
const operatorPages: readonly PageOf[] = [
  ['overview of all tenants', () => ''],
  ['months', () => `/periods?month=${running}`],
  ['a month', ({ tenantId }) => `/periods/${tenantId}~USD~${running}`],
  ['proposals', () => '/proposals'],
  ['tenants', () => '/tenants'],
  ['a tenant', ({ tenantId }) => `/tenants/${tenantId}`],
  ['prices', ({ tenantId }) => `/prices?tenant_id=${tenantId}`],
  ['operations', () => '/operations'],
  ['speed of all tenants', () => '/speed'],
  ['charged twice of all tenants', () => '/charged-twice'],
  ['changes of all tenants', () => '/changes'],
]

interface Turn {
  readonly page: string
  readonly ms: number
}

async function turn(
  url: string,
  reader: Reader,
  [page, path]: PageOf,
  index: number,
): Promise<Turn> {
  const address = `/console${path(reader, index)}`
  const startedMs = performance.now()
  const { status, text } = await askConsole(url, address, { cookie: reader.cookie })
  const ms = performance.now() - startedMs
  if (status !== 200 && status !== 303) throw new Error(`${address}: ${status} ${text}`)
  if (page === 'lines')
    reader.older = /href="\/console(\/ledger\/lines\?[^"]*cursor=[^"]*)"/
      .exec(text)?.[1]
      ?.replaceAll('&amp;', '&')
  return { page, ms }
}

/** Readers who turn pages until they are stopped, each from another page on. */
function startReaders(url: string, readers: readonly Reader[], list: readonly PageOf[][]) {
  const turns: Turn[] = []
  const over = new AbortController()
  const read = async (reader: Reader, n: number): Promise<void> => {
    const own = list[n % list.length] ?? pages
    await sleep((n * PAGE_EVERY_MS) / readers.length)
    for (let index = n; !over.signal.aborted; index += 1) {
      const startedMs = performance.now()
      turns.push(await turn(url, reader, own[index % own.length] ?? own[0]!, index))
      await sleep(Math.max(0, PAGE_EVERY_MS - (performance.now() - startedMs)))
    }
  }
  const reading = Promise.all(readers.map(read))
  return {
    stop: async (): Promise<readonly Turn[]> => {
      over.abort()
      await reading
      return turns
    },
  }
}

async function ask(
  url: string,
  token: string,
  path: string,
  body?: object,
): Promise<Record<string, unknown>> {
  const answer = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
  return (JSON.parse(text) as { readonly data: Record<string, unknown> }).data
}

/** A reader of one tenant, with a token of its own. */
async function openReader(url: string, adminToken: string, n: number): Promise<Reader> {
  const tenantId = `bench_${n}`
  const scope = { level: 'all_users' }
  const issued = { tenant_id: tenantId, user_id: `user_${n}`, kind: 'query', name: 'bench', scope }
  const secret = String((await ask(url, adminToken, '/api/admin/tokens', issued))['secret'])
  const list = await ask(url, secret, '/api/query/v1/ledger/lines?limit=100&time_preset=30d')
  const items = list['items'] as readonly { readonly source_id: string }[]
  const lives = [...new Set(items.map(({ source_id: id }) => id))]
  return { cookie: await signInToConsole(url, secret), tenantId, lives, older: undefined }
}

/** An operator who has given a reason to look at the tenant of another reader. */
async function openOperator(url: string, adminToken: string, reader: Reader): Promise<Reader> {
  const cookie = await signInToConsole(url, adminToken)
  await giveViewReason(url, cookie, reader.tenantId)
  return { ...reader, cookie }
}

/** Processor time of the gateway for each page, made one after the other. */
async function pageCost(
  gateway: BenchGateway,
  readers: readonly (readonly [Reader, readonly PageOf[]])[],
): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  for (const [reader, list] of readers)
    for (const page of list) {
      // The first ones are not counted: what they compile and read once is kept.
      for (let n = 0; n < MADE; n += 1) await turn(gateway.url, reader, page, n)
      const before = await cpuMs(gateway.pid)
      for (let n = 0; n < MADE; n += 1) await turn(gateway.url, reader, page, n)
      const spent = between(before, await cpuMs(gateway.pid))
      figures.push({
        name: `console: ${page[0]}, of the gateway's process`,
        value: (spent['own'] ?? 0) / MADE,
        unit: 'ms CPU a page',
        reach: PAGE_CPU_MS,
        bound: 'most',
        note: `with Postgres and all others ${(total(spent) / MADE).toFixed(1)}`,
      })
    }
  return figures
}

interface Round {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly failed: number
}

async function calls(row: Row, seed: number): Promise<Round> {
  const { micros, statuses } = await paced(row, {
    perSecond: PER_SECOND,
    seconds: SECONDS,
    warmUpSeconds: WARM_UP_SECONDS,
    connections: CONNECTIONS,
    seed,
  })
  const { '200': _answered, ...others } = statuses
  return {
    p50Ms: percentile(micros, 50) / 1_000,
    p99Ms: percentile(micros, 99) / 1_000,
    failed: Object.values(others).reduce((sum, count) => sum + count, 0),
  }
}

/** Calls with readers and without, in turns, each round with the same arrivals for both. */
async function inTurns(row: Row, gateway: BenchGateway, readers: readonly Reader[]) {
  const without: Round[] = []
  const beside: Round[] = []
  const turns: Turn[] = []
  for (let round = 0; round < ROUNDS; round += 1)
    for (const isRead of round % 2 === 0 ? [false, true] : [true, false]) {
      await gateway.settled()
      const reading = isRead
        ? startReaders(gateway.url, readers, [[...operatorPages, ...pages.slice(0, 2)], [...pages]])
        : undefined
      const seen = await calls(row, round + 1)
      turns.push(...((await reading?.stop()) ?? []))
      ;(isRead ? beside : without).push(seen)
      tell(`console, round ${round}, ${isRead ? 'with' : 'without'} readers: ${seen.p99Ms} ms`)
    }
  return { without, beside, turns }
}

function pageFigures(turns: readonly Turn[]): readonly Figure[] {
  const names = [...new Set(turns.map(({ page }) => page))]
  return names.flatMap((name) => {
    const times = turns.filter(({ page }) => page === name).map(({ ms }) => ms)
    return [50, 95].map((p): Figure => ({
      name: `console: ${name}, p${p}`,
      value: percentile(times, p),
      unit: 'ms',
      ...(p === 95 ? { reach: PAGE_MS, bound: 'most' as const } : {}),
      note: `${times.length} pages`,
    }))
  })
}

function callerFigures(without: readonly Round[], beside: readonly Round[]): readonly Figure[] {
  const of = (rounds: readonly Round[], by: (round: Round) => number): number =>
    median(rounds.map(by))
  const failed = [...without, ...beside].reduce((sum, round) => sum + round.failed, 0)
  return (['p50Ms', 'p99Ms'] as const).map((p): Figure => {
    const [alone, read] = [of(without, (one) => one[p]), of(beside, (one) => one[p])]
    return {
      name: `console: calls at ${PER_SECOND}/s beside ${READERS} readers, ${p.slice(0, 3)}`,
      value: read / alone,
      unit: 'of those without',
      ...(p === 'p99Ms' ? { reach: CALLERS_P99_RATIO, bound: 'most' as const } : {}),
      note: `${read.toFixed(2)} and ${alone.toFixed(2)} ms${failed > 0 ? `; ${failed} FAILED` : ''}`,
    }
  })
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const settings = { QUERY_RATE_LIMIT_RPM: '60000' }
    const { row, gateway } = await startTollgate(closers, upstream.url, settings)
    const tokens = await gateway.tenants(TENANTS)
    const busy = { ...row, tokens }
    tell(`console: ${CALLS} calls`)
    await warmUp([busy], CALLS)
    await gateway.settled()
    await vacuumEnds(gateway.pid, VACUUM_MS)
    const text = await readFile(join(gateway.dataDir, 'demo.json'), 'utf8')
    const { adminToken } = JSON.parse(text) as { readonly adminToken: string }
    const readers: Reader[] = []
    // Every other one is an operator.
    for (let n = 0; n < READERS; n += 1) {
      const reader = await openReader(gateway.url, adminToken, n % TENANTS)
      readers.push(n % 2 === 0 ? await openOperator(gateway.url, adminToken, reader) : reader)
    }
    const [operator, reader] = readers as [Reader, Reader]
    const cost = await pageCost(gateway, [
      [reader, pages],
      [operator, operatorPages],
    ])
    const { without, beside, turns } = await inTurns(busy, gateway, readers)
    return [...pageFigures(turns), ...callerFigures(without, beside), ...cost]
  })
