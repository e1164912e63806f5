import { setTimeout as sleep } from 'node:timers/promises'
import pino from 'pino'
import { Registry } from 'prom-client'
import t from 'tap'
import { createReadiness, setAsideConcern, type Health } from '../../../src/api/operating/health.ts'
import { buildOperationsApp } from '../../../src/api/operations-app.ts'
import type { ReadModelState } from '../../../src/app/read-models/states.ts'
import { startApp } from '../support/app.ts'

function health(part: Partial<Health> = {}): Health {
  return {
    dependencies: [
      { name: 'event_log', probe: async () => Promise.resolve(true) },
      { name: 'postgres', probe: async () => Promise.resolve(true) },
    ],
    projections: async () =>
      Promise.resolve([
        {
          name: 'ledger',
          position: '41',
          lagMs: 3,
          stopped: undefined,
          passedOver: 0,
          rebuilding: false,
        },
      ]),
    concerns: [],
    accepting: () => true,
    ...part,
  }
}

async function readiness(part: Partial<Health>) {
  const { app } = await startApp({ health: health(part) })
  t.teardown(async () => app.close())
  const answer = await app.inject('/readyz')
  return { status: answer.statusCode, ...answer.json<{ ready: boolean; reasons: string[] }>() }
}

void t.test('/ links to the entry points, and every linked path exists', async (t) => {
  const { app } = await startApp({ health: health() })
  t.teardown(async () => app.close())
  const answer = await app.inject('/')
  t.equal(answer.statusCode, 200)
  const {
    documentation,
    description,
    health: probes,
  } = answer.json<{
    documentation: string
    description: string
    health: string[]
  }>()
  for (const path of [documentation, description, ...probes])
    t.equal((await app.inject(path)).statusCode, 200, path)
})

void t.test('/healthz is 200 whichever dependency is down', async (t) => {
  const { app } = await startApp({ health: health({ accepting: () => false }) })
  t.teardown(async () => app.close())
  const answer = await app.inject('/healthz')
  t.equal(answer.statusCode, 200)
  t.same(answer.json(), { status: 'ok' })
})

void t.test('/readyz is 200 with every dependency and the lag of every projection', async (t) => {
  t.same(await readiness({}), {
    status: 200,
    ready: true,
    reasons: [],
    degraded: [],
    dependencies: { event_log: 'up', postgres: 'up' },
    projections: [{ name: 'ledger', position: '41', lagMs: 3, passedOver: 0, rebuilding: false }],
  })
})

void t.test('/readyz is 503 and names a dependency that is down, without its error', async (t) => {
  for (const probe of [
    async () => Promise.reject(new Error('password authentication failed for user x')),
    async () => Promise.resolve(false),
  ]) {
    const answer = await readiness({ dependencies: [{ name: 'postgres', probe }] })
    t.match(answer, {
      status: 503,
      ready: false,
      reasons: ['postgres is down'],
      dependencies: { postgres: 'down' },
    })
    t.notMatch(JSON.stringify(answer), /password/)
  }
})

void t.test('/readyz does not wait for a probe that hangs', async (t) => {
  const probe = async () => {
    await sleep(60_000, undefined, { ref: false })
    return true
  }
  t.match(await readiness({ dependencies: [{ name: 'event_log', probe }] }), {
    status: 503,
    reasons: ['event_log is down'],
  })
})

void t.test('/readyz names a read model that lags or has stopped, and stays 200', async (t) => {
  const state = (part: Partial<ReadModelState>) => async () =>
    Promise.resolve([
      {
        name: 'ledger',
        position: '1',
        lagMs: 0,
        stopped: undefined,
        rebuilding: false,
        ...part,
      } as ReadModelState,
    ])
  const cases: readonly [Health['projections'], readonly string[]][] = [
    [state({ lagMs: 30_000 }), []],
    [state({ lagMs: 30_001 }), ['read models: ledger is 30001 ms behind']],
    [state({ stopped: 'poison event' }), ['read models: ledger stands still: poison event']],
    [state({ position: undefined }), ['read models: ledger has not run yet']],
    [
      state({ rebuilding: true, lagMs: 3_600_000 }),
      ['read models: ledger serves an older version until its rebuild is done'],
    ],
    [
      async () => Promise.reject(new Error('away')),
      ['read models: their state could not be read in time'],
    ],
  ]
  for (const [projections, degraded] of cases)
    t.match(await readiness({ projections }), { status: 200, ready: true, reasons: [], degraded })
})

void t.test('/metrics has what /readyz says', async (t) => {
  const down = { name: 'event_log', probe: async () => Promise.resolve(false) }
  const up = { name: 'postgres', probe: async () => Promise.resolve(true) }
  for (const [dependencies, ready, ofLog] of [
    [[up], 1, undefined],
    [[down, up], 0, 0],
  ] as const) {
    const { app } = await startApp({ health: health({ dependencies }) })
    const { body } = await app.inject('/metrics')
    t.match(body, new RegExp(`^tollgate_ready ${ready}$`, 'm'))
    t.match(body, /^tollgate_dependency_up\{dependency="postgres"\} 1$/m)
    const [, found] = /^tollgate_dependency_up\{dependency="event_log"\} (\d)$/m.exec(body) ?? []
    t.equal(found, ofLog?.toString())
    await app.close()
  }
})

void t.test('repeated requests of /readyz and /metrics probe at most once a second', async (t) => {
  let probes = 0
  let looks = 0
  let accepting = true
  const { app } = await startApp({
    health: health({
      accepting: () => accepting,
      dependencies: [{ name: 'postgres', probe: async () => Promise.resolve(++probes > 0) }],
      projections: async () => {
        looks += 1
        return Promise.resolve([])
      },
    }),
  })
  t.teardown(async () => app.close())
  const storm = async (path: string) =>
    Promise.all(Array.from({ length: 50 }, async () => app.inject(path)))
  const answers = await storm('/readyz')
  t.same(new Set(answers.map((answer) => answer.statusCode)), new Set([200]))
  t.same([probes, looks], [1, 1])
  accepting = false
  t.equal((await app.inject('/readyz')).statusCode, 503, 'that it leaves is said at once')
  t.same([probes, looks], [1, 1])
  const scraped = await storm('/metrics')
  t.equal(new Set(scraped.map((answer) => answer.body)).size, 1)
  t.same([probes, looks], [1, 2], 'all gauges of all scrapes share a look')
})

void t.test(
  'with a separate operations port, readiness and metrics are served there only',
  async (t) => {
    const lines: string[] = []
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
    const metrics = new Registry()
    const operations = await buildOperationsApp({
      logger,
      metrics,
      clock: { nowMs: () => 0 },
      health: health(),
    })
    const { app } = await startApp({ health: health(), metrics, operationsElsewhere: true })
    t.teardown(async () => Promise.all([app.close(), operations.close()]))
    const statuses = async (server: typeof app) =>
      Object.fromEntries(
        await Promise.all(
          ['/healthz', '/readyz', '/metrics', '/docs/', '/v1/models', '/x'].map(
            async (path) => [path, (await server.inject(path)).statusCode] as const,
          ),
        ),
      )
    t.same(await statuses(app), {
      '/healthz': 200,
      '/readyz': 404,
      '/metrics': 404,
      '/docs/': 200,
      '/v1/models': 401,
      '/x': 404,
    })
    t.same(await statuses(operations), {
      '/healthz': 200,
      '/readyz': 200,
      '/metrics': 200,
      '/docs/': 404,
      '/v1/models': 404,
      '/x': 404,
    })
    t.same((await app.inject('/')).json<{ health: string[] }>().health, ['/healthz'])
    t.match((await operations.inject('/metrics')).body, /tollgate_http_requests_total/)
    t.same((await operations.inject('/x')).json(), {
      error: { code: 'route_not_found', message: 'There is no such route: GET /x' },
    })
  },
)

void t.test('/readyz is 200 and names the degraded concerns', async (t) => {
  const concern = (name: string, look: () => Promise<readonly string[]>) => ({ name, look })
  const concerns = [
    concern('prices', async () => Promise.resolve(['no price for text-basic'])),
    concern('quiet', async () => Promise.resolve([])),
    concern('broken', async () => Promise.reject(new Error('password of x'))),
  ]
  const answer = await readiness({ concerns })
  t.match(answer, {
    status: 200,
    ready: true,
    reasons: [],
    degraded: ['prices: no price for text-basic', 'broken: the check did not answer in time'],
  })
  t.notMatch(JSON.stringify(answer), /password/)
})

void t.test('/readyz reports the size of the spool, and records that wait too long', async (t) => {
  const spool = { batches: 2, records: 9, sizeBytes: 750, maxBytes: 1_000, ageMs: 60_000 }
  t.match(await readiness({ spool: () => spool }), { status: 200, degraded: [], spool })
  t.match(
    await readiness({ spool: () => ({ ...spool, ageMs: 60_001 }) }),
    {
      status: 200,
      ready: true,
      reasons: [],
      degraded: ['spool: 9 records wait for the log, the oldest for 60001 ms'],
    },
    'it serves all the same',
  )
})

void t.test('/readyz is 503 when the spool could not hold another outage', async (t) => {
  const spool = { batches: 2, records: 9, sizeBytes: 751, maxBytes: 1_000, ageMs: 0 }
  t.match(await readiness({ spool: () => spool }), {
    status: 503,
    ready: false,
    reasons: ['the spool holds 751 of at most 1000 bytes'],
  })
  const unwritable = { ...spool, sizeBytes: 1, fault: 'ENOSPC' }
  t.match(await readiness({ spool: () => unwritable }), {
    status: 503,
    ready: false,
    reasons: ['the spool cannot be written: ENOSPC'],
    spool: { fault: 'ENOSPC' },
  })
})

void t.test('/readyz is 503 while starting or draining', async (t) => {
  t.match(await readiness({ accepting: () => false }), {
    status: 503,
    reasons: ['not accepting: starting or draining'],
  })
})

const { app } = await startApp()
t.teardown(async () => app.close())

void t.test('/metrics counts answers by route pattern, never by path', async (t) => {
  await app.inject({ url: '/provA/api/v3/contents/generations/tasks/cgt-1' })
  await app.inject({ url: '/nowhere/at/all' })
  await app.inject('/healthz')
  const answer = await app.inject('/metrics')
  t.match(answer.headers['content-type'], /^text\/plain/)
  t.match(
    answer.body,
    'tollgate_http_requests_total{method="GET",route="/provA/api/v3/contents/generations/tasks/:id",status="401"} 1',
  )
  t.match(answer.body, 'route="none",status="404"')
  t.match(answer.body, /tollgate_http_request_seconds_bucket/)
  const outcomes = [...answer.body.matchAll(/^tollgate_http_answers_total\{outcome="(.*)$/gm)]
  t.same(
    outcomes.map(([, outcome]) => outcome),
    ['served"} 0', 'refused"} 2', 'failed"} 0'],
    'health is not counted, and each begins at 0',
  )
  t.notMatch(answer.body, /cgt-1|nowhere/)
})

void t.test(
  '403 for /metrics on the port of callers, except from the machine itself',
  async (t) => {
    const statusOf = async (remoteAddress: string, headers = {}) =>
      (await app.inject({ url: '/metrics', remoteAddress, headers })).statusCode
    for (const address of ['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'])
      t.equal(await statusOf(address), 200, address)
    for (const address of ['203.0.113.9', '10.0.0.1', '2001:db8::1', '::ffff:10.0.0.1'])
      t.equal(await statusOf(address), 403, address)
    for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'])
      t.equal(await statusOf('127.0.0.1', { [header]: 'x' }), 403, `through a proxy: ${header}`)
    const refused = await app.inject({ url: '/metrics', remoteAddress: '203.0.113.9' })
    t.same(refused.json(), {
      error: {
        code: 'address_not_allowed',
        message:
          'On this port only programs on the same machine may read the metrics; set OPERATIONS_PORT to serve them on another port',
      },
    })
    const operations = await buildOperationsApp({
      logger: pino({ level: 'silent' }),
      metrics: new Registry(),
      clock: { nowMs: () => 0 },
      health: health(),
    })
    t.teardown(() => operations.close())
    const there = await operations.inject({ url: '/metrics', remoteAddress: '203.0.113.9' })
    t.equal(there.statusCode, 200)
  },
)

interface OpenApi {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiRoute>>>>
  readonly components: { readonly securitySchemes: object }
}

interface OpenApiRoute {
  readonly security?: readonly object[]
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Record<string, unknown> }>
  >
}

void t.test('/openapi.json describes every route with its failures and its token', async (t) => {
  const answer = await app.inject('/openapi.json')
  t.equal(answer.statusCode, 200)
  const api = answer.json<OpenApi>()
  t.equal(api.openapi, '3.1.0')
  t.same(Object.keys(api.paths).sort(), [
    '/',
    '/.well-known/tollgate-statement-keys',
    '/api/admin/issuer',
    '/api/admin/lives/{id}/give-up',
    '/api/admin/lives/{id}/notes',
    '/api/admin/lives/{id}/poll',
    '/api/admin/periods',
    '/api/admin/price-books',
    '/api/admin/price-books/{version}',
    '/api/admin/price-books/{version}/diff',
    '/api/admin/price-books/{version}/what-if',
    '/api/admin/proposals',
    '/api/admin/proposals/waiting',
    '/api/admin/sku-prices',
    '/api/admin/tenants',
    '/api/admin/tenants/{tenant_id}',
    '/api/admin/tenants/{tenant_id}/adjustments',
    '/api/admin/tenants/{tenant_id}/approvals',
    '/api/admin/tenants/{tenant_id}/balance-alerts',
    '/api/admin/tenants/{tenant_id}/billing',
    '/api/admin/tenants/{tenant_id}/budgets',
    '/api/admin/tenants/{tenant_id}/credit',
    '/api/admin/tenants/{tenant_id}/credit/grants',
    '/api/admin/tenants/{tenant_id}/credit/limit',
    '/api/admin/tenants/{tenant_id}/limits',
    '/api/admin/tenants/{tenant_id}/name',
    '/api/admin/tenants/{tenant_id}/periods',
    '/api/admin/tenants/{tenant_id}/periods/{month}/void',
    '/api/admin/tenants/{tenant_id}/periods/{month}/void/approve',
    '/api/admin/tenants/{tenant_id}/periods/{month}/void/reject',
    '/api/admin/tenants/{tenant_id}/prices',
    '/api/admin/tenants/{tenant_id}/proposals/{proposal_id}',
    '/api/admin/tenants/{tenant_id}/proposals/{proposal_id}/approve',
    '/api/admin/tenants/{tenant_id}/proposals/{proposal_id}/reject',
    '/api/admin/tenants/{tenant_id}/reporting',
    '/api/admin/tenants/{tenant_id}/status',
    '/api/admin/tenants/{tenant_id}/users',
    '/api/admin/tenants/{tenant_id}/users/{user_id}/name',
    '/api/admin/tenants/{tenant_id}/users/{user_id}/status',
    '/api/admin/tokens',
    '/api/admin/tokens/{id}',
    '/api/admin/tokens/{id}/rotate',
    '/api/query/v1/adjustments',
    '/api/query/v1/asset-groups',
    '/api/query/v1/assets',
    '/api/query/v1/assets/{id}/history',
    '/api/query/v1/balance',
    '/api/query/v1/changes',
    '/api/query/v1/credits',
    '/api/query/v1/failures',
    '/api/query/v1/grants',
    '/api/query/v1/holds',
    '/api/query/v1/ledger/lines',
    '/api/query/v1/ledger/lines/{line_id}/proof',
    '/api/query/v1/ledger/summary',
    '/api/query/v1/lives',
    '/api/query/v1/lives/{id}',
    '/api/query/v1/lives/{id}/ticket',
    '/api/query/v1/logs',
    '/api/query/v1/movements',
    '/api/query/v1/periods',
    '/api/query/v1/periods/{month}/postings',
    '/api/query/v1/periods/{month}/statement',
    '/api/query/v1/receipts/{id}',
    '/api/query/v1/refusals',
    '/api/query/v1/repeats',
    '/api/query/v1/search',
    '/api/query/v1/speed',
    '/api/query/v1/tasks',
    '/api/query/v1/tasks/{id}/history',
    '/api/query/v1/usage',
    '/api/user/balance',
    '/api/user/tokens',
    '/api/user/tokens/{id}',
    '/api/user/tokens/{id}/rotate',
    '/healthz',
    '/metrics',
    '/provA',
    '/provA/api/v3/contents/generations/tasks',
    '/provA/api/v3/contents/generations/tasks/{id}',
    '/provB/v1/files/retrieve',
    '/provB/v1/files/retrieve_content',
    '/provB/v1/files/upload',
    '/provB/v1/query/t2a_async_query_v2',
    '/provB/v1/t2a_async_v2',
    '/provB/v1/t2a_v2',
    '/provB/v1/voice_clone',
    '/provB/v2/query/video_generation/{task_id}',
    '/provB/v2/video_generation',
    '/provC/ent/v2/img2video',
    '/provC/ent/v2/reference2video',
    '/provC/ent/v2/start-end2video',
    '/provC/ent/v2/tasks/{id}/cancel',
    '/provC/ent/v2/tasks/{id}/creations',
    '/provC/ent/v2/text2video',
    '/readyz',
    '/real-person/callback',
    '/v1/audio/speech',
    '/v1/chat/completions',
    '/v1/files',
    '/v1/files/{id}',
    '/v1/files/{id}/content',
    '/v1/images/edits',
    '/v1/images/edits/async',
    '/v1/images/generations',
    '/v1/images/generations/async',
    '/v1/images/generations/{id}',
    '/v1/key',
    '/v1/messages',
    '/v1/messages/count_tokens',
    '/v1/models',
    '/v1/models/{id}',
    '/v1/models/{model}:countTokens',
    '/v1/models/{model}:generateContent',
    '/v1/models/{model}:streamGenerateContent',
    '/v1/prices',
    '/v1/quote',
    '/v1/receipts/{id}',
    '/v1/responses',
    '/v1/responses/compact',
    '/v1/responses/input_tokens',
    '/v1/responses/{id}',
    '/v1/usage',
    '/v1/videos',
    '/v1/videos/{id}',
    '/v1/videos/{id}/content',
    '/v1beta/models',
    '/v1beta/models/{model}',
    '/v1beta/models/{model}:countTokens',
    '/v1beta/models/{model}:generateContent',
    '/v1beta/models/{model}:streamGenerateContent',
  ])
  t.same(Object.keys(api.components.securitySchemes), [
    'modelToken',
    'modelApiKey',
    'modelKey',
    'modelClientKey',
    'profileToken',
    'adminToken',
    'queryToken',
  ])
  const tasks = api.paths['/provA/api/v3/contents/generations/tasks']
  t.same(tasks?.['post']?.security, [{ modelToken: [] }])
  t.same(Object.keys(tasks?.['post']?.responses ?? {}), [
    '200',
    '400',
    '401',
    '402',
    '403',
    '404',
    '409',
    '413',
    '415',
    '429',
    '500',
    '502',
    '503',
  ])
  t.match(tasks?.['post']?.responses['402']?.description, /^insufficient_balance/)
  t.match(JSON.stringify(tasks?.['post']?.responses['404']), /ResourceNotFound\.Asset/)
  const deletion = api.paths['/provA/api/v3/contents/generations/tasks/{id}']?.['delete']
  t.match(JSON.stringify(deletion?.responses['409']), /InvalidAction\.RunningTaskDeletion/)
})

void t.test('the docs page and every file it loads come from the gateway', async (t) => {
  const page = await app.inject('/docs/')
  t.equal(page.statusCode, 200)
  const loaded = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '')
  t.ok(loaded.length > 3)
  for (const url of loaded) {
    t.match(url, /^(?:\/docs\/|\.\/)/)
    const part = await app.inject(new URL(url, 'http://docs.example/docs/').pathname)
    t.equal(part.statusCode, 200, url)
  }
  t.match(page.headers['content-security-policy'], /default-src 'self'/)
  t.notMatch(page.headers['content-security-policy'], /upgrade-insecure-requests/)
})

void t.test('404 in a plain shape for paths of no family', async (t) => {
  for (const url of ['/x', '/provAx', '/v9/none', '/apix', '/provB/x']) {
    const answer = await app.inject({ url })
    t.equal(answer.statusCode, 404, url)
    t.same(answer.json(), {
      error: { code: 'route_not_found', message: `There is no such route: GET ${url}` },
    })
  }
})

void t.test('/readyz names spooled records that wait for an operator, and stays 200', async (t) => {
  const setAside = async (refused: number, damaged: number) =>
    readiness({ concerns: [setAsideConcern(() => Promise.resolve({ refused, damaged }))] })
  t.match(await setAside(0, 0), { status: 200, degraded: [] })
  t.match(await setAside(2, 1), {
    status: 200,
    ready: true,
    reasons: [],
    degraded: [
      'spool: the log permanently refused 2 record(s): see "tollgate spool list"',
      'spool: 1 damaged record(s) are in the spool: see "tollgate spool list"',
    ],
  })
})

void t.test('a problem has the time at which it was first found, and its last error', async (t) => {
  let nowMs = 1_000
  let down = true
  const probe = () => (down ? Promise.reject(new Error('no route')) : Promise.resolve(true))
  let waiting = 3
  const look = async () => Promise.resolve([`${waiting} record(s) wait`])
  const looked = health({
    dependencies: [{ name: 'postgres', probe }],
    concerns: [{ name: 'spool', look }],
  })
  const read = createReadiness(looked, { nowMs: () => nowMs })
  t.equal(createReadiness(looked), read, 'readers of one health share what was found')
  const first = { words: 'postgres is down', isReason: true, forMs: 0, lastError: 'no route' }
  t.match((await read()).problems, [first, { words: 'spool: 3 record(s) wait', isReason: false }])
  nowMs = 5_000
  waiting = 4
  t.match((await read()).problems, [
    { ...first, forMs: 4_000 },
    { words: 'spool: 4 record(s) wait', forMs: 4_000, lastError: undefined },
  ])
  down = false
  nowMs = 7_000
  t.equal((await read()).problems.length, 1)
  down = true
  nowMs = 9_000
  t.match((await read()).problems, [first, { forMs: 8_000 }])
  const { app } = await startApp({ health: looked })
  t.teardown(async () => app.close())
  t.notMatch((await app.inject('/readyz')).body, /no route|problems/, 'errors are for operators')
})
