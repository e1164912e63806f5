import t from 'tap'
import type { TextRequest } from '../../../../src/families/text/ports.ts'
import {
  responsesFrameReader,
  responsesWire,
} from '../../../../src/families/responses/upstream/wire.ts'

const same = (message: string) => message
let sealed = 0
const request: TextRequest = {
  model: 'ours',
  upstreamModel: 'up-1',
  callId: 'call_01JD0000000000000000000002',
  body: {},
  largest: { outputTokens: 8_192, bytesOfLogprobs: 0, hasMedia: false },
  keptId: (kind, id) => {
    sealed += 1
    return `${kind}_our-${id}`
  },
}
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] }
const message = { type: 'message', id: 'msg_1', content: [] }
const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' }
const response = {
  id: 'resp_1',
  model: 'up-1',
  previous_response_id: 'resp_0',
  output: [reasoning, message, call],
  usage: { input_tokens: 1, output_tokens: 1 },
}
const shown = {
  id: 'response_our-resp_1',
  model: 'ours',
  previous_response_id: 'response_our-resp_0',
  output: [
    { ...reasoning, id: 'item_our-rs_1' },
    { ...message, id: 'item_our-msg_1' },
    { ...call, id: 'item_our-fc_1' },
  ],
  tool_calls: [{ ...call, id: 'item_our-fc_1' }],
}

t.test('an answer names kept objects by the gateway’s ids only', async (t) => {
  const answer = responsesWire.readAnswer(response, request, same, '')
  t.match(answer?.body, shown)
  const { id: _id, ...unnamed } = message
  const bare = { model: 'up-1', previous_response_id: null, output: [unnamed] }
  t.same(responsesWire.readAnswer(bare, request, same, '')?.body, { ...bare, model: 'ours' })
})

t.test(
  'stream events name kept objects by the gateway’s ids, other events pass unchanged',
  async (t) => {
    const reader = responsesFrameReader(request, same)
    const read = (event: object): { readonly data: string; readonly event: unknown } => {
      const data = JSON.stringify(event)
      const chunk = reader.read({ event: undefined, data })
      return { data: chunk?.data ?? '', event: JSON.parse(chunk?.data ?? '') }
    }
    const event = (type: string, members: object) => ({ type: `response.${type}`, ...members })
    for (const type of ['created', 'in_progress'])
      t.match(read(event(type, { response })).event, { response: shown })

    const begun = event('output_item.added', { item: reasoning })
    t.same(read(begun).event, { ...begun, item: { ...reasoning, id: 'item_our-rs_1' } })
    const delta = event('reasoning_summary_text.delta', {
      item_id: 'rs_1',
      delta: 'rs_1 "item_id"',
    })
    t.same(read(delta).event, { ...delta, item_id: 'item_our-rs_1' })
    const done = event('output_item.done', { item: reasoning, response_id: 'resp_1' })
    t.same(read(done).event, {
      ...done,
      item: { ...reasoning, id: 'item_our-rs_1' },
      response_id: 'response_our-resp_1',
    })
    const both = event('x_unknown', { response_id: 'resp_1', item_id: 'rs_1' })
    t.same(read(both).event, {
      ...both,
      response_id: 'response_our-resp_1',
      item_id: 'item_our-rs_1',
    })

    t.match(read(event('output_item.added', { item: message })).event, {
      item: { id: 'item_our-msg_1' },
    })
    const text = event('output_text.delta', { item_id: 'msg_1', delta: 'rs_1 resp_1 msg_1' })
    t.equal(read(text).data, JSON.stringify({ ...text, item_id: 'item_our-msg_1' }))

    const before = sealed
    for (const untouched of [
      event('output_text.delta', { item_id: 'msg_of_nobody', delta: 'rs_1 resp_1' }),
      event('x_unknown', { note: 'resp_1' }),
    ])
      t.equal(read(untouched).data, JSON.stringify(untouched))
    t.equal(sealed, before)
    t.match(read(event('completed', { response })).event, { response: shown })
  },
)
