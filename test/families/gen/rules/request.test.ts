import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import type { ImageOrder } from '../../../../src/domain/catalog/image-rules.ts'
import {
  genModels,
  ratioOfPixels,
  tierOfPixels,
} from '../../../../src/families/gen/rules/models.ts'
import { fitGenBase, readGenOrder } from '../../../../src/families/gen/rules/request.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'
import { jpeg, order as plainOrder, png } from '../../image/rules/orders.ts'

type Fields = Readonly<Record<string, unknown>>
const [FLASH, PRO, WIDE] = ['gen-2.5-flash-image', 'gen-3-pro-image-preview', 'gen-3.1-flash-image']
const UNDER_BYTES = 10 * 1024 * 1024

const order = (fields: Fields = {}, rest: Partial<ImageOrder> = {}): ImageOrder =>
  plainOrder(fields, { model: WIDE, ...rest })
const of = (model: string | undefined, fields: Fields, rest: Partial<ImageOrder> = {}) =>
  order(fields, { model: model ?? '', ...rest })
const edit = (fields: Fields, rest: Partial<ImageOrder> = {}) =>
  order(fields, { kind: 'edit', ...rest })
const form = (names: readonly string[], fields: Fields = {}, rest: Partial<ImageOrder> = {}) =>
  edit(fields, {
    form: 'multipart',
    uploads: names.map((name) => ({ name, bytes: png })),
    ...rest,
  })
const read = (asked: ImageOrder) => readGenOrder(asked)
const dataUri = (bytes: Uint8Array) =>
  `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`

function refused(t: Test, asked: ImageOrder, param: string, code = 'invalid_request'): string {
  try {
    read(asked)
  } catch (error) {
    if (!isDomainError(error)) throw error
    t.match(error, { code, details: { param } }, JSON.stringify(asked.fields).slice(0, 200))
    return error.message
  }
  t.fail(`not refused: ${JSON.stringify(asked.fields)}`)
  return ''
}

t.test(
  'without a size the picture is 1K, which is sent unless the model has one size',
  async (t) => {
    t.strictSame(read(order()).body, { prompt: 'a boat', size: '1K' })
    t.strictSame(read(of(FLASH, {})).body, { prompt: 'a boat' })
    t.equal(read(of(FLASH, {})).facts.settings['size'], '1K')
    t.match(read(order({ size: 'auto', aspect_ratio: 'auto' })), {
      body: { size: '1K', aspect_ratio: undefined },
      delivery: 'b64_json',
      streamed: false,
      count: 1,
      inputs: [],
      mask: undefined,
    })
  },
)

t.test('a tier is accepted by the models that have it, in their own words', async (t) => {
  for (const { name, tiers } of genModels) {
    for (const size of tiers) t.equal(read(of(name, { size })).facts.settings['size'], size)
    for (const size of ['512', '1K', '2K', '4K', '8K', '1k', 'large', ''])
      if (!tiers.some((tier) => tier === size))
        t.match(refused(t, of(name, { size }), 'size'), `${tiers.join(', ')}, auto or <width>x`)
  }
  refused(t, order({ size: 1024 }), 'size')
})

t.test('pixels are mapped to the smallest sufficient tier and the nearest ratio', async (t) => {
  const comes = (size: string, model = PRO) => {
    const { settings } = read(of(model, { size })).facts
    return `${settings['size']} ${settings['aspect_ratio']}`
  }
  t.equal(comes('1024x1024'), '1K 1:1')
  t.equal(comes('1280x720'), '1K 16:9')
  t.equal(comes('1536x1024'), '2K 3:2', 'never less than was asked for')
  t.equal(comes('1792x1024'), '2K 16:9')
  t.equal(comes('1920x1080'), '2K 16:9')
  t.equal(comes('3840x2160'), '4K 16:9')
  t.equal(comes('928x1152'), '1K 4:5', 'the real pixels of a tier are of it')
  t.equal(comes('512x512', WIDE), '512 1:1')
  t.equal(comes('3072x384', WIDE), '1K 8:1')
  t.equal(comes('768x768', FLASH), '1K 1:1')
  t.equal(comes('1536x1024', FLASH), '1K 3:2', 'but the largest there is')
})

t.test('pixels far from every tier or aspect ratio are refused', async (t) => {
  for (const [model, size] of [
    [FLASH, '512x512'],
    [FLASH, '2048x2048'],
    [PRO, '512x512'],
    [PRO, '8192x8192'],
    [WIDE, '256x256'],
  ])
    t.match(refused(t, of(model, { size }), 'size'), /is not close to any of them/)
  for (const size of ['2000x1000', '3000x1000', '1000x3000'])
    t.match(refused(t, of(PRO, { size }), 'size'), /any of the aspect ratios 1:1, 2:3/)
  t.equal(read(of(WIDE, { size: '2048x500' })).body['aspect_ratio'], '4:1')
})

t.test('the pixels of every size and ratio of a model map to themselves', async (t) => {
  const edges: Readonly<Record<string, number>> = { 512: 512, '1K': 1024, '2K': 2048, '4K': 4096 }
  for (const { tiers, aspectRatios } of genModels)
    for (const tier of tiers)
      for (const ratio of aspectRatios) {
        const [long = 1, short = 1] = ratio.split(':').map(Number)
        const edge = edges[tier] ?? 0
        const step = (length: number) => Math.round(length / 16) * 16
        const sides = {
          width: step(edge * Math.sqrt(long / short)),
          height: step(edge * Math.sqrt(short / long)),
        }
        t.equal(tierOfPixels(sides, tiers), tier, `${tier} ${ratio}`)
        if (tier !== '512') t.equal(ratioOfPixels(sides, aspectRatios), ratio, `${tier} ${ratio}`)
      }
})

t.test('aspect ratios are those of the model, and take precedence over pixels', async (t) => {
  for (const { name, aspectRatios } of genModels) {
    for (const ratio of aspectRatios)
      t.equal(read(of(name, { aspect_ratio: ratio })).body['aspect_ratio'], ratio)
    t.match(refused(t, of(name, { aspect_ratio: '7:5' }), 'aspect_ratio'), aspectRatios.join(', '))
  }
  for (const ratio of ['1:4', '4:1', '1:8', '8:1', '9:21'])
    refused(t, of(PRO, { aspect_ratio: ratio }), 'aspect_ratio')
  const { body } = read(of(PRO, { size: '2048x1152', aspect_ratio: '1:1' }))
  t.match(body, { size: '2K', aspect_ratio: '1:1' })
  t.match(read(of(PRO, { size: '3000x1000', aspect_ratio: '21:9' })).body, { size: '2K' })
})

t.test('n must be 1', async (t) => {
  t.equal(read(order({ n: 1 })).count, 1)
  for (const n of [2, 10, 11, 1_000])
    t.match(refused(t, order({ n }), 'n', 'n_not_supported'), /must be 1/)
  for (const n of [0, -1, 1.5, '1']) refused(t, order({ n }), 'n')
})

t.test('a prompt is required and not empty', async (t) => {
  for (const prompt of [undefined, ' ', 7, 'x'.repeat(262_145)])
    refused(t, order({ prompt }), 'prompt')
})

t.test('unsupported members are refused, their defaults are accepted', async (t) => {
  for (const member of ['quality', 'background', 'output_format', 'style', 'stream', 'seed'])
    t.match(
      refused(t, order({ [member]: 'x' }), member),
      /which accepts model, prompt, n, size, aspect_ratio, response_format, user/,
    )
  const fields = {
    quality: 'auto',
    moderation: 'auto',
    background: 'auto',
    stream: false,
    user: 'u',
  }
  t.strictSame(read(order(fields)).body, { prompt: 'a boat', size: '1K' })
  refused(t, order({ user: 7 }), 'user')
  refused(t, order({ response_format: 'png' }), 'response_format')
  t.equal(read(order({ response_format: 'url' })).delivery, 'url')
})

t.test('only an edit has pictures, and it needs one', async (t) => {
  for (const member of ['images', 'image', 'image_urls', 'image_urls[]', 'mask'])
    t.match(refused(t, order({ [member]: [] }), member), /only by \/v1\/images\/edits/)
  t.match(refused(t, edit({}), 'images'), /needs a picture/)
  refused(t, form([]), 'image')
  refused(t, form(['mask']), 'image')
})

t.test(
  'a form: image, image[] and image_urls[] may be mixed; the first of them is the base',
  async (t) => {
    const urls = ['https://media.example.com/a.png', 'http://media.example.com/b.png']
    const mixed = form(['image[]', 'mask', 'image'], { 'image_urls[]': urls })
    const uploads = [png, png, jpeg].map((bytes, n) => ({
      ...mixed.uploads[n],
      name: mixed.uploads[n]?.name ?? '',
      bytes,
    }))
    const { inputs, mask, facts } = read({ ...mixed, uploads })
    t.match(inputs, [
      { from: 'upload', mediaType: 'image/jpeg' },
      { from: 'upload', mediaType: 'image/png' },
      { from: 'remote', url: urls[0], param: 'image_urls[0]', underBytes: UNDER_BYTES },
      { from: 'remote', url: urls[1], param: 'image_urls[1]' },
    ])
    t.match(mask, { from: 'upload' })
    t.equal(facts.inputs['image'], 5)
    t.equal(read(form([], { image_urls: urls[0] })).inputs.length, 1, 'one URL may stand alone')
  },
)

t.test('at most 14 pictures in total, not counting the mask', async (t) => {
  const ten = Array.from({ length: 10 }, () => 'image[]')
  const urls = (count: number) =>
    Array.from({ length: count }, (_, n) => `https://a.example.com/${n}`)
  t.equal(read(form([...ten, 'mask'], { 'image_urls[]': urls(4) })).inputs.length, 14)
  t.match(refused(t, form(ten, { 'image_urls[]': urls(5) }), 'image'), /at most 14/)
  refused(t, form([], { 'image_urls[]': urls(15) }), 'image_urls[]')
  refused(t, edit({ images: urls(15).map((image_url) => ({ image_url })) }), 'images')
})

t.test('a list takes web URLs only, no data URIs', async (t) => {
  for (const url of ['ftp://a/b', 'file:///etc/passwd', dataUri(png), 'a.png', 7, ''])
    refused(t, form([], { 'image_urls[]': [url] }), 'image_urls[0]')
  refused(t, edit({ image_urls: { a: 1 } }), 'image_urls')
})

t.test('a part of the wrong kind is refused by name', async (t) => {
  refused(t, form(['image', 'attachment']), 'attachment')
  refused(t, form(['image', 'mask', 'mask']), 'mask')
  for (const name of ['image', 'image[]', 'mask'])
    t.match(
      refused(t, form(['image'], { [name]: 'https://a.example.com/x' }), name),
      /must be a file/,
    )
  const text = { name: 'image[]', bytes: Buffer.from('GIF89a, or so it says') }
  t.match(refused(t, form([], {}, { uploads: [text] }), 'image[]'), /PNG, JPEG or WebP/)
})

t.test('JSON: URLs, data URIs and files, as with the other families', async (t) => {
  const { inputs, mask } = read(
    edit({
      images: [
        { image_url: 'https://a.example.com/x' },
        { file_id: 'file_1' },
        { image_url: dataUri(png) },
      ],
      image_urls: ['https://a.example.com/y'],
      mask: { image_url: dataUri(png) },
    }),
  )
  t.match(inputs, [
    { from: 'remote', param: 'images[0].image_url', underBytes: UNDER_BYTES },
    { from: 'file', fileId: 'file_1', underBytes: UNDER_BYTES },
    { from: 'upload', mediaType: 'image/png' },
    { from: 'remote', param: 'image_urls[0]' },
  ])
  t.same(inputs[2]?.from === 'upload' && inputs[2].bytes, png, 'a data URI is its bytes')
  t.match(mask, { from: 'upload' })
  refused(t, edit({ image: 'https://a.example.com/x' }), 'image')
  refused(t, edit({ images: [{}] }), 'images[0]')
})

t.test('a picture of 10 MB or more is too large, uploaded or in a data URI', async (t) => {
  const large = Buffer.alloc(UNDER_BYTES)
  large.set(png)
  const part = (bytes: Uint8Array) => form([], {}, { uploads: [{ name: 'image[]', bytes }] })
  t.match(refused(t, part(large), 'image[]', 'image_too_large'), /under 10 MB/)
  const under = Buffer.alloc(UNDER_BYTES - 1)
  under.set(png)
  t.equal(read(part(under)).inputs.length, 1)
  const uri = edit({ images: [{ image_url: dataUri(large) }] })
  refused(t, uri, 'images[0].image_url', 'image_too_large')
})

t.test('an edit by the pro model without a size takes that of its base picture', async (t) => {
  const image = { images: [{ file_id: 'file_1' }] }
  const asked = of(PRO, image, { kind: 'edit' })
  const fit = (width: number, height: number) =>
    fitGenBase(read(asked))?.({ width, height }).body['size']
  t.equal(fit(1024, 1024), '1K')
  t.equal(fit(1600, 2400), '2K')
  t.equal(fit(6000, 4000), '4K')
  t.equal(fit(20, 20), '1K', 'the smallest there is, however far')
  t.equal(read(asked).facts.settings['size'], 'inferred')
  t.equal(read(asked).body['aspect_ratio'], undefined, 'upstream keeps that of the base picture')
  for (const other of [
    of(PRO, { ...image, size: '2K' }, { kind: 'edit' }),
    of(WIDE, image, { kind: 'edit' }),
    of(FLASH, image, { kind: 'edit' }),
    of(PRO, {}),
  ])
    t.equal(fitGenBase(read(other)), undefined)
})

t.test('any body is read or refused with a field', async () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('1K', 'auto', '16:9', '1024x768', dataUri(png)),
  )
  const names = ['size', 'aspect_ratio', 'n', 'images', 'image_urls', 'image_urls[]', 'mask', 'x']
  const fields = fc.dictionary(fc.constantFrom(...names), value)
  fc.assert(
    fc.property(fields, fc.constantFrom('json', 'multipart'), (given, as) => {
      try {
        read(
          edit(given, { form: as, uploads: as === 'json' ? [] : [{ name: 'image', bytes: png }] }),
        )
        return true
      } catch (error) {
        return isDomainError(error) && typeof error.details['param'] === 'string'
      }
    }),
  )
})
