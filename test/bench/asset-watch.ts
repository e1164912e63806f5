import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { percentile, type Benchmark } from './figure.ts'
import { tell, withClosers } from './kit/closers.ts'
import { type BenchGateway, startGateway } from './kit/gateway.ts'
import { sized, sizeFrom } from './kit/sizes.ts'

/**
 * Many assets that upstream works on at once: how many requests following them takes, and how long
 * after upstream has made something of one we know.
 */

const ASSETS = sizeFrom('BENCH_ASSETS', sized(10_000, 100))
const RUNNING_MS = sized(120_000, 3_000)
/** What every account is asked a second at most, as configured here. */
const REQUESTS_PER_SECOND = 20
const CONCURRENT = 32
const GIVE_UP_MS = 600_000
/** The interval of what is a tenth as old as it is long. */
const INTERVAL_MS = Math.min(30_000, RUNNING_MS / 10)

const ADDRESS = `https://93.184.216.34/${encodeURIComponent(`[[sandbox running-ms=${RUNNING_MS}]]`)}a.png`

type Act = <Result>(action: string, body: object) => Promise<Result>

function actingOn(pool: Pool, gateway: BenchGateway): Act {
  const headers = { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' }
  return async <Result>(action: string, body: object): Promise<Result> => {
    const path = `/provA/?Action=${action}&Version=2024-01-01`
    const answer = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body) })
    const text = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text.slice(0, 300)}`)
    return (JSON.parse(text) as { readonly Result: Result }).Result
  }
}

async function createAll(act: Act): Promise<void> {
  const model = 'domestic-video-2-0'
  const { Id: group } = await act<{ readonly Id: string }>('CreateAssetGroup', {
    model,
    Name: 'many',
  })
  const asset = { model, GroupId: group, URL: ADDRESS, AssetType: 'Image' }
  let begun = 0
  const caller = async (): Promise<void> => {
    while (begun < ASSETS) {
      begun += 1
      await act('CreateAsset', asset)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, caller))
}

/** Asked for cheaply: whoever follows them has the machine. */
async function activeOf(act: Act): Promise<number> {
  const body = { Filter: { GroupType: 'AIGC', Statuses: ['Active'] }, PageSize: 1 }
  return (await act<{ readonly TotalCount: number }>('ListAssets', body)).TotalCount
}

interface Requests {
  readonly get: number
  readonly list: number
}

async function requestsOf(gateway: BenchGateway): Promise<Requests> {
  const answer = await fetch(`${gateway.sandboxUrl ?? ''}/__sandbox/requests`)
  const { routes } = (await answer.json()) as {
    readonly routes: Readonly<Record<string, { readonly count: number }>>
  }
  return { get: routes['assets.get']?.count ?? 0, list: routes['assets.list']?.count ?? 0 }
}

/** Milliseconds from upstream's end of each to our word of it. */
async function delays(gateway: BenchGateway): Promise<readonly number[]> {
  const accepted = new Map<string, number>()
  const found: number[] = []
  for (const line of (await gateway.command('events')).split('\n')) {
    if (!line.includes('"Asset')) continue
    const { type, data } = JSON.parse(line) as {
      readonly type: string
      readonly data: Readonly<Record<string, string>>
    }
    const id = data['assetId'] ?? ''
    if (type === 'AssetAccepted') accepted.set(id, Date.parse(data['acceptedAt'] ?? ''))
    if (type !== 'AssetActivated') continue
    const endedMs = (accepted.get(id) ?? Number.NaN) + RUNNING_MS
    found.push(Date.parse(data['activatedAt'] ?? '') - endedMs)
  }
  return found
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const gateway = closers.add(
      await startGateway({ POLL_REQUESTS_PER_SECOND: String(REQUESTS_PER_SECOND) }),
    )
    const startedMs = performance.now()
    const pool = new Pool(gateway.url, { connections: CONCURRENT, pipelining: 1 })
    closers.later(() => pool.close())
    const act = actingOn(pool, gateway)
    await createAll(act)
    tell(`asset watch: created in ${Math.round(performance.now() - startedMs)} ms`)
    const untilMs = performance.now() + GIVE_UP_MS
    let active = 0
    while (active < ASSETS && performance.now() < untilMs) {
      await sleep(5_000)
      active = await activeOf(act)
      tell(`asset watch: ${active} of ${ASSETS} active`)
    }
    const tookS = (performance.now() - startedMs) / 1_000
    const found = await delays(gateway)
    const { get, list } = await requestsOf(gateway)
    const of = `${ASSETS.toLocaleString('en')} assets at once`
    const seconds = (ms: number): number => Number((ms / 1_000).toFixed(1))
    const most = { reach: seconds(2 * INTERVAL_MS), bound: 'most' as const }
    return [
      { name: `${of}, active`, value: found.length, unit: 'assets', reach: ASSETS },
      { name: `${of}, queries upstream`, value: get, unit: 'requests' },
      { name: `${of}, lists upstream`, value: list, unit: 'requests' },
      {
        name: `${of}, requests upstream a second`,
        value: Number(((get + list) / tookS).toFixed(1)),
        unit: '/s',
        reach: REQUESTS_PER_SECOND,
        bound: 'most',
      },
      { name: `${of}, known after, p50`, value: seconds(percentile(found, 50)), unit: 's' },
      {
        name: `${of}, known after, p99`,
        value: seconds(percentile(found, 99)),
        unit: 's',
        ...most,
      },
      { name: `${of}, known after, longest`, value: seconds(percentile(found, 100)), unit: 's' },
    ]
  })
