import t from 'tap'
import { disableToken, issueToken, rotateToken } from '../../src/app/accounts/account-commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { call, queriesOf, TASKS, tasksOf } from './support/client.ts'

const stack = await startStack({ env: { OPERATIONS_PORT: '0', SHUTDOWN_DELAY_MS: '2000' } })
t.teardown(() => stack.stop())
const replica = await stack.replica()
const { access, demo } = stack
const here = tasksOf(stack.url, demo.modelToken)
const there = tasksOf(replica.url, demo.modelToken)
const finance = queriesOf(stack.url, demo.queryToken)

const both = [here, there] as const
const statusOf = async (url: string, token: string) =>
  (await call(`${url}${TASKS}`, { token })).status

t.test('a task of one replica is found, listed and deleted by another at once', async (t) => {
  const id = await here.created({ prompt: 'x [[sandbox stall-queued]]' })
  t.equal((await there.get(id)).body.status, 'queued')
  t.same((await there.list(`filter.task_ids=${id}`)).body.total, 1)
  t.equal((await there.del(id)).status, 200)
  t.equal((await here.get(id)).body.status, 'cancelled')
})

t.test('polls, queries and deletions from both sides settle each task exactly once', async (t) => {
  const ids = await Promise.all(
    Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? here : there).created()),
  )
  const open = new Set(ids)
  await eventually('all ended', async () => {
    await Promise.all(
      [...open].flatMap((id) =>
        both.map(async (tasks) => {
          if ((await tasks.get(id)).body.status === 'succeeded') open.delete(id)
        }),
      ),
    )
    return open.size === 0 ? true : undefined
  })
  const deletions = await Promise.all(ids.flatMap((id) => both.map((tasks) => tasks.del(id))))
  for (const { status } of deletions) t.ok([200, 404].includes(status), String(status))
  await stack.caughtUp()
  for (const id of ids) {
    const types = (await finance.history(id)).body.data.items.map((i: { type: string }) => i.type)
    t.equal(types.filter((type: string) => type === 'TaskSettled').length, 1)
    t.equal(types.filter((type: string) => type === 'TaskDeleted').length, 1)
  }
  const summary = await finance.summary('group_by=tenant&currency=CNY')
  t.match(summary.body.data.items, [{ key: demo.tenantId, lines: 12 }])
  t.equal(stack.sandbox.accepted().filter(({ success }) => success).length, 12)
})

t.test('an Idempotency-Key holds across replicas', async (t) => {
  const headers = { 'idempotency-key': 'both' }
  const prompt = 'x [[client=both]] [[sandbox stall-queued]]'
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      (index % 2 === 0 ? here : there).create({ prompt }, headers),
    ),
  )
  t.equal(stack.sandbox.accepted({ client_marker: 'both' }).length, 1)
  t.equal(new Set(answers.map((answer) => answer.headers.get('x-platform-id'))).size, 1)
})

t.test('a token works everywhere once issued, and on no replica once disabled', async (t) => {
  const { tenantId, userId } = demo
  const issued = await issueToken(access, { tenantId, userId, kind: 'model', name: 'short-lived' })
  t.equal(await statusOf(stack.url, issued.secret), 200)
  t.equal(await statusOf(replica.url, issued.secret), 200)
  await disableToken(access, { tokenId: issued.tokenId, reason: 'leaked' })
  for (const url of [stack.url, replica.url])
    await eventually('refused', async () =>
      (await statusOf(url, issued.secret)) === 401 ? true : undefined,
    )
  for (let round = 0; round < 5; round += 1)
    for (const url of [stack.url, replica.url])
      t.equal(await statusOf(url, issued.secret), 401, 'and it stays so')
})

t.test('after a rotation the old secret lasts for the overlap, everywhere', async (t) => {
  const { tenantId, userId } = demo
  const issued = await issueToken(access, { tenantId, userId, kind: 'model', name: 'rotating' })
  for (const url of [stack.url, replica.url]) t.equal(await statusOf(url, issued.secret), 200)
  const rotated = await rotateToken(access, {
    tokenId: issued.tokenId,
    kind: 'model',
    overlapMs: 1_500,
  })
  for (const url of [stack.url, replica.url]) {
    t.equal(await statusOf(url, rotated.secret), 200, 'the new one works at once')
    t.equal(await statusOf(url, issued.secret), 200, 'the old one still does')
  }
  for (const url of [stack.url, replica.url]) {
    await eventually('ended', async () =>
      (await statusOf(url, issued.secret)) === 401 ? true : undefined,
    )
    t.equal(await statusOf(url, rotated.secret), 200)
  }
})

t.test('an expired token is refused; a bound token may use its models only', async (t) => {
  const { tenantId, userId } = demo
  const kind = 'model' as const
  // On a busy machine the first may have expired before it is used.
  let lifeMs = 1_000
  const short = await eventually('a token that has not expired', async () => {
    lifeMs *= 2
    const expiresAt = new Date(Date.now() + lifeMs).toISOString()
    const issued = await issueToken(access, { tenantId, userId, kind, name: 'e', expiresAt })
    return (await statusOf(stack.url, issued.secret)) === 200 ? issued : undefined
  })
  await eventually('expired', async () =>
    (await statusOf(stack.url, short.secret)) === 401 ? true : undefined,
  )
  const models = ['domestic-video-2-0-fast']
  const narrow = await issueToken(access, { tenantId, userId, kind, name: 'n', models })
  const tasks = tasksOf(replica.url, narrow.secret)
  t.equal((await tasks.create({ model: 'domestic-video-2-0-fast-260128' })).status, 200)
  const refused = await tasks.create({ model: 'domestic-video-2-0' })
  t.equal(refused.status, 403)
  t.match(refused.body.error, { code: 'AccessDenied', param: 'model', type: 'Forbidden' })
})

t.test(
  'a replica that stops answers its requests in flight, and the other serves on',
  async (t) => {
    const prompt = 'x [[client=slow]] [[sandbox first-byte-ms=600]]'
    const creating = there.create({ prompt })
    await eventually('sent', () =>
      stack.sandbox.accepted({ client_marker: 'slow' }).length > 0 ? true : undefined,
    )
    await replica.stop()
    const created = await creating
    t.equal(created.status, 200)
    await t.rejects(there.get(created.body.id), 'it listens no more')
    t.equal((await here.reaches(created.body.id, 'succeeded')).status, 200)
  },
)

t.test('a leaving replica is not ready at once, and serves until its delay is over', async (t) => {
  const leaving = await stack.replica()
  const operations = leaving.gateway.operationsAddress ?? ''
  const readiness = () => call(`${operations}/readyz`)
  t.equal((await readiness()).status, 200)
  t.equal((await call(`${leaving.url}/readyz`)).status, 404, 'not where callers come')
  const stopped = leaving.stop()
  t.match(await readiness(), {
    status: 503,
    body: { ready: false, reasons: ['not accepting: starting or draining'] },
  })
  const created = await tasksOf(leaving.url, demo.modelToken).create()
  t.equal(created.status, 200)
  t.equal(created.headers.get('connection'), 'close', 'nothing more comes on this connection')
  await stopped
  for (const url of [leaving.url, operations]) await t.rejects(call(`${url}/healthz`))
  t.equal((await here.reaches(created.body.id, 'succeeded')).status, 200)
})
