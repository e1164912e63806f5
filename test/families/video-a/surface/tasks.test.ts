import t from 'tap'
import { DomainError } from '../../../../src/kernel/errors.ts'
import { asModel, startApp, tasksPath } from '../../../api/support/app.ts'

const { app, tasks } = await startApp()
t.teardown(async () => app.close())

async function get(path: string, secret = 'sk-one') {
  return app.inject({ url: tasksPath + path, headers: { authorization: `Bearer ${secret}` } })
}

async function del(id: string, secret = 'sk-one') {
  return app.inject({
    method: 'DELETE',
    url: `${tasksPath}/${id}`,
    headers: { authorization: `Bearer ${secret}` },
  })
}

const done = tasks.add('tenant_1', {
  status: 'succeeded',
  model: 'overseas-video-2-0',
  settings: {
    resolution: '720p',
    ratio: '16:9',
    duration: 5,
    framespersecond: 24,
    generate_audio: true,
    seed: 48_213,
    priority: 0,
    draft: false,
    watermark: true,
    return_last_frame: true,
    safety_identifier: null,
    channel: 'ours',
  },
  usage: { completion_tokens: 108_900, total_tokens: 108_900, 'tool.web_search': 0 },
  urls: {
    video_url: 'https://v.example/x.mp4',
    last_frame_url: 'https://v.example/x.png',
    other: 'no',
  },
  createdAtMs: 1_767_323_045_999,
  updatedAtMs: 1_767_323_160_001,
})
const failed = tasks.add('tenant_1', {
  status: 'failed',
  error: { code: 'OutputVideoSensitiveContentDetected', message: 'refused' },
  urls: { video_url: 'https://v.example/never.mp4' },
})
const running = tasks.add('tenant_1', { status: 'running' })
const unsubmitted = tasks.add('tenant_1', { nativeId: undefined })
const foreign = tasks.add('tenant_2', { status: 'succeeded' })

void t.test('a succeeded task is shown with its content, usage and actual settings', async (t) => {
  const answer = await get(`/${done.nativeId}`)
  t.equal(answer.statusCode, 200)
  t.same(answer.json(), {
    id: done.nativeId,
    model: 'overseas-video-2-0',
    status: 'succeeded',
    content: { video_url: 'https://v.example/x.mp4', last_frame_url: 'https://v.example/x.png' },
    usage: { completion_tokens: 108_900, total_tokens: 108_900, tool_usage: { web_search: 0 } },
    created_at: 1_767_323_045,
    updated_at: 1_767_323_160,
    resolution: '720p',
    ratio: '16:9',
    duration: 5,
    framespersecond: 24,
    generate_audio: true,
    priority: 0,
    seed: 48_213,
    draft: false,
  })
})

void t.test('the platform id finds a task like its native id', async (t) => {
  const byNative = await get(`/${done.nativeId}`)
  const byPlatform = await get(`/${done.platformId}`)
  t.same(byPlatform.json(), byNative.json())
  t.equal(byPlatform.headers['x-platform-id'], done.platformId)
})

void t.test('a failed task has its error and no content', async (t) => {
  const answer = await get(`/${failed.nativeId}`)
  t.same(answer.json().error, { code: 'OutputVideoSensitiveContentDetected', message: 'refused' })
  t.notOk(Object.hasOwn(answer.json(), 'content'))
})

void t.test('a task not yet known upstream goes by its platform id', async (t) => {
  const answer = await get(`/${unsubmitted.platformId}`)
  t.match(answer.json(), { id: unsubmitted.platformId, status: 'queued' })
})

void t.test('404 task_not_found, byte for byte, for unknown and foreign tasks', async (t) => {
  const unknown = await get('/cgt-20260101000000-zzzzz')
  t.equal(unknown.statusCode, 404)
  t.same(unknown.json(), {
    error: {
      code: 'task_not_found',
      message: 'The specified task was not found',
      param: '',
      type: 'NotFound',
    },
  })
  const headersOf = (answer: typeof unknown) =>
    Object.fromEntries(
      Object.entries(answer.headers).filter(([name]) => !['date', 'x-request-id'].includes(name)),
    )
  const others = [
    await get(`/${foreign.nativeId}`),
    await get(`/${foreign.platformId}`),
    await get('/video_01JABCDEFGHJKMNPQRSTVWXY00'),
    await get('/..%2f..'),
    await get('/%F0%9F%92%A9'),
    await get(`/${'a'.repeat(4_000)}`),
    await del(foreign.nativeId ?? ''),
    await del(foreign.platformId),
    await del('cgt-20260101000000-zzzzz'),
  ]
  for (const other of others) {
    t.equal(other.statusCode, 404)
    t.equal(other.body, unknown.body)
    t.same(headersOf(other), headersOf(unknown))
  }
})

void t.test('text that cannot be an id is never looked up', async (t) => {
  tasks.asked.length = 0
  for (const id of ['%01', '%20', 'a%2Fb', '%27%20or%201=1', '-', 'a'.repeat(129)])
    t.equal((await get(`/${id}`)).statusCode, 404, id)
  const nul = await get('/a%00b')
  t.equal(nul.statusCode, 400)
  t.match(nul.json(), { error: { param: 'id', message: /NUL/ } })
  t.same(tasks.asked, [])
})

void t.test('502 service_error when the model service cannot be queried', async (t) => {
  tasks.failure = new DomainError('upstream_unavailable', 'x', {})
  const answer = await get(`/${done.nativeId}`)
  t.equal(answer.statusCode, 502)
  t.match(answer.json(), { error: { code: 'service_error', type: 'BadGateway' } })
})

void t.test('a list shows the tenant’s own tasks, newest first, and their count', async (t) => {
  const answer = await get('')
  t.equal(answer.statusCode, 200)
  const { items, total } = answer.json<{ items: { id: string }[]; total: number }>()
  t.same(
    items.map((item) => item.id),
    [unsubmitted.platformId, running.nativeId, failed.nativeId, done.nativeId],
  )
  t.equal(total, 4)
  t.match(items[3], {
    model: 'overseas-video-2-0',
    status: 'succeeded',
    created_at: 1_767_323_045,
  })
  t.same((await get('', 'sk-two')).json().total, 1)
})

void t.test('without parameters a list is the first ten, unfiltered', async (t) => {
  await get('?unknown=1&page=7&filter.service_tier=flex')
  t.match(tasks.listed.at(-1), {
    pageNumber: 1,
    pageSize: 10,
    status: undefined,
    model: undefined,
    ids: undefined,
  })
})

void t.test('page_num and page_size choose the page', async (t) => {
  const answer = await get('?page_num=2&page_size=3')
  t.same(answer.json(), { items: [(await get(`/${done.nativeId}`)).json()], total: 4 })
  t.same((await get('?page_num=9')).json(), { items: [], total: 4 })
  t.equal((await get('?page_size=500&page_num=1000000000')).statusCode, 200)
})

void t.test('400 for a page out of range or no integer, naming the parameter', async (t) => {
  const wrong = [
    '0',
    '-1',
    '1.5',
    '1e1',
    '01',
    '+1',
    'x',
    '',
    '%201',
    '0x1',
    '1000000001',
    '99999999999999999999',
  ]
  for (const value of wrong) {
    const answer = await get(`?page_num=${value}`)
    t.equal(answer.statusCode, 400, value)
    t.match(answer.json(), {
      error: { code: 'invalid_request', param: 'page_num', type: 'BadRequest' },
    })
  }
  for (const value of ['0', '501', '-5', 'ten'])
    t.match((await get(`?page_size=${value}`)).json(), { error: { param: 'page_size' } }, value)
  t.match((await get('?page_num=1&page_num=2')).json(), { error: { param: 'page_num' } })
})

void t.test('filter.status takes each of the six states', async (t) => {
  for (const status of ['queued', 'running', 'succeeded', 'failed', 'expired', 'cancelled']) {
    t.equal((await get(`?filter.status=${status}`)).statusCode, 200, status)
    t.equal(tasks.listed.at(-1)?.status, status)
  }
  for (const status of ['done', 'Queued', '', 'queued,running'])
    t.match((await get(`?filter.status=${status}`)).json(), { error: { param: 'filter.status' } })
})

void t.test(
  'filter.model takes the external name and its alias; a made-up name is refused',
  async (t) => {
    for (const name of ['overseas-video-2-0', 'overseas-video-2-0-260128']) {
      const answer = await get(`?filter.model=${name}`)
      t.equal(tasks.listed.at(-1)?.model, 'overseas-video-2-0')
      t.match(answer.json(), { items: [{ id: done.nativeId }], total: 1 })
    }
    for (const name of [
      'video-2-0',
      'overseas-video-2.0',
      'overseas-video-2-0-filter-off-260128',
      '',
    ])
      t.match((await get(`?filter.model=${name}`)).json(), {
        error: { code: 'invalid_request', param: 'filter.model' },
      })
  },
)

void t.test('filter.task_ids takes commas, repetition, both, and either kind of id', async (t) => {
  const total = async (query: string) => (await get(`?${query}`)).json<{ total: number }>().total
  t.equal(await total(`filter.task_ids=${done.nativeId},${failed.nativeId}`), 2)
  t.equal(await total(`filter.task_ids=${done.nativeId}&filter.task_ids=${failed.nativeId}`), 2)
  t.equal(
    await total(
      `filter.task_ids=${done.nativeId},%20${failed.platformId}&filter.task_ids=${running.nativeId}`,
    ),
    3,
  )
  t.equal(await total(`filter.task_ids=${done.nativeId}%2C${done.nativeId}`), 1)
  t.same(tasks.listed.at(-1)?.ids, [done.nativeId])
})

void t.test('filter.task_ids with foreign or invalid ids lists no task', async (t) => {
  t.same((await get(`?filter.task_ids=${foreign.nativeId}`)).json(), { items: [], total: 0 })
  t.same((await get('?filter.task_ids=%01,%27')).json(), { items: [], total: 0 })
  t.same(tasks.listed.at(-1)?.ids, [])
})

void t.test('filter.task_ids without an id is no filter', async (t) => {
  t.equal((await get('?filter.task_ids=')).json().total, 4)
  t.equal((await get('?filter.task_ids=,%20,')).json().total, 4)
})

void t.test('400 for more ids than a list allows', async (t) => {
  const ids = (count: number) => Array.from({ length: count }, (_, n) => `c${n}`).join(',')
  t.equal((await get(`?filter.task_ids=${ids(500)}`)).statusCode, 200)
  t.match((await get(`?filter.task_ids=${ids(501)}`)).json(), {
    error: { param: 'filter.task_ids' },
  })
})

void t.test('a deletion returns an empty object', async (t) => {
  const answer = await del(done.nativeId ?? '')
  t.equal(answer.statusCode, 200)
  t.same(answer.json(), {})
  t.equal(answer.headers['x-platform-id'], done.platformId)
})

void t.test('a deletion may have a JSON content type without a body', async (t) => {
  const answer = await app.inject({
    method: 'DELETE',
    url: `${tasksPath}/${failed.nativeId}`,
    headers: { ...asModel, 'content-type': 'application/json' },
  })
  t.equal(answer.statusCode, 200)
})

void t.test(
  '409 InvalidAction.RunningTaskDeletion, not to be retried, for a running task',
  async (t) => {
    const answer = await del(running.nativeId ?? '')
    t.equal(answer.statusCode, 409)
    t.match(answer.json(), {
      error: { code: 'InvalidAction.RunningTaskDeletion', param: '', type: 'Conflict' },
    })
    t.equal(answer.headers['x-should-retry'], 'false')
  },
)

void t.test('404 in the family’s shape for other paths', async (t) => {
  const requests = [
    { method: 'POST', url: `${tasksPath}/${running.nativeId}/cancel` },
    { method: 'GET', url: '/provA/api' },
    { method: 'POST', url: '/provA//' },
    { method: 'GET', url: '/provA/api/v4/contents/generations/tasks' },
  ] as const
  for (const request of requests) {
    const answer = await app.inject({ ...request, headers: asModel })
    t.equal(answer.statusCode, 404, request.url)
    const message = `There is no such route: ${request.method} ${request.url}`
    t.same(answer.json(), { error: { code: 'NotFound', message, param: '', type: 'NotFound' } })
  }
})

void t.test('400 in the family’s shape for a URL that cannot be decoded', async (t) => {
  const answer = await get('/%zz')
  t.equal(answer.statusCode, 400)
  t.match(answer.json(), { error: { code: 'invalid_request' } })
  t.match(answer.headers['x-request-id'], /^req_/)
})
