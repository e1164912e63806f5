import t from 'tap'
import { until } from '../../helpers/eventually.ts'
import { listLines } from '../../../projections/ledger/query.ts'
import type { CallEventData } from '../../../src/domain/call/events.ts'
import { sandboxTextChannels, withTextSettings } from '../../helpers/sandbox-channels.ts'
import { createPriceBookSource } from '../../../src/app/finance/prices/price-book.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import type { Currency } from '../../../src/kernel/money.ts'
import { principalOf } from '../support/world.ts'
import { collect, startTextWorld, textInput, type TextWish, unitsOf } from './support/text-world.ts'

const world = await startTextWorld(t, { sandbox: { models: ['text-search'] } })
const { calls } = await world.text()

async function settledOf(callId: string): Promise<CallEventData<'CallSettled'> | undefined> {
  const found = (await world.callEvents()).filter((event) => event.data.callId === callId)
  return found.length === 1 && found[0]?.type === 'CallSettled' ? found[0].data : undefined
}

const wishes: Readonly<Record<string, TextWish>> = {
  'a plain chat': { family: 'chat' },
  'a chat that writes a cache': { family: 'chat', model: 'text-cache' },
  'a chat with both cache writes': {
    prompt: '[[sandbox cached-tokens=3 cache-write-5m=5 cache-write-1h=7]]',
    model: 'text-cache',
  },
  'a chat with cache writes that are not split': {
    prompt: '[[sandbox cache-write-1h=7 cache-unsplit]]',
    model: 'text-cache',
  },
  'a chat that reasons': { family: 'chat', model: 'text-reason' },
  'a chat of several choices': { family: 'chat', body: { n: 3 } },
  'a response': { family: 'responses' },
  'a response that reasons': { family: 'responses', model: 'text-reason' },
  'a response with provider tools': {
    family: 'responses',
    model: 'text-tools',
    prompt: '[[sandbox tool=web_search tool-searches=3]]',
    body: { tools: [{ type: 'web_search_preview' }] },
  },
  'a response that runs code': {
    family: 'responses',
    model: 'text-tools',
    prompt: '[[sandbox tool=code_interpreter tool-searches=2]]',
    body: { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
  },
  'an incomplete response': { family: 'responses', prompt: '[[sandbox incomplete]]' },
  'a native answer': { family: 'native' },
  'a native answer with thoughts': {
    family: 'native',
    model: 'text-reason',
    prompt: '[[sandbox thoughts]]',
  },
  'a native answer after a search': {
    family: 'native',
    model: 'text-tools',
    prompt: '[[sandbox tool=web_search tool-searches=2]]',
    body: { tools: [{ googleSearch: {} }] },
  },
  'a native answer that searched the older way, for two candidates': {
    family: 'native',
    prompt: '[[sandbox tool=web_search tool-searches=3]]',
    body: { tools: [{ googleSearchRetrieval: {} }], generationConfig: { candidateCount: 2 } },
  },
  'a native answer that had no need to search': {
    family: 'native',
    body: { tools: [{ googleSearch: {} }] },
  },
  'a chat that searched': {
    prompt: '[[sandbox tool=web_search tool-searches=3]]',
    body: { web_search_options: { search_context_size: 'low' } },
  },
  'a chat that had no need to search': { body: { web_search_options: {} } },
  'a native prompt that was held back': { family: 'native', prompt: '[[sandbox blocked]]' },
}

for (const [index, [name, wish]] of Object.entries(wishes).entries())
  t.test(`${name} is settled for the usage that its provider counted`, async (t) => {
    const marker = `complete-${index}`
    const prompt = `${wish.prompt ?? 'hello'} [[client=${marker}]]`
    const answer = await calls.complete(textInput({ ...wish, prompt }))
    const [accepted, ...more] = await world.accepted(marker)
    t.ok(accepted)
    t.equal(more.length, 0)
    const settled = await settledOf(answer.callId)
    if (accepted === undefined || settled === undefined) return t.fail('it is not settled')
    const expected = unitsOf(accepted)
    // Without a split, a write counts as one of five minutes.
    const writes = Number(expected['cache-write-5m']) + Number(expected['cache-write-1h'])
    const unsplit = { ...expected, 'cache-write-5m': writes, 'cache-write-1h': 0 }
    t.same(settled.usage, prompt.includes('cache-unsplit') ? unsplit : expected)
    t.equal(settled.outcome, 'completed')
    t.equal(answer.measurement, 'reported')
    t.same(settled.settlement, answer.settlement)
    t.notMatch(JSON.stringify(answer.body), /2026-01-15"/)
    return undefined
  })

t.test('the ledger has a line for every SKU with a quantity', async (t) => {
  const answer = await calls.complete(
    textInput({
      model: 'text-cache',
      prompt: '[[sandbox cached-tokens=3 cache-write-5m=5 cache-write-1h=7 tokens=11]]',
    }),
  )
  await world.settle()
  const { items } = await listLines(world.pool, { sourceId: answer.callId }, { limit: 10 })
  t.same(
    new Map(items.map((line) => [line.sku, line.amount])),
    new Map(answer.settlement.lines.map((line) => [line.sku, line.amount])),
  )
  t.same(
    new Set(items.map((line) => line.rule)),
    new Set(answer.settlement.lines.map((l) => l.rule)),
  )
  t.equal(items.find((line) => line.sku === 'text-cache-output-token')?.quantity, 11)
  t.equal(items.find((line) => line.sku === 'text-cache-cache-write-1h-token')?.quantity, 7)
})

t.test('an explicit zero is settled as zero, reported, without lines', async (t) => {
  const answer = await calls.complete(textInput({ prompt: '[[sandbox zero-usage]]' }))
  t.equal(answer.settlement.amount, '0')
  t.same(answer.settlement.lines, [])
  t.equal(answer.measurement, 'reported')
  t.equal((await settledOf(answer.callId))?.usage['output'], 0)
})

for (const family of ['chat', 'responses', 'native'] as const) {
  t.test(`${family}: missing usage is estimated from the delivered text, and marked`, async (t) => {
    const prompt = `[[sandbox no-usage words=40]] [[client=none-${family}]]`
    const answer = await calls.complete(textInput({ family, prompt }))
    const settled = await settledOf(answer.callId)
    const [accepted] = await world.accepted(`none-${family}`)
    t.equal(answer.measurement, 'estimated')
    t.ok(settled?.settlement.lines.every((line) => line.measurement === 'estimated'))
    // The sandbox counts as the estimate does: four bytes a token.
    t.equal(settled?.usage['output'], accepted?.usage.output_tokens)
    t.equal(settled?.usage['input'], Math.ceil(Buffer.byteLength(prompt) / 4))
  })

  t.test(`${family}: an error after acceptance costs nothing and is recorded`, async (t) => {
    const prompt = `[[sandbox http-after-accept=500]] [[client=broken-${family}]]`
    const input = textInput({ family, prompt })
    await t.rejects(calls.complete(input), { code: 'upstream_unavailable' })
    t.equal((await world.accepted(`broken-${family}`)).length, 1)
    await until(async () =>
      (await world.callEvents()).some(
        ({ type, data }) => type === 'CallFailed' && data.requestId === input.requestId,
      ),
    )
    const ours = (await world.callEvents()).filter(({ data }) => data.requestId === input.requestId)
    t.equal(ours.length, 1)
    t.notMatch(JSON.stringify(ours[0]?.data), /sandbox http-after/)
  })

  t.test(`${family}: an unreadable answer costs nothing and is recorded`, async (t) => {
    for (const fault of ['malformed', 'garbage', 'truncated', 'bad-http', 'drop-after-accept']) {
      const input = textInput({ family, prompt: `[[sandbox ${fault}]]` })
      const error = await calls.complete(input).catch((thrown: unknown) => thrown)
      t.match(error, { details: { acceptance: 'unknown' } }, fault)
      const ofOurs = async () =>
        (await world.callEvents())
          .filter(({ data }) => data.requestId === input.requestId)
          .map(({ type }) => type)
      await until(async () => (await ofOurs()).length > 0)
      t.same(await ofOurs(), ['CallFailed'], fault)
    }
  })
}

t.test('a failed response costs nothing; the usage it reports is our cost', async (t) => {
  const prompt = '[[sandbox fail=server_error usage-in-failed]]'
  const input = textInput({ family: 'responses', prompt })
  const answer = await calls.complete(input).catch((error: unknown) => error)
  await until(async () =>
    (await world.callEvents()).some(({ data }) => data.requestId === input.requestId),
  )
  const [noted] = (await world.callEvents()).filter(
    ({ data }) => data.requestId === input.requestId,
  )
  t.equal(noted?.type, 'CallFailed')
  if (typeof answer === 'object' && answer !== null && 'settlement' in answer)
    t.match(answer, {
      settlement: { amount: '0' },
      body: { status: 'failed', model: 'text-basic' },
    })
})

t.test('a refusal shows only the details that callers may see', async (t) => {
  const refusal = (marker: string, model = 'text-basic') =>
    calls.complete(textInput({ prompt: `[[sandbox ${marker}]]`, model })).then(
      () => undefined,
      (error: unknown) => (isDomainError(error) ? error : undefined),
    )
  const long = await refusal('refuse=context_length_exceeded')
  t.match(long, {
    code: 'call_refused',
    details: { kind: 'invalid', status: 400, upstreamCode: 'context_length_exceeded' },
  })
  const key = await refusal('refuse=invalid_api_key')
  t.match(key, { code: 'call_refused', details: { kind: 'account' } })
  t.notMatch(key?.message, /openai|key/i)
  const quota = await refusal('refuse=insufficient_quota')
  t.match(quota, { code: 'call_refused', details: { kind: 'account' } })
  t.match(await refusal('refuse=content_filter', 'no-such-model'), { code: 'unknown_model' })
})

t.test('a token bound to models may use no other', async (t) => {
  const principal = { ...principalOf(), models: new Set(['text-cache']) }
  await t.rejects(calls.complete({ ...textInput(), principal }), { code: 'model_not_allowed' })
  const { models } = principal
  t.equal(
    (await calls.complete({ ...textInput({ model: 'text-cache' }), principal })).body['model'],
    [...models][0],
  )
})

t.test('a tool without a price is refused before the provider is asked', async (t) => {
  const { calls: unpriced } = await world.text({
    deps: {
      prices: {
        of: async () => {
          const book = await createPriceBookSource(world.pool, { nowMs: Date.now }).current()
          return {
            version: book.version,
            lookup: (sku, currency) =>
              sku === 'web-search-call' ? undefined : book.lookup(sku, currency),
          }
        },
      },
    },
  })
  const wishes: readonly TextWish[] = [
    { family: 'responses', body: { tools: [{ type: 'web_search' }] } },
    { family: 'native', body: { tools: [{ urlContext: {} }, { googleSearch: {} }] } },
    { family: 'chat', body: { web_search_options: {} } },
  ]
  const refusal = { code: 'price_not_configured', details: { sku: 'web-search-call' } }
  for (const wish of wishes) {
    const input = textInput({ ...wish, prompt: '[[client=unpriced]]' })
    await t.rejects(unpriced.complete(input), refusal)
    await t.rejects(unpriced.stream(input), refusal)
  }
  t.same(await world.accepted('unpriced'), [])
  t.ok(await unpriced.complete(textInput({ family: 'chat' })), 'what offers no search is sold')
})

t.test('a chat model with built-in search is billed for it, requested or not', async (t) => {
  const book = await createPriceBookSource(world.pool, { nowMs: Date.now }).current()
  const prices = {
    of: () =>
      Promise.resolve({
        version: book.version,
        lookup: (sku: string, currency: Currency) =>
          book.lookup(sku.replace('text-search-', 'text-basic-'), currency),
      }),
  }
  const [chat] = sandboxTextChannels({ baseUrl: world.sandbox.url })
  if (chat === undefined) throw new Error('no channel of chat')
  const searching = await world.text({
    channels: [
      withTextSettings(
        { ...chat, models: { 'text-search': 'text-search' } },
        { largestOutputTokens: { 'text-search': 1_000 } },
      ),
    ],
    deps: { prices },
  })
  for (const [index, body] of [{}, { web_search_options: {} }].entries()) {
    const prompt = `[[client=searching-${index}]]`
    const { callId, settlement } = await searching.calls.complete(
      textInput({ model: 'text-search', prompt, body }),
    )
    const [accepted] = await world.accepted(`searching-${index}`)
    if (accepted === undefined) throw new Error('it was not accepted')
    t.same((await settledOf(callId))?.usage, unitsOf(accepted))
    t.match(
      settlement.lines.find(({ sku }) => sku === 'web-search-call'),
      { rule: 'text/chat/web-search-count', quantity: 1, amount: '0.01' },
    )
  }
})

t.test('an unstreamed call whose caller left is settled as disconnected', async (t) => {
  const gone = new AbortController()
  const input = textInput({ prompt: '[[sandbox first-byte-ms=150]]', callerGone: gone.signal })
  const answer = calls.complete(input)
  gone.abort()
  t.equal((await settledOf((await answer).callId))?.outcome, 'disconnected')
})

t.test('every call is counted as ended once, whatever its outcome', async (t) => {
  const { calls: counted, deps } = await world.text()
  const prompts = [
    'fine',
    '[[sandbox fail=invalid_prompt]]',
    '[[sandbox refuse=invalid_value]]',
    '[[sandbox http-after-accept=502]]',
  ]
  const inputs = prompts.flatMap((prompt) => [
    textInput({ prompt }),
    textInput({ prompt, family: 'responses' }),
  ])
  for (const input of inputs) {
    await counted.complete(input).catch(() => undefined)
    const streamed = await counted.stream(input).catch(() => undefined)
    if (streamed !== undefined) await collect(streamed.frames)
  }
  await until(() => counted.inFlight() === 0)
  const { values } = await deps.metrics.ended.get()
  t.equal(
    values.reduce((sum, { value }) => sum + value, 0),
    inputs.length * 2,
    JSON.stringify(values),
  )
})
