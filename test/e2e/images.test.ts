import OpenAI, { toFile } from 'openai'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { startStack } from '../helpers/stack.ts'
import { call, queriesOf } from './support/client.ts'

const stack = await startStack({
  hosts: { 'media.example.com': ['93.184.216.34'] },
  env: { OBJECT_STORAGE: 'local' },
})
t.teardown(() => stack.stop())
const { url, demo } = stack
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: demo.modelToken, maxRetries: 0 })
const finance = queriesOf(url, demo.queryToken)

const picture = await sharp({
  create: { width: 64, height: 64, channels: 3, background: '#36c' },
})
  .png()
  .toBuffer()

async function billed(callId: string): Promise<Record<string, number>> {
  await stack.caughtUp()
  const { items } = (await finance.lines(`source_id=${callId}`)).body.data
  return Object.fromEntries(
    (items as { sku: string; quantity: number }[]).map(({ sku, quantity }) => [sku, quantity]),
  )
}

/** What the provider's record says of the request with this marker. */
function upstreamOf(marker: string) {
  return stack.sandbox.calls().find(({ client_marker }) => client_marker === marker)
}

async function sidesOf(t: Test, base64: string | undefined) {
  t.type(base64, 'string')
  const { width, height, format } = await sharp(Buffer.from(base64 ?? '', 'base64')).metadata()
  return `${width}x${height} ${format}`
}

function post(path: string, body: string | FormData, headers: Record<string, string> = {}) {
  return call(`${url}/v1/images/${path}`, { method: 'POST', token: demo.modelToken, body, headers })
}

const json = { 'content-type': 'application/json' }
const generate = (body: object) => post('generations', JSON.stringify(body), json)

void t.test(
  'a generation has real pictures of the requested size, settled by the picture',
  async (t) => {
    const { data, response } = await client.images
      .generate({ model: 'image-2', prompt: 'a boat [[client=g1]]', n: 2, size: '1536x1024' })
      .withResponse()
    t.equal(data.data?.length, 2)
    t.equal(await sidesOf(t, data.data?.[0]?.b64_json), '1536x1024 png')
    t.match(data.usage, { total_tokens: Number })
    t.strictSame(await billed(response.headers.get('x-call-id') ?? ''), { 'image-2-low-image': 2 })
    t.match(upstreamOf('g1')?.pictures, { count: 2, size: '1536x1024', quality: 'low' })
  },
)

void t.test('a tier and a ratio become pixels; tokens are settled as reported', async (t) => {
  const answer = await generate({
    model: 'image-2.5-flare',
    prompt: 'a boat [[client=g2]]',
    size: '1K',
    aspect_ratio: '9:16',
    output_format: 'webp',
  })
  t.equal(answer.status, 200)
  t.equal(await sidesOf(t, answer.body.data[0].b64_json), '768x1360 webp')
  const { usage } = upstreamOf('g2') ?? {}
  t.strictSame(await billed(answer.headers.get('x-call-id') ?? ''), {
    'image-2.5-text-input': usage?.input_tokens,
    'image-2.5-image-output': usage?.output_tokens,
  })
})

void t.test('a whole URL serves the picture, a part of it does not', async (t) => {
  const answer = await generate({ model: 'image-2', prompt: 'a boat', response_format: 'url' })
  t.equal(answer.status, 200)
  const [{ url: place, b64_json: base64 }] = answer.body.data
  t.equal(base64, undefined)
  const got = await fetch(place)
  t.equal(got.headers.get('content-type'), 'image/png')
  t.equal(
    await sidesOf(t, Buffer.from(await got.arrayBuffer()).toString('base64')),
    '1024x1024 png',
  )
  t.equal((await fetch(place.replace(/signature=.{4}/, 'signature=AAAA'))).status, 404)
  t.notMatch(stack.logged(), new URL(place).searchParams.get('signature') ?? 'none', 'P7')
})

void t.test('edits with files through the SDK, URLs as JSON, and a raw form', async (t) => {
  const file = await toFile(picture, 'boat.png', { type: 'image/png' })
  const edited = await client.images.edit({
    model: 'image-2',
    prompt: 'red [[client=e1]]',
    image: [file, await toFile(picture, '../../etc/passwd', { type: 'text/plain' })],
    mask: file,
  })
  t.equal(await sidesOf(t, edited.data?.[0]?.b64_json), '1024x1024 png')
  t.equal(upstreamOf('e1')?.usage.input_tokens, 3 * 323 + 5)
  const byUrl = await post(
    'edits',
    JSON.stringify({
      model: 'image-2',
      prompt: 'blue',
      images: [{ image_url: 'https://media.example.com/a.png' }],
      mask: { image_url: `data:image/png;base64,${picture.toString('base64')}` },
    }),
    json,
  )
  t.equal(byUrl.status, 200)
  const form = new FormData()
  for (const [name, value] of Object.entries({ model: 'image-2', prompt: 'green', n: '2' }))
    form.set(name, value)
  form.set('image', new Blob([new Uint8Array(picture)]), 'x')
  t.equal((await post('edits', form)).body.data.length, 2)
})

void t.test(
  'an undeliverable order is refused in the surface’s shape, and costs nothing',
  async (t) => {
    const before = stack.sandbox.calls().length
    const cases = [
      [{ model: 'image-2', prompt: 'x', n: 11 }, 400, 'invalid_value', 'n'],
      [{ model: 'image-2.5-flare', prompt: 'x', n: 2 }, 400, 'n_not_supported', 'n'],
      [{ model: 'image-9', prompt: 'x' }, 404, 'model_not_found', 'model'],
      [{ model: 'image-2' }, 400, 'invalid_value', 'prompt'],
    ] as const
    for (const [body, status, code, param] of cases) {
      const answer = await generate(body)
      t.equal(answer.status, status, code)
      t.match(answer.body, { error: { code, param } })
    }
    const inside = await post(
      'edits',
      JSON.stringify({
        model: 'image-2',
        prompt: 'x',
        images: [{ image_url: 'http://127.0.0.1/a.png' }],
      }),
      json,
    )
    t.match(inside.body, { error: { param: 'images[0].image_url' } })
    t.equal(stack.sandbox.calls().length, before, 'nothing was sent')

    const ends = [
      ['black', 502, 'suspected_black_image_from_upstream'],
      ['fail=moderation_blocked', 400, 'content_policy_violation'],
      ['malformed', 502, 'upstream_error'],
      ['drop-after-accept', 502, 'upstream_unavailable'],
    ] as const
    for (const [fault, status, code] of ends) {
      const answer = await generate({ model: 'image-2', prompt: `x [[sandbox ${fault}]]` })
      t.equal(answer.status, status, fault)
      t.match(answer.body, { error: { code } })
      t.strictSame(await billed(answer.headers.get('x-call-id') ?? 'none'), {})
    }
    const unmeasured = await generate({
      model: 'image-2.5-flare',
      prompt: 'x [[sandbox no-usage]]',
    })
    t.equal(unmeasured.status, 502)
    t.equal(unmeasured.headers.get('x-should-retry'), 'false')
  },
)

void t.test('malformed and oversized forms are refused cleanly', async (t) => {
  const part = (name: string, value: string) =>
    `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const type = { 'content-type': 'multipart/form-data; boundary=b' }
  const many = Array.from({ length: 10_000 }, (_, n) => part(`f${n}`, 'v')).join('')
  const cases = [
    ['no boundary', 'x', { 'content-type': 'multipart/form-data' }],
    ['not a form', 'x', type],
    ['no parts', '--b--\r\n', type],
    ['cut', part('model', 'image-2').slice(0, -20), type],
    ['10,000 parts', `${many}--b--\r\n`, type],
    ['a huge field', `${part('prompt', 'x'.repeat(300_000))}--b--\r\n`, type],
    ['no model', `${part('prompt', 'x')}--b--\r\n`, type],
  ] as const
  for (const [what, body, headers] of cases) {
    const answer = await post('edits', body, headers)
    t.ok([400, 413].includes(answer.status), `${what}: ${answer.status}`)
    t.match(answer.body, { error: { message: String, type: 'invalid_request_error' } }, what)
  }
  const text = await post('edits', 'x', { 'content-type': 'text/plain' })
  t.equal(text.status, 415)
  t.notMatch(stack.logged(), /"level":50.*FST_/)
})

void t.test('the models are listed with their routes', async (t) => {
  const { body } = await call(`${url}/v1/models/image-2`, { token: demo.modelToken })
  t.match(body, { supported_endpoints: ['/v1/images/generations', '/v1/images/edits'] })
})

void t.test(
  'a 2.5 model streams through the SDK: previews, then the picture, settled',
  async (t) => {
    const file = await toFile(picture, 'boat.png', { type: 'image/png' })
    const asked = { model: 'image-2.5-flare', size: '1024x1024', stream: true } as const
    const streams = {
      image_generation: (prompt: string) =>
        client.images.generate({ ...asked, prompt, partial_images: 2 }).withResponse(),
      image_edit: (prompt: string) =>
        client.images.edit({ ...asked, prompt, image: file, partial_images: 2 }).withResponse(),
    }
    for (const [events, ask] of Object.entries(streams)) {
      const { data, response } = await ask(`a boat [[client=${events}]]`)
      const seen = []
      for await (const event of data) seen.push(event)
      t.strictSame(
        seen.map(({ type }) => type),
        [`${events}.partial_image`, `${events}.partial_image`, `${events}.completed`],
      )
      for (const { b64_json } of seen) t.equal(await sidesOf(t, b64_json), '1024x1024 png')
      const upstream = upstreamOf(events)
      t.match(seen.at(-1), {
        quality: 'low',
        usage: { output_tokens: upstream?.usage.output_tokens },
      })
      t.match(await billed(response.headers.get('x-call-id') ?? ''), {
        'image-2.5-image-output': upstream?.usage.output_tokens,
      })
    }
  },
)

void t.test(
  'image-2 streams its picture through the SDK as one settled event, without events upstream',
  async (t) => {
    const file = await toFile(picture, 'boat.png', { type: 'image/png' })
    const asked = { model: 'image-2', stream: true, partial_images: 2 } as const
    const streams = {
      image_generation: (prompt: string) =>
        client.images.generate({ ...asked, prompt }).withResponse(),
      image_edit: (prompt: string) =>
        client.images.edit({ ...asked, prompt, image: file }).withResponse(),
    }
    for (const [events, ask] of Object.entries(streams)) {
      const { data, response } = await ask(`a boat [[client=whole-${events}]]`)
      const seen = []
      for await (const event of data) seen.push(event)
      const [completed, ...others] = seen
      t.equal(others.length, 0)
      t.match(completed, {
        type: `${events}.completed`,
        created_at: Number,
        background: 'opaque',
        output_format: 'png',
        quality: 'low',
        size: '1024x1024',
        usage: { total_tokens: Number },
      })
      t.equal(await sidesOf(t, completed?.b64_json), '1024x1024 png')
      t.strictSame(await billed(response.headers.get('x-call-id') ?? ''), {
        'image-2-low-image': 1,
      })
      t.match(upstreamOf(`whole-${events}`), { stream: false, pictures: { count: 1 } })
    }
  },
)

void t.test('a stream of image-2 that fails is an exception of the SDK, and free', async (t) => {
  const ask = (prompt: string, more: object = {}) =>
    client.images.generate({ model: 'image-2', stream: true, prompt, ...more }).withResponse()
  await t.rejects(ask('x [[sandbox fail=moderation_blocked]]'), {
    status: 400,
    code: 'content_policy_violation',
  })
  await t.rejects(ask('x [[sandbox malformed]]'), { status: 502, code: 'upstream_error' })
  await t.rejects(ask('x', { n: 2 }), { status: 400, code: 'invalid_value', param: 'n' })
  const { data, response } = await ask('x [[sandbox black]]')
  await t.rejects(
    async () => {
      for await (const event of data) t.fail(event.type)
    },
    { code: 'suspected_black_image_from_upstream' },
  )
  t.strictSame(await billed(response.headers.get('x-call-id') ?? ''), {})
})

void t.test('a stream of image-2 with a URL leads to the kept picture', async (t) => {
  const answer = await generate({
    model: 'image-2',
    prompt: 'a boat',
    stream: true,
    response_format: 'url',
  })
  t.match(answer.headers.get('content-type'), 'text/event-stream')
  const [, data = ''] = /^event: image_generation\.completed\ndata: (.*)$/m.exec(answer.text) ?? []
  const { url: place, b64_json } = JSON.parse(data)
  t.equal(b64_json, undefined)
  t.equal((await fetch(place)).headers.get('content-type'), 'image/png')
  t.ok(answer.text.endsWith('\n\ndata: [DONE]\n\n'))
})

void t.test('a stream that is cut, black or without usage costs nothing', async (t) => {
  for (const fault of ['error-after=1', 'cut-after=1', 'no-usage', 'black']) {
    const { data, response } = await client.images
      .generate({
        model: 'image-2.5-flare',
        size: '1024x1024',
        stream: true,
        partial_images: 1,
        prompt: `[[sandbox ${fault}]]`,
      })
      .withResponse()
    const seen: string[] = []
    await t.rejects(
      (async () => {
        for await (const { type } of data) seen.push(type)
      })(),
      { message: /./ },
      fault,
    )
    t.strictSame(seen, ['image_generation.partial_image'], fault)
    t.strictSame(await billed(response.headers.get('x-call-id') ?? ''), {}, fault)
  }
})
