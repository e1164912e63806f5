import t from 'tap'
import { call, create, query, sandboxFor, TASKS, video } from './client.ts'

void t.test('accepted: every task with its billing facts, paged', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const id = await create(url, 'a [[client=c-1]] boat', {
    model: 'overseas-video-2-0',
    safety_identifier: 'u1',
  })
  const other = await create(url, '[[sandbox stall]]')
  await query(url, id)
  const all = (await call(url, 'GET', '/__sandbox/accepted')).json
  t.equal(all.total, 2)
  t.equal(all.next_after, null)
  t.match(all.items[0], {
    seq: 1,
    id,
    family: 'video-a',
    model: 'overseas-video-2-0-260128',
    requested_model: 'overseas-video-2-0',
    safety_identifier: 'u1',
    client_marker: 'c-1',
    credential: /^[0-9a-f]{12}$/,
    accepted_at: /^\d{4}-\d\d-\d\dT.*Z$/,
    status: 'queued',
    finished: false,
    outcome: 'succeeded',
    ends_at: /Z$/,
    success: true,
    usage: { completion_tokens: 108_900, total_tokens: 108_900 },
    usage_later: null,
    cancelled: false,
    deleted: false,
    gone: false,
    queried: 1,
    success_reported: false,
    callbacks: { attempts: 0, acknowledged: 0 },
  })
  const page = (await call(url, 'GET', '/__sandbox/accepted?limit=1')).json
  t.equal(page.items.length, 1)
  t.equal(page.next_after, 1)
  const rest = (await call(url, 'GET', '/__sandbox/accepted?after=1&limit=1')).json
  t.match(rest, { items: [{ id: other }], next_after: null, total: 2 })
  const mine = (await call(url, 'GET', '/__sandbox/accepted?safety_identifier=u1')).json
  t.match(mine, { items: [{ id }], total: 1 })
  t.equal((await call(url, 'GET', '/__sandbox/accepted?after=x')).status, 400)
})

void t.test('requests: counts by route and status, and the peak concurrency', async (t) => {
  const { url } = await sandboxFor(t)
  const made = await Promise.all(
    Array.from({ length: 5 }, () => create(url, '[[sandbox first-byte-ms=300]]')),
  )
  await query(url, made[0]!)
  await query(url, 'cgt-20260101000000-aaaaa')
  await t.rejects(call(url, 'POST', TASKS, video('[[sandbox drop-after-accept]]')))
  const { all, routes } = (await call(url, 'GET', '/__sandbox/requests')).json
  t.match(routes['video-a.create'], {
    count: 6,
    in_flight: 0,
    by_status: { 200: 5, none: 1 },
  })
  t.ok(routes['video-a.create'].max_in_flight >= 2)
  t.ok(routes['video-a.create'].max_per_second >= 2)
  t.match(routes['video-a.get'], { count: 2, by_status: { 200: 1, 404: 1 }, max_in_flight: 1 })
  t.equal(all.count, 8, 'controls are not counted')
})

void t.test('log: the requests received, without the credential', async (t) => {
  const { url } = await sandboxFor(t)
  await call(url, 'POST', TASKS, video('x', { callback_url: 'https://a.example/h' }), {
    'x-client-request-id': 'r-1',
  })
  const { items } = (await call(url, 'GET', '/__sandbox/log')).json
  t.match(items, [
    {
      seq: 1,
      route: 'video-a.create',
      method: 'POST',
      url: TASKS,
      headers: { 'x-client-request-id': 'r-1', 'content-type': 'application/json' },
      body: { callback_url: 'https://a.example/h', duration: 5 },
      status: 200,
    },
  ])
  t.notOk('authorization' in items[0].headers)
  t.strictSame((await call(url, 'GET', '/__sandbox/log?after=1')).json, { items: [] })
})

void t.test('reset forgets tasks, rules and counts', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const id = await create(url, 'x')
  sandbox.faults.add({ faults: ['down'] })
  t.equal((await call(url, 'POST', '/__sandbox/reset')).status, 200)
  t.strictSame((await call(url, 'GET', '/__sandbox/accepted')).json.items, [])
  t.equal(sandbox.requests().all.count, 0)
  t.equal((await query(url, id)).status, 404)
  await create(url, 'x')
  t.equal(sandbox.accepted()[0]?.seq, 2, 'sequence numbers are never used twice')
})

void t.test('clock: moved forward, never back', async (t) => {
  const { url } = await sandboxFor(t)
  const moved = await call(url, 'POST', '/__sandbox/clock', { advance_ms: 5000 })
  t.equal(moved.json.offset_ms, 5000)
  for (const wrong of [-1, 'x', 1.5, 1e15]) {
    const reply = await call(url, 'POST', '/__sandbox/clock', { advance_ms: wrong })
    t.equal(reply.status, 400, String(wrong))
  }
  t.match((await call(url, 'GET', '/__sandbox/health')).json, { status: 'ok', tasks: 0 })
})
