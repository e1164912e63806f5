import t from 'tap'
import { call, create, query, sandboxFor, TASKS, video } from './client.ts'

void t.test('a rule applies to the named operations and is lifted by DELETE', async (t) => {
  const { url } = await sandboxFor(t)
  const id = await create(url, 'x')
  const added = await call(url, 'POST', '/__sandbox/faults', {
    faults: ['http=500'],
    match: { op: ['get', 'list'] },
  })
  t.match(added.json, { id: 'fault-1', hits: 0 })
  t.equal((await query(url, id)).status, 500)
  t.equal((await call(url, 'GET', TASKS)).status, 500)
  t.equal((await call(url, 'POST', TASKS, video('x'))).status, 200)
  t.equal((await call(url, 'GET', '/__sandbox/faults')).json.items[0].hits, 2)
  t.strictSame((await call(url, 'DELETE', '/__sandbox/faults')).json, { cleared: 1 })
  t.equal((await query(url, id)).status, 200)
})

void t.test('once: a rule ends after the given number of uses', async (t) => {
  const sandbox = await sandboxFor(t)
  const id = await create(sandbox.url, 'x')
  sandbox.faults.add({ faults: ['http=503'], match: { op: 'get' }, once: 2 })
  const seen: number[] = []
  for (let i = 0; i < 4; i += 1) seen.push((await query(sandbox.url, id)).status)
  t.strictSame(seen, [503, 503, 200, 200])
})

void t.test('rate: one seed selects the same requests', async (t) => {
  const strikes = async (): Promise<string> => {
    const sandbox = await sandboxFor(t)
    sandbox.faults.add({ faults: ['refuse=ServerOverloaded'], rate: 0.4, seed: 11 })
    let seen = ''
    for (let i = 0; i < 40; i += 1) {
      const { status } = await call(sandbox.url, 'POST', TASKS, video('x'))
      seen += status === 429 ? 'x' : '.'
    }
    return seen
  }
  const first = await strikes()
  t.match(first, /x/)
  t.match(first, /\./)
  t.equal(await strikes(), first)
})

void t.test('match: by client marker, safety identifier, model and id', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const id = await create(url, 'x [[client=mine]]', { safety_identifier: 'u1' })
  const other = await create(url, 'x')
  for (const match of [{ client_marker: 'mine' }, { safety_identifier: 'u1' }, { id }]) {
    sandbox.faults.add({ faults: ['http=500'], match })
    t.equal((await query(url, id)).status, 500, JSON.stringify(match))
    t.equal((await query(url, other)).status, 200)
    sandbox.faults.clear()
  }
  sandbox.faults.add({ faults: ['http=500'], match: { model: 'domestic-video-2-0' } })
  t.equal((await call(url, 'POST', TASKS, video('x'))).status, 200)
  const model = { model: 'domestic-video-2-0' }
  t.equal((await call(url, 'POST', TASKS, video('x', model))).status, 500)
})

void t.test(
  'refuse-connections, garbage, down and hang on everything but the controls',
  async (t) => {
    const sandbox = await sandboxFor(t)
    const { url } = sandbox
    const id = await create(url, 'x')
    sandbox.faults.add({ faults: ['refuse-connections'] })
    await t.rejects(query(url, id))
    await t.rejects(call(url, 'POST', TASKS, video('x')))
    t.equal((await call(url, 'GET', '/__sandbox/accepted')).status, 200)
    sandbox.faults.clear()

    sandbox.faults.add({ faults: ['garbage'], match: { op: 'get' } })
    t.equal((await query(url, id)).json, undefined)
    sandbox.faults.clear()

    sandbox.faults.add({ faults: ['down'] })
    const statuses = await Promise.all([
      call(url, 'POST', TASKS, video('x')),
      query(url, id),
      call(url, 'GET', TASKS),
      call(url, 'DELETE', `${TASKS}/${id}`),
    ])
    t.strictSame(
      statuses.map((reply) => reply.status),
      [503, 503, 503, 503],
    )
    sandbox.faults.clear()

    sandbox.faults.add({ faults: ['hang'], match: { op: 'delete' } })
    const stuck = fetch(`${url}${TASKS}/${id}`, {
      method: 'DELETE',
      headers: { authorization: 'Bearer k' },
      signal: AbortSignal.timeout(300),
    })
    await t.rejects(stuck, { name: 'TimeoutError' })
    t.match(sandbox.accepted(), [{ id, cancelled: false, deleted: false }])
  },
)

void t.test('a deletion whose answer is lost has taken effect', async (t) => {
  const sandbox = await sandboxFor(t)
  const id = await create(sandbox.url, '[[sandbox stall-queued]]')
  sandbox.faults.add({ faults: ['drop-after-accept'], match: { op: 'delete' } })
  await t.rejects(call(sandbox.url, 'DELETE', `${TASKS}/${id}`))
  t.equal((await query(sandbox.url, id)).json.status, 'cancelled')
})

void t.test('the prompt overrides a rule, and rules shape tasks as well', async (t) => {
  const sandbox = await sandboxFor(t)
  sandbox.faults.add({ faults: ['queued-ms=0', 'running-ms=0', 'tokens=5'] })
  const one = await create(sandbox.url, 'x')
  const two = await create(sandbox.url, '[[sandbox tokens=9]]')
  t.equal((await query(sandbox.url, one)).json.usage.total_tokens, 5)
  t.equal((await query(sandbox.url, two)).json.usage.total_tokens, 9)
})

void t.test('400 naming the fault of an invalid rule', async (t) => {
  const { url } = await sandboxFor(t)
  const bad = [
    {},
    { faults: [] },
    { faults: ['no-such'] },
    { faults: ['hang'], rate: 2 },
    { faults: ['hang'], once: 0 },
    { faults: ['hang'], match: { verb: 'x' } },
    { faults: ['hang'], when: 'now' },
    '{',
  ]
  for (const rule of bad) {
    const reply = await call(url, 'POST', '/__sandbox/faults', rule)
    t.equal(reply.status, 400, JSON.stringify(rule))
    t.type(reply.json.error, 'string')
  }
  t.strictSame((await call(url, 'GET', '/__sandbox/faults')).json, { items: [] })
})
