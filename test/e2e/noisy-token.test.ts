import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { OWN_REQUESTS_PER_MINUTE } from '../../src/app/spending/throttle/free-requests.ts'
import { endChild, launchChild } from '../helpers/child.ts'
import { startStack } from '../helpers/stack.ts'
import { call } from './support/client.ts'
import { watchConnections } from './support/token-connections.ts'

/**
 * One token repeats itself on 64 connections, without a pause; another tenant goes on working. What the noise may take is
 * counted: how long the other waits depends on the machine.
 */

const CONNECTIONS = 64
/** Half of the sixteen of a gateway. */
const SHARE = 8
/** So long at least, for what flows back and for second refusals, and until the other tenant had so many answers. */
const NOISE_MS = 4_500
const QUIET_ANSWERS = 40
/** What the quiet tenant has under way at a time. */
const QUIET_LOOPS = 2
/** Of Postgres, for each request that is done. */
const CONNECTIONS_ASKED = 3

const stack = await startStack({
  storeProcess: true,
  env: { OWN_REQUESTS_RPM: String(OWN_REQUESTS_PER_MINUTE) },
})
t.teardown(() => stack.stop())
const { url, demo, other } = stack
const connections = watchConnections(stack.gateway.pool)
const noisy = `user\n${demo.tenantId}\n${demo.userId}`

const chat = JSON.stringify({
  model: 'text-basic',
  messages: [{ role: 'user', content: 'hello' }],
})
const headersOf = (token: string) => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
})
const post = (token: string, headers: Readonly<Record<string, string>> = {}) =>
  call(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...headersOf(token), ...headers },
    body: chat,
  })
const video = async (token: string): Promise<string> => {
  const answer = await call(`${url}/v1/videos`, {
    method: 'POST',
    headers: headersOf(token),
    body: JSON.stringify({ model: 'domestic-video-2-0', prompt: 'a boat' }),
  })
  return `/v1/videos/${answer.body.id}`
}

const keyed = { 'idempotency-key': 'over and over' }
await post(demo.modelToken, keyed)
const [noisyVideo, quietVideo] = [await video(demo.modelToken), await video(other.modelToken)]
const own = (path: string) =>
  ({ method: 'GET', path, headers: headersOf(demo.modelToken) }) as const
const replay = {
  method: 'POST',
  path: '/v1/chat/completions',
  headers: { ...headersOf(demo.modelToken), ...keyed },
  body: chat,
} as const
const noise = await launchChild(new URL('support/noise.ts', import.meta.url), [
  JSON.stringify({
    url,
    connections: CONNECTIONS,
    requests: [replay, own(noisyVideo), replay, own('/v1/videos')],
  }),
])
t.teardown(() => endChild(noise.child, 'SIGKILL'))

/** The quiet tenant's calls and looks, one after the other. @throws where one is not answered with 200 */
async function goOn(): Promise<void> {
  const untilMs = performance.now() + NOISE_MS
  let answers = 0
  const loop = async (): Promise<void> => {
    while (performance.now() < untilMs || answers < QUIET_ANSWERS) {
      const isLook = answers % 4 === 0
      answers += 1
      const answer = await (isLook
        ? call(`${url}${quietVideo}`, { token: other.modelToken })
        : post(other.modelToken))
      if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
      // Well within the pace of its own token, which would refuse it too.
      await sleep(100)
    }
  }
  await Promise.all(Array.from({ length: QUIET_LOOPS }, loop))
}

void t.test(
  'a token that repeats calls on 64 connections takes no more than its part',
  async (t) => {
    const askedBefore = connections.asked(noisy)
    const beganMs = performance.now()
    noise.child.send('begin')
    await goOn()
    noise.child.send('end')
    const [statuses] = (await once(noise.child, 'message')) as [Readonly<Record<string, number>>]
    const tookS = (performance.now() - beganMs) / 1_000
    const { 200: done = 0, 429: refused = 0, ...others } = statuses
    const asked = connections.asked(noisy) - askedBefore
    t.comment(`${done} done, ${refused} refused in ${tookS} s: ${asked} connections asked for`)
    t.same(others, {}, 'repeated, shown or refused')
    // A second's worth at once, and then in their time: a slower machine takes longer, and so may do more.
    const most = (OWN_REQUESTS_PER_MINUTE / 60) * (tookS + 1) + 1
    t.ok(done > 0 && done <= most, `${done} were done in ${tookS} s, of ${most} at most`)
    // Each connection is answered a refusal in two seconds at the soonest.
    t.ok(refused > 0, `${refused} refused`)
    t.ok(refused <= CONNECTIONS * Math.ceil(tookS / 2), `${refused} refused in ${tookS} s`)
    t.ok(
      asked <= CONNECTIONS_ASKED * done,
      `${asked} connections for ${done} done, ${refused} refused`,
    )
    t.ok(connections.mostHeld(noisy) <= SHARE, `${connections.mostHeld(noisy)} connections held`)
    t.same(connections.failures, [])
  },
)
