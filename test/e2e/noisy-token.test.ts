import { once } from 'node:events'
import t from 'tap'
import { OWN_REQUESTS_PER_MINUTE } from '../../src/app/spending/throttle/throttle.ts'
import { endChild, launchChild } from '../helpers/child.ts'
import { startStack } from '../helpers/stack.ts'
import { call } from './support/client.ts'
import { watchConnections } from './support/token-connections.ts'

/** One token repeats itself on 64 connections, without a pause; another tenant goes on working. */

const CONNECTIONS = 64
/** Half of the sixteen of a gateway. */
const SHARE = 8
const ROUND_MS = 2_000
const ROUNDS = 5
/** The product's own, unless another is to be measured. */
const PER_MINUTE = Number(process.env['NOISE_RPM'] ?? OWN_REQUESTS_PER_MINUTE)
/** Twice, and half as much again as room for a loaded machine. */
const MOST_SLOWER = 3
/** So often the quiet tenant looks: well within the pace of its own token, which would hide the noise. */
const LOOK_EVERY_MS = 250
/** What the quiet tenant has under way at a time. */
const QUIET_LOOPS = 2

const stack = await startStack({
  storeProcess: true,
  env: { OWN_REQUESTS_RPM: String(PER_MINUTE) },
})
t.teardown(() => stack.stop())
const { url, demo, other } = stack
const connections = watchConnections(stack.gateway.pool)
const noisy = String((await call(`${url}/v1/key`, { token: demo.modelToken })).body.id)

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

/** Two kinds of request take different times: one median over both would be of neither. */
const kinds = ['call', 'look'] as const
type Took = Readonly<Record<(typeof kinds)[number], number[]>>

/** What the quiet tenant waits for each of its requests, in milliseconds. */
async function round(): Promise<Took> {
  const took: Took = { call: [], look: [] }
  const untilMs = performance.now() + ROUND_MS
  let lookAtMs = 0
  const loop = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const beganMs = performance.now()
      const kind = beganMs >= lookAtMs ? 'look' : 'call'
      if (kind === 'look') lookAtMs = beganMs + LOOK_EVERY_MS
      const answer = await (kind === 'look'
        ? call(`${url}${quietVideo}`, { token: other.modelToken })
        : post(other.modelToken))
      took[kind].push(performance.now() - beganMs)
      if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
    }
  }
  await Promise.all(Array.from({ length: QUIET_LOOPS }, loop))
  return took
}
const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ??
  0

const median = (values: readonly number[]): number => quantile(values, 0.5)

void t.test('a token that repeats calls on 64 connections delays only itself', async (t) => {
  await round()
  const ratios: Took = { call: [], look: [] }
  const all = { quiet: [] as number[], loud: [] as number[] }
  for (let n = 0; n < ROUNDS; n += 1) {
    const quiet = await round()
    const beganMs = performance.now()
    noise.child.send('begin')
    const loud = await round()
    noise.child.send('end')
    const [statuses] = (await once(noise.child, 'message')) as [Readonly<Record<string, number>>]
    const tookS = (performance.now() - beganMs) / 1_000
    const { 200: done = 0, 429: refused = 0, ...others } = statuses
    t.same(others, {}, 'repeated, shown or refused')
    // A second's worth at once, and then in their time.
    const most = (PER_MINUTE / 60) * (tookS + 1) + 1
    t.ok(done <= most, `${done} were done in ${tookS} s, of ${most} at most`)
    // Each connection is answered a refusal in two seconds at the soonest.
    t.ok(refused <= CONNECTIONS * Math.ceil(tookS / 2), `${refused} refused in ${tookS} s`)
    for (const kind of kinds) {
      ratios[kind].push(median(loud[kind]) / median(quiet[kind]))
      const shown = [quiet, loud].map((took) => median(took[kind]).toFixed(1))
      t.comment(`${kind}, median ms quiet and loud: ${shown.join(', ')}; ${done} done`)
      all.quiet.push(...quiet[kind])
      all.loud.push(...loud[kind])
    }
  }
  const p99 = [all.quiet, all.loud].map((took) => quantile(took, 0.99).toFixed(1))
  t.comment(`p99 ms over all rounds, quiet and loud: ${p99.join(', ')}`)
  for (const kind of kinds)
    t.ok(median(ratios[kind]) <= MOST_SLOWER, `${kind}: ${ratios[kind].join(', ')} times slower`)
  t.ok(connections.mostHeld(noisy) <= SHARE, `${connections.mostHeld(noisy)} connections held`)
})
