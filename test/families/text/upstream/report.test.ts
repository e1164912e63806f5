import t from 'tap'
import { chatWire } from '../../../../src/families/chat/upstream/wire.ts'
import { nativeWire } from '../../../../src/families/native/upstream/wire.ts'
import { responsesWire } from '../../../../src/families/responses/upstream/wire.ts'
import type { TextRequest, TextTally } from '../../../../src/families/text/ports.ts'
import type { TextWire } from '../../../../src/families/text/upstream/client.ts'

const request: TextRequest = {
  model: 'ours',
  upstreamModel: 'theirs',
  callId: 'call_01JD0000000000000000000002',
  body: {},
  largest: { outputTokens: 100, bytesOfLogprobs: 0, hasMedia: false },
  keptId: (_kind, id) => id,
}

/** Reads a stream whose frames have these reports, one after the other. */
function streamed(wire: TextWire, frameOf: (usage: unknown) => object, reports: unknown[]) {
  const reader = wire.frameReader(request, (text) => text)
  for (const report of reports)
    reader.read({ event: undefined, data: JSON.stringify(frameOf(report)) })
  return reader.tally()
}

const chat = (reports: unknown[]): TextTally =>
  streamed(chatWire, (usage) => ({ choices: [{ index: 0, delta: {} }], usage }), reports)
const native = (reports: unknown[]): TextTally =>
  streamed(nativeWire, (usageMetadata) => ({ candidates: [{ index: 0 }], usageMetadata }), reports)
const responses = (reports: unknown[]): TextTally =>
  streamed(
    responsesWire,
    (usage) => ({
      type: usage === reports.at(-1) ? 'response.completed' : 'response.in_progress',
      response: { id: 'r', output: [], usage },
    }),
    reports,
  )

const notesOf = ({ notes = [] }: TextTally) => notes.map(({ what, why }) => `${what} ${why}`)

t.test('reports of a stream are cumulative on every wire: a later one completes', async (t) => {
  const told = { input: 30, output: 50 }
  const of = {
    chat: [{ prompt_tokens: 30, completion_tokens: 50 }, { prompt_tokens: 30 }, null, undefined],
    native: [{ promptTokenCount: 30, candidatesTokenCount: 50 }, { promptTokenCount: 30 }],
    responses: [{ input_tokens: 30, output_tokens: 50 }, { input_tokens: 30 }],
  }
  for (const tally of [chat(of.chat), native(of.native), responses(of.responses)]) {
    t.match(tally.usage, told)
    t.same(notesOf(tally), [], 'a figure that is left out is not taken back')
  }
  const grown = chat([
    { prompt_tokens: 30, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 4 } },
    { prompt_tokens: 30, completion_tokens: 7, prompt_tokens_details: {} },
  ])
  t.match(grown.usage, { input: 26, 'cached-input': 4, output: 7 }, 'also within an object')
})

t.test('a later zero or invalid count does not undo a figure, and is noted', async (t) => {
  for (const none of [0, -1, 'x']) {
    const ended = [
      chat([
        { prompt_tokens: 30, completion_tokens: 50 },
        { prompt_tokens: none, completion_tokens: none },
      ]),
      native([
        { promptTokenCount: 30, candidatesTokenCount: 50 },
        { promptTokenCount: none, candidatesTokenCount: none },
      ]),
      responses([
        { input_tokens: 30, output_tokens: 50 },
        { input_tokens: none, output_tokens: none },
      ]),
    ]
    for (const tally of ended) {
      t.match(tally.usage, { input: 30, output: 50 })
      t.same(notesOf(tally), ['report undone'])
    }
  }
})

t.test('an explicit zero in the only report stays zero', async (t) => {
  const zeros = [
    chat([null, { prompt_tokens: 0, completion_tokens: 0 }]),
    native([{ promptTokenCount: 0, candidatesTokenCount: 0 }]),
    responses([{ input_tokens: 0, output_tokens: 0 }]),
  ]
  for (const tally of zeros) {
    t.match(tally.usage, { input: 0, output: 0 })
    t.same(notesOf(tally), [])
  }
})
