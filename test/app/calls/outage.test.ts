import t from 'tap'
import { logUnavailable } from '../../../src/eventlog/log/errors.ts'
import { until } from '../../helpers/eventually.ts'
import { defaultBreakerSettings } from '../../../src/app/channels/breaker.ts'
import { sandboxTextChannels, withTextSettings } from '../../helpers/sandbox-channels.ts'
import type { TextCallInput } from '../../../src/families/text/calls/types.ts'
import { collect, startTextWorld, textInput } from './support/text-world.ts'

const world = await startTextWorld(t, { storeProcess: true })

t.test(
  'a log that dies amid streams loses no settlement: spooled, refused or drained',
  async (t) => {
    const { calls, journal } = await world.text({ journal: { spoolAfterMs: 300 } })
    const families = ['chat', 'responses', 'native', 'messages'] as const
    const opened = await Promise.all(
      families.map((family) =>
        calls.stream(textInput({ family, prompt: '[[sandbox words=20 frame-ms=10]]' })),
      ),
    )
    await world.store.kill9()
    const ends = await Promise.all(opened.map(({ frames }) => collect(frames)))
    for (const { error, frames } of ends) {
      t.equal(error, undefined)
      t.ok(frames.length > 15)
    }
    t.ok(journal.spooled() > 0)
    await until(() => !world.log.healthy())
    await t.rejects(calls.complete(textInput({ prompt: '[[client=while-down]]' })), {
      code: 'log_unavailable',
    })
    t.same(await world.accepted('while-down'), [])
    await world.store.restart()
    await until(() => journal.spooled() === 0)
    const settled = (await world.callEvents()).map(({ type, data }) => [type, data.callId])
    for (const { callId } of opened)
      t.same(
        settled.filter(([, id]) => id === callId),
        [['CallSettled', callId]],
      )
    await until(() => world.log.healthy())
  },
)

t.test('without log and spool no call is delivered as a success', async (t) => {
  const made = await world.text()
  const failing = {
    ...made.journal,
    record: () => Promise.reject(Object.assign(new Error('full'), { code: 'x' })),
  }
  const { calls } = await world.text({ deps: { journal: failing } })
  await t.rejects(calls.complete(textInput()), { message: 'full' })
  const { frames } = await calls.stream(textInput({ prompt: '[[sandbox words=5]]' }))
  const { error, frames: seen } = await collect(frames)
  t.match(error, { message: 'full' })
  t.notMatch(seen.map(({ data }) => data).join(), /"finish_reason":"stop"/)
})

t.test('while the spool cannot be written no call is sent, whole or streamed', async (t) => {
  const { calls, journal } = await world.text()
  const refusing = {
    ...journal,
    requireWritable: () => {
      throw logUnavailable('the spool cannot be written: ENOSPC')
    },
  }
  const { calls: refused } = await world.text({ deps: { journal: refusing } })
  const input = () => textInput({ prompt: '[[client=no-room]]' })
  await t.rejects(refused.complete(input()), { code: 'log_unavailable' })
  await t.rejects(refused.stream(input()), { code: 'log_unavailable' })
  t.same(await world.accepted('no-room'), [])
  t.match(await calls.complete(input()), { measurement: 'reported' })
})

const twoChannels = (first: string) => {
  const [chat] = sandboxTextChannels({ baseUrl: world.sandbox.url })
  if (chat === undefined) throw new Error('no chat channel')
  return [
    { ...chat, id: 'first', priority: 0, baseUrl: first },
    { ...chat, id: 'second', priority: 1, baseUrl: chat.baseUrl },
  ]
}

t.test('an unreachable channel is skipped, then closed by its breaker', async (t) => {
  const { calls, deps } = await world.text({
    channels: twoChannels('http://127.0.0.1:9/v1'),
    breaker: { ...defaultBreakerSettings, minimumFailures: 3 },
  })
  for (let call = 0; call < 4; call += 1) {
    const { callId } = await calls.complete(textInput())
    const event = (await world.callEvents()).find(({ data }) => data.callId === callId)
    t.equal(event?.data.channelId, 'second')
  }
  t.equal(deps.channels.health().find(({ id }) => id === 'first')?.breaker, 'open')
})

t.test('failures of one tenant’s calls close a provider to no other tenant', async (t) => {
  const other = 'tenant_of_others'
  await world.tenant(other, '10000')
  const { calls, deps } = await world.text({ breaker: defaultBreakerSettings })
  const failing = textInput({ prompt: '[[sandbox http=500]]' })
  for (let call = 0; call < 20; call += 1) await t.rejects(calls.complete(failing))
  await t.rejects(calls.complete(textInput()), { code: 'no_channel' })
  for (let call = 0; call < 10; call += 1) {
    await t.rejects(calls.complete(failing))
    await calls.complete(textInput({ tenantId: other }))
  }
  const chat = deps.channels.all.find(({ family }) => family === 'chat')
  const shown = deps.channels.health().find(({ id }) => id === chat?.id)
  t.match(shown, { breaker: 'closed', shutUsers: 1 })
})

t.test(
  'failures of one user’s calls close a provider to no other user of its tenant',
  async (t) => {
    const { calls, deps } = await world.text({ breaker: defaultBreakerSettings })
    const as = (userId: string, prompt?: string): TextCallInput => {
      const input = textInput(prompt === undefined ? {} : { prompt })
      return { ...input, principal: { ...input.principal, userId } }
    }
    const failing = as('careless', '[[sandbox http=500]]')
    for (let call = 0; call < 20; call += 1) await t.rejects(calls.complete(failing))
    await t.rejects(calls.complete(as('careless')), { code: 'no_channel' })
    const chat = deps.channels.all.find(({ family }) => family === 'chat')
    for (let call = 0; call < 10; call += 1) {
      await t.rejects(calls.complete(failing))
      const { callId } = await calls.complete(as('careful'))
      const event = (await world.callEvents()).find(({ data }) => data.callId === callId)
      t.equal(event?.data.channelId, chat?.id)
    }
    const shown = deps.channels.health().find(({ id }) => id === chat?.id)
    t.match(shown, { breaker: 'closed', shutUsers: 1 })
  },
)

t.test('a dead channel is shut for each user of a tenant that meets it', async (t) => {
  const { calls, deps } = await world.text({
    channels: twoChannels('http://127.0.0.1:9/v1'),
    breaker: { ...defaultBreakerSettings, pauseMs: 60_000, longestPauseMs: 60_000 },
  })
  const completeAs = async (userId: string) => {
    const input = textInput()
    const { callId } = await calls.complete({ ...input, principal: { ...input.principal, userId } })
    const event = (await world.callEvents()).find(({ data }) => data.callId === callId)
    t.equal(event?.data.channelId, 'second')
    return event?.data.attempts ?? 1
  }
  for (let call = 0; call < 3; call += 1) t.equal(await completeAs('one'), 2)
  for (let call = 0; call < 2; call += 1) t.equal(await completeAs('two'), 2)
  for (const user of ['one', 'two', 'three']) {
    t.equal(await completeAs(user), 2, `a call of ${user} is a probe`)
    t.equal(await completeAs(user), 1, `the channel is shut for ${user}`)
  }
  t.match(deps.channels.health()[0], { id: 'first', breaker: 'open', shutUsers: 3 })
})

t.test('ends by the gateway’s own bounds close no channel', async (t) => {
  const fragile = { ...defaultBreakerSettings, minimumFailures: 1, pauseMs: 60_000 }
  const { calls, deps } = await world.text({ breaker: fragile, limits: { maxWithheldBytes: 1 } })
  const { frames } = await calls.stream(textInput({ prompt: '[[sandbox words=5]]' }))
  await collect(frames)
  t.equal(calls.inFlight(), 0)
  t.ok(deps.channels.health().every(({ breaker }) => breaker === 'closed'))
})

t.test('a call of uncertain acceptance is never sent to another channel', async (t) => {
  for (const fault of ['drop-after-accept', 'http-after-accept=503', 'http-after-accept=500']) {
    const marker = `once-${fault.replace('=', '-')}`
    const { calls } = await world.text({ channels: twoChannels(`${world.sandbox.url}/v1`) })
    const prompt = `[[sandbox ${fault}]] [[client=${marker}]]`
    await t.rejects(calls.complete(textInput({ prompt })), { code: 'upstream_unavailable' })
    await t.rejects(calls.stream(textInput({ prompt })), { code: 'upstream_unavailable' })
    t.equal((await world.accepted(marker)).length, 2, fault)
  }
})

t.test('a limit that came with HTTP 200 goes to another channel, and rests this one', async (t) => {
  const cases = [
    ['complete', ['refuse=rate_limit_exceeded', 'envelope-200']],
    ['complete', ['fail-choice=429']],
    ['stream', ['refuse=rate_limit_exceeded', 'envelope-200']],
    ['stream', ['error-after=0', 'fail=rate_limit_exceeded']],
  ] as const
  for (const [index, [kind, faults]] of cases.entries()) {
    const { calls } = await world.text({ channels: twoChannels(`${world.sandbox.url}/v1`) })
    const marker = `limit-${index}`
    world.sandbox.faults.add({ faults, once: true, match: { client_marker: marker } })
    const channelOf = async (callId: string): Promise<string | undefined> => {
      const events = async () =>
        (await world.callEvents()).filter(({ data }) => data.callId === callId)
      await until(async () => (await events()).length > 0)
      const [event] = await events()
      return event?.type === 'CallSettled' ? event.data.channelId : event?.type
    }
    const made = await calls[kind](textInput({ prompt: `[[client=${marker}]]` }))
    if ('frames' in made) t.equal((await collect(made.frames)).error, undefined, marker)
    t.equal(await channelOf(made.callId), 'second', marker)
    const { callId } = await calls.complete(textInput())
    t.equal(await channelOf(callId), 'second', 'the first one rests')
  }
})

t.test('a rate-limited model rests, and other models do not', async (t) => {
  const { calls } = await world.text()
  await calls.complete(textInput({ prompt: '[[sandbox remaining=0 reset-ms=60000]]' }))
  await t.rejects(calls.complete(textInput()), {
    code: 'rate_limited',
    details: { kind: 'rate_limited', acceptance: 'ruled_out' },
  })
  await calls.complete(textInput({ model: 'text-cache' }))
})

t.test('a failing account closes no channel for calls', async (t) => {
  const fragile = { ...defaultBreakerSettings, minimumFailures: 1, pauseMs: 60_000 }
  const { calls, deps } = await world.text({ breaker: fragile })
  const refused = textInput({ prompt: '[[sandbox refuse=invalid_api_key]]' })
  await t.rejects(calls.complete(refused), { code: 'call_refused', details: { kind: 'account' } })
  await t.rejects(calls.stream(refused), { code: 'call_refused', details: { kind: 'account' } })
  t.ok(deps.channels.health().every(({ breaker }) => breaker === 'closed'))
  await calls.complete(textInput())
})

t.test('a channel without a free place is skipped without waiting', async (t) => {
  const [chat] = sandboxTextChannels({ baseUrl: world.sandbox.url })
  if (chat === undefined) throw new Error('no chat channel')
  const narrowed = withTextSettings({ ...chat, maxConcurrent: 1 }, { drainTimeoutMs: 1 })
  const { calls } = await world.text({ channels: [narrowed] })
  const { frames } = await calls.stream(textInput({ prompt: '[[sandbox stall-after=2]]' }))
  const held = frames[Symbol.asyncIterator]()
  await held.next()
  await t.rejects(calls.complete(textInput()), { code: 'overloaded' })
  await held.return?.()
  await until(() => calls.inFlight() === 0)
  await calls.complete(textInput())
  const { calls: narrow } = await world.text({ limits: { maxCalls: 0 } })
  await t.rejects(narrow.complete(textInput()), { code: 'overloaded' })
})

t.test('a call that the stop of the process cuts off says so, whole and streamed', async (t) => {
  const { calls } = await world.text()
  const cutOff = { code: 'call_cut_off' }
  const hanging = () => textInput({ prompt: '[[sandbox hang]]' })
  const asked: readonly Promise<object>[] = [calls.complete(hanging()), calls.stream(hanging())]
  const refusals = Promise.all(asked.map((call) => t.rejects(call, cutOff)))
  await until(() => calls.inFlight() === asked.length)
  t.equal(await calls.close(50), true)
  await refusals
})

t.test('silence has bounds, before the first byte and within a stream', async (t) => {
  const callsWithin = async (timeoutMs: number, firstByteTimeoutMs: number) => {
    const channels = sandboxTextChannels({ baseUrl: world.sandbox.url, timeoutMs }).map((channel) =>
      withTextSettings(channel, { firstByteTimeoutMs, idleTimeoutMs: 200 }),
    )
    return (await world.text({ channels })).calls
  }
  const calls = await callsWithin(200, 200)
  await t.rejects(calls.complete(textInput({ prompt: '[[sandbox hang]]' })), {
    code: 'upstream_timeout',
  })
  await t.rejects(calls.stream(textInput({ prompt: '[[sandbox hang]]' })), {
    code: 'upstream_timeout',
  })
  // On a busy machine a first byte may take longer than the silence that is waited for after it.
  const patient = await callsWithin(10_000, 10_000)
  const { frames } = await patient.stream(
    textInput({ prompt: '[[sandbox words=20 stall-after=5]]' }),
  )
  t.match((await collect(frames)).error, { code: 'upstream_timeout' })
})
