import t from 'tap'
import { call, create, query, sandboxFor, TASKS, video, type Loose } from './client.ts'

void t.test('a task is queued, running and succeeded by the clock only', async (t) => {
  const sandbox = await sandboxFor(t, { queuedMs: 60_000, runningMs: 240_000 })
  const reply = await call(sandbox.url, 'POST', TASKS, video('a boat', { return_last_frame: true }))
  t.equal(reply.status, 200)
  t.strictSame(Object.keys(reply.json), ['id'])
  t.match(reply.json.id, /^cgt-\d{14}-[a-z0-9]{5}$/)
  t.match(reply.headers.get('x-request-id'), /^02\d{13}[0-9a-f]{32}$/)
  const { id } = reply.json

  const queued = (await query(sandbox.url, id)).json
  t.match(queued, {
    id,
    model: 'domestic-video-2-5-260628',
    status: 'queued',
    service_tier: 'default',
    execution_expires_after: 172_800,
    generate_audio: true,
    draft: false,
  })
  for (const absent of ['content', 'usage', 'error', 'safety_identifier', 'priority', 'duration']) {
    t.notOk(absent in queued, `${absent} is absent`)
  }

  sandbox.advance(60_000)
  t.equal((await query(sandbox.url, id)).json.status, 'running')
  sandbox.advance(240_000)
  const done = (await query(sandbox.url, id)).json
  t.match(done, {
    status: 'succeeded',
    usage: { completion_tokens: 108_900, total_tokens: 108_900 },
    resolution: '720p',
    ratio: '16:9',
    duration: 5,
    framespersecond: 24,
  })
  t.type(done.seed, 'number')
  t.notOk('error' in done)
  t.equal(done.updated_at - done.created_at, 300)
  t.match(done.content.video_url, /\.mp4\?X-Tos-Algorithm=.*X-Tos-Expires=86400&.*Signature=/)
  t.match(done.content.last_frame_url, /-last\.png\?/)
})

void t.test('usage follows width × height × (24 × seconds + 1) / 1024', async (t) => {
  const sandbox = await sandboxFor(t, { queuedMs: 0, runningMs: 0 })
  const usage = async (prompt: string, more: object): Promise<Loose> =>
    (await query(sandbox.url, await create(sandbox.url, prompt, more))).json.usage
  const big = { model: 'overseas-video-2-0-260128', resolution: '1080p' }
  t.strictSame(await usage('x', big), { completion_tokens: 246_840, total_tokens: 246_840 })
  const reference = {
    duration: 30,
    content: [
      { type: 'text', text: '[[sandbox reference-seconds=30]]' },
      { type: 'video_url', role: 'reference_video', video_url: { url: 'https://a.example/v.mp4' } },
    ],
  }
  t.equal((await usage('x', reference)).total_tokens, 1_296_900)
  t.equal((await usage('[[sandbox tokens=7]]', {})).total_tokens, 7)
  const tools = { tools: [{ type: 'web_search' }] }
  t.strictSame((await usage('x', tools)).tool_usage, { web_search: 1 })
  t.strictSame((await usage('[[sandbox tool-searches=0]]', tools)).tool_usage, { web_search: 0 })
  t.notOk('tool_usage' in (await usage('x', {})))
})

void t.test('the order is echoed, model names in their versioned form', async (t) => {
  const sandbox = await sandboxFor(t, { models: ['house-*'] })
  const id = await create(sandbox.url, 'x', {
    model: 'overseas-video-2-0-mini',
    safety_identifier: 'user-hash',
    priority: 3,
    generate_audio: false,
    execution_expires_after: 3600,
    service_tier: 'flex',
    resolution: '480p',
    CallbackURL: 'ignored',
    no_such_field: { deep: [1] },
  })
  t.match((await query(sandbox.url, id)).json, {
    model: 'overseas-video-2-0-mini-260615',
    safety_identifier: 'user-hash',
    priority: 3,
    generate_audio: false,
    execution_expires_after: 3600,
    service_tier: 'flex',
  })
  const names = [
    ['domestic-video-2-5', 'domestic-video-2-5-260628'],
    ['overseas-video-2-0-fast', 'overseas-video-2-0-fast-260128'],
    ['ep-20260101-abcde', 'ep-20260101-abcde'],
    ['house-name', 'house-name'],
  ]
  for (const [asked, answered] of names) {
    const named = await create(sandbox.url, 'x', { model: asked })
    t.equal((await query(sandbox.url, named)).json.model, answered)
  }
})

void t.test('ids are unique, also when many are made in one second', async (t) => {
  const sandbox = await sandboxFor(t, { seed: 7 })
  const made = await Promise.all(Array.from({ length: 300 }, () => create(sandbox.url, 'x')))
  t.equal(new Set(made).size, 300)
  t.equal(sandbox.accepted().length, 300)
  const search = [...made, ...made.slice(0, 200)].map((id) => `filter.task_ids=${id}`).join('&')
  const page = await call(sandbox.url, 'GET', `${TASKS}?page_size=500&${search}`)
  t.equal(page.status, 200, 'five hundred ids fit a query')
  t.equal(page.json.items.length, 300)
})

void t.test('list: newest first, paged, filtered, safety_identifier shown', async (t) => {
  const sandbox = await sandboxFor(t)
  const ids: string[] = []
  for (let i = 0; i < 12; i += 1) {
    const prompt = i % 2 === 0 ? '[[sandbox queued-ms=0 running-ms=0]]' : '[[sandbox stall-queued]]'
    const model = i < 6 ? 'domestic-video-2-5' : 'domestic-video-2-0'
    ids.push(await create(sandbox.url, prompt, { model, safety_identifier: `s${i}` }))
  }
  const list = async (search: string): Promise<Loose> => {
    const reply = await call(sandbox.url, 'GET', `${TASKS}?${search}`)
    t.equal(reply.status, 200)
    return reply.json
  }
  const first = await list('')
  t.equal(first.total, 12)
  t.strictSame(
    first.items.map((item: { id: string }) => item.id),
    ids.toReversed().slice(0, 10),
  )
  t.equal(first.items[0].safety_identifier, 's11')
  t.equal((await list('page_num=2')).items.length, 2)
  t.strictSame(await list('page_num=3&page_size=6'), { items: [], total: 12 })
  t.equal((await list('filter.status=succeeded')).total, 6)
  t.equal((await list('filter.model=domestic-video-2-0-260128&page_size=2')).total, 6)
  t.equal((await list('filter.service_tier=flex')).total, 0)
  const two = await list(`filter.task_ids=${ids[1]}&filter.task_ids=${ids[3]}&filter.task_ids=no`)
  t.equal(two.total, 2)
  t.strictSame(
    two.items.map((item: { id: string }) => item.id),
    [ids[3], ids[1]],
  )
  t.equal(
    (await list(`filter.task_ids=${ids[1]},${ids[3]}`)).total,
    0,
    'a comma joins nothing here',
  )
  for (const bad of ['page_num=0', 'page_size=501', 'page_size=x', 'filter.status=done']) {
    const reply = await call(sandbox.url, 'GET', `${TASKS}?${bad}`)
    t.equal(reply.status, 400, bad)
    t.match(reply.json.error.code, /^InvalidParameter\./)
  }
})

void t.test(
  'delete: queued is cancelled, running refused, ended deleted, cancelled refused',
  async (t) => {
    const sandbox = await sandboxFor(t, { queuedMs: 3_600_000, runningMs: 3_600_000 })
    const remove = (id: string) => call(sandbox.url, 'DELETE', `${TASKS}/${id}`)

    const queued = await create(sandbox.url, 'x')
    const cancelled = await remove(queued)
    t.equal(cancelled.status, 200)
    t.strictSame(cancelled.json, {})
    t.equal((await query(sandbox.url, queued)).json.status, 'cancelled')
    t.equal((await remove(queued)).status, 400)
    sandbox.advance(86_400_000)
    t.equal((await query(sandbox.url, queued)).status, 404, 'a cancelled record goes after a day')

    const running = await create(sandbox.url, '[[sandbox queued-ms=0]]')
    const refused = await remove(running)
    t.equal(refused.status, 409)
    t.match(refused.json, {
      error: {
        code: 'InvalidAction.RunningTaskDeletion',
        message: new RegExp(
          `^Cannot delete task \`${running}\` because it is currently running\\. Request id: 02`,
        ),
        param: '',
        type: 'Conflict',
      },
    })
    sandbox.advance(3_600_000)
    t.equal((await query(sandbox.url, running)).json.status, 'succeeded')
    t.strictSame((await remove(running)).json, {})
    t.equal((await query(sandbox.url, running)).status, 404)
    t.equal((await remove(running)).status, 404)
    t.equal((await call(sandbox.url, 'GET', TASKS)).json.total, 0)
    t.match(sandbox.accepted(), [
      { id: queued, outcome: 'cancelled', cancelled: true, success: false, usage: null },
      { id: running, outcome: 'succeeded', deleted: true, success: true, gone: false },
    ])
  },
)

void t.test('ten deletions at once: one wins', async (t) => {
  const sandbox = await sandboxFor(t)
  const id = await create(sandbox.url, '[[sandbox stall-queued]]')
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => call(sandbox.url, 'DELETE', `${TASKS}/${id}`)),
  )
  t.equal(replies.filter((reply) => reply.status === 200).length, 1)
})

void t.test(
  'records are found for seven days; an execution may expire before it ends',
  async (t) => {
    const sandbox = await sandboxFor(t, { timeScale: 0.01 })
    const late = { execution_expires_after: 3600 }
    const id = await create(sandbox.url, '[[sandbox running-ms=99999999]]', late)
    sandbox.advance(35_000)
    t.equal((await query(sandbox.url, id)).json.status, 'running')
    sandbox.advance(2000)
    const expired = (await query(sandbox.url, id)).json
    t.equal(expired.status, 'expired')
    t.notOk('usage' in expired)
    sandbox.advance(7 * 86_400_000)
    t.equal((await query(sandbox.url, id)).status, 404)
    t.match(sandbox.accepted(), [{ outcome: 'expired', success: false, gone: true }])
  },
)

void t.test('a POST to the missing cancel route counts as a creation', async (t) => {
  const sandbox = await sandboxFor(t)
  const id = await create(sandbox.url, 'x')
  const reply = await call(sandbox.url, 'POST', `${TASKS}/${id}/cancel`, video('x'))
  t.equal(reply.status, 200)
  t.not(reply.json.id, id)
  t.equal(sandbox.accepted().length, 2)
})
