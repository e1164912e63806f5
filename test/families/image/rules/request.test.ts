import t from 'tap'
import { readImageOrder } from '../../../../src/families/image/rules/request.ts'
import {
  aspectRatios,
  pixelFault,
  pixelsOf,
  tiers,
} from '../../../../src/families/image/rules/models.ts'
import { jpeg, order, png, refused } from './orders.ts'

const half = (fields: Readonly<Record<string, unknown>>, rest = {}) =>
  order(fields, { model: 'image-2.5-flare', ...rest })
const edit = (fields: Readonly<Record<string, unknown>>, rest = {}) =>
  order(fields, { kind: 'edit', ...rest })
const upload = (name: string, bytes = png) => ({ name, bytes })
const url = { image_url: 'https://media.example.com/a.png' }

t.test('defaults are always sent: quality low, one picture', async (t) => {
  const read = readImageOrder(order())
  t.strictSame(read.body, { prompt: 'a boat', n: 1, size: '1024x1024', quality: 'low' })
  t.match(read, { delivery: 'b64_json', streamed: false, count: 1, inputs: [], mask: undefined })
  t.strictSame(readImageOrder(half({})).body['quality'], 'low')
})

t.test('a stream is of one picture; only the 2.5 models are asked for previews', async (t) => {
  const ofTokens = readImageOrder(half({ stream: true, partial_images: 2 }))
  t.match(ofTokens, { streamed: true, body: { partial_images: 2 } })
  t.equal(readImageOrder(half({ partial_images: 2 })).streamed, false)
  const byPicture = readImageOrder(order({ stream: true, partial_images: 2 }))
  t.equal(byPicture.streamed, true)
  t.notOk('partial_images' in byPicture.body)
  for (const make of [half, order])
    t.match(refused(t, make({ stream: true, n: 2 }), 'n'), /with `stream`/)
  refused(t, order({ stream: 'yes' }), 'stream')
  refused(t, order({ partial_images: 4 }), 'partial_images')
})

t.test('response_format, stream and partial_images are not sent, other members are', async (t) => {
  const fields = { response_format: 'url', stream: true, partial_images: 2, extra: { a: 1 } }
  const { body, delivery } = readImageOrder(order(fields))
  t.equal(delivery, 'url')
  t.notOk('response_format' in body || 'stream' in body || 'partial_images' in body)
  t.strictSame(body['extra'], { a: 1 })
})

t.test('a prompt is required, not empty, and at most 32,000 characters', async (t) => {
  refused(t, order({ prompt: undefined }), 'prompt')
  refused(t, order({ prompt: '  ' }), 'prompt')
  refused(t, order({ prompt: 7 }), 'prompt')
  refused(t, order({ prompt: 'x'.repeat(32_001) }), 'prompt')
  t.equal(readImageOrder(order({ prompt: 'x'.repeat(32_000) })).count, 1)
})

t.test('pixels: multiples of 16, edges, area and ratio within bounds', async (t) => {
  for (const size of ['1024x1024', '3840x2160', '816x816', '2160x3840', '1776x592'])
    t.equal(readImageOrder(order({ size })).body['size'], size)
  const faults: Readonly<Record<string, RegExp>> = {
    '1000x1000': /multiples of 16/,
    '3856x1600': /longer than 3840/,
    '640x640': /655360/,
    '3840x3840': /8294400/,
    '1792x592': /3:1/,
    big: /<width>x<height>/,
    '1024X1024': /<width>x<height>/,
    '01024x1024': /<width>x<height>/,
  }
  for (const [size, said] of Object.entries(faults))
    t.match(refused(t, order({ size }), 'size'), said)
  t.equal(readImageOrder(order({ size: 'auto' })).body['size'], 'auto')
})

t.test(
  'tiers and aspect ratios are of the 2.5 models, and always map to legal pixels',
  async (t) => {
    refused(t, order({ size: '2K' }), 'size')
    refused(t, order({ aspect_ratio: '1:1' }), 'aspect_ratio')
    t.equal(readImageOrder(half({ size: '2K', aspect_ratio: '9:16' })).body['size'], '1536x2720')
    t.equal(readImageOrder(half({ aspect_ratio: '3:2' })).body['size'], '1248x832')
    t.equal(readImageOrder(half({ size: '4K' })).body['size'], '2880x2880')
    t.notOk('aspect_ratio' in readImageOrder(half({ aspect_ratio: '3:2' })).body)
    refused(t, half({ size: '1024x1024', aspect_ratio: '1:1' }), 'aspect_ratio')
    t.match(refused(t, half({ aspect_ratio: '7:5' }), 'aspect_ratio'), /16:9/)
    for (const ratio of aspectRatios)
      for (const tier of tiers) {
        const pixels = pixelsOf(tier, ratio)
        t.ok(pixels)
        t.equal(pixels && pixelFault(pixels), undefined, `${tier} ${ratio}`)
      }
  },
)

t.test('each model has its own qualities', async (t) => {
  for (const quality of ['xhigh', 'max']) {
    t.match(refused(t, order({ quality }), 'quality'), /low, medium, high, auto/)
    t.equal(readImageOrder(half({ quality })).body['quality'], quality)
  }
  const medium = (quality?: string) => order({ quality }, { model: 'image-2-medium' })
  t.equal(readImageOrder(medium()).body['quality'], 'medium')
  refused(t, medium('high'), 'quality')
})

t.test('n, formats, compression and transparency', async (t) => {
  for (const n of [0, 11, 1.5, '2', Number.MAX_SAFE_INTEGER]) refused(t, order({ n }), 'n')
  t.equal(readImageOrder(order({ n: 10 })).count, 10)
  refused(t, order({ output_format: 'gif' }), 'output_format')
  refused(t, order({ output_compression: 50 }), 'output_compression')
  refused(t, order({ output_format: 'jpeg', output_compression: 101 }), 'output_compression')
  t.equal(
    readImageOrder(order({ output_format: 'webp', output_compression: 0 })).body[
      'output_compression'
    ],
    0,
  )
  refused(t, order({ output_format: 'jpeg', background: 'transparent' }), 'background')
  refused(t, order({ moderation: 'none' }), 'moderation')
  refused(t, order({ partial_images: 4 }), 'partial_images')
  refused(t, order({ response_format: 'png' }), 'response_format')
})

t.test('a generation takes no pictures', async (t) => {
  refused(t, order({ images: [url] }), 'images')
  refused(t, order({ mask: url }), 'mask')
})

t.test('an edit as JSON: 1 to 14 pictures, each a URL or a file, never both', async (t) => {
  const { inputs, mask, body, facts } = readImageOrder(
    edit({ images: [url, { file_id: 'file-1' }], mask: { file_id: 'file-2' } }),
  )
  t.match(inputs, [
    { from: 'url', url: url.image_url },
    { from: 'file', fileId: 'file-1', param: 'images[1].file_id' },
  ])
  t.match(mask, { from: 'file', fileId: 'file-2' })
  t.notOk('images' in body || 'mask' in body)
  t.equal(facts.inputs['image'], 3)
  refused(t, edit({}), 'images')
  refused(t, edit({ images: [] }), 'images')
  refused(t, edit({ images: Array.from({ length: 15 }, () => url) }), 'images')
  refused(t, edit({ images: [{ ...url, file_id: 'f' }] }), 'images[0]')
  refused(t, edit({ images: ['https://media.example.com/a.png'] }), 'images[0]')
  refused(t, edit({ images: [{ image_url: 'ftp://a/b' }] }), 'images[0].image_url')
  refused(t, edit({ images: [{ image_url: 'data:image/png;base64,' }] }), 'images[0].image_url')
  const lying = `data:image/png;base64,${Buffer.from(jpeg).toString('base64')}`
  t.match(
    refused(t, edit({ images: [{ image_url: lying }] }), 'images[0].image_url'),
    /image\/jpeg/,
  )
  const true_ = `data:image/png;base64,${Buffer.from(png).toString('base64')}`
  t.match(readImageOrder(edit({ images: [{ image_url: true_ }] })).inputs, [{ url: true_ }])
})

t.test('an edit as a form has files by their bytes, a mask, and no other part', async (t) => {
  const form = (uploads: readonly { name: string; bytes: Uint8Array }[]) =>
    edit({}, { form: 'multipart', uploads })
  const { inputs, mask } = readImageOrder(
    form([upload('image'), upload('image[]', jpeg), upload('mask')]),
  )
  t.match(inputs, [{ mediaType: 'image/png' }, { mediaType: 'image/jpeg' }])
  t.match(mask, { mediaType: 'image/png' })
  refused(t, form([]), 'image')
  refused(t, form([upload('image', Uint8Array.from([1, 2, 3]))]), 'image')
  refused(t, form([upload('photo')]), 'photo')
  refused(t, form([upload('image'), upload('mask'), upload('mask')]), 'mask')
  refused(t, form(Array.from({ length: 15 }, () => upload('image[]'))), 'image')
  refused(t, form([upload('image', new Uint8Array(50 * 1024 * 1024))]), 'image')
})

t.test('input_fidelity is sent for edits of the 2.5 models only; edits make no webp', async (t) => {
  const asked = { images: [url], input_fidelity: 'high' }
  t.notOk('input_fidelity' in readImageOrder(edit(asked)).body)
  t.equal(readImageOrder(half(asked, { kind: 'edit' })).body['input_fidelity'], 'high')
  refused(t, edit({ images: [url], input_fidelity: 'mid' }), 'input_fidelity')
  refused(t, edit({ images: [url], output_format: 'webp' }), 'output_format')
})

t.test('the facts hold no prompt and no URL (P7)', async (t) => {
  const { facts } = readImageOrder(edit({ prompt: 'a secret', images: [url], user: 'somebody' }))
  t.notMatch(JSON.stringify(facts), /secret|example|somebody/)
})
