import * as fc from 'fast-check'
import t from 'tap'
import { JsonText } from '../../../../src/kernel/json-text.ts'
import { readStrictJson } from '../../../../src/api/kit/bodies/strict-json.ts'
import type { JsonObject } from '../../../../src/kernel/json.ts'
import { atOnce } from '../../../../src/kernel/turns.ts'
import { messagesUsage } from '../../../../src/families/messages/upstream/usage.ts'
import { messagesWire } from '../../../../src/families/messages/upstream/wire.ts'
import { propertyRuns } from '../../../helpers/property-runs.ts'
import { character } from '../../../helpers/characters.ts'

const request = {
  model: 'ours',
  upstreamModel: 'theirs-1',
  callId: 'call_01JD0000000000000000000002',
  body: {},
  largest: { outputTokens: 8_192, bytesOfLogprobs: 0, hasMedia: false },
  keptId: () => '',
}
const scrub = (text: string): string => text

/** JSON in which names are numbers, numbers are written oddly, and characters are escaped. */
const name = fc.oneof(fc.string(), fc.nat(20).map(String), fc.constantFrom('signature', 'data'))
const scalar = fc.oneof(
  fc.constantFrom('1.50', '1e3', '-0', '12345678901234567890', 'true', 'null', '"\\u00e9\\/"'),
  fc.string({ unit: character }).map((text) => JSON.stringify(text)),
  fc.base64String().map((text) => JSON.stringify(text)),
)
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[ ${items.join(' ,')}]`),
    fc
      .uniqueArray(fc.tuple(name, tie('value')), { selector: ([one]) => one, maxLength: 4 })
      .map((members) => members.filter(([one]) => one !== '__proto__'))
      .map((members) => `{${members.map(([n, v]) => `${JSON.stringify(n)}: ${v}`).join(',')}}`),
  ),
}))

t.test('a body goes on byte for byte, but for its model and its bound', async (t) => {
  const written = (model: string, bound: number, rest: readonly string[], first: boolean) => {
    const own = `"model" : "${model}", "max_tokens":${bound}`
    const others = rest.map((one, at) => `"member ${at}":${one}`)
    return `{\n ${(first ? [own, ...others] : [...others, own]).join(' , ')}\t}`
  }
  fc.assert(
    fc.property(fc.array(value, { maxLength: 5 }), fc.boolean(), (rest, first) => {
      const text = written('ours', 9_000, rest, first)
      const spans = new Map<string, { from: number; to: number }>()
      const body = atOnce(readStrictJson(text, true, spans)) as JsonObject
      const kept = new JsonText(text, Buffer.byteLength(text), spans)
      const asked = { ...request, body: { ...body, max_tokens: 64 }, written: kept }
      const sent = messagesWire.requestBody(asked, false)
      const parts = 'parts' in sent ? (sent.parts as readonly string[]) : []
      return parts.join('') === written('theirs-1', 64, rest, first)
    }),
    { numRuns: propertyRuns(10_000) },
  )
  t.pass()
})

const figures = {
  input_tokens: 100,
  cache_creation_input_tokens: 12,
  cache_read_input_tokens: 40,
  cache_creation: { ephemeral_5m_input_tokens: 7, ephemeral_1h_input_tokens: 5 },
  output_tokens: 30,
  server_tool_use: { web_search_requests: 2 },
}
const frame = (type: string, members: object) => ({
  event: type,
  data: JSON.stringify({ type, ...members }),
})

t.test(
  'usage reported in any order and any number of parts settles to the same figures',
  async (t) => {
    const whole = messagesUsage(figures)
    const names = Object.keys(figures) as (keyof typeof figures)[]
    const part = fc
      .subarray(names)
      .map((own) => Object.fromEntries(own.map((n) => [n, figures[n]])))
    const zero = fc.constantFrom({ input_tokens: 0 }, { cache_read_input_tokens: 0 }, {}, undefined)
    fc.assert(
      fc.property(fc.array(fc.oneof(part, zero), { maxLength: 6 }), fc.nat(6), (parts, at) => {
        const reader = messagesWire.frameReader(request, scrub)
        const reports = parts.toSpliced(at, 0, figures)
        const [first, ...others] = reports
        reader.read(frame('message_start', { message: { usage: first } }))
        for (const usage of others) reader.read(frame('message_delta', { delta: {}, usage }))
        reader.read(frame('message_delta', { delta: { stop_reason: 'end_turn' } }))
        const { usage, finished } = reader.tally()
        return finished && JSON.stringify(usage) === JSON.stringify(whole.usage)
      }),
      { numRuns: propertyRuns(10_000) },
    )
    t.same(whole.usage, {
      input: 100,
      'cached-input': 40,
      'cache-write-5m': 7,
      'cache-write-1h': 5,
      output: 30,
      'web-search-call': 2,
      'code-interpreter-session': 0,
      'file-search-call': 0,
    })
  },
)

t.test('figures that are no counts leave their side to an estimate', async (t) => {
  for (const odd of [-1, 1.5, 2 ** 53, 'many']) {
    t.match(messagesUsage({ ...figures, input_tokens: odd }).notes, [{ what: 'input' }])
    t.match(messagesUsage({ ...figures, output_tokens: odd }).notes, [{ what: 'output' }])
    t.match(messagesUsage({ ...figures, cache_read_input_tokens: odd }).notes, [{ what: 'input' }])
  }
  const within = messagesUsage({ ...figures, input_tokens: 152 }, 'within')
  t.same(within.usage, messagesUsage(figures).usage, 'an account that counts caches as input')
  const summed = {
    ...figures,
    iterations: [{ type: 'compaction', input_tokens: 500, output_tokens: 50 }],
  }
  t.match(messagesUsage(summed), {
    usage: { input: 600, output: 80 },
    promptTokens: 500,
    unboundedTokens: 50,
  })
})

const message = { id: 'msg_theirs', type: 'message', model: 'theirs-1', usage: { input_tokens: 5 } }
const frames = [
  frame('message_start', { message }),
  frame('ping', {}),
  frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hello' } }),
  frame('content_block_stop', { index: 0 }),
  frame('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }),
  frame('ping', {}),
  frame('message_stop', {}),
]

t.test('a stream is a result from its stop reason on, and its end is the gateway’s', async (t) => {
  for (let end = 1; end <= frames.length; end += 1) {
    const reader = messagesWire.frameReader(request, scrub)
    const shown = frames.slice(0, end).map((one) => reader.read(one))
    const isStopped = end >= 6
    t.equal(reader.tally().finished, isStopped, `${end} frames`)
    t.equal(reader.over(), end === frames.length)
    t.same(
      shown.map((chunk) => chunk?.terminal),
      [false, false, false, false, false, true, undefined, undefined].slice(0, end),
    )
    t.equal(reader.upstreamId?.(), 'msg_theirs')
  }
  const reader = messagesWire.frameReader(request, scrub)
  reader.read(frames[0]!)
  reader.read(frame('message_stop', {}))
  t.match([reader.tally().finished, reader.over()], [false, false], 'no stop reason: no result')
})

t.test('only the id and names of the model differ in what a caller gets', async (t) => {
  const reader = messagesWire.frameReader(request, scrub)
  const data =
    '{ "type":"message_start","message":{"model":"theirs-1", "id" : "msg_theirs","1":1.50,"usage":{"input_tokens":5}} }'
  t.equal(
    reader.read({ event: 'message_start', data })?.data,
    data.replace('theirs-1', 'ours').replace('msg_theirs', 'msg_01JD0000000000000000000002'),
  )
  const text =
    '{"id":"msg_theirs","type":"message","content":[{"type":"tool_use","id":"t","input":{"2":1,"1":12345678901234567890}}],"model":"theirs-1","usage":{"iterations":[{"type":"message","model":"theirs-1"}]}}'
  const answer = messagesWire.readAnswer(JSON.parse(text) as JsonObject, request, scrub, text)
  t.equal(
    answer?.body,
    text
      .replace('msg_theirs', 'msg_01JD0000000000000000000002')
      .replaceAll('"model":"theirs-1"', '"model":"ours"'),
  )
  t.equal(answer?.upstreamId, 'msg_theirs')
})
