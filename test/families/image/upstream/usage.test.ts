import t from 'tap'
import { imageUsage } from '../../../../src/families/image/upstream/wire.ts'

const usageOf = (details: object) =>
  imageUsage({
    input_tokens: 300,
    output_tokens: 5,
    input_tokens_details: { text_tokens: 100, image_tokens: 200, ...details },
  })

t.test('a cached token counts once, however much of the split is reported', (t) => {
  for (const [details, text, image] of [
    [{}, 0, 0],
    [{ cached_tokens: 100 }, 0, 100],
    [{ cached_tokens: 250 }, 50, 200],
    [{ cached_tokens: 100, cached_tokens_details: { text_tokens: 60, image_tokens: 40 } }, 60, 40],
    [{ cached_tokens: 100, cached_tokens_details: { text_tokens: 60 } }, 60, 40],
    [{ cached_tokens: 60, cached_tokens_details: { text_tokens: 60 } }, 60, 0],
    [{ cached_tokens: 100, cached_tokens_details: { image_tokens: 40 } }, 60, 40],
    [{ cached_tokens: 10, cached_tokens_details: { text_tokens: 60 } }, 60, 0],
    [{ cached_tokens_details: { text_tokens: 999, image_tokens: 999 } }, 100, 200],
  ] as const)
    t.same(
      usageOf(details),
      {
        'text-input': 100 - text,
        'cached-text-input': text,
        'image-input': 200 - image,
        'cached-image-input': image,
        'image-output': 5,
      },
      JSON.stringify(details),
    )
  t.end()
})
