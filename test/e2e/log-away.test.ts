import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { newSecret } from '../../src/kernel/ids.ts'
import { startPretendedCluster } from '../helpers/cluster.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { call, TASKS, tasksOf, type Answer } from './support/client.ts'

/** Whatever a route needs the log for: nobody waits long for one that is known to be away. */

/** The time in which callers wait for a next leader, and then some. */
const PATIENCE_MS = 3_000
/** Less than callers wait at the beginning of an outage, and much for a busy machine. */
const AT_ONCE_MS = 2_000
const TRIES = 5

t.test('with the log away every route that needs it is 503 at once', async (t) => {
  const stack = await startStack({ storeProcess: true })
  t.teardown(() => stack.stop())
  const { demo } = stack
  const tasks = tasksOf(stack.url, demo.modelToken)
  const mine = await tasks.reaches(await tasks.created(), 'succeeded')
  await stack.caughtUp()
  const chat = (token: string) =>
    call(`${stack.url}/v1/chat/completions`, {
      token,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'hi' }] }),
    })
  const history = (id: string) =>
    call(`${stack.url}/api/query/v1/tasks/${id}/history`, { token: demo.queryToken })
  // Known before, so that it is the routes that need the log.
  for (const [surface, token] of [
    ['user', demo.profileToken],
    ['admin', demo.adminToken],
  ] as const)
    t.equal((await call(`${stack.url}/api/${surface}/tokens`, { token })).status, 200)
  const unknown = 'cgt-20260101000000-nobody'
  const asked: Readonly<Record<string, () => Promise<Answer>>> = {
    'an unknown token': () => chat(newSecret('sk-')),
    'a chat': () => chat(demo.modelToken),
    'a creation': () => tasks.create(),
    'a query of an unknown id': () => tasks.get(unknown),
    'a deletion of an unknown id': () => tasks.del(unknown),
    'a list of tokens': () => call(`${stack.url}/api/user/tokens`, { token: demo.profileToken }),
    'a new tenant': () =>
      call(`${stack.url}/api/admin/tenants`, {
        token: demo.adminToken,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'Late' }),
      }),
    'a history of an unknown id': () => history('video_01J00000000000000000000000'),
  }

  await stack.eventStore.kill9()
  await eventually('the outage is noticed', async () => {
    const { status } = await call(`${stack.url}/readyz`)
    return status === 503 ? true : undefined
  })
  await sleep(PATIENCE_MS)
  for (const [what, ask] of Object.entries(asked)) {
    const took: number[] = []
    // A wait of the gateway is in every try, one of the machine is not.
    while (took.length < TRIES && !took.some((ms) => ms < AT_ONCE_MS)) {
      const startedMs = performance.now()
      const answer = await ask()
      took.push(performance.now() - startedMs)
      t.equal(answer.status, 503, `${what}: ${answer.text}`)
    }
    t.ok(Math.min(...took) < AT_ONCE_MS, `${what} took ${took.map(Math.round).join(', ')} ms`)
  }
  t.equal(
    (await call(`${stack.url}${TASKS}/${String(mine.body.id)}`, { token: demo.modelToken })).status,
    200,
  )

  await stack.eventStore.restart()
  await eventually('service is back', async () =>
    (await chat(demo.modelToken)).status === 200 ? true : undefined,
  )
  t.equal((await tasks.get(unknown)).status, 404)
})

t.test('an account that the log refuses later is a separate reason of /readyz', async (t) => {
  const cluster = await startPretendedCluster()
  const stack = await startStack({ eventStore: cluster })
  t.teardown(() => stack.stop())
  t.equal((await call(`${stack.url}/readyz`)).status, 200)
  await cluster.deny('append')
  const tasks = tasksOf(stack.url, stack.demo.modelToken)
  t.equal((await tasks.create()).status, 503)
  const { body } = await eventually('it is said', async () => {
    const answer = await call(`${stack.url}/readyz`)
    return answer.status === 503 ? answer : undefined
  })
  t.match(body.reasons, [/^event_log refuses our account: append: /])
  await cluster.deny()
  await eventually('it is ready again', async () =>
    (await call(`${stack.url}/readyz`)).status === 200 ? true : undefined,
  )
  t.equal((await tasks.create()).status, 200)
})
