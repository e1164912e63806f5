import { catalog } from '../../../src/families/index.ts'
import t from 'tap'
import {
  attempt,
  type AttemptPlan,
  endAttempt,
  noChannelError,
  restChannel,
} from '../../../src/app/channels/attempt.ts'
import { defaultBreakerSettings } from '../../../src/app/channels/breaker.ts'
import { createChannelDirectory } from '../../../src/app/channels/directory.ts'
import {
  type Acceptance,
  type Channel,
  ProviderError,
  type ProviderErrorKind,
  providerErrorKinds,
} from '../../../src/app/ports/provider.ts'
import { sharerIn } from './support/sharer.ts'

const USER = sharerIn('tenant_1')
const channelQuery = { family: 'any', model: 'm' }

function channel(id: string, over: Partial<Channel> = {}): Channel {
  return {
    id,
    family: 'any',
    region: 'domestic',
    baseUrl: 'https://upstream.example.test',
    credential: 'secret',
    models: { m: 'upstream-m', other: 'upstream-other' },
    weight: 1,
    priority: 0,
    timeoutMs: 1_000,
    maxConcurrent: 1,
    ...over,
  }
}

function setUp(...ids: readonly string[]) {
  let nowMs = 1_000
  const clock = { nowMs: () => nowMs }
  const all = ids.map((id, priority) => channel(id, { priority }))
  const breaker = { ...defaultBreakerSettings, minimumFailures: 1 }
  const channels = createChannelDirectory(all, { catalog, clock, random: () => 0, breaker })
  const failures: string[] = []
  const plan: AttemptPlan = {
    sharer: USER,
    channelQuery,
    maxChannels: 3,
    onFailure: ({ id }) => void failures.push(id),
  }
  return { deps: { channels, clock }, plan, failures, pass: (ms: number) => (nowMs += ms) }
}

const failing =
  (kind: ProviderErrorKind, acceptance: Acceptance = 'ruled_out', retryAfterMs?: number) =>
  () =>
    Promise.reject(new ProviderError(kind, acceptance, 'no', { retryAfterMs }))

/** What becomes of one attempt: who failed, and what it came to. */
async function outcome(kind: ProviderErrorKind, acceptance: Acceptance) {
  const { deps, plan, failures } = setUp('a', 'b')
  const ended = await attempt(deps, plan, failing(kind, acceptance))
  return { ended: ended.kind, failures, health: deps.channels.health().map((h) => h.breaker) }
}

t.test(
  'another channel is tried only after a certain refusal not caused by the caller',
  async (t) => {
    const both = ['a', 'b']
    for (const kind of ['account', 'rate_limited', 'unavailable', 'timeout'] as const) {
      t.same((await outcome(kind, 'ruled_out')).failures, both, kind)
      t.same((await outcome(kind, 'unknown')).failures, ['a'], `${kind}, not certain`)
    }
    t.same((await outcome('invalid', 'ruled_out')).failures, ['a'])
    t.same((await outcome('malformed', 'certain')).failures, ['a'])
    t.equal((await outcome('account', 'ruled_out')).ended, 'failed')
  },
)

t.test('failures of a provider close its channel, refusals do not', async (t) => {
  const open = { unavailable: true, timeout: true, malformed: true }
  for (const kind of providerErrorKinds) {
    const [first] = (await outcome(kind, 'unknown')).health
    t.equal(first, kind in open ? 'open' : 'closed', kind)
  }
})

t.test('a rate-limited channel rests for that model, as long as it asked for', async (t) => {
  const { deps, plan, failures, pass } = setUp('a')
  await attempt(deps, plan, failing('rate_limited', 'ruled_out', 500))
  t.equal((await attempt(deps, plan, () => Promise.resolve('never'))).kind, 'untried')
  t.match(noChannelError(deps, USER, channelQuery, { callId: 'c' }), {
    code: 'rate_limited',
    details: { callId: 'c', kind: 'rate_limited', acceptance: 'ruled_out', retryAfterMs: 500 },
  })
  const other = { ...plan, channelQuery: { ...channelQuery, model: 'other' } }
  t.equal((await attempt(deps, other, () => Promise.resolve('now'))).kind, 'answered')
  pass(500)
  const { lease } = (await attempt(deps, plan, () => Promise.resolve('later'))) as never
  t.ok(lease)
  t.same(failures, ['a'])
  restChannel(deps, channelQuery, channel('a'), undefined)
  t.equal(deps.channels.restingForMs(USER, channelQuery), undefined)
})

t.test('a rate limit rests one tenant, and all once it refuses another tenant', async (t) => {
  const { deps, plan, pass } = setUp('a')
  const { channels } = deps
  const limited = failing('rate_limited', 'ruled_out', 500)
  const other = { ...plan, sharer: sharerIn('tenant_2') }
  await attempt(deps, plan, limited)
  t.equal(channels.restingForMs(USER, channelQuery), 500)
  t.equal(channels.restingForMs(sharerIn('tenant_1', 'user_2'), channelQuery), 500)
  t.equal(channels.restingForMs(sharerIn('tenant_2'), channelQuery), undefined)
  pass(100)
  await attempt(deps, other, limited)
  t.equal(channels.restingForMs(sharerIn('tenant_3'), channelQuery), 500)
  pass(500)
  t.equal(channels.restingForMs(USER, channelQuery), undefined)
  await attempt(deps, other, limited)
  t.equal(channels.restingForMs(USER, channelQuery), undefined, 'one alone begins again')
  // What an answer says of the account is so for all.
  restChannel(deps, channelQuery, channel('a'), 700)
  t.equal(channels.restingForMs(sharerIn('tenant_3'), channelQuery), 700)
})

t.test('an attempt that the gateway ended does not count against the channel', async (t) => {
  const { deps, plan } = setUp('a')
  const own = new ProviderError('malformed', 'unknown', 'no', { endedByGateway: true })
  await attempt(deps, plan, () => Promise.reject(own))
  t.equal(deps.channels.health()[0]?.breaker, 'closed')
})

t.test('at most three channels are tried, beginning with a given one', async (t) => {
  const { deps, plan, failures } = setUp('a', 'b', 'c', 'd')
  const first = deps.channels.lease(USER, { ...channelQuery, channelId: 'c' })
  t.ok(first)
  const ended = await attempt(
    deps,
    { ...plan, ...(first === undefined ? {} : { first }) },
    failing('account'),
  )
  t.same(failures, ['c', 'a', 'b'])
  t.match(ended, { kind: 'failed', channel: { id: 'b' } })
})

t.test('an answer keeps its channel lease until its end is known', async (t) => {
  const { deps, plan } = setUp('a')
  const answered = await attempt(deps, plan, ({ id }) => Promise.resolve(`of ${id}`))
  if (answered.kind !== 'answered') throw new Error('it was not answered')
  t.equal(answered.result, 'of a')
  const cut = new ProviderError('unavailable', 'certain', 'cut')
  endAttempt(deps, channelQuery, answered.lease, cut)
  t.equal(deps.channels.health()[0]?.breaker, 'closed', 'an answer that broke off weighs half')
  const again = await attempt(deps, plan, () => Promise.resolve('again'))
  if (again.kind !== 'answered') throw new Error('it was not answered')
  endAttempt(deps, channelQuery, again.lease, cut)
  t.equal(deps.channels.health()[0]?.breaker, 'open')
  t.match(noChannelError(deps, USER, channelQuery, {}), {
    code: 'no_channel',
    details: { model: 'm' },
  })
  t.match(noChannelError(deps, USER, { ...channelQuery, channelId: 'a' }, {}), {
    code: 'kept_unavailable',
  })
})

t.test('an error that is no provider failure is thrown and affects no channel', async (t) => {
  const { deps, plan, failures } = setUp('a', 'b')
  await t.rejects(
    attempt(deps, plan, () => Promise.reject(new Error('a defect'))),
    { message: 'a defect' },
  )
  t.same(failures, ['a'])
  t.same(
    deps.channels.health().map(({ breaker }) => breaker),
    ['closed', 'closed'],
  )
})

t.test('a full channel is reported as overloaded', async (t) => {
  const { deps, plan } = setUp('a')
  while (deps.channels.lease(USER, channelQuery) !== undefined);
  t.equal((await attempt(deps, plan, () => Promise.resolve('never'))).kind, 'untried')
  t.match(noChannelError(deps, USER, channelQuery, {}), {
    code: 'overloaded',
    details: { model: 'm' },
  })
})
