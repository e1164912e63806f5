import { catalog } from '../../../../src/families/index.ts'
import t from 'tap'
import { readArtBOrder } from '../../../../src/families/art-b/rules/request.ts'
import { artBFamily } from '../../../../src/families/art-b/module.ts'
import { dataUri, jpeg, order, png, refused, webp } from './orders.ts'

const web = 'https://media.example.com/a.png'
const OPTIONS = 'sequential_image_generation_options'
const group = (more: Readonly<Record<string, unknown>> = {}, model?: string) =>
  order({ sequential_image_generation: 'auto', ...more }, model)

void t.test('a model is accepted by name and by version, and recorded by name', async (t) => {
  const versions = {
    'artB-5-0-260128': 'artB-5.0',
    'artB-5-0-lite-260128': 'artB-5.0-lite',
    'artB-5-0-pro-260628': 'artB-5.0-pro',
  }
  for (const [version, name] of Object.entries(versions)) {
    t.equal(readArtBOrder(order({}, version)).model, name)
    t.equal(readArtBOrder(order({}, name)).model, name)
    t.equal(catalog.imageFamilyOf(version), artBFamily)
    t.equal(catalog.callFamilyOfModel(version)?.name, 'art-b', 'no other family can have it')
    t.notOk(artBFamily.models.includes(version), 'a channel offers the name')
  }
})

void t.test(
  'defaults: a picture by URL, with the watermark, its size left to upstream',
  async (t) => {
    const read = readArtBOrder(order())
    t.strictSame(read.body, { prompt: 'a boat', watermark: true })
    t.match(read, { delivery: 'url', streamed: false, count: 1, inputs: [], mask: undefined })
    t.strictSame(read.facts, {
      inputs: { text: 1, image: 0 },
      tools: [],
      settings: { n: 1, layers: 1 },
    })
  },
)

void t.test('n, quality, style and response_format are not sent, other members are', async (t) => {
  const { body, delivery } = readArtBOrder(
    order({ n: 1, quality: 'high', style: 'vivid', response_format: 'b64_json', seed: 7 }),
  )
  t.strictSame(body, { prompt: 'a boat', watermark: true, seed: 7 })
  t.equal(delivery, 'b64_json')
  for (const name of ['quality', 'style']) refused(t, order({ [name]: 1 }), name)
  refused(t, order({ response_format: 'png' }), 'response_format')
})

void t.test('n above 1 is n_not_supported, any value but 1 is invalid', async (t) => {
  refused(t, order({ n: 2 }), 'n', 'n_not_supported')
  refused(t, group({ n: 2 }), 'n', 'n_not_supported')
  for (const n of [0, -1, 1.5, '2', true]) refused(t, order({ n }), 'n')
})

void t.test('a prompt is required, not empty, and bounded', async (t) => {
  for (const prompt of [undefined, '', ' ', 7, 'x'.repeat(32_001)])
    refused(t, order({ prompt }), 'prompt')
})

void t.test('tiers are those of the model', async (t) => {
  const tiers = {
    'artB-5.0': ['2K', '3K', '4K'],
    'artB-5.0-lite': ['2K', '3K', '4K'],
    'artB-5.0-pro': ['1K', '1.5K', '2K'],
  }
  for (const [model, known] of Object.entries(tiers))
    for (const size of ['1K', '1.5K', '2K', '3K', '4K', '8K', '2k', 'auto'])
      if (known.includes(size)) t.equal(readArtBOrder(order({ size }, model)).body['size'], size)
      else t.match(refused(t, order({ size }, model), 'size'), known.join(', '))
})

void t.test('pixels: area by model, at most 16:1', async (t) => {
  const taken = {
    'artB-5.0': ['2560x1440', '4096x4096', '2048x2048', '7680x480'],
    'artB-5.0-pro': ['1280x720', '2048x2048', '3840x240', '2848x1600'],
  }
  for (const [model, sizes] of Object.entries(taken))
    for (const size of sizes) t.equal(readArtBOrder(order({ size }, model)).body['size'], size)
  const faults = [
    ['artB-5.0', '2560x1439', /3686400 to 16777216/],
    ['artB-5.0-lite', '4097x4096', /3686400 to 16777216/],
    ['artB-5.0-pro', '1279x720', /921600 to 4624220/],
    ['artB-5.0-pro', '2151x2151', /921600 to 4624220/],
    ['artB-5.0', '7696x480', /16:1/],
    ['artB-5.0', '2048X2048', /<width>x<height>/],
    ['artB-5.0', '02048x2048', /<width>x<height>/],
    ['artB-5.0', '2048x2048x1', /<width>x<height>/],
  ] as const
  for (const [model, size, said] of faults)
    t.match(refused(t, order({ size }, model), 'size'), said)
  refused(t, order({ size: 2048 }), 'size')
})

void t.test('pictures sent along: one or a list, public URLs and data URIs', async (t) => {
  for (const image of [web, [web], png, [jpeg]]) {
    const { inputs, facts } = readArtBOrder(order({ image }))
    t.match(inputs, [{ from: 'url', url: Array.isArray(image) ? image[0] : image }])
    t.equal(facts.inputs['image'], 1)
  }
  t.equal(readArtBOrder(order({ image: [web, png, jpeg] })).inputs.length, 3)
  refused(t, order({ image: [] }), 'image')
  refused(t, order({ image: [web, 7] }), 'image[1]')
  for (const name of ['images', 'mask'])
    t.match(refused(t, order({ [name]: [web] }), name), /`image`/)
})

void t.test('14 pictures at most, 10 with the pro model', async (t) => {
  const many = (length: number) => ({ image: Array.from({ length }, () => web) })
  t.equal(readArtBOrder(order(many(14))).inputs.length, 14)
  t.match(refused(t, order(many(15)), 'image'), /at most 14/)
  t.equal(readArtBOrder(order(many(10), 'artB-5.0-pro')).inputs.length, 10)
  t.match(refused(t, order(many(11), 'artB-5.0-pro'), 'image'), /at most 10/)
})

void t.test('a data URI must match its bytes, be complete and have no blank', async (t) => {
  const bytes = png.slice(png.indexOf(',') + 1)
  const faults: Readonly<Record<string, RegExp>> = {
    [png.replace('image/png', 'image/jpeg')]: /declares image\/jpeg and is image\/png/,
    [dataUri('png', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])]: /PNG, JPEG or WebP/,
    [`data:image/png;base64, ${bytes}`]: /no blank/,
    [`data:image/png;base64,\n${bytes}`]: /no blank/,
    [`data:image/png,${bytes}`]: /data URI/,
    'data:image/png;base64,': /data URI/,
    [webp]: /PNG or JPEG/,
  }
  for (const [image, said] of Object.entries(faults)) {
    t.match(refused(t, order({ image }), 'image'), said)
    t.match(refused(t, order({ image: [web, image] }), 'image[1]'), said)
  }
})

void t.test('bare base64 and malformed URLs: invalid url specified', async (t) => {
  const bare = png.slice(png.indexOf(',') + 1)
  for (const image of [bare, bare.repeat(10_000), 'asset://a', 'ftp://x.example/a', '', 'https://'])
    t.match(
      refused(t, order({ image }), 'image', 'invalid_image_url'),
      /^invalid url specified/,
      image.slice(0, 30),
    )
  refused(t, order({ image: `https://media.example.com/${'a'.repeat(9_000)}` }), 'image')
})

void t.test('watermark, output_format and optimize_prompt_options go upstream', async (t) => {
  const sent = {
    watermark: false,
    output_format: 'png',
    optimize_prompt_options: { mode: 'fast' },
  }
  t.match(readArtBOrder(order(sent)).body, sent)
  refused(t, order({ watermark: 'true' }), 'watermark')
  refused(t, order({ output_format: 'webp' }), 'output_format')
  refused(t, order({ optimize_prompt_options: 'fast' }), 'optimize_prompt_options')
  refused(t, order({ optimize_prompt_options: { mode: 'slow' } }), 'optimize_prompt_options.mode')
})

void t.test('in a group, input and output pictures are 15 at most', async (t) => {
  const most = ({ body, count }: ReturnType<typeof readArtBOrder>) => [count, body[OPTIONS]]
  t.same(most(readArtBOrder(group())), [15, { max_images: 15 }])
  t.same(most(readArtBOrder(group({ [OPTIONS]: { max_images: 4 } }))), [4, { max_images: 4 }])
  t.same(most(readArtBOrder(group({ image: [web, web] }))), [13, { max_images: 13 }])
  const full = { image: Array.from({ length: 14 }, () => web) }
  t.same(most(readArtBOrder(group(full))), [1, { max_images: 1 }])
  const param = `${OPTIONS}.max_images`
  t.match(refused(t, group({ ...full, [OPTIONS]: { max_images: 2 } }), param), /at most 1:/)
  for (const max_images of [0, 16, '4', 2.5])
    refused(t, group({ [OPTIONS]: { max_images } }), param)
  refused(t, group({ [OPTIONS]: 4 }), OPTIONS)
  refused(t, group({ [OPTIONS]: { max: 4 } }), `${OPTIONS}.max`)
  refused(t, order({ sequential_image_generation: 'on' }), 'sequential_image_generation')
  const one = readArtBOrder(
    order({ sequential_image_generation: 'disabled', [OPTIONS]: { max_images: 4 } }),
  )
  t.equal(one.count, 1)
  t.notOk('sequential_image_generation' in one.body || OPTIONS in one.body)
})

void t.test('web search is the only tool', async (t) => {
  const read = readArtBOrder(order({ tools: [{ type: 'web_search' }] }))
  t.same(read.body['tools'], [{ type: 'web_search' }])
  t.same(read.facts.tools, ['web_search'])
  t.same(readArtBOrder(order({ tools: [] })).facts.tools, [])
  refused(t, order({ tools: 'web_search' }), 'tools')
  refused(t, order({ tools: [{ type: 'web_search' }, { type: 'function' }] }), 'tools[1]')
})

void t.test('the pro model makes no groups, does not stream and does not search', async (t) => {
  const pro = (fields: Readonly<Record<string, unknown>>) => order(fields, 'artB-5.0-pro')
  refused(t, pro({ sequential_image_generation: 'auto' }), 'sequential_image_generation')
  refused(t, pro({ [OPTIONS]: { max_images: 2 } }), 'sequential_image_generation')
  refused(t, pro({ stream: true }), 'stream')
  refused(t, pro({ tools: [{ type: 'web_search' }] }), 'tools')
  const fields = { sequential_image_generation: 'disabled', stream: false, tools: [] }
  t.equal(readArtBOrder(pro(fields)).streamed, false)
  t.equal(readArtBOrder(order({ stream: true })).streamed, true)
  refused(t, order({ stream: 'true' }), 'stream')
})

void t.test('edits are not offered', async (t) => {
  t.same(Object.keys(artBFamily.bodies), ['generation'])
})
