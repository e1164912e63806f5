import t from 'tap'
import { exactInteger } from '../../../../src/kernel/exact-integers.ts'
import type { JsonObject } from '../../../../src/kernel/json.ts'
import type { TextRequest } from '../../../../src/families/text/ports.ts'
import { chatWire } from '../../../../src/families/chat/upstream/wire.ts'
import { bodyOf } from '../../text/wires.ts'

const request: TextRequest = {
  model: 'text-basic',
  upstreamModel: 'upstream-text',
  callId: 'call_01JD0000000000000000000002',
  body: {},
  largest: { outputTokens: 8_192, bytesOfLogprobs: 0, hasMedia: false },
  keptId: (_kind, id) => id,
}
/** The id of the answers. */
const ID = 'chatcmpl-01JD0000000000000000000002'
const scrub = (message: string): string => message
const usage = { prompt_tokens: 30, completion_tokens: 2, total_tokens: 32 }
const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }]

/** `usage` as an unstreamed answer and as the last chunk of a stream show it. */
function shown(reported: object): unknown[] {
  const answer = { model: 'x', choices, usage: reported }
  const whole = chatWire.readAnswer(answer, request, scrub, JSON.stringify(answer))
  const data = JSON.stringify({ id: 'c', model: 'upstream-text', choices: [], usage: reported })
  const chunk = chatWire.frameReader(request, scrub).read({ event: undefined, data })
  const parsed = JSON.parse(chunk?.data ?? '{}') as Record<string, unknown>
  t.same(Object.keys(parsed), ['id', 'model', 'choices', 'usage'])
  t.equal(parsed['model'], 'text-basic')
  return [bodyOf(whole)['usage'], parsed['usage']]
}

t.test('cache writes are renamed for this surface and left out when empty', async (t) => {
  const cases: readonly (readonly [object, object])[] = [
    [{ cached_tokens: 4, cache_write_tokens: 0, cache_write_5m_tokens: 0 }, { cached_tokens: 4 }],
    [
      { cached_tokens: 4, cache_write_tokens: 9 },
      { cached_tokens: 4, cached_write_tokens: 9, cached_write_5m_tokens: 9 },
    ],
    [
      { cache_write_tokens: 9, cache_write_5m_tokens: 4, cache_write_1h_tokens: 5 },
      { cached_write_tokens: 9, cached_write_5m_tokens: 4, cached_write_1h_tokens: 5 },
    ],
    [
      { cache_creation: { ephemeral_1h_input_tokens: 5 }, audio_tokens: 0 },
      { audio_tokens: 0, cached_write_tokens: 5, cached_write_1h_tokens: 5 },
    ],
    [{ cached_write_tokens: 0, cached_write_5m_tokens: null }, {}],
  ]
  for (const [upstream, details] of cases) {
    const expected = { ...usage, prompt_tokens_details: details }
    t.same(shown({ ...usage, prompt_tokens_details: upstream }), [expected, expected])
  }
})

t.test('cache writes next to the details move into them', async (t) => {
  const details = { cached_write_tokens: 2, cached_write_5m_tokens: 2 }
  const expected = { ...usage, prompt_tokens_details: details }
  t.same(shown({ ...usage, cache_creation_input_tokens: 2 }), [expected, expected])
})

t.test('an answer without cache writes passes byte for byte, but for its id', async (t) => {
  const data =
    '{"id":"c", "model":"text-basic","usage":{"prompt_tokens":1.0,"x":12345678901234567890}}'
  const chunk = chatWire.frameReader(request, scrub).read({ event: undefined, data })
  t.equal(chunk?.data, data.replace('"c"', JSON.stringify(ID)))
})

t.test('renaming usage does not change the billed usage', async (t) => {
  const reported = { ...usage, prompt_tokens_details: { cache_write_tokens: 9 } }
  const whole = chatWire.readAnswer({ choices, usage: reported }, request, scrub, '{}')
  t.match(whole?.tally().usage, { input: 21, 'cache-write-5m': 9, output: 2 })
})

t.test('an answer passes unchanged, but for the name of its model and its id', (t) => {
  const read = (text: string) =>
    chatWire.readAnswer(JSON.parse(text) as JsonObject, request, scrub, text)?.body
  const rest = '"x": 1.50, "big": 12345678901234567890, "choices": [{"index": 0}]}\n'
  const model = '"model":"text-basic"'
  t.equal(
    read(`{ "id": "c", "model" : "upstream-text", ${rest}`),
    `{ "id": "${ID}", "model" : "text-basic", ${rest}`,
  )
  t.equal(read(`{"id":"${ID}",${model},${rest}`), `{"id":"${ID}",${model},${rest}`)
  t.equal(read(`{${model},${rest}`), `{"id":"${ID}",${model},${rest}`, 'it is added')
  const unsaid = read(`{${rest}`)
  t.match(unsaid, { id: ID, model: 'text-basic', choices: [{ index: 0 }] })
  // A member of the same name elsewhere: which is which would be a guess on the text.
  const twice = `{"model":"upstream-text","choices":[{"model":"upstream-text"}]}`
  t.same(bodyOf({ body: read(twice) ?? '' }), {
    id: ID,
    model: 'text-basic',
    choices: [{ model: 'upstream-text' }],
  })
  t.end()
})

t.test('an answer or a chunk that is written again keeps the digits of large integers', (t) => {
  const exact = '12345678901234567890'
  // Usage that is shown otherwise is written anew, which Node 20 cannot do to the last digit.
  const written = exactInteger === undefined ? '12345678901234567000' : exact
  const writes = `"usage":{"prompt_tokens":30,"total_tokens":32,"completion_tokens":2,"cache_write_tokens":9}`
  for (const [what, more, big] of [
    ['usage that is shown otherwise', writes, written],
    ['a model that is named twice', '"also":{"model":"upstream-text"}', exact],
  ] as const) {
    const text = `{"model":"upstream-text","choices":[{"index":0,"big":12345678901234567890}],${more}}`
    const whole = chatWire.readAnswer(JSON.parse(text) as JsonObject, request, scrub, text)
    const body = typeof whole?.body === 'string' ? whole.body : JSON.stringify(whole?.body)
    t.match(body, `"big":${big}`, what)
    t.match(body, '"model":"text-basic"', what)
    const chunk = chatWire.frameReader(request, scrub).read({ event: undefined, data: text })
    t.match(chunk?.data, `"big":${big}`, `a chunk with ${what}`)
    t.match(chunk?.data, '"model":"text-basic"', what)
  }
  t.end()
})
