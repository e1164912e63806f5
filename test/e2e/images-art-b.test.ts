import OpenAI from 'openai'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { startS3Server } from '../helpers/s3-server.ts'
import { startStack } from '../helpers/stack.ts'
import { call, queriesOf } from './support/client.ts'

const media = await startS3Server()
const { endpoint, bucket, accessKeyId, secretAccessKey } = media.options
const stack = await startStack({
  hosts: { 'media.example.com': ['93.184.216.34'] },
  env: {
    OBJECT_STORAGE: 's3',
    S3_ENDPOINT: endpoint,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: accessKeyId,
    S3_SECRET_ACCESS_KEY: secretAccessKey,
  },
})
t.teardown(async () => {
  await stack.stop()
  await media.stop()
})
const { url, demo } = stack
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: demo.modelToken, maxRetries: 0 })
const finance = queriesOf(url, demo.queryToken)
const json = { 'content-type': 'application/json' }
/** The smallest pictures there are cost least to make. */
const pro = { model: 'artB-5.0-pro', size: '1280x720' }
const lite = { model: 'artB-5.0-lite', size: '2560x1440' }

let named = 0
const name = () => `art-${(named += 1)}`

function generate(body: object) {
  const init = { method: 'POST', token: demo.modelToken, headers: json }
  return call(`${url}/v1/images/generations`, { ...init, body: JSON.stringify(body) })
}

function upstreamOf(marker: string) {
  const [found, ...more] = stack.sandbox
    .calls()
    .filter(({ client_marker }) => client_marker === marker)
  if (found === undefined || more.length > 0) throw new Error(`not one call of ${marker}`)
  return found
}

async function linesOf(callId: string | null) {
  await stack.caughtUp()
  const { items } = (await finance.lines(`source_id=${callId}`)).body.data
  return items as readonly { sku: string; quantity: number; currency: string; rule: string }[]
}

async function billed(callId: string | null): Promise<Record<string, number>> {
  return Object.fromEntries((await linesOf(callId)).map(({ sku, quantity }) => [sku, quantity]))
}

/** What lies at a URL of the gateway's own. */
async function kept(t: Test, at: unknown): Promise<string> {
  t.equal(new URL(String(at)).origin, endpoint, 'no URL of the provider is handed out')
  const response = await fetch(String(at))
  return sides(Buffer.from(await response.arrayBuffer()))
}

async function sides(bytes: Buffer): Promise<string> {
  const { width, height, format } = await sharp(bytes).metadata()
  return `${width}x${height} ${format}`
}

void t.test('the models are listed with their one route', async (t) => {
  for (const model of ['artB-5.0', 'artB-5.0-lite', 'artB-5.0-pro'])
    t.match(await client.models.retrieve(model), {
      supported_endpoints: ['/v1/images/generations'],
    })
})

void t.test(
  'a picture by URL, the default: stored by the gateway, billed by the picture',
  async (t) => {
    const marker = name()
    const { data, response } = await client.images
      .generate({ ...lite, prompt: `a boat [[client=${marker}]]` } as OpenAI.ImageGenerateParams)
      .withResponse()
    const { data: items = [], created } = data as OpenAI.ImagesResponse
    t.equal(items.length, 1)
    t.equal(await kept(t, items[0]?.url), '2560x1440 jpeg')
    t.match(items[0], { size: '2560x1440', output_format: 'jpeg' })
    t.ok(created > 0)
    t.match(data, {
      model: 'artB-5.0-lite',
      usage: { output_tokens: 14_400, total_tokens: 14_400 },
    })
    const callId = response.headers.get('x-call-id')
    t.match(await linesOf(callId), [
      { sku: 'artB-5.0-lite-image', quantity: 1, currency: 'CNY', rule: 'art-b/picture' },
    ])
    t.match(upstreamOf(marker), { requested_model: 'drawing-5-0-lite-260128', success: true })
  },
)

void t.test('a base64 picture by a version is billed by the name of its model', async (t) => {
  const marker = name()
  const { data, response } = await client.images
    .generate({
      ...pro,
      model: 'artB-5-0-pro-260628',
      prompt: `a boat [[client=${marker}]]`,
      response_format: 'b64_json',
      n: 1,
      quality: 'high',
      style: 'vivid',
      output_format: 'png',
    } as OpenAI.ImageGenerateParamsNonStreaming)
    .withResponse()
  t.equal(await sides(Buffer.from(data.data?.[0]?.b64_json ?? '', 'base64')), '1280x720 png')
  t.match(data, { model: 'artB-5.0-pro' })
  t.same(await billed(response.headers.get('x-call-id')), { 'artB-5.0-pro-image': 1 })
})

const group = (max_images: number) => ({
  sequential_image_generation: 'auto',
  sequential_image_generation_options: { max_images },
})

void t.test('a group partly made delivers and bills the made pictures only', async (t) => {
  for (const [fault, data, count] of [
    [
      'some-fail=1',
      [{ error: { code: 'content_policy_violation' } }, { url: /./ }, { url: /./ }],
      2,
    ],
    ['group-stop=1', [{ url: /./ }, { error: { code: 'InternalServiceError' } }], 1],
    // Made, and taken away by a filter: ours to pay.
    ['one-black', [{ error: { code: 'suspected_black_image_from_upstream' } }, { url: /./ }], 2],
  ] as const) {
    const marker = name()
    const prompt = `four seasons [[sandbox ${fault}]] [[client=${marker}]]`
    const answer = await generate({ ...lite, ...group(3), prompt })
    t.equal(answer.status, 200, fault)
    t.match(answer.body.data, data, fault)
    t.same(await billed(answer.headers.get('x-call-id')), { 'artB-5.0-lite-image': count })
    const lost = fault === 'one-black' ? 1 : 0
    t.equal(upstreamOf(marker).pictures?.count, count + lost, 'as the provider has it')
  }
})

void t.test('a call without any picture is refused with its reason, and not billed', async (t) => {
  const cases = [
    ['some-fail=2', 400, 'content_policy_violation'],
    ['fail=InputTextSensitiveContentDetected', 400, 'content_policy_violation'],
    ['group-stop=0', 502, 'upstream_unavailable'],
    ['black', 502, 'suspected_black_image_from_upstream'],
    ['other-size', 502, 'upstream_error'],
    ['fail=InvalidParameter', 400, 'InvalidParameter'],
    ['fail=AccountOverdueError', 503, 'model_unavailable'],
  ] as const
  for (const [fault, status, code] of cases) {
    const answer = await generate({ ...lite, ...group(2), prompt: `[[sandbox ${fault}]]` })
    t.match(answer, { status, body: { error: { code } } }, fault)
    t.same(await linesOf(answer.headers.get('x-call-id')), [])
  }
})

void t.test('a result that cannot be fetched is refused and not billed', async (t) => {
  for (const [fault, status] of [
    ['http=404', 502],
    ['garbage', 502],
    ['truncated', 502],
    ['drop-before-accept', 502],
  ] as const) {
    stack.sandbox.faults.add({ faults: [fault], match: { family: 'art-b', op: 'media' } })
    const answer = await generate({ ...pro, prompt: 'a boat' })
    stack.sandbox.faults.clear()
    t.equal(answer.status, status, fault)
    t.same(await linesOf(answer.headers.get('x-call-id')), [])
    t.notMatch(answer.text, /127\.0\.0\.1|X-Tos/)
  }
})

void t.test('searches are billed by their count', async (t) => {
  const tools = [{ type: 'web_search' }]
  for (const searches of [0, 3]) {
    const prompt = `[[sandbox tool-searches=${searches}]]`
    const answer = await generate({ ...lite, tools, prompt, response_format: 'b64_json' })
    const lines = { 'artB-5.0-lite-image': 1, ...(searches > 0 ? { 'web-search-call': 3 } : {}) }
    t.same(await billed(answer.headers.get('x-call-id')), lines)
  }
})

void t.test('an invalid order is refused before a request is sent', async (t) => {
  const before = stack.sandbox.calls().length
  const bare = Buffer.alloc(600).toString('base64')
  const cases = [
    [{ image: bare }, 'InvalidParameter', 'image', /invalid url specified/],
    [{ image: ['http://127.0.0.1/a.png'] }, 'invalid_value', 'image[0]', /publicly/],
    [{ image: 'https://unknown.example/a.png' }, 'invalid_value', 'image', /publicly routable/],
    [{ image: 'data:image/png;base64,AAAA' }, 'invalid_value', 'image', /PNG/],
    [{ n: 2 }, 'n_not_supported', 'n', /sequential_image_generation/],
    [{ size: '1K' }, 'invalid_value', 'size', /2K, 3K, 4K/],
    [{ ...pro, stream: true }, 'invalid_value', 'stream', /does not stream/],
    [{ stream: true, size: '10x10' }, 'invalid_value', 'size', /pixels/],
  ] as const
  for (const [fields, code, param, message] of cases) {
    const answer = await generate({ ...lite, prompt: 'a boat', ...fields })
    t.match(answer, { status: 400, body: { error: { code, param, message } } })
  }
  const edit = await call(`${url}/v1/images/edits`, {
    method: 'POST',
    token: demo.modelToken,
    headers: json,
    body: JSON.stringify({ ...lite, prompt: 'a boat', images: [] }),
  })
  t.match(edit, { status: 400, body: { error: { param: 'model', message: /edit/ } } })
  t.equal(stack.sandbox.calls().length, before)
})

interface Event {
  readonly type: string
  readonly url?: string
  readonly b64_json?: string
  readonly image_index?: number
  readonly usage?: object
}

async function streamed(body: object) {
  const { data, response } = await client.images
    .generate({ ...lite, stream: true, ...body } as OpenAI.ImageGenerateParamsStreaming)
    .withResponse()
  const events: Event[] = []
  let error: unknown
  try {
    for await (const event of data) events.push(event)
  } catch (thrown) {
    error = thrown
  }
  return { events, error, callId: response.headers.get('x-call-id') }
}

void t.test('a streamed group through the SDK is stored as it comes, settled whole', async (t) => {
  const marker = name()
  const prompt = `[[sandbox first-byte-ms=200]] [[client=${marker}]]`
  const { events, error, callId } = await streamed({ ...group(3), prompt })
  t.equal(error, undefined)
  t.same(
    events.map(({ type }) => type.split('.')[1]),
    ['partial_succeeded', 'partial_succeeded', 'partial_succeeded', 'completed'],
  )
  for (const event of events.slice(0, 3)) t.equal(await kept(t, event.url), '2560x1440 jpeg')
  t.match(events.at(-1), { model: 'artB-5.0-lite', usage: { generated_images: 3 } })
  t.same(await billed(callId), { 'artB-5.0-lite-image': 3 })
  t.match(upstreamOf(marker), { stream: true, pictures: { count: 3 }, ending: 'whole' })
})

void t.test('a stream in base64, and a stream with a picture refused by moderation', async (t) => {
  const { events } = await streamed({ prompt: 'a boat', response_format: 'b64_json' })
  t.equal(await sides(Buffer.from(events[0]?.b64_json ?? '', 'base64')), '2560x1440 jpeg')
  // The SDK takes any event with an `error` for the end; what was made is billed all the same.
  const partly = await streamed({ ...group(2), prompt: '[[sandbox some-fail=1]]' })
  t.match(partly.error, { code: 'content_policy_violation' })
  await eventually('settled', async () =>
    (await linesOf(partly.callId)).length > 0 ? true : undefined,
  )
  t.same(await billed(partly.callId), { 'artB-5.0-lite-image': 1 })
})

void t.test('a stream that upstream breaks off ends in an error and costs nothing', async (t) => {
  for (const fault of ['error-after=1', 'cut-after=1']) {
    const prompt = `[[sandbox ${fault}]]`
    const { events, error, callId } = await streamed({ ...group(3), prompt })
    t.same(
      events.map(({ type }) => type),
      ['image_generation.partial_succeeded'],
    )
    t.match(error, { message: /\w/ })
    t.same(await linesOf(callId), [])
  }
})

void t.test('a stream that upstream refuses is a plain answer', async (t) => {
  const prompt = '[[sandbox fail=InputTextSensitiveContentDetected]]'
  const answer = await generate({ ...lite, stream: true, prompt })
  t.match(answer, { status: 400, body: { error: { code: 'content_policy_violation' } } })
  t.match(answer.headers.get('content-type'), /^application\/json/)
})

void t.test('a stream whose caller leaves is read to its end and settled', async (t) => {
  const marker = name()
  const leaving = new AbortController()
  const response = await fetch(`${url}/v1/images/generations`, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${demo.modelToken}` },
    body: JSON.stringify({
      ...lite,
      ...group(2),
      stream: true,
      prompt: `[[sandbox frame-ms=150]] [[client=${marker}]]`,
    }),
    signal: leaving.signal,
  })
  await response.body?.getReader().read()
  leaving.abort()
  const callId = response.headers.get('x-call-id')
  const lines = await eventually('settled', async () => {
    const found = await billed(callId)
    return Object.keys(found).length > 0 ? found : undefined
  })
  t.same(lines, { 'artB-5.0-lite-image': 2 })
  t.equal(upstreamOf(marker).ending, 'whole')
})

/** Waits until a store without trouble is relied on again, whatever was before. */
async function reliedOn(): Promise<void> {
  media.trouble('none')
  await eventually('the store is relied on', async () =>
    (await generate({ ...pro, prompt: 'a boat' })).status === 200 ? true : undefined,
  )
}

void t.test('a busy or full store is an error, and not billed', async (t) => {
  for (const [trouble, body] of [
    ['busy', lite],
    ['full', { ...lite, ...group(2) }],
  ] as const) {
    await reliedOn()
    media.trouble(trouble)
    const marker = name()
    const answer = await generate({ ...body, prompt: `a boat [[client=${marker}]]` })
    // A failure is remembered for two seconds, in which a busy machine may not ask again.
    const next = await eventually('a refusal before anything is made', async () => {
      const before = stack.sandbox.calls().length
      const asked = await generate({ ...body, prompt: 'a boat' })
      return stack.sandbox.calls().length === before ? asked : undefined
    })
    t.match(next, { status: 503, body: { error: { code: 'service_unavailable' } } })
    t.ok(next.headers.get('retry-after'), 'nothing was started: it may be asked again')
    t.match(answer, {
      status: 503,
      body: {
        error: { code: 'storage_unavailable', type: 'server_error', message: /not billed/ },
      },
    })
    t.equal(answer.headers.get('x-should-retry'), 'false', 'made again it would cost again')
    t.same(await linesOf(answer.headers.get('x-call-id')), [])
    t.ok((upstreamOf(marker).pictures?.count ?? 0) > 0, 'the provider has made it')

    const inBase64 = await generate({ ...lite, prompt: 'a boat', response_format: 'b64_json' })
    t.equal(inBase64.status, 200, 'who needs no store does not notice')
  }
  media.trouble('none')
})

void t.test('a store that fails during a stream: only stored pictures are billed', async (t) => {
  await reliedOn()
  media.trouble('full', 1)
  const answer = await fetch(`${url}/v1/images/generations`, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${demo.modelToken}` },
    body: JSON.stringify({
      ...lite,
      ...group(3),
      stream: true,
      prompt: 'a boat',
    }),
  })
  const seen = await answer.text()
  media.trouble('none')
  const events = [...seen.matchAll(/^event: image_generation\.(\w+)/gm)].map(([, type]) => type)
  t.same(events, ['partial_succeeded', 'partial_failed', 'partial_failed', 'completed'])
  t.match(seen, /"code":"storage_unavailable"/)
  t.same(await billed(answer.headers.get('x-call-id')), { 'artB-5.0-lite-image': 1 })
})
