import t from 'tap'
import { sharedStack } from '../helpers/stack.ts'
import { call, queriesOf, tasksOf } from './support/client.ts'

const stack = await sharedStack(t)
const tasks = tasksOf(stack.url, stack.demo.modelToken)
const finance = queriesOf(stack.url, stack.demo.queryToken)

t.test('a task is created, renders, is settled once, and has a history', async (t) => {
  const created = await tasks.create({ safety_identifier: 'hash-of-an-end-user', priority: 3 })
  t.equal(created.status, 200)
  t.same(Object.keys(created.body), ['id'])
  t.match(created.body.id, /^cgt-\d{14}-[a-z0-9]{5}$/)
  const platformId = created.headers.get('x-platform-id') ?? ''
  t.match(platformId, /^video_[0-9A-HJKMNP-TV-Z]{26}$/)
  t.match(created.headers.get('x-request-id'), /^req_/)

  const done = await tasks.reaches(created.body.id, 'succeeded')
  t.match(done.body, {
    id: created.body.id,
    model: 'domestic-video-2-0',
    status: 'succeeded',
    content: { video_url: /^http/ },
    usage: { completion_tokens: 108_900, total_tokens: 108_900 },
    created_at: Number,
    updated_at: Number,
    resolution: '720p',
    duration: 5,
    framespersecond: 24,
    safety_identifier: 'hash-of-an-end-user',
    priority: 3,
  })
  t.notOk(Object.hasOwn(done.body.content, 'last_frame_url'), 'it was not asked for')
  t.same((await tasks.get(platformId)).body.id, created.body.id, 'the platform id finds it too')

  await stack.caughtUp()
  const lines = await finance.lines(`source_id=${platformId}`)
  t.equal(lines.status, 200)
  t.match(lines.body, { success: true, message: '', data: { next_cursor: null } })
  t.equal(lines.body.data.items.length, 1)
  t.match(lines.body.data.items[0], {
    line_id: `${platformId}:1`,
    tenant_id: stack.demo.tenantId,
    user_id: stack.demo.userId,
    source_id: platformId,
    native_id: created.body.id,
    surface: 'provA.tasks',
    model: 'domestic-video-2-0',
    sku: 'domestic-video-2-0-720p-novideo',
    quantity: 108_900,
    unit: 'token',
    price: '46',
    per: 1_000_000,
    currency: 'CNY',
    amount: '5.0094',
    measurement: 'reported',
    request_id: created.headers.get('x-request-id') ?? '',
  })

  const history = await finance.history(created.body.id)
  t.equal(history.status, 200)
  const types = history.body.data.items.map((item: { type: string }) => item.type)
  t.equal(types[0], 'TaskRequested')
  t.equal(types[1], 'TaskSubmitted')
  t.same(types.slice(-2), ['TaskSucceeded', 'TaskSettled'])
  t.notMatch(history.text, /paper boat|https?:\/\/|sandbox-video-a/, 'no prompt, URL or channel')
  t.same((await finance.history(platformId)).body, history.body)
})

t.test('the result URL answers with a playable MP4, the last frame with a picture', async (t) => {
  const id = await tasks.created({ return_last_frame: true })
  const { content } = (await tasks.reaches(id, 'succeeded')).body
  const video = await fetch(content.video_url)
  t.equal(video.status, 200)
  t.match(video.headers.get('content-type'), /video\/mp4/)
  const bytes = Buffer.from(await video.arrayBuffer())
  t.equal(bytes.subarray(4, 8).toString('latin1'), 'ftyp')
  t.ok(bytes.includes('moov') && bytes.includes('mdat'))
  const frame = await fetch(content.last_frame_url)
  t.equal(frame.status, 200)
  t.match(frame.headers.get('content-type'), /^image\//)
  await frame.arrayBuffer()
})

t.test('a version alias is accepted and shown as the external name everywhere', async (t) => {
  const created = await tasks.create({ model: 'overseas-video-2-0-mini-260615' })
  const id: string = created.body.id
  const done = await tasks.reaches(id, 'succeeded')
  t.equal(done.body.model, 'overseas-video-2-0-mini')
  const listed = await tasks.list('filter.model=overseas-video-2-0-mini-260615')
  t.same(
    listed.body.items.map((item: { id: string; model: string }) => [item.id, item.model]),
    [[id, 'overseas-video-2-0-mini']],
  )
  await stack.caughtUp()
  const lines = await finance.lines('model=overseas-video-2-0-mini')
  t.match(lines.body.data.items, [
    { native_id: id, sku: 'overseas-video-2-0-mini-novideo', currency: 'USD' },
  ])
  const sent = stack.sandbox.accepted().find((task) => task.id === id)
  t.equal(sent?.model, 'overseas-video-2-0-mini-260615', 'upstream knows versions')
})

t.test('a filter-off model keeps its name and rates as its base model', async (t) => {
  const id = await tasks.created({ model: 'overseas-video-2-0-filter-off' })
  t.equal((await tasks.reaches(id, 'succeeded')).body.model, 'overseas-video-2-0-filter-off')
  await stack.caughtUp()
  const lines = await finance.lines('model=overseas-video-2-0-filter-off')
  t.match(lines.body.data.items, [{ native_id: id, sku: 'overseas-video-2-0-720p-novideo' }])
})

t.test('a 2.5 creation echoes its model', async (t) => {
  const created = await tasks.create({ model: 'domestic-video-2-5-260628', resolution: '480p' })
  t.same(created.body, { id: created.body.id, model: 'domestic-video-2-5' })
})

t.test('short ids and made-up names are unknown models', async (t) => {
  for (const model of [
    'video-2-0',
    'video-2-0-260128',
    'video-2-0-fast',
    'video-2-0-fast-260128',
    'video-2-0-mini',
    'overseas-video-2.0-mini',
    'overseas-video-2-0-filter-off-260128',
    'overseas-video-2-0-260128-filter-off',
    'Domestic-Video-2-0',
    '',
  ]) {
    const answer = await tasks.create({ model })
    t.equal(answer.status, 400, model)
    t.match(answer.body.error, { code: 'invalid_request', param: 'model', type: 'BadRequest' })
    t.equal(answer.headers.get('x-platform-id'), null, 'no id exists')
  }
})

t.test('a failed task has its error, no content, and costs nothing', async (t) => {
  const id = await tasks.created({
    prompt: 'x [[sandbox fail=OutputVideoSensitiveContentDetected]]',
  })
  const failed = await tasks.reaches(id, 'failed')
  t.match(failed.body.error, { code: 'OutputVideoSensitiveContentDetected', message: String })
  t.notOk(Object.hasOwn(failed.body, 'content'))
  await stack.caughtUp()
  const history = await finance.history(id)
  t.equal(history.body.data.items.at(-1).type, 'TaskFailed')
  const lines = await finance.lines(`source_id=${failed.headers.get('x-platform-id')}`)
  t.same(lines.body.data.items, [])
})

t.test('upstream refusals are mapped, start no task and cost nothing', async (t) => {
  const answer = await tasks.create({ prompt: 'x [[sandbox refuse=InvalidParameter]]' })
  t.equal(answer.status, 400)
  t.match(answer.body.error, { code: 'invalid_request', type: 'BadRequest' })
  const id = answer.headers.get('x-platform-id') ?? ''
  t.match(id, /^video_/, 'support can find it')
  const account = await tasks.create({ prompt: 'x [[sandbox http=403]]' })
  t.equal(account.status, 503, 'our credential upstream is never the fault of the caller')
  t.equal(account.body.error.code, 'service_unavailable')
  t.equal(account.headers.get('x-should-retry'), 'false')
  t.equal((await tasks.get(id)).status, 404, 'no caller sees a refused task')
  await stack.caughtUp()
  const history = await finance.history(id)
  t.same(
    history.body.data.items.map((item: { type: string }) => item.type),
    ['TaskRequested', 'TaskSubmissionRefused'],
  )
})

t.test('the error envelope: 400, 401, 403, 404, 413, 415', async (t) => {
  const url = `${stack.url}/provA/api/v3/contents/generations/tasks`
  const post = (body: string, headers: Record<string, string> = {}) =>
    call(url, {
      method: 'POST',
      token: stack.demo.modelToken,
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
  const cases = [
    [await post('{"model":'), 400, 'invalid_request', 'BadRequest'],
    [await post(''), 400, 'invalid_request', 'BadRequest'],
    [await post('[]'), 400, 'invalid_request', 'BadRequest'],
    [await post('{}', { 'content-type': 'text/plain' }), 415, 'invalid_request', 'BadRequest'],
    [await tasks.create({ duration: 99 }), 400, 'invalid_duration', 'BadRequest'],
    [await tasks.create({ resolution: '8k' }), 400, 'invalid_request', 'BadRequest'],
    [await call(url), 401, 'AuthenticationError', 'Unauthorized'],
    [await call(url, { token: 'sk-nobody' }), 401, 'AuthenticationError', 'Unauthorized'],
    [await call(url, { token: stack.demo.queryToken }), 403, 'AccessDenied', 'Forbidden'],
    [await call(url, { token: stack.demo.profileToken }), 403, 'AccessDenied', 'Forbidden'],
    [await call(url, { token: stack.demo.adminToken }), 403, 'AccessDenied', 'Forbidden'],
    [await tasks.get('cgt-20260101000000-aaaaa'), 404, 'task_not_found', 'NotFound'],
    [
      await tasks.create({
        content: [{ type: 'image_url', role: 'reference_image', image_url: { url: 'asset://a1' } }],
      }),
      404,
      'ResourceNotFound.Asset',
      'NotFound',
    ],
  ] as const
  for (const [answer, status, code, type] of cases) {
    t.equal(answer.status, status, `${status} ${code}`)
    t.same(Object.keys(answer.body.error), ['code', 'message', 'param', 'type'])
    t.match(answer.body.error, { code, type })
  }
  const huge = await post(`{"model":"${'x'.repeat(65 * 1024 * 1024)}"}`)
  t.equal(huge.status, 413)
  t.match(huge.body.error, { code: 'invalid_request', type: 'BadRequest' })
})

t.test('no secret was logged', (t) => {
  const logged = stack.logged()
  t.match(logged, /"msg":"request"/)
  for (const secret of [stack.demo.modelToken, stack.demo.queryToken])
    t.notOk(logged.includes(secret))
  t.notMatch(logged, /paper boat|X-Tos-Signature/)
  t.end()
})
