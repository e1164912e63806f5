import { Pool, type PoolClient } from 'pg'
import { CountedTotals, findAssets, type AssetListing } from '../../projections/assets/query.ts'
import { assetsProjection } from '../../projections/assets/projection.ts'
import { indexFollower, prepareFollower } from '../../projections/engine/follower.ts'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import { Recorder } from '../projections/support/history.ts'
import { type assetSteps, groupId, recordAsset } from '../projections/support/library.ts'
import { pageTimes, type Figure } from './figure.ts'
import { sized } from './kit/sizes.ts'

/** How long a page of a tenant's assets takes, at any depth, in any order, with any filter. */

const ASSETS = sized(100_000, 2_000)
const GROUPS = 500
const OTHER_TENANTS = 20
const BATCH_EVENTS = 2_000
const SAMPLES = sized(1_000, 20)
const PAGE_SIZES = [10, 100]
/** As far as a list may reach. */
const MAX_LISTED = 20_000

type Step = keyof ReturnType<typeof assetSteps>

/** Nine of ten are active; some failed, some are worked on, a few are deleted. */
function stepsOf(n: number): readonly Step[] {
  if (n % 100 < 90) return ['created', 'accepted', 'activated']
  if (n % 100 < 95) return ['created', 'accepted', 'failed']
  return n % 100 < 98
    ? ['created', 'accepted']
    : ['created', 'accepted', 'activated', 'withdrawn', 'deleted']
}

function* history(): Generator<RecordedEvent> {
  const recorder = new Recorder()
  for (let n = 0; n < ASSETS + OTHER_TENANTS * (ASSETS / 100); n += 1) {
    const tenantId = n < ASSETS ? 'tenant_1' : `tenant_${2 + (n % OTHER_TENANTS)}`
    const region = n % 7 === 0 ? 'overseas' : 'domestic'
    const projectName = n % 5 === 0 ? 'films' : 'default'
    const name = `${['hero', 'boat', 'street'][n % 3] ?? ''}-${n % 1_000}`
    const shape = { n, tenantId, region, projectName, group: n % GROUPS, name } as const
    yield* recordAsset(recorder, shape, ...stepsOf(n))
  }
}

async function fill(client: PoolClient): Promise<void> {
  await client.query('set search_path to assets')
  let batch: RecordedEvent[] = []
  const write = async (): Promise<void> => {
    await client.query('begin')
    await assetsProjection.apply(client, batch)
    await client.query('commit')
    batch = []
  }
  for (const event of history()) {
    batch.push(event)
    if (batch.length === BATCH_EVENTS) await write()
  }
  await write()
}

/** Small deterministic random numbers: every run asks for the same pages. */
function randomly(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

const filters: Readonly<
  Record<string, (random: (below: number) => number) => Partial<AssetListing>>
> = {
  none: () => ({}),
  status: (random) => ({
    statuses: [(['Active', 'Failed', 'Processing'] as const)[random(3)] ?? 'Active'],
  }),
  region: (random) => ({ region: random(2) === 0 ? 'domestic' : 'overseas' }),
  project: (random) => ({ projectName: random(2) === 0 ? 'films' : 'default' }),
  groups: (random) => ({
    groupIds: Array.from({ length: 1 + random(5) }, () => groupId(random(GROUPS))),
  }),
  name: (random) => ({ name: ['hero', 'boat-1', 'street-99', 'none'][random(4)] }),
  all: (random) => ({
    statuses: ['Active'],
    region: 'domestic',
    projectName: 'default',
    groupIds: [groupId(random(GROUPS))],
    name: 'hero',
  }),
}

interface Times {
  /** Of the first page of a list whose total nobody remembers. */
  readonly first: readonly number[]
  /** Of any further page. */
  readonly later: readonly number[]
}

async function measure(
  pool: Pool,
  filterOf: (random: (below: number) => number) => Partial<AssetListing>,
): Promise<Times> {
  const random = randomly(7)
  // As the gateway has them: of a list whose first page was seen the total is known.
  const counted = new CountedTotals()
  const times = { first: [] as number[], later: [] as number[] }
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const pageSize = PAGE_SIZES[random(PAGE_SIZES.length)] ?? 10
    const listing: AssetListing = {
      tenantId: 'tenant_1',
      userId: 'user_1',
      groupType: 'AIGC',
      region: undefined,
      projectName: undefined,
      groupIds: undefined,
      name: undefined,
      statuses: undefined,
      pageNumber: 1,
      pageSize,
      sortBy: (['CreateTime', 'UpdateTime', 'GroupId'] as const)[random(3)] ?? 'CreateTime',
      sortOrder: random(2) === 0 ? 'Asc' : 'Desc',
      ...filterOf(random),
    }
    const beganMs = performance.now()
    const { total } = await findAssets(pool, listing, new CountedTotals())
    times.first.push(performance.now() - beganMs)
    await findAssets(pool, listing, counted)
    const pages = Math.max(1, Math.ceil(Math.min(total, MAX_LISTED) / pageSize))
    const pageNumber = 1 + random(pages)
    const startedMs = performance.now()
    const page = await findAssets(pool, { ...listing, pageNumber }, counted)
    times.later.push(performance.now() - startedMs)
    const expected = Math.min(pageSize, total - (pageNumber - 1) * pageSize)
    if (page.rows.length !== Math.max(0, expected) || page.total !== total)
      throw new Error(`page ${pageNumber} of ${total}: ${page.rows.length} rows, not ${expected}`)
  }
  return times
}

export async function run(): Promise<readonly Figure[]> {
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 4, pipeline: true })
  try {
    await migrateEngine(pool)
    const follower = await prepareFollower(pool, assetsProjection, systemClock)
    const client = await pool.connect()
    await fill(client).finally(() => client.release(true))
    await indexFollower(pool, follower)
    // As Postgres does by itself within a minute: pages are read from the indexes alone then.
    for (const table of ['assets', 'counts']) await pool.query(`vacuum (analyze) assets.${table}`)
    const figures: Figure[] = []
    for (const [name, filterOf] of Object.entries(filters)) {
      const { first, later } = await measure(pool, filterOf)
      const list = `of ${ASSETS.toLocaleString('en')} assets, filter ${name}`
      figures.push(...pageTimes(`first page ${list}`, first), ...pageTimes(`page ${list}`, later))
    }
    return figures
  } finally {
    await pool.end()
    await database.drop()
  }
}
