import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI, { toFile } from 'openai'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { gen } from '../../src/families/gen/module.ts'
import { sharedStack } from '../helpers/stack.ts'
import { call, queriesOf } from './support/client.ts'

const FLASH = 'gen-3.1-flash-image'
const PRO = 'gen-3-pro-image-preview'

const stack = await sharedStack(t)
const callsBefore = stack.sandbox.calls({ family: 'gen' }).length
const { url, demo } = stack
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: demo.modelToken, maxRetries: 0 })
const finance = queriesOf(url, demo.queryToken)

const pictureOf = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#36c' } })
    .png()
    .toBuffer()
const picture = await pictureOf(64, 48)

/** What callers' URLs lead to. */
const asked: string[] = []
const media = createServer((request, response) => {
  const path = request.url ?? ''
  asked.push(path)
  if (path === '/endless') {
    const timer = setInterval(() => response.write(Buffer.alloc(1 << 20)), 1)
    response.on('close', () => clearInterval(timer))
  } else if (path === '/inside') {
    response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end()
  } else if (path === '/away') response.writeHead(302, { location: '/picture' }).end()
  else if (path === '/text') response.end('<html>no picture</html>')
  else if (path === '/missing') response.writeHead(404).end()
  else response.end(picture)
})
media.listen(0, '127.0.0.1')
await once(media, 'listening')
t.teardown(() => {
  media.closeAllConnections()
  media.close()
})
const { port } = media.address() as AddressInfo
const at = (path: string, host = 'media.example.com') => `http://${host}:${port}${path}`

function post(path: string, body: string | FormData, token = demo.modelToken) {
  const headers = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
  return call(`${url}/v1/images/${path}`, { method: 'POST', token, body, headers })
}
const generate = (body: object) => post('generations', JSON.stringify(body))

function form(
  fields: Readonly<Record<string, string | readonly string[]>>,
  files: readonly (readonly [string, Buffer])[] = [],
) {
  const made = new FormData()
  for (const [name, value] of Object.entries({ model: FLASH, prompt: 'red', ...fields }))
    for (const one of typeof value === 'string' ? [value] : value) made.append(name, one)
  for (const [name, bytes] of files) made.append(name, new Blob([new Uint8Array(bytes)]), 'x.png')
  return made
}

interface Line {
  readonly sku: string
  readonly quantity: number
  readonly rule: string
}

async function linesOf(answer: { readonly headers: Headers }): Promise<readonly Line[]> {
  await stack.caughtUp()
  const { items } = (await finance.lines(`source_id=${answer.headers.get('x-call-id') ?? 'none'}`))
    .body.data
  return items
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

void t.test('a generation of a tier and a ratio is settled as one picture', async (t) => {
  // The client knows no aspect ratio, and sends what it gets.
  const body = { prompt: 'a boat [[client=g1]] [[sandbox words=2]]', aspect_ratio: '16:9' }
  const { data, response } = await client.images
    .generate({ model: FLASH, size: '512', ...body })
    .withResponse()
  t.equal(await sidesOf(t, data.data?.[0]?.b64_json), '688x384 png')
  t.match(data.data, [{ revised_prompt: 'word0 word1' }])
  t.match(data.usage, { input_tokens_details: { text_tokens: Number }, total_tokens: Number })
  t.match(await linesOf(response), [
    { sku: `${FLASH}-512-image`, quantity: 1, rule: 'gen/picture/requested-size' },
  ])
  t.match(upstreamOf('g1'), { pictures: { count: 1, size: '512' }, success: true })
})

void t.test('an edit through the SDK has the size of its base picture', async (t) => {
  const base = await toFile(await pictureOf(1600, 2400), 'boat.png', { type: 'image/png' })
  const file = await toFile(picture, 'mask.png', { type: 'image/png' })
  const { data, response } = await client.images
    .edit({ model: PRO, prompt: 'red [[client=e1]]', image: [base, file], mask: file })
    .withResponse()
  t.equal(await sidesOf(t, data.data?.[0]?.b64_json), '1680x2512 png')
  t.match(await linesOf(response), [
    { sku: `${PRO}-2k-image`, quantity: 1, rule: 'gen/picture/inferred-size' },
  ])
  t.match(upstreamOf('e1'), { pictures: { count: 1, size: '2K' } })
  t.match(upstreamOf('e1')?.wire_usage, {
    promptTokensDetails: [{ modality: 'TEXT' }, { modality: 'IMAGE', tokenCount: 3 * 258 }],
  })
})

void t.test('a stream, which these models have not, is an exception of the SDK', async (t) => {
  const asked = { model: FLASH, prompt: 'red', stream: true } as const
  const image = await toFile(picture, 'boat.png', { type: 'image/png' })
  const refusal = { status: 400, code: 'invalid_value', param: 'stream' }
  await t.rejects(client.images.generate(asked), refusal)
  await t.rejects(client.images.edit({ ...asked, image }), refusal)
})

void t.test('files and URLs are mixed, and the gateway fetches the URLs', async (t) => {
  const mixed = form(
    { prompt: 'red [[client=e2]]', size: '512', 'image_urls[]': [at('/picture'), at('/away')] },
    [
      ['image', picture],
      ['image[]', picture],
    ],
  )
  const answer = await post('edits', mixed)
  t.equal(answer.status, 200)
  t.equal(await sidesOf(t, answer.body.data[0].b64_json), '592x448 png')
  t.match(upstreamOf('e2')?.wire_usage, {
    promptTokensDetails: [{ modality: 'TEXT' }, { modality: 'IMAGE', tokenCount: 4 * 258 }],
  })
  const json = await post(
    'edits',
    JSON.stringify({
      model: FLASH,
      prompt: 'blue',
      size: '512',
      images: [{ image_url: `data:image/png;base64,${picture.toString('base64')}` }],
      image_urls: [at('/picture')],
    }),
  )
  t.equal(json.status, 200)
})

void t.test('an invalid order is refused naming the field, and no request is sent', async (t) => {
  const before = stack.sandbox.calls().length
  const large = Buffer.alloc(10 * 1024 * 1024)
  picture.copy(large)
  const cases = [
    [{ size: '8K' }, [['image', picture]], 400, 'invalid_value', 'size'],
    [{ aspect_ratio: '2:7' }, [['image', picture]], 400, 'invalid_value', 'aspect_ratio'],
    [{ n: '2' }, [['image', picture]], 400, 'n_not_supported', 'n'],
    [{}, [], 400, 'invalid_value', 'image'],
    [{}, [['image[]', large]], 413, 'image_too_large', 'image[]'],
    [{ 'image_urls[]': at('/endless') }, [], 413, 'image_too_large', 'image_urls[0]'],
    [{ 'image_urls[]': [at('/picture'), at('/text')] }, [], 400, 'invalid_value', 'image_urls[1]'],
    [{ 'image_urls[]': at('/missing') }, [], 400, 'invalid_value', 'image_urls[0]'],
    [{ 'image_urls[]': at('/inside') }, [], 400, 'invalid_value', 'image_urls[0]'],
    [{ 'image_urls[]': at('/', 'inside.example.com') }, [], 400, 'invalid_value', 'image_urls[0]'],
    [{ 'image_urls[]': at('/', '127.0.0.1') }, [], 400, 'invalid_value', 'image_urls[0]'],
    [{ 'image_urls[]': at('/', 'localhost') }, [], 400, 'invalid_value', 'image_urls[0]'],
    [{ 'image_urls[]': at('/', 'unknown.example.com') }, [], 400, 'invalid_value', 'image_urls[0]'],
  ] as const
  for (const [fields, files, status, code, param] of cases) {
    const answer = await post('edits', form(fields, files))
    const what = JSON.stringify(fields)
    t.equal(answer.status, status, what)
    t.match(answer.body, { error: { code, param, message: String } }, what)
    t.notOk(answer.body.usage, 'no usage with it')
  }
  const url503 = await generate({ model: FLASH, prompt: 'x', response_format: 'url' })
  t.match(url503.body, { error: { code: 'image_url_not_available' } })
  t.equal(stack.sandbox.calls().length, before, 'nothing was sent')
  t.notMatch(stack.logged(), /media\.example\.com/, 'and no URL is logged')
})

void t.test('no URL is fetched for a token without the model', async (t) => {
  const { secret } = await issueToken(stack.access, {
    tenantId: demo.tenantId,
    userId: demo.userId,
    kind: 'model',
    name: 'pictures of another family',
    models: ['image-2'],
  })
  const before = asked.length
  const answer = await post('edits', form({ 'image_urls[]': at('/picture') }), secret)
  t.match([answer.status, answer.body.error.code], [403, 'model_not_allowed'])
  t.equal(asked.length, before)
})

void t.test('without a picture the input is billed, unless policy refused it', async (t) => {
  const none = await generate({
    model: PRO,
    prompt: 'x [[client=n1]] [[sandbox no-image=IMAGE_OTHER]]',
  })
  t.equal(none.status, 422)
  const usage = upstreamOf('n1')?.usage
  t.match(none.body, {
    error: {
      message: 'No image was produced: IMAGE_OTHER',
      type: 'gateway_error',
      param: null,
      code: 'no_image_generated',
    },
    usage: {
      input_tokens: usage?.input_tokens,
      output_tokens: usage?.output_tokens,
      input_tokens_details: { text_tokens: usage?.input_tokens, image_tokens: 0 },
    },
  })
  t.match(await linesOf(none), [
    {
      sku: `${PRO}-input-token`,
      quantity: usage?.input_tokens,
      rule: 'gen/input-tokens/no-picture',
    },
  ])
  const free = [
    ['no-image=IMAGE_SAFETY', 400, 'content_policy_violation'],
    ['blocked', 400, 'content_policy_violation'],
    ['no-image=NO_IMAGE no-usage', 422, 'no_image_generated'],
    ['black]] [[client=black', 502, 'suspected_black_image_from_upstream'],
    ['fail=INVALID_ARGUMENT', 400, 'invalid_request'],
    ['malformed', 502, 'upstream_error'],
    ['drop-after-accept', 502, 'upstream_unavailable'],
  ] as const
  for (const [fault, status, code] of free) {
    const answer = await generate({ model: FLASH, size: '512', prompt: `x [[sandbox ${fault}]]` })
    t.match([answer.status, answer.body.error.code], [status, code], fault)
    t.notOk(answer.body.usage, fault)
    t.same(await linesOf(answer), [], fault)
  }
})

void t.test('the ledger has exactly the pictures of the provider’s record', async (t) => {
  await stack.caughtUp()
  const { items } = (await finance.lines('limit=100')).body.data
  const external = new Map(
    Object.entries(gen.sandbox[0]!.models).map(([ours, theirs]) => [theirs, ours]),
  )
  const expected = stack.sandbox
    .calls({ family: 'gen' })
    .slice(callsBefore)
    .filter(({ ending, client_marker }) => ending === 'whole' && client_marker !== 'black')
    .flatMap(({ model, pictures, client_marker, usage }) => {
      const name = external.get(model) ?? model
      if (pictures?.count === 1) return [`1 ${name}-${pictures.size.toLowerCase()}-image`]
      return client_marker === 'n1' ? [`${usage.input_tokens} ${name}-input-token`] : []
    })
  t.equal(expected.length, 5)
  t.same(
    (items as Line[]).map(({ sku, quantity }) => `${quantity} ${sku}`).sort(),
    expected.toSorted(),
  )
})
