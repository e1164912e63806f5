import t from 'tap'
import { until } from '../../helpers/eventually.ts'
import { createAccountFacts } from '../../../src/app/accounts/account-facts.ts'
import { createThrottle } from '../../../src/app/spending/throttle/throttle.ts'
import { createReplicaGauges } from '../../../src/app/spending/replica-gauges.ts'
import { totalTokens } from '../../../src/families/text/rules/tokens.ts'
import { codeOf } from '../support/world.ts'
import { collect, startTextWorld, textInput, type TextWish } from './support/text-world.ts'

const world = await startTextWorld(t)
await world.tenant('tenant_poor', '0.000001')
await world.settle()
const families = ['chat', 'responses', 'native', 'messages'] as const

/** A replica whose limits begin unused, and to whom nothing flows back. */
async function fresh() {
  const nowMs = Date.now()
  const monotonic = { nowMs: () => nowMs }
  const gauges = createReplicaGauges({ db: world.pool, replica: 'fresh', clock: monotonic })
  const facts = createAccountFacts(world, monotonic)
  const throttle = createThrottle({ facts, gauges, monotonic })
  const { calls } = await world.text({ deps: { throttle } })
  const limitStatusesOf = (wish: TextWish) => throttle.statuses(textInput(wish).principal)
  return { calls, limitStatusesOf }
}

for (const family of families)
  t.test(`${family}: a call beyond its request limit is neither sent nor recorded`, async (t) => {
    const { calls } = await fresh()
    const marker = `requests-${family}`
    const wish = { family, prompt: `x [[client=${marker}]]`, limits: { requestsPerMinute: 3 } }
    await calls.complete(textInput(wish))
    const { frames } = await calls.stream(textInput(wish))
    await collect(frames)
    await calls.complete(textInput(wish))
    const before = (await world.callEvents()).length
    for (const refused of [calls.complete, calls.stream])
      await t.rejects(Promise.resolve(refused(textInput(wish))), {
        code: 'rate_limited',
        details: { limitedBy: 'requests', limit: 3 },
      })
    t.equal((await world.accepted(marker)).length, 3)
    t.equal((await world.callEvents()).length, before)
    await calls.complete(textInput({ ...wish, limits: {} }))
  })

const budget = 1_000_000

for (const family of families)
  for (const streamed of [false, true])
    t.test(`${family}${streamed ? ', streamed' : ''}: the limit counts settled use`, async (t) => {
      const { calls, limitStatusesOf } = await fresh()
      const marker = `tokens-${family}-${streamed}`
      const wish = {
        family,
        prompt: `x [[client=${marker}]] [[sandbox first-byte-ms=150]]`,
        limits: { tokensPerMinute: budget },
        ...(family === 'chat' ? { body: { max_tokens: 5_000 } } : {}),
      }
      const used = () => budget - (limitStatusesOf(wish).tokens?.remaining ?? 0)
      const ending = streamed
        ? calls.stream(textInput(wish)).then(({ frames }) => collect(frames))
        : calls.complete(textInput(wish))
      const input = Math.ceil(wish.prompt.length / 4)
      await until(() => used() > 0)
      t.equal(used(), input + (family === 'chat' ? 5_000 : 2_048), 'as expected at first')
      await ending
      const [upstream] = await world.accepted(marker)
      const reported = (upstream?.usage.input_tokens ?? 0) + (upstream?.usage.output_tokens ?? 0)
      t.ok(reported > 0)
      t.equal(used(), reported)
    })

t.test('429 when the expected tokens are not left; a smaller call is admitted', async (t) => {
  const { calls } = await fresh()
  const limits = { tokensPerMinute: 10_000 }
  const slow = { limits, prompt: 'x [[sandbox first-byte-ms=400]]', body: { max_tokens: 8_000 } }
  const first = calls.complete(textInput(slow))
  await t.rejects(calls.complete(textInput(slow)), {
    code: 'rate_limited',
    details: { limitedBy: 'tokens', limit: 10_000 },
  })
  await calls.complete(textInput({ limits, body: { max_tokens: 1_000 } }))
  await first
  t.equal(await codeOf(calls.complete(textInput(slow))), 'no error', 'what was not used is free')
})

t.test('the tokens of a caller who left are counted as settled', async (t) => {
  const { calls, limitStatusesOf } = await fresh()
  const gone = new AbortController()
  const limits = { tokensPerMinute: budget, requestsPerMinute: 60 }
  const wish = {
    limits,
    prompt: 'x [[client=left]] [[sandbox words=40]]',
    callerGone: gone.signal,
  }
  const { frames } = await calls.stream(textInput(wish))
  await frames[Symbol.asyncIterator]().next()
  gone.abort()
  await until(() => calls.inFlight() === 0)
  const [upstream] = await world.accepted('left')
  const settled = (await world.callEvents()).at(-1)
  t.match(settled, { type: 'CallSettled', data: { outcome: 'disconnected' } })
  const { input_tokens = 0, output_tokens = 0 } = upstream?.usage ?? {}
  t.match(limitStatusesOf(wish), {
    requests: { remaining: 59 },
    tokens: { remaining: budget - input_tokens - output_tokens },
  })
})

t.test('a call refused for another reason counts neither request nor tokens', async (t) => {
  const { calls, limitStatusesOf } = await fresh()
  const limits = { requestsPerMinute: 5, tokensPerMinute: 5_000 }
  const untouched = { requests: { remaining: 5 }, tokens: { remaining: 5_000 } }
  const poor = { limits, tenantId: 'tenant_poor' }
  t.equal(await codeOf(calls.complete(textInput(poor))), 'insufficient_balance')
  t.match(limitStatusesOf(poor), untouched)
  const unknown = { limits, model: 'no-such-model' }
  t.equal(await codeOf(calls.complete(textInput(unknown))), 'unknown_model')
  t.match(limitStatusesOf(unknown), untouched)
})

t.test('a call that upstream fails counts as a request without tokens', async (t) => {
  const { calls, limitStatusesOf } = await fresh()
  const limits = { requestsPerMinute: 5, tokensPerMinute: budget }
  for (const fault of ['http=503', 'drop-after-accept', 'malformed']) {
    const wish = { limits, prompt: `x [[sandbox ${fault}]]` }
    await t.rejects(calls.complete(textInput(wish)))
  }
  t.match(limitStatusesOf({ limits }), {
    requests: { remaining: 2 },
    tokens: { remaining: budget },
  })
})

t.test('the tokens of a call are all of input, output and caches', async (t) => {
  const none = { 'web-search-call': 9, 'code-interpreter-session': 9, 'file-search-call': 9 }
  const usage = {
    input: 1,
    'cached-input': 20,
    'cache-write-5m': 300,
    'cache-write-1h': 4_000,
    output: 50_000,
  }
  t.equal(totalTokens({ ...none, ...usage }), 54_321)
})
