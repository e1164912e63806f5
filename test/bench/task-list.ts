import { Pool, type PoolClient } from 'pg'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { prepareFollower, indexFollower } from '../../projections/engine/follower.ts'
import { tasksProjection } from '../../projections/tasks/projection.ts'
import { listTasks, type TaskStatus } from '../../projections/tasks/query.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import { pageTimes, type Figure } from './figure.ts'
import { sized } from './kit/sizes.ts'
import { systemClock } from '../../src/kernel/clock.ts'

/** How long a page of a tenant's task list takes at any depth and with any filter. */

const STATUSES: readonly TaskStatus[] = [
  'succeeded',
  'failed',
  'running',
  'queued',
  'expired',
  'cancelled',
]
const MODELS = 10
const PAGE_SIZES = [10, 100, 500]
const SAMPLES = sized(2_000, 20)
const OTHER_TENANTS = 20

/**
 * Rows as the projection leaves them, written by SQL because a million lives take minutes: nine of
 * ten tasks succeeded, some failed, few are anything else; one in 50 is hidden.
 */
async function fill(client: PoolClient, tasks: number): Promise<void> {
  await client.query('set search_path to tasks')
  for (let scope = 0; scope <= OTHER_TENANTS; scope += 1) {
    const count = scope === 0 ? tasks : Math.floor(tasks / 100)
    await client.query('insert into scopes values ($1, $2, $3, $4)', [
      scope,
      `tenant_${scope}`,
      'video-a',
      count,
    ])
    await client.query(
      `insert into tasks
         (platform_id, scope_id, seq, tenant_id, user_id, token_id, family, surface, request_id,
          model, channel_id, region, native_id, submission, status, hidden, settled, visible,
          settings, output, usage, marker, marker_is_ours, requested_at_ms,
          updated_at_ms, observed_at_ms, expires_at_ms, revision, position)
       select 'video_' || $1::int || '_' || lpad(n::text, 20, '0'), $1::int, n, 'tenant_' || $1::int,
              'user_1', 'tok_1', 'video-a', 'provA.tasks', 'req_' || n,
              'domestic-video-2-' || (n::bigint * 7919 % ${MODELS}), 'channel_1', 'domestic',
              'cgt-' || $1::int || '-' || n, 'submitted',
              case when n % 1000 < 900 then 'succeeded' when n % 1000 < 990 then 'failed'
                   when n % 1000 < 994 then 'expired' when n % 1000 < 998 then 'cancelled'
                   when n > $2::int - 20000 then 'running' else 'queued' end,
              n % 50 = 7, true, n % 50 <> 7,
              '{"ratio":"16:9","duration":5,"resolution":"720p","watermark":false}',
              '{"ratio":"16:9","duration":5,"resolution":"720p","framespersecond":24}',
              '{"total_tokens":108900,"completion_tokens":108900}', 'm-' || n, true,
              n, n, n, n, 5, n
       from generate_series(0, $2::int - 1) n`,
      [scope, count],
    )
  }
  for (const [level, shift] of [
    [0, 62],
    [1, 15],
    [2, 10],
  ] as const)
    await client.query(
      `insert into counts select scope_id, ${level}, (seq >> ${shift})::int, status, model, count(*)
       from tasks where visible group by 1, 2, 3, 4, 5`,
    )
}

/** Small deterministic random numbers: every run asks for the same pages. */
function randomly(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

async function measure(
  pool: Pool,
  tenantId: string,
  filtered: 'none' | 'status' | 'model' | 'both',
): Promise<readonly number[]> {
  const random = randomly(7)
  const times: number[] = []
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const status = filtered === 'status' || filtered === 'both' ? STATUSES[random(6)] : undefined
    const model =
      filtered === 'model' || filtered === 'both' ? `domestic-video-2-${random(MODELS)}` : undefined
    const pageSize = PAGE_SIZES[random(PAGE_SIZES.length)] ?? 10
    const query = { tenantId, family: 'video-a', pageSize, status, model }
    const { total } = await listTasks(pool, { ...query, pageNumber: 1 })
    const pageNumber = 1 + random(Math.max(1, Math.ceil(total / pageSize)))
    const startedMs = performance.now()
    const page = await listTasks(pool, { ...query, pageNumber })
    times.push(performance.now() - startedMs)
    const expected = Math.min(pageSize, total - (pageNumber - 1) * pageSize)
    if (page.rows.length !== Math.max(0, expected) || page.total !== total)
      throw new Error(`page ${pageNumber} of ${total}: ${page.rows.length} rows, not ${expected}`)
  }
  return times
}

/** @param tasks how many the one tenant has. */
export async function run(tasks = sized(1_000_000, 5_000)): Promise<readonly Figure[]> {
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 4, pipeline: true })
  try {
    await migrateEngine(pool)
    const follower = await prepareFollower(pool, tasksProjection, systemClock)
    const client = await pool.connect()
    await fill(client, tasks).finally(() => client.release(true))
    await indexFollower(pool, follower)
    const figures: Figure[] = []
    for (const filtered of ['none', 'status', 'model', 'both'] as const) {
      const times = await measure(pool, 'tenant_0', filtered)
      figures.push(...pageTimes(`list page of ${tasks} tasks, filter ${filtered}`, times))
    }
    return figures
  } finally {
    await pool.end()
    await database.drop()
  }
}

if (process.argv[1]?.endsWith('bench/task-list.ts') === true)
  process.stdout.write(
    `${JSON.stringify(await run(Number(process.argv[2] ?? 1_000_000)), null, 2)}\n`,
  )
