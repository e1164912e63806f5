import t from 'tap'
import { Front } from '../helpers/pretended-cluster/front.ts'
import { eventually } from '../helpers/eventually.ts'
import { type Replica, startStack } from '../helpers/stack.ts'
import { call, type Answer } from './support/client.ts'

/** A process of each role has an operations port, whose readiness is that of its role. */

/** Longer than the longest pause between two tries of a leader session. */
const STATES_MS = 180_000

const stack = await startStack({ env: { OPERATIONS_PORT: '0' } })
t.teardown(() => stack.stop())
const { front, url: databaseUrl } = await Front.before(stack.databaseUrl)
t.teardown(async () => {
  front.breakConnections()
  await front.close()
})

const ask = ({ gateway }: Replica, path: string): Promise<Answer> =>
  call(`${gateway.operationsAddress ?? 'no port'}${path}`)

/** Waits until `/readyz` has this status, and a body that says these words. */
const readiness = (replica: Replica, status: number, words = /./): Promise<Answer> =>
  eventually(
    `/readyz is ${status} with ${String(words)}`,
    async () => {
      const answer = await ask(replica, '/readyz')
      return answer.status === status && words.test(answer.text) ? answer : undefined
    },
    STATES_MS,
  )

const [projector, worker] = await Promise.all([
  stack.replica(['projector'], { databaseUrl }),
  stack.replica(['worker'], { databaseUrl }),
])

t.test('each role answers probes and scrapers, and has no port for callers', async (t) => {
  for (const replica of [stack, projector, worker]) {
    t.match(await ask(replica, '/healthz'), { status: 200, text: '{"status":"ok"}' })
    const { text } = await readiness(replica, 200)
    t.match(JSON.parse(text), {
      reasons: [],
      dependencies: { event_log: 'up', postgres: 'up' },
      projections: [{ name: 'access' }],
    })
    const metrics = await eventually('the process is ready in its metrics', async () => {
      const { status, text: found } = await ask(replica, '/metrics')
      return status === 200 && found.includes('tollgate_ready 1') ? found : undefined
    })
    t.match(metrics, /^tollgate_dependency_up\{dependency="event_log"\} 1$/m)
    t.match(metrics, /^tollgate_leads\{what="projections"\} 1$/m)
    t.match(metrics, /^tollgate_info\{version="0\.0\.0-test",/m)
    t.match(metrics, /^process_cpu_seconds_total /m)
    t.equal((await ask(replica, '/v1/models')).status, 404)
  }
  for (const { gateway } of [projector, worker]) t.equal(gateway.address, undefined)
  t.notMatch((await ask(worker, '/readyz')).text, /"projector"/)
  t.notMatch((await ask(stack, '/readyz')).text, /"projector"/)
})

t.test('a projector and a worker without Postgres are not ready and say why', async (t) => {
  await front.fallSilent('refuse')
  const ofProjector = await readiness(projector, 503, /starts again.*postgres is down/)
  t.match(JSON.parse(ofProjector.text), {
    reasons: [/^the projector starts again: .*(ECONN|terminated)/, 'postgres is down'],
  })
  const ofWorker = await readiness(worker, 503, /no rounds.*postgres is down/)
  t.match(JSON.parse(ofWorker.text), {
    reasons: [/^the worker runs no rounds, because Postgres/, 'postgres is down'],
  })
  t.match(await ask(worker, '/healthz'), { status: 200 })
  await front.recover()
  await Promise.all([readiness(projector, 200), readiness(worker, 200)])
})

t.test('a projector follows, and leads once the leader has stopped', async (t) => {
  t.equal(JSON.parse((await readiness(projector, 200, /follows/)).text).projector, 'follows')
  await stack.gateway.stop()
  t.equal(JSON.parse((await readiness(projector, 200, /leads/)).text).projector, 'leads')
})
