import { wires } from '../wires.ts'
import { catalog } from '../../../../src/families/index.ts'
import t from 'tap'
import { createChannelDirectory } from '../../../../src/app/channels/directory.ts'
import { createTextFamily } from '../../../../src/families/text/calls/family.ts'
import { createKeptIds } from '../../../../src/families/text/calls/kept-ids.ts'
import { sandboxTextChannels, withTextSettings } from '../../../helpers/sandbox-channels.ts'
import { chatWire } from '../../../../src/families/chat/upstream/wire.ts'
import { createTextProvider } from '../../../../src/families/text/upstream/client.ts'
import type { Channel } from '../../../../src/app/ports/provider.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { shippedBook } from '../../../domain/pricing/books.ts'
import type { TextRequest } from '../../../../src/families/text/ports.ts'
import type { TextWireRules } from '../../../../src/families/text/rules/wire.ts'
import { JsonText } from '../../../../src/kernel/json-text.ts'
import { textInput } from '../../../app/calls/support/text-world.ts'

const noOutput = { bytes: 0, characters: 0, answers: 0 }
const [channel] = sandboxTextChannels({ baseUrl: 'http://127.0.0.1:9' }) as [Channel]
const channelOf = (largest: number): Channel =>
  withTextSettings(channel, { largestOutputTokens: { 'text-basic': largest } })
const family = createTextFamily({
  channels: createChannelDirectory([channel], { catalog, clock: systemClock }),
  keptIds: createKeptIds('a secret of the tests'),
  wire: wires.chat,
  provider: createTextProvider(chatWire),
})

const heldOn = (channels: readonly Channel[]): bigint =>
  family.resolve(textInput(), channels).price(shippedBook).holdPico

t.test('a hold covers every channel that may be used', (t) => {
  t.equal(heldOn([channelOf(1_000), channelOf(128_000)]), heldOn([channelOf(128_000)]))
  t.ok(heldOn([channelOf(128_000)]) > heldOn([channelOf(1_000)]))
  t.end()
})

t.test('a model without a largest output is refused', (t) => {
  const without = withTextSettings(channelOf(1), { largestOutputTokens: {} })
  t.throws(() => heldOn([without]), /no largest output/)
  t.end()
})

t.test('a member is passed on whose cost the usage of its wire shows', (t) => {
  const of = (wire: TextWireRules) =>
    createTextFamily({
      channels: createChannelDirectory([channel], { catalog, clock: systemClock }),
      keptIds: createKeptIds('a secret of the tests'),
      wire,
      provider: createTextProvider(chatWire),
    })
  const input = textInput({ body: { context_management: { edits: [{ type: 'clear' }] } } })
  t.throws(() => of(wires.chat).resolve(input, [channel]), /`context_management` is not accepted/)
  const { request } = of({ ...wires.chat, reports: ['context_management'] }).resolve(input, [
    channel,
  ])
  t.same(request.body['context_management'], input.body['context_management'])
  t.end()
})

t.test('headers and text of a call reach the channel that is asked', async (t) => {
  const asked: TextRequest[] = []
  const answer = { body: {}, upstreamRequestId: undefined, restMs: undefined }
  const recording = createTextFamily({
    channels: createChannelDirectory([channel], { catalog, clock: systemClock }),
    keptIds: createKeptIds('a secret of the tests'),
    wire: wires.chat,
    provider: {
      complete: (_channel, request) => {
        asked.push(request)
        const tally = { usage: undefined, output: () => noOutput, finished: true }
        return Promise.resolve({ ...answer, tally: () => ({ ...tally, failure: undefined }) })
      },
      stream: (_channel, request) => {
        asked.push(request)
        return Promise.reject(new Error('no stream'))
      },
    },
  })
  const written = new JsonText('{}', 2, new Map())
  const input = { ...textInput(), headers: { 'wire-version': '2026-10-21' }, written }
  const { request } = recording.resolve(input, [channel])
  const signal = new AbortController().signal
  const options = { signal, requestId: 'req_1', callId: 'call_01JD0000000000000000000002' }
  await recording.ask(input, channel, request, options)
  await t.rejects(async () => recording.open(input, channel, request, options), /no stream/)
  t.same(
    asked.map(({ headers }) => headers),
    [input.headers, input.headers],
  )
  t.ok(asked.every((one) => one.written === written))
})
