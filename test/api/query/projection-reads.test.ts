import { catalog } from '../../../src/families/index.ts'
import * as fc from 'fast-check'
import { listKeyOf, toCursor } from '../../../src/api/kit/routes/queries.ts'
import { noLineFiles } from '../support/memory-ledger.ts'
import t from 'tap'
import { allProjections } from '../../../projections/registry.ts'
import { accountReads } from '../../../src/api/query/account-reads.ts'
import { projectionReads } from '../../../src/api/query/projection-reads.ts'
import { createReadModels } from '../../../src/app/read-models/read-models.ts'
import { readModelStates } from '../../../src/app/read-models/states.ts'
import { caughtUp, startEngine, testPool } from '../../projections/support/database.ts'
import {
  nativeId,
  openTenant,
  overlappingTasks,
  platformId,
  recordCall,
  Recorder,
  recordStep,
  taskSteps,
} from '../../projections/support/history.ts'
import { assetId, groupId, libraryHistory, recordAsset } from '../../projections/support/library.ts'
import { ScriptedLog } from '../../projections/support/memory-log.ts'
import { nowMs, startApp } from '../support/app.ts'
import { character } from '../../helpers/characters.ts'

/** The query routes over real Postgres and the real read models. */

const TASKS = 60
const pool = await testPool(t)
const recorder = new Recorder()
const log = new ScriptedLog([
  ...openTenant(recorder, 'tenant_1'),
  ...openTenant(recorder, 'tenant_2'),
  ...overlappingTasks(recorder, {
    tasks: TASKS,
    width: 8,
    shape: (n) => ({ tenantId: n % 2 === 0 ? 'tenant_1' : 'tenant_2' }),
  }),
  recordCall(recorder, 1),
  ...libraryHistory(recorder),
])
startEngine(t, { pool, log, projections: allProjections })
await caughtUp(pool, log, allProjections)

const clock = { nowMs: () => nowMs }
const logEnd = async () => log.endPosition()
const readModelDeps = { db: pool, projections: allProjections, logEnd, clock }
const readModels = createReadModels(readModelDeps)
const { app } = await startApp({
  queries: {
    reads: projectionReads({
      db: pool,
      catalog,
      logEnd,
      readModels,
      lineFiles: noLineFiles,
      urlsEndOf: () => Promise.resolve(undefined),
    }),
    accounts: accountReads({
      db: pool,
      logEnd,
      readModels,
      balances: () => Promise.reject(new Error('no balance is asked for')),
      settingsOf: () => Promise.resolve({}),
    }),
  },
  health: {
    dependencies: [],
    projections: readModelStates(readModelDeps),
    concerns: [],
    accepting: () => true,
  },
})
t.teardown(async () => app.close())

async function get(path: string, secret = 'qak-operator') {
  return app.inject({ url: `/api/query/v1${path}`, headers: { authorization: `Bearer ${secret}` } })
}

interface Page {
  readonly data: {
    readonly items: readonly Readonly<Record<string, string>>[]
    readonly next_cursor: string | null
  }
}

void t.test('pages of projected lines join up to the export, in one order', async (t) => {
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const answer = await get(`/ledger/lines?limit=7${cursor === '' ? '' : `&cursor=${cursor}`}`)
    t.equal(answer.statusCode, 200)
    const { data } = answer.json<Page>()
    seen.push(...data.items.map((item) => item['line_id'] ?? ''))
    cursor = data.next_cursor
  }
  t.equal(seen.length, TASKS + 2, 'one line of each task, two of the call')
  t.equal(new Set(seen).size, seen.length)
  const csv = (await get('/ledger/lines?format=csv')).body.split('\r\n').slice(1, -1)
  t.same(
    csv.map((row) => row.split(',')[0]),
    seen,
  )
})

void t.test('a line of a task explains its amount', async (t) => {
  const answer = await get(`/ledger/lines?source_id=${platformId(4)}`)
  t.match(answer.json<Page>().data.items, [
    {
      tenant_id: 'tenant_1',
      user_id: 'user_1',
      token_id: 'tok_4',
      source_id: platformId(4),
      native_id: nativeId(4),
      model: 'domestic-video-2-5',
      sku: 'domestic-video-2-5-novideo',
      quantity: 1_004,
      price: '70',
      per: 1_000_000,
      currency: 'CNY',
      amount: '0.07028',
      measurement: 'reported',
    },
  ])
})

void t.test('a scope narrows real lines and sums', async (t) => {
  const countOf = async (query: string, secret?: string) =>
    (await get(`/ledger/lines?limit=1000&${query}`, secret)).json<Page>().data.items.length
  t.equal(await countOf('', 'qak-all'), TASKS / 2 + 2)
  t.equal(await countOf('tenant_id=tenant_2'), TASKS / 2)
  t.equal(await countOf('', 'qak-user'), TASKS / 6 + 2)
  t.equal(await countOf('', 'qak-some'), (TASKS / 6) * 2 + 2)
  const sums = (await get('/ledger/summary?group_by=tenant')).json<Page>().data.items
  t.same(
    sums.map((item) => [item['key'], item['currency'], item['lines']]),
    [
      ['tenant_1', 'CNY', TASKS / 2],
      ['tenant_1', 'USD', 2],
      ['tenant_2', 'CNY', TASKS / 2],
    ],
  )
})

void t.test('400 invalid_request for a well-formed cursor of no line', async (t) => {
  const list = listKeyOf(['lines', { tenantId: 'tenant_1' }], {})
  const answer = await get(`/ledger/lines?cursor=${toCursor('nobody', list)}`)
  t.equal(answer.statusCode, 400)
  t.match(answer.json(), { error: { code: 'invalid_request', param: 'cursor' } })
})

void t.test('a history has every event in order, by either id', async (t) => {
  for (const id of [platformId(2), nativeId(2)]) {
    const answer = await get(`/tasks/${id}/history`, 'qak-all')
    t.same(
      answer.json<Page>().data.items.map((item) => item['type']),
      ['TaskRequested', 'TaskSubmitted', 'TaskStatusChanged', 'TaskSucceeded', 'TaskSettled'],
    )
    t.notMatch(answer.body, /channel_1|up-domestic|"m-2"/)
  }
})

void t.test(
  'the history of a request has its events in order, limited to each token’s scope',
  async (t) => {
    const positionsOf = async (secret: string) => {
      const answer = await get('/tasks/req_test/history', secret)
      return answer.json<Page>().data.items.map((item) => item['position'])
    }
    const recorded = log.events.filter(({ stream }) =>
      /^(?:task|journal|asset|assetgroup|verification)-/.test(stream),
    )
    const own = recorded.filter((event) => {
      const first = recorded.find(({ stream }) => stream === event.stream)
      return first !== undefined && 'tenantId' in first.data && first.data.tenantId === 'tenant_1'
    })
    t.ok(own.length > 100 && own.length < recorded.length)
    t.same(
      await positionsOf('qak-all'),
      own.map(({ position }) => String(position)),
    )
    t.same(
      await positionsOf('qak-operator'),
      recorded.map(({ position }) => String(position)),
    )
    t.equal((await get('/tasks/req_none/history', 'qak-all')).statusCode, 404)
  },
)

void t.test('assets and groups are listed with a cursor, inside the scope', async (t) => {
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const answer = await get(`/assets?limit=7${cursor === '' ? '' : `&cursor=${cursor}`}`)
    t.equal(answer.statusCode, 200)
    const { data } = answer.json<Page>()
    seen.push(...data.items.map((item) => item['asset_id'] ?? ''))
    cursor = data.next_cursor
  }
  t.same(
    seen,
    Array.from({ length: 44 }, (_, n) => assetId(43 - n)),
  )
  const idsOf = async (path: string, secret?: string) =>
    (await get(path, secret))
      .json<Page>()
      .data.items.map((item) => item['asset_id'] ?? item['group_id'])
  t.same(
    await idsOf('/assets?limit=100', 'qak-all'),
    seen.filter((_, n) => n % 2 === 0),
    'of tenant_1',
  )
  t.same(await idsOf(`/assets?native_id=native-asset-5`, 'qak-all'), [assetId(5)])
  t.same(await idsOf(`/assets?native_id=native-asset-4`, 'qak-all'), [], 'of another tenant')
  t.same(await idsOf('/asset-groups', 'qak-all'), [7, 3, 1].map(groupId))
  t.same(await idsOf('/asset-groups?native_id=native-group-3'), [groupId(3)])
})

void t.test('the history of an asset, by either id or by its request', async (t) => {
  for (const id of [assetId(21), 'native-asset-21']) {
    const answer = await get(`/assets/${id}/history`, 'qak-all')
    t.same(
      answer.json<Page>().data.items.map((item) => item['type']),
      ['AssetCreated', 'AssetWithdrawn', 'AssetAccepted', 'AssetDeleted'],
      id,
    )
  }
  const byRequest = (await get('/assets/req_test/history', 'qak-operator')).json<Page>().data.items
  const recorded = log.events.filter(({ stream }) =>
    /^(?:asset|assetgroup|verification)-/.test(stream),
  )
  t.same(
    byRequest.map((item) => item['position']),
    recorded.map(({ position }) => String(position)),
    'of a request all that is of the library',
  )
  const group = await get(`/assets/${groupId(3)}/history`, 'qak-all')
  t.same(
    group.json<Page>().data.items.map((item) => item['type']),
    ['AssetGroupCreated', 'AssetGroupAccepted'],
  )
  t.notMatch(group.body, /native-group|video-a-1/)
  t.equal((await get(`/assets/${platformId(2)}/history`, 'qak-all')).statusCode, 404)
  t.equal((await get(`/assets/${assetId(2)}/history`, 'qak-all')).statusCode, 404, 'of tenant_0')
  t.equal((await get(`/tasks/${assetId(21)}/history`, 'qak-all')).statusCode, 200)
})

void t.test('a history of an asset is found as soon as the log has it', async (t) => {
  log.push(...recordAsset(recorder, { n: 900 }, 'created'))
  const answer = await get(`/assets/${assetId(900)}/history`, 'qak-all')
  t.equal(answer.statusCode, 200)
})

void t.test('404 for the history of another tenant, another user or an unknown id', async (t) => {
  const unknown = await get('/tasks/video_none/history', 'qak-all')
  t.equal(unknown.statusCode, 404)
  for (const [id, secret] of [
    [platformId(3), 'qak-all'],
    [nativeId(3), 'qak-all'],
    [platformId(2), 'qak-user'],
    ['tok_tenant_1', 'qak-all'],
    ['tok_tenant_1', 'qak-operator'],
  ] as const) {
    const answer = await get(`/tasks/${id}/history`, secret)
    t.equal(answer.statusCode, 404, id)
    t.equal(answer.body, unknown.body)
  }
})

void t.test('a native id that two tenants share shows each its own', async (t) => {
  const stream = (n: number) => `task-${platformId(n)}`
  for (const [n, tenantId] of [
    [70, 'tenant_1'],
    [71, 'tenant_2'],
  ] as const) {
    const { requested, submitted } = taskSteps({ n, tenantId })
    log.push(
      recorder.record(stream(n), requested),
      recorder.record(stream(n), {
        ...submitted,
        data: { ...submitted.data, nativeId: 'cgt-shared' },
      }),
    )
  }
  const own = await get('/tasks/cgt-shared/history', 'qak-all')
  t.match(own.json(), { data: { items: [{ data: { platformId: platformId(70) } }, {}] } })
})

void t.test('a history is found as soon as the log has it', async (t) => {
  log.push(recordStep(recorder, { n: 80 }, 'requested'))
  const answer = await get(`/tasks/${platformId(80)}/history`, 'qak-all')
  t.equal(answer.statusCode, 200)
})

void t.test('503 instead of a 404 while the read model lags behind the log', async (t) => {
  const { app } = await startApp({
    queries: {
      reads: projectionReads({
        db: pool,
        catalog,
        readModels,
        lineFiles: noLineFiles,
        urlsEndOf: () => Promise.resolve(undefined),
        logEnd: async () => Promise.resolve(2n ** 62n),
      }),
    },
  })
  t.teardown(async () => app.close())
  const answer = await app.inject({
    url: '/api/query/v1/tasks/video_none/history',
    headers: { authorization: 'Bearer qak-all' },
  })
  t.equal(answer.statusCode, 503)
  t.match(answer.json(), { success: false, error: { code: 'service_unavailable' } })
})

void t.test('/readyz reports how far every read model is', async (t) => {
  await caughtUp(pool, log, allProjections)
  const answer = await app.inject('/readyz')
  t.equal(answer.statusCode, 200)
  const end = String(log.events.at(-1)?.position)
  t.same(
    answer.json().projections,
    allProjections.map(({ name }) => ({
      name,
      position: end,
      lagMs: 0,
      passedOver: 0,
      rebuilding: false,
    })),
  )
})

void t.test('the first event after an idle hour is not an hour behind', async (t) => {
  let now = nowMs
  let end = log.events.at(-1)?.position ?? 0n
  const states = readModelStates({
    db: pool,
    projections: allProjections,
    logEnd: async () => Promise.resolve(end),
    clock: { nowMs: () => now },
  })
  const lagOf = async () => (await states()).map((state) => state.lagMs)
  t.same(new Set(await lagOf()), new Set([0]))
  now += 3_600_000
  t.same(new Set(await lagOf()), new Set([0]))
  end += 1_000n
  now += 250
  t.same(new Set(await lagOf()), new Set([250]))
  now += 60_000
  t.same(new Set(await lagOf()), new Set([60_250]), 'but it grows while nothing moves')
})

void t.test(
  'a read model behind or stopped is a 503 on the routes that read it alone',
  async (t) => {
    await caughtUp(pool, log, allProjections)
    const end = log.events.at(-1)?.position ?? 0n
    /** An app over read models with the lag of `at`, read separately. */
    const statusesAt = async (at: { readonly end?: bigint; readonly nowMs?: number }) => {
      const models = createReadModels({
        ...readModelDeps,
        logEnd: async () => Promise.resolve(at.end ?? end),
        clock: { nowMs: () => at.nowMs ?? nowMs },
      })
      const reads = projectionReads({
        db: pool,
        catalog,
        logEnd,
        readModels: models,
        lineFiles: noLineFiles,
        urlsEndOf: () => Promise.resolve(undefined),
      })
      const { app } = await startApp({ queries: { reads } })
      t.teardown(async () => app.close())
      const paths = [
        'ledger/lines',
        'ledger/summary',
        `tasks/${platformId(4)}/history`,
        'assets',
        'asset-groups',
      ]
      const answers = await Promise.all(
        paths.map(async (path) =>
          app.inject({
            url: `/api/query/v1/${path}`,
            headers: { authorization: 'Bearer qak-operator' },
          }),
        ),
      )
      for (const answer of answers.filter(({ statusCode }) => statusCode === 503)) {
        t.match(answer.json(), { success: false, error: { code: 'service_unavailable' } })
        t.equal(answer.headers['retry-after'], '2')
      }
      return answers.map(({ statusCode }) => statusCode)
    }
    t.same(await statusesAt({}), [200, 200, 200, 200, 200])
    t.same(
      await statusesAt({ nowMs: nowMs + 3_600_000 }),
      [200, 200, 200, 200, 200],
      'nothing came since',
    )
    const hourOld = { end: end + 1n, nowMs: Date.now() + 3_600_000 }
    t.same(await statusesAt(hourOld), [503, 503, 503, 503, 503])

    const stop = async (name: string, stopped: object | null) =>
      pool.query('update engine.checkpoints set stopped = $2 where name = $1', [name, stopped])
    await stop('timeline', { kind: 'cannot_apply', reason: 'x', at: '2026-01-01T00:00:00Z' })
    t.same(await statusesAt({}), [200, 200, 503, 200, 200])
    await stop('timeline', null)
    await stop('ledger', { kind: 'log_older', reason: 'x', at: '2026-01-01T00:00:00Z' })
    t.same(await statusesAt({}), [503, 503, 200, 200, 200])
    await stop('ledger', null)
    await stop('assets', { kind: 'cannot_apply', reason: 'x', at: '2026-01-01T00:00:00Z' })
    t.same(await statusesAt({}), [200, 200, 200, 503, 503])
    await stop('assets', null)

    const older = async (version: number) =>
      pool.query('update engine.checkpoints set version = version + $1 where name = $2', [
        version,
        'ledger',
      ])
    await older(-1)
    t.same(
      await statusesAt(hourOld),
      [200, 200, 503, 503, 503],
      'an older version serves until it is rebuilt',
    )
    await older(1)
  },
)

void t.test('503 when a table of another version lacks a column that is read', async (t) => {
  await pool.query('alter table ledger.lines rename column sku to sku_of_another_version')
  t.equal((await get('/ledger/lines')).statusCode, 503)
  await pool.query('alter table ledger.lines rename column sku_of_another_version to sku')
  t.equal((await get('/ledger/lines')).statusCode, 200)
})

void t.test('no filter text makes Postgres fail', async (t) => {
  let passed = 0
  const text = fc.oneof(
    fc.string({ unit: character, maxLength: 20 }).map((each) => encodeURIComponent(each)),
    fc.constantFrom(
      '%00',
      "'",
      '%25',
      '_',
      '\\',
      '0001-01-01',
      '1970-01-01',
      '9999-12-31',
      '9999-12-31T23:59:59Z',
      '2026-02-30',
      '2026-03-04T05:06:07.123456789Z',
    ),
  )
  const name = fc.constantFrom(
    'tenant_id',
    'user_id',
    'sku',
    'model',
    'source_id',
    'from',
    'to',
    'cursor',
  )
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('/ledger/lines', '/ledger/summary'),
      fc.array(fc.tuple(name, text), { minLength: 1, maxLength: 3 }),
      async (path, parts) => {
        const answer = await get(`${path}?${parts.map((part) => part.join('=')).join('&')}`)
        if (answer.statusCode === 200) passed += 1
        else if (answer.statusCode !== 400) throw new Error(`${answer.statusCode} ${answer.body}`)
      },
    ),
    { numRuns: 800, seed: 301 },
  )
  t.ok(passed > 50, `${passed} passed`)
})
