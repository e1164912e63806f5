import t from 'tap'
import {
  estimateInputTokens,
  estimateText,
  noTextUsage,
} from '../../../../src/families/text/rules/tokens.ts'

t.test('four bytes of text, rounded up, are a token, and 512 bytes of media', async (t) => {
  t.equal(estimateInputTokens({ characters: 9, mediaBytes: 0 }), 3)
  t.equal(estimateInputTokens({ characters: 9, mediaBytes: 513 }), 5)
  t.equal(estimateInputTokens({ characters: 3, textBytes: 9, mediaBytes: 0 }), 3)
  t.equal(estimateInputTokens({ characters: 0, mediaBytes: 0 }), 0)
})

t.test('an estimate has input and output, never caches or tools', async (t) => {
  t.same(estimateText({ characters: 8, mediaBytes: 0 }, 41), {
    ...noTextUsage,
    input: 2,
    output: 11,
  })
})
