import { catalog } from '../../../src/families/index.ts'
import t from 'tap'
import { type ChannelLease, createChannelDirectory } from '../../../src/app/channels/directory.ts'
import { type Channel, ProviderError } from '../../../src/app/ports/provider.ts'
import { sharerIn } from './support/sharer.ts'

const MODEL = 'domestic-video-2-0'
const USER = sharerIn('tenant_1')
const channelQuery = { family: 'video-a', region: 'domestic', model: MODEL } as const

function channel(id: string, over: Partial<Channel> = {}): Channel {
  return {
    id,
    family: 'video-a',
    region: 'domestic',
    baseUrl: 'https://upstream.example.test/api',
    credential: 'secret',
    models: { [MODEL]: 'upstream-model' },
    weight: 1,
    priority: 0,
    timeoutMs: 1_000,
    maxConcurrent: 1,
    ...over,
  }
}

function directory(channels: readonly Channel[], random = 0) {
  let nowMs = 0
  const made = createChannelDirectory(channels, {
    catalog,
    clock: { nowMs: () => nowMs },
    random: () => random,
  })
  return { ...made, advance: (byMs: number) => (nowMs += byMs) }
}

t.test('only channels of the family, region and model are used', async (t) => {
  const all = [
    channel('other-family', { family: 'image' }),
    channel('other-region', { region: 'overseas' }),
    channel('other-model', { models: { 'domestic-video-2-5': 'x' } }),
  ]
  t.equal(directory(all).lease(USER, channelQuery), undefined)
  t.equal(directory([...all, channel('fits')]).lease(USER, channelQuery)?.channel.id, 'fits')
  t.equal(directory([channel('a')]).lease(USER, { ...channelQuery, model: 'toString' }), undefined)
})

t.test('a call bound to a channel, or to an account’s data, uses no other channel', async (t) => {
  const has = (channel: Channel): boolean => channel.settings === 'has it'
  const { lease, serving } = directory([
    channel('first'),
    channel('second', { priority: 1, settings: 'has it' }),
    channel('third', { priority: 2, settings: 'has it' }),
  ])
  t.equal(lease(USER, { ...channelQuery, channelId: 'third' })?.channel.id, 'third')
  t.equal(lease(USER, { ...channelQuery, channelId: 'third' }, new Set(['third'])), undefined)
  t.equal(lease(USER, { ...channelQuery, channelId: 'gone' }), undefined)
  t.equal(lease(USER, { ...channelQuery, suits: has })?.channel.id, 'second')
  const ids = (more: object) => serving({ ...channelQuery, ...more }).map(({ id }) => id)
  t.same(ids({ suits: has }), ['second', 'third'])
  t.same(ids({ suits: has, channelId: 'first' }), [])
})

t.test('the lowest priority wins while it is healthy', async (t) => {
  const { lease, advance, health } = directory([
    channel('spare', { priority: 1, maxConcurrent: 100 }),
    channel('first', { maxConcurrent: 100 }),
  ])
  for (let call = 0; call < 5; call += 1) {
    const taken = lease(USER, channelQuery)
    t.equal(taken?.channel.id, 'first')
    taken?.release('failure')
  }
  t.equal(lease(USER, channelQuery)?.channel.id, 'spare', 'the breaker of the first is open')
  t.match(
    health().find(({ id }) => id === 'first'),
    { id: 'first', breaker: 'open', shutUsers: 1 },
  )
  advance(2_000)
  t.equal(lease(USER, channelQuery)?.channel.id, 'first', 'after its pause it is probed')
  t.equal(lease(USER, channelQuery)?.channel.id, 'spare', 'one probe at a time')
})

t.test('a channel is shut for the user whose calls fail, not for its tenant', async (t) => {
  const { lease, health } = directory([
    channel('first', { maxConcurrent: 100 }),
    channel('spare', { priority: 1 }),
  ])
  const other = sharerIn('tenant_1', 'user_2')
  for (let call = 0; call < 5; call += 1) lease(USER, channelQuery)?.release('failure')
  t.equal(lease(USER, channelQuery)?.channel.id, 'spare')
  t.equal(lease(other, channelQuery)?.channel.id, 'first')
  t.match(health(), [{ id: 'first', shutUsers: 1 }])
})

t.test('within a priority, channels are chosen at random by weight', async (t) => {
  const channels = [channel('light', { weight: 1 }), channel('heavy', { weight: 3 })]
  t.equal(directory(channels, 0.24).lease(USER, channelQuery)?.channel.id, 'light')
  t.equal(directory(channels, 0.26).lease(USER, channelQuery)?.channel.id, 'heavy')
  t.equal(directory(channels, 0.999).lease(USER, channelQuery)?.channel.id, 'heavy')
})

t.test('a channel with too many pending calls is skipped until one ends', async (t) => {
  const { lease } = directory([channel('busy', { maxConcurrent: 1 })])
  const taken = [1, 2, 3, 4].map(() => lease(USER, channelQuery))
  t.ok(taken.every((one) => one !== undefined))
  t.equal(lease(USER, channelQuery), undefined)
  taken[0]?.release('success')
  taken[0]?.release('success')
  t.ok(lease(USER, channelQuery))
  t.equal(lease(USER, channelQuery), undefined, 'releasing twice frees one place')
})

t.test('one tenant may take seven eighths of the places of a channel', async (t) => {
  const { lease } = directory([channel('shared', { maxConcurrent: 4 })])
  const taken = Array.from({ length: 16 }, (_, index) =>
    lease(sharerIn('noisy', `user_${index % 2}`), channelQuery),
  )
  t.equal(taken.filter((one) => one !== undefined).length, 14)
  t.ok(lease(sharerIn('quiet'), channelQuery))
  taken[0]?.release('success')
  t.ok(lease(sharerIn('noisy'), channelQuery), 'a place that is given back is free again')
  t.equal(lease(sharerIn('noisy'), channelQuery), undefined)
})

t.test('excluded channels are not tried again', async (t) => {
  const { lease, serving } = directory([channel('a'), channel('b')])
  t.equal(lease(USER, channelQuery, new Set(['a']))?.channel.id, 'b')
  t.equal(lease(USER, channelQuery, new Set(['a', 'b'])), undefined)
  t.same(
    serving(channelQuery).map(({ id }) => id),
    ['a', 'b'],
  )
})

t.test('operators see since when a channel fails, and its last ten failures', async (t) => {
  const { lease, advance, health } = directory([channel('one', { maxConcurrent: 100 })])
  const end = (...outcome: Parameters<ChannelLease['release']>) => {
    const taken = lease(USER, channelQuery)
    t.match(health()[0], { callsInFlight: 1 })
    taken?.release(...outcome)
  }
  const failure = (n: number) =>
    new ProviderError('unavailable', 'unknown', `failure ${n}`, { status: 500 + n })
  t.match(health()[0], { failingForMs: undefined, workedAgoMs: undefined, failures: [] })
  end('failure', failure(0))
  advance(1_000)
  end('success')
  advance(1_000)
  t.match(health()[0], { failingForMs: undefined, workedAgoMs: 1_000, callsInFlight: 0 })
  end('neutral')
  t.equal(health()[0]?.failures.length, 1, 'a call that the caller ended is no failure')
  end('failure', failure(1))
  advance(500)
  end('neutral', failure(2))
  t.match(health()[0], {
    failingForMs: 500,
    workedAgoMs: 1_500,
    failures: [
      { message: 'failure 2', status: 502, kind: 'unavailable', agoMs: 0 },
      { message: 'failure 1', agoMs: 500 },
      { message: 'failure 0', agoMs: 2_500 },
    ],
  })
  for (let n = 3; n < 20; n += 1) end('success', failure(n))
  t.equal(health()[0]?.failures.length, 10)
})
