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
import { textInput } from '../../../app/calls/support/text-world.ts'

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
