import t from 'tap'
import { expectedPico } from '../../../src/app/calls/expected.ts'
import { quoteText } from '../../../src/domain/pricing/text.ts'
import { shippedBook } from '../../domain/pricing/books.ts'
import { textInput, type TextWish } from './support/text-world.ts'

/** What is held for so many output tokens, input and its price left out. */
function held(family: NonNullable<TextWish['family']>, body: Readonly<Record<string, unknown>>) {
  const quote = quoteText('text-basic', family, [], shippedBook)
  const input = textInput({ family, body })
  const nothing = textInput({ family, body: { max_tokens: 1 } })
  const one = expectedPico(quote, { ...nothing, inputSize: input.inputSize })
  const two = expectedPico(quote, {
    ...textInput({ family, body: { max_tokens: 2 } }),
    inputSize: input.inputSize,
  })
  const perToken = two - one
  return Number((expectedPico(quote, input) - one) / perToken) + 1
}

t.test('a hold covers the output a caller bounds, times the answers it asks for', (t) => {
  t.equal(held('chat', { max_completion_tokens: 100 }), 100)
  t.equal(held('chat', { max_tokens: 100, n: 3 }), 300)
  t.equal(held('responses', { max_output_tokens: 100 }), 100)
  t.equal(held('native', { generationConfig: { maxOutputTokens: 100 } }), 100)
  t.equal(held('native', { generationConfig: { maxOutputTokens: 100, candidateCount: 4 } }), 400)
  t.equal(held('native', { generationConfig: { candidateCount: 2 } }), 2 * 2_048)
  t.equal(held('chat', {}), 2_048, 'an assumption where nothing is said')
  t.equal(
    held('chat', { max_tokens: Number.MAX_SAFE_INTEGER }),
    131_072,
    'and never more than this',
  )
  t.end()
})
