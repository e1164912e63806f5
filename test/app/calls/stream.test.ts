import t from 'tap'
import { until } from '../../helpers/eventually.ts'
import type { TextFrame } from '../../../src/families/text/calls/types.ts'
import type { TextFamily } from '../../families/text/wires.ts'
import type { CallEventData } from '../../../src/domain/call/events.ts'
import { collect, startTextWorld, textInput, type TextWish, unitsOf } from './support/text-world.ts'

const world = await startTextWorld(t)
const { calls } = await world.text()
let marks = 0

/** Runs a stream to its end and says what the log and the sandbox know of it. */
async function run(wish: TextWish) {
  const marker = `stream-${(marks += 1)}`
  const input = textInput({ ...wish, prompt: `${wish.prompt ?? 'hello'} [[client=${marker}]]` })
  const { callId, frames } = await calls.stream(input)
  const seen = await collect(frames)
  const [accepted, ...more] = await world.accepted(marker)
  if (accepted === undefined || more.length > 0) throw new Error('not accepted once')
  return { input, callId, ...seen, accepted }
}

async function recorded(callId: string) {
  return (await world.callEvents()).filter((event) => event.data.callId === callId)
}

async function settledOf(callId: string): Promise<CallEventData<'CallSettled'> | undefined> {
  const [first, ...more] = await recorded(callId)
  return more.length === 0 && first?.type === 'CallSettled' ? first.data : undefined
}

/** What a failed call cost us; undefined where there is more or something else. */
async function absorbedOf(callId: string) {
  await until(async () => (await recorded(callId)).length > 0)
  const [first, ...more] = await recorded(callId)
  return more.length === 0 && first?.type === 'CallFailed' ? first.data.absorbed : undefined
}

/** All text of a stream, whatever its wire. */
function textOf(family: TextFamily, frames: readonly TextFrame[]): string {
  return frames
    .map(({ data }) => {
      const body = JSON.parse(data) as {
        choices?: { delta?: { content?: string } }[]
        type?: string
        delta?: unknown
        candidates?: { content?: { parts?: { text?: string; thought?: boolean }[] } }[]
      }
      if (family === 'chat') return body.choices?.[0]?.delta?.content ?? ''
      if (family === 'responses')
        return body.type === 'response.output_text.delta' ? String(body.delta) : ''
      if (family === 'messages') return (body.delta as { text?: string } | undefined)?.text ?? ''
      return (body.candidates?.[0]?.content?.parts ?? []).map((part) => part.text ?? '').join('')
    })
    .join('')
}

const families = ['chat', 'responses', 'native', 'messages'] as const

for (const family of families) {
  for (const shape of ['', 'crlf', 'lf', 'split-bytes', 'keep-alive frame-ms=1', 'unknown-events'])
    t.test(
      `${family}: a stream arrives whole and is settled exactly (${shape || 'plain'})`,
      async (t) => {
        const { callId, frames, error, accepted } = await run({
          family,
          prompt: `[[sandbox words=60 ${shape}]]`,
        })
        t.equal(error, undefined)
        const settled = await settledOf(callId)
        t.same(settled?.usage, unitsOf(accepted))
        t.equal(settled?.outcome, 'completed')
        t.equal(Buffer.byteLength(textOf(family, frames)) > 200, true)
        t.equal(
          Math.ceil(Buffer.byteLength(textOf(family, frames)) / 4),
          accepted.usage.output_tokens,
        )
        t.notMatch(frames.map((frame) => frame.data).join('\n'), /2026-01-15/)
      },
    )

  t.test(`${family}: reasoning is billed as output`, async (t) => {
    const { callId, accepted } = await run({
      family,
      model: 'text-reason',
      prompt: '[[sandbox thoughts reasoning-tokens=33]]',
    })
    t.ok(accepted.usage.reasoning_tokens >= 33)
    t.same((await settledOf(callId))?.usage, unitsOf(accepted))
  })

  t.test(`${family}: function calls arrive in fragments and are settled`, async (t) => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } }
    const tools = {
      chat: [{ type: 'function', function: { name: 'weather', parameters } }],
      responses: [{ type: 'function', name: 'weather', parameters }],
      native: [{ functionDeclarations: [{ name: 'weather', parameters }] }],
      messages: [{ name: 'weather', input_schema: parameters }],
    }[family]
    const { callId, accepted, error } = await run({
      family,
      model: 'text-tools',
      prompt: '[[sandbox tool=weather]]',
      body: { tools },
    })
    t.equal(error, undefined)
    t.same((await settledOf(callId))?.usage, unitsOf(accepted))
  })

  t.test(`${family}: an explicit zero is settled as zero`, async (t) => {
    const { callId } = await run({ family, prompt: '[[sandbox zero-usage]]' })
    const settled = await settledOf(callId)
    t.same(settled?.settlement.lines, [])
    t.equal(settled?.outcome, 'completed')
  })

  t.test(`${family}: a whole stream without usage is estimated and delivered`, async (t) => {
    const { callId, error, accepted, frames } = await run({
      family,
      prompt: '[[sandbox no-usage words=80]]',
    })
    t.equal(error, undefined)
    const settled = await settledOf(callId)
    t.equal(settled?.outcome, 'completed')
    t.equal(settled?.usage['output'], accepted.usage.output_tokens)
    t.ok(settled?.settlement.lines.every((line) => line.measurement === 'estimated'))
    t.ok(frames.length > 80)
  })

  t.test(`${family}: a stream cut in the middle costs nothing and ends in an error`, async (t) => {
    for (const cut of ['cut-after=10', 'end-after=10']) {
      const { callId, error, frames } = await run({
        family,
        prompt: `[[sandbox words=80 ${cut}]]`,
      })
      t.match(error, { code: 'upstream_unavailable', details: { callId } }, cut)
      const bytes = Buffer.byteLength(textOf(family, frames))
      const { usage, settlement } = (await absorbedOf(callId)) ?? {}
      t.equal(usage?.['output'], Math.ceil(bytes / 4), `${cut}: what came is our own cost`)
      t.ok(settlement?.lines.every((line) => line.measurement === 'estimated'))
    }
  })

  t.test(`${family}: a stream cut before its first frame costs nothing`, async (t) => {
    const { callId, error, frames } = await run({ family, prompt: '[[sandbox cut-after=0]]' })
    t.match(error, { code: 'upstream_unavailable' })
    t.equal(frames.length, 0)
    await until(async () => (await recorded(callId)).length > 0)
    t.same(
      (await recorded(callId)).map((event) => event.type),
      ['CallFailed'],
    )
  })

  t.test(`${family}: an error in the midst of a stream costs nothing`, async (t) => {
    for (const kind of ['', 'bare-error']) {
      const { callId, error, frames } = await run({
        family,
        prompt: `[[sandbox words=40 error-after=7 ${kind}]]`,
      })
      t.match(error, { code: /upstream|rate/ }, kind)
      t.equal(frames.length > 0, true)
      await until(async () => (await recorded(callId)).length > 0)
      t.same(
        (await recorded(callId)).map((event) => event.type),
        ['CallFailed'],
        kind,
      )
    }
  })

  t.test(`${family}: refusals come before any frame`, async (t) => {
    const codes = {
      chat: ['content_filter', 'rate_limit_exceeded'],
      responses: ['content_filter', 'rate_limit_exceeded'],
      native: ['INVALID_ARGUMENT', 'RESOURCE_EXHAUSTED'],
      messages: ['invalid_request_error', 'rate_limit_error'],
    }
    const [refuse, limit] = codes[family]
    await t.rejects(calls.stream(textInput({ family, prompt: `[[sandbox refuse=${refuse}]]` })), {
      code: 'call_refused',
      details: { kind: 'invalid', status: 400 },
    })
    const { calls: fresh } = await world.text()
    await t.rejects(
      fresh.stream(textInput({ family, prompt: `[[sandbox refuse=${limit} retry-after=7]]` })),
      { code: 'rate_limited', details: { retryAfterMs: 7_000 } },
    )
    await t.rejects(
      fresh.stream(textInput({ family })),
      { code: 'rate_limited' },
      'the channel rests for as long as it was asked to',
    )
  })

  t.test(`${family}: a frame that is not JSON ends the stream with an error`, async (t) => {
    const { callId, error } = await run({ family, prompt: '[[sandbox words=30 malformed]]' })
    t.match(error, { code: 'upstream_malformed' })
    await until(async () => (await recorded(callId)).length > 0)
    t.equal((await recorded(callId)).length, 1)
  })
}

const END =
  /"finish_reason":"|"finishReason":|"type":"response.completed"|"choices":\[\]|"stop_reason":"/

t.test('the end of a stream is withheld until the settlement is durable', async (t) => {
  const order: string[] = []
  const made = await world.text()
  const journal = {
    ...made.journal,
    record: async (...args: Parameters<typeof made.journal.record>) => {
      const result = await made.journal.record(...args)
      order.push('settled')
      return result
    },
  }
  for (const family of families) {
    order.length = 0
    const slow = await world.text({ deps: { journal } })
    const { frames } = await slow.calls.stream(textInput({ family, prompt: '[[sandbox words=5]]' }))
    for await (const { data } of frames) if (END.test(data)) order.push('end')
    t.equal(order[0], 'settled', family)
    t.ok(order.includes('end'), family)
  }
})

t.test('responses: every terminal event is read and forwarded', async (t) => {
  const incomplete = await run({ family: 'responses', prompt: '[[sandbox incomplete words=9]]' })
  t.same((await settledOf(incomplete.callId))?.usage, unitsOf(incomplete.accepted))
  t.equal(incomplete.frames.at(-1)?.event, 'response.incomplete')
  const failed = await run({
    family: 'responses',
    prompt: '[[sandbox fail=server_error usage-in-failed words=9]]',
  })
  t.equal(failed.error, undefined)
  t.equal(failed.frames.at(-1)?.event, 'response.failed')
  const absorbed = await absorbedOf(failed.callId)
  t.equal(absorbed?.usage['output'], failed.accepted.usage.output_tokens)
})

t.test('responses: tool calls are counted and shown', async (t) => {
  const { callId, accepted, frames } = await run({
    family: 'responses',
    model: 'text-tools',
    prompt: '[[sandbox tool=file_search tool-searches=3]]',
    body: { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
  })
  const settled = await settledOf(callId)
  t.same(settled?.usage, unitsOf(accepted))
  t.equal(settled?.settlement.lines.find((line) => line.sku === 'file-search-call')?.quantity, 3)
  t.match(JSON.parse(frames.at(-1)?.data ?? '{}'), {
    response: { usage: { server_tool_usage: { file_search_calls: 3 } } },
  })
})

const searching: readonly TextWish[] = [
  { family: 'chat', body: { web_search_options: {} } },
  { family: 'native', body: { tools: [{ googleSearch: {} }] } },
]
for (const wish of searching)
  t.test(`${wish.family}: searches are counted from the answer’s content`, async (t) => {
    const plain = await run(wish)
    t.same((await settledOf(plain.callId))?.usage['web-search-call'], 0)
    const prompt = '[[sandbox tool=web_search tool-searches=4]]'
    const { callId, accepted, frames } = await run({ ...wish, prompt })
    const settled = await settledOf(callId)
    t.same(settled?.usage, unitsOf(accepted))
    const line = settled?.settlement.lines.find(({ sku }) => sku === 'web-search-call')
    t.equal(line?.quantity, wish.family === 'chat' ? 1 : 4)
    t.match(frames.map(({ data }) => data).join('\n'), /url_citation|webSearchQueries/)
  })

t.test('chat: the usage chunk is marked, so that a surface can withhold it', async (t) => {
  const { frames } = await run({ family: 'chat' })
  t.same(
    frames.map((frame) => frame.usageOnly),
    [...frames.slice(1).map(() => false), true],
  )
})

t.test('chat: cumulative usage of a cut stream is a lower bound', async (t) => {
  const { callId, accepted } = await run({
    family: 'chat',
    prompt: '[[sandbox words=80 chunk-usage cut-after=40]]',
  })
  const absorbed = await absorbedOf(callId)
  t.equal(absorbed?.usage['input'], accepted.usage.input_tokens)
  t.equal(absorbed?.settlement.lines[0]?.measurement, 'estimated')
})

t.test('chat: an alternative is read to its end after another one ended', async (t) => {
  const { calls: small } = await world.text({ limits: { maxWithheldBytes: 2_000 } })
  const input = textInput({ prompt: '[[sandbox words=60]]', body: { n: 2 } })
  const { callId, frames } = await small.stream(input)
  const { error, frames: seen } = await collect(frames)
  t.equal(error, undefined)
  t.ok(seen.length > 120, 'both are delivered whole')
  t.match(await settledOf(callId), { outcome: 'completed', usage: { output: Number } })
})

for (const family of ['chat', 'native'] as const)
  t.test(`${family}: of several alternatives, the last to end ends the stream`, async (t) => {
    const body = { chat: { n: 2 }, native: { generationConfig: { candidateCount: 2 } } }[family]
    const whole = await run({ family, prompt: '[[sandbox words=30]]', body })
    t.equal(whole.error, undefined)
    t.same((await settledOf(whole.callId))?.usage, unitsOf(whole.accepted))
    if (family === 'native') return
    // The sandbox tells one after the other: 33 frames are the first and some of the second.
    const cut = await run({ family, prompt: '[[sandbox words=30 cut-after=40]]', body })
    t.match(cut.error, { code: 'upstream_unavailable' })
    t.ok(await absorbedOf(cut.callId))
    const [event] = await recorded(cut.callId)
    t.ok(event?.type === 'CallFailed' && event.data.firstByteMs !== undefined)
    t.notMatch(
      cut.frames.map(({ data }) => data).join(),
      /"finish_reason":"/,
      'no end is delivered',
    )
  })
