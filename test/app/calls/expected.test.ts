import t from 'tap'
import { expectedPico, expectedTokens } from '../../../src/app/calls/text/expected.ts'
import { sandboxTextChannels } from '../../helpers/sandbox-channels.ts'
import type { Channel } from '../../../src/app/ports.ts'
import { quoteText } from '../../../src/domain/families/text/pricing.ts'
import { shippedBook } from '../../domain/pricing/books.ts'
import { textInput, type TextWish } from './support/text-world.ts'

function channelOf(largest: number): Channel {
  const [channel] = sandboxTextChannels({ baseUrl: 'http://127.0.0.1:9' })
  if (channel === undefined) throw new Error('no channel')
  return { ...channel, largestOutputTokens: { 'text-basic': largest } }
}

/** What is held for so many output tokens, input and its price left out. */
function held(
  family: NonNullable<TextWish['family']>,
  body: Readonly<Record<string, unknown>>,
  channels: readonly Channel[] = [channelOf(8_192)],
) {
  const quote = quoteText('text-basic', family, [], shippedBook)
  const input = textInput({ family, body })
  const nothing = textInput({ family, body: { max_tokens: 1 } })
  const one = expectedPico(quote, { ...nothing, inputSize: input.inputSize }, channels)
  const two = expectedPico(
    quote,
    { ...textInput({ family, body: { max_tokens: 2 } }), inputSize: input.inputSize },
    channels,
  )
  const perToken = two - one
  return Number((expectedPico(quote, input, channels) - one) / perToken) + 1
}

t.test('a hold covers the output a caller bounds, times the answers it asks for', (t) => {
  t.equal(held('chat', { max_completion_tokens: 100 }), 100)
  t.equal(held('chat', { max_tokens: 100, n: 3 }), 300)
  t.equal(held('responses', { max_output_tokens: 100 }), 100)
  t.equal(held('native', { generationConfig: { maxOutputTokens: 100 } }), 100)
  t.equal(held('native', { generationConfig: { maxOutputTokens: 100, candidateCount: 4 } }), 400)
  t.end()
})

t.test('a hold without a limit covers the largest output of the model, for each answer', (t) => {
  t.equal(held('chat', {}), 8_192)
  t.equal(held('native', { generationConfig: { candidateCount: 2 } }), 2 * 8_192)
  const two = [channelOf(1_000), channelOf(128_000)]
  t.equal(held('responses', {}, two), 128_000, 'wherever it may go')
  t.end()
})

t.test('a hold never covers more than the model can answer with', (t) => {
  t.equal(held('chat', { max_tokens: Number.MAX_SAFE_INTEGER }), 8_192)
  t.equal(held('chat', { max_tokens: 100_000, n: 2 }), 2 * 8_192)
  t.end()
})

t.test('answers without number are held for, and nothing overflows', (t) => {
  const input = textInput({ body: { n: Number.MAX_SAFE_INTEGER } })
  const quote = quoteText('text-basic', 'chat', [], shippedBook)
  t.ok(expectedPico(quote, input, [channelOf(8_192)]) > 10n ** 20n)
  t.end()
})

t.test('a model without a largest output is no model', (t) => {
  const { largestOutputTokens: _none, ...channel } = channelOf(1)
  t.throws(() => held('chat', {}, [channel]), /no largest output/)
  t.end()
})

t.test('the limit a minute counts a guess where nothing is said', (t) => {
  const input = (body: object) => expectedTokens(textInput({ prompt: 'four', body: { ...body } }))
  t.equal(input({}), 1 + 2_048)
  t.equal(input({ max_tokens: 10, n: 2 }), 1 + 20)
  t.end()
})
