import * as fc from 'fast-check'
import t from 'tap'
import { tasksProjection } from '../../../projections/tasks/projection.ts'
import {
  findTask,
  findTaskAnyTenant,
  listTasks,
  pageTasks,
  queryTasks,
  type TaskRow,
  tasksBehind,
  taskPlace,
  type TaskStatus,
} from '../../../projections/tasks/query.ts'
import { applied, testPool } from '../support/database.ts'
import {
  lives,
  nativeId,
  overlappingTasks,
  platformId,
  Recorder,
  recordStep,
  type Life,
} from '../support/history.ts'

const TASKS = 2_600
const LIVES = Object.keys(lives) as Life[]
const STATUSES: readonly TaskStatus[] = [
  'queued',
  'running',
  'succeeded',
  'failed',
  'expired',
  'cancelled',
]
const MODELS = ['model-0', 'model-1', 'model-2']

const statusOf: Readonly<Record<Life, TaskStatus | 'invisible'>> = {
  settled: 'succeeded',
  settledThenDeleted: 'invisible',
  failed: 'failed',
  refused: 'invisible',
  adopted: 'succeeded',
  lost: 'expired',
  neverAccepted: 'failed',
  appearedLate: 'invisible',
  givenUp: 'failed',
  givenUpLate: 'failed',
  givenUpUnreported: 'failed',
  cancelled: 'invisible',
  stuck: 'running',
  begun: 'queued',
  queued: 'queued',
  made: 'succeeded',
  madeSlowly: 'succeeded',
  notMade: 'failed',
  lostByItsWorker: 'expired',
  waiting: 'queued',
  making: 'running',
  doubted: 'running',
  awaitingUsage: 'running',
  reportedLate: 'succeeded',
  neverReported: 'expired',
}

const lifeOf = (n: number): Life => LIVES[(n * 7 + (n >> 3)) % LIVES.length] ?? 'settled'
const shapeOf = (n: number) => ({
  tenantId: n % 10 === 3 ? 'tenant_b' : 'tenant_a',
  model: MODELS[(n * 5 + (n >> 4)) % 3] ?? 'model-0',
})

const events = [
  ...overlappingTasks(new Recorder(), { tasks: TASKS, width: 40, shape: shapeOf, life: lifeOf }),
]
const inOrder = events.flatMap(({ type, data }) =>
  type === 'TaskRequested' ? [Number(data.requestId.slice(4))] : [],
)

/** What a list must show, by the plainest means: newest first, visible ones. */
function expected(tenantId: string, status?: TaskStatus, model?: string): readonly string[] {
  return inOrder
    .filter((n) => shapeOf(n).tenantId === tenantId)
    .filter((n) => statusOf[lifeOf(n)] !== 'invisible')
    .filter((n) => (status ?? statusOf[lifeOf(n)]) === statusOf[lifeOf(n)])
    .filter((n) => (model ?? shapeOf(n).model) === shapeOf(n).model)
    .map(platformId)
    .reverse()
}

t.test('task lists', async (t) => {
  const pool = await testPool(t)
  await applied(t, pool, events, [tasksProjection], 700)

  await t.test('any page of any filter equals a plain scan, with the total', async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('tenant_a', 'tenant_b', 'tenant_none'),
        fc.option(fc.constantFrom(...STATUSES), { nil: undefined }),
        fc.option(fc.constantFrom(...MODELS, 'model-none'), { nil: undefined }),
        fc.integer({ min: 1, max: 500 }),
        fc.double({ min: 0, max: 1.2, noNaN: true }),
        async (tenantId, status, model, pageSize, depth) => {
          const ids = expected(tenantId, status, model)
          const pageNumber = 1 + Math.floor((depth * ids.length) / pageSize)
          const page = await listTasks(pool, {
            tenantId,
            family: 'video-a',
            pageNumber,
            pageSize,
            status,
            model,
          })
          const from = (pageNumber - 1) * pageSize
          const wanted = ids.slice(from, from + pageSize)
          if (page.total !== ids.length) throw new Error(`total ${page.total}, not ${ids.length}`)
          if (page.rows.map((row) => row.platformId).join() !== wanted.join())
            throw new Error(`page ${pageNumber} differs`)
        },
      ),
      { numRuns: 150, interruptAfterTimeLimit: 8_000 },
    )
    t.pass('for every page')
  })

  await t.test(
    'tasks of all tenants are listed once each across pages, while tasks are added',
    async (t) => {
      const all = {
        tenantId: undefined,
        userIds: undefined,
        family: undefined,
        status: undefined,
        model: undefined,
        tokenId: undefined,
        surface: undefined,
        requestId: undefined,
        platformId: undefined,
        taskId: undefined,
        fromMs: undefined,
        toMs: undefined,
      }
      for (const filter of [
        all,
        { ...all, tenantId: 'tenant_b', model: 'model-1' },
        { ...all, status: 'succeeded' as const },
      ]) {
        const { rows, total } = await queryTasks(pool, filter, { offset: 0, limit: 10_000 })
        const wanted = rows.map((row) => row.platformId)
        t.equal(wanted.length, total)
        const read: string[] = []
        let after: TaskRow | undefined
        for (let page = 0; ; page += 1) {
          const behind = await tasksBehind(pool, filter, after, 61)
          read.push(...behind.map((row) => row.platformId))
          // Whoever leaves the head of the list moves nobody.
          if (page === 0)
            await pool.query('update tasks.tasks set visible = false where platform_id = $1', [
              wanted[0],
            ])
          after = behind.at(-1)
          if (behind.length < 61) break
        }
        await pool.query('update tasks.tasks set visible = true where platform_id = $1', [
          wanted[0],
        ])
        t.same(read, wanted)
      }
    },
  )

  await t.test('a list continued task by task has every visible task once', async (t) => {
    const families = ['video-a', 'none']
    for (const order of ['asc', 'desc'] as const) {
      const wanted = await pool.query<{ platform_id: string }>(
        `select platform_id from tasks.tasks where tenant_id = 'tenant_a' and visible
         order by requested_at_ms ${order}, platform_id ${order}`,
      )
      const read: string[] = []
      let after: Awaited<ReturnType<typeof taskPlace>>
      for (;;) {
        const page = await pageTasks(pool, {
          tenantId: 'tenant_a',
          families,
          order,
          after,
          limit: 97,
        })
        const last = page.at(-1)
        if (last === undefined) break
        read.push(...page.map((row) => row.platformId))
        after = await taskPlace(pool, { tenantId: 'tenant_a', families, id: last.platformId })
      }
      t.ok(read.length > 1_000, `${read.length} tasks`)
      t.same(
        read,
        wanted.rows.map((row) => row.platform_id),
        order,
      )
    }
    const theirs = { tenantId: 'tenant_b', families, id: platformId(inOrder[0] ?? 0) }
    t.equal(await taskPlace(pool, theirs), undefined, 'there is no place in another tenant’s list')
    const none = { tenantId: 'tenant_a', families: ['none'], order: 'asc' as const, limit: 5 }
    t.same(await pageTasks(pool, { ...none, after: undefined }), [])
  })

  await t.test('every bucket count is the number of visible rows', async (t) => {
    const { rows } = await pool.query(
      `select * from (
         select scope_id, status, model, n, (
           select count(*) from tasks.tasks t where t.scope_id = c.scope_id and t.visible
             and t.status = c.status and t.model = c.model
             and t.seq >> (case level when 0 then 62 when 1 then 15 else 10 end) = bucket) as actual
         from tasks.counts c) x where n <> actual`,
    )
    t.same(rows, [])
    const { rows: sums } = await pool.query<{ n: string }>(
      'select sum(n) as n from tasks.counts group by level',
    )
    t.equal(new Set(sums.map(({ n }) => n)).size, 1)
  })

  await t.test('ids of either kind find only the tenant’s own visible tasks', async (t) => {
    const visible = expected('tenant_a', 'succeeded')
    const mine = visible.slice(0, 2)
    const page = await listTasks(pool, {
      tenantId: 'tenant_a',
      family: 'video-a',
      pageNumber: 1,
      pageSize: 10,
      ids: [...mine, ...expected('tenant_b').slice(0, 2), 'video_none', platformId(TASKS + 1)],
    })
    t.same(
      page.rows.map((row) => row.platformId),
      mine,
    )
    t.equal(page.total, 2)
    const first = page.rows[0]!
    if (first.nativeId === null) throw new Error('a succeeded one is submitted')
    const byNative = await listTasks(pool, {
      tenantId: 'tenant_a',
      family: 'video-a',
      pageNumber: 1,
      pageSize: 10,
      ids: [first.nativeId],
      status: first.status,
    })
    t.same(
      byNative.rows.map((row) => row.platformId),
      [first.platformId],
    )
  })
})

t.test('finding one task', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const steps = (n: number, life: Life) =>
    lives[life].map((step) => recordStep(recorder, { n }, step))
  await applied(
    t,
    pool,
    [
      ...steps(1, 'settled'),
      ...steps(2, 'settledThenDeleted'),
      ...steps(3, 'refused'),
      ...steps(4, 'begun'),
    ],
    [tasksProjection],
  )
  const find = (id: string, tenantId = 'tenant_1') =>
    findTask(pool, { tenantId, families: ['video-a'], id })
  const byPlatform = await find(platformId(1))
  t.match(byPlatform, {
    platformId: platformId(1),
    nativeId: nativeId(1),
    tenantId: 'tenant_1',
    userId: 'user_1',
    tokenId: 'tok_1',
    submission: 'submitted',
    status: 'succeeded',
    hidden: false,
    settled: true,
    settings: { duration: 5, ratio: '16:9' },
    output: { framespersecond: 24 },
    usage: { total_tokens: 1_001 },
    error: null,
    markerIsOurs: true,
    revision: 4n,
  })
  t.same(await find(nativeId(1)), byPlatform)
  t.equal(await find(platformId(1), 'tenant_2'), undefined, 'another tenant’s does not exist')
  t.equal(await find(nativeId(1), 'tenant_2'), undefined)
  t.equal(await find(platformId(2)), undefined, 'deleted')
  t.equal(await find(platformId(3)), undefined, 'refused')
  t.equal((await find(platformId(4)))?.nativeId, null)
  t.equal((await findTaskAnyTenant(pool, platformId(2)))?.hidden, true, 'support sees deleted ones')
  t.match((await findTaskAnyTenant(pool, platformId(3)))?.error, { code: 'invalid' })
})
