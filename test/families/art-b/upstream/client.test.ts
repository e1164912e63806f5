import { catalog } from '../../../../src/families/index.ts'
import sharp from 'sharp'
import t from 'tap'
import { startSandbox } from '../../../../infra/sandbox/server.ts'
import { sandboxChannels } from '../../../../src/app/channels/sandbox.ts'
import { type Channel, ProviderError } from '../../../../src/app/ports/provider.ts'
import type { ImageCall, ImageEvent, ImageItem } from '../../../../src/app/ports/images.ts'
import { readArtBOrder } from '../../../../src/families/art-b/rules/request.ts'
import { createImageProvider } from '../../../../src/families/kit/image/client.ts'
import { artBWire } from '../../../../src/families/art-b/upstream/wire.ts'
import { artB } from '../../../../src/families/art-b/module.ts'
import { order } from '../rules/orders.ts'

const sandbox = await startSandbox()
t.teardown(() => sandbox.close())
const provider = createImageProvider(artBWire)
t.teardown(() => provider.close())
const [channel] = sandboxChannels(catalog, artB.sandbox, { baseUrl: sandbox.url }) as [Channel]
const options = { signal: new AbortController().signal, requestId: 'req_1' }
const SIZE = '2560x1440'
const TOKENS = (2560 * 1440) / 256
let marks = 0

function callOf(
  prompt: string,
  fields: Readonly<Record<string, unknown>> = {},
  model = 'artB-5.0-lite',
): ImageCall {
  const size = model === 'artB-5.0-pro' ? '1280x720' : SIZE
  const { inputs, ...read } = readArtBOrder(order({ size, prompt, ...fields }, model))
  const upstreamModel = channel.models[read.model] ?? ''
  return {
    ...read,
    mask: undefined,
    inputs: inputs.flatMap((one) => (one.from === 'url' ? [one] : [])),
    upstreamModel,
  }
}

const make = (...asked: Parameters<typeof callOf>) =>
  provider.make(channel, callOf(...asked), options)
const group = (max: number) => ({
  sequential_image_generation: 'auto',
  sequential_image_generation_options: { max_images: max },
})

async function failing(work: Promise<unknown>): Promise<ProviderError> {
  try {
    await work
  } catch (error) {
    if (error instanceof ProviderError) return error
    throw error
  }
  throw new Error('it did not fail')
}

const codes = (items: readonly ImageItem[]) =>
  items.map((item) => ('error' in item ? item.error.code : 'made'))

async function fetched(item: ImageItem | undefined): Promise<string> {
  if (item === undefined || 'error' in item || !('url' in item.picture)) return 'no URL'
  const response = await fetch(item.picture.url)
  const { width, height, format } = await sharp(await response.arrayBuffer()).metadata()
  return `${width}x${height} ${format}`
}

void t.test('a picture by URL is real, with upstream’s report of it', async (t) => {
  const answer = await make('a boat')
  t.equal(await fetched(answer.items[0]), `${SIZE} jpeg`)
  t.match(answer, {
    items: [{ shown: { size: SIZE, output_format: 'jpeg' } }],
    shown: { model: 'artB-5.0-lite', usage: { generated_images: 1, output_tokens: TOKENS } },
    seen: { usage: { image: 1, 'output-token': TOKENS } },
    failure: undefined,
    createdS: Number,
  })
  t.match(answer.upstreamRequestId, /\w/)
  const [sent] = sandbox.requestLog().slice(0, 1)
  t.match(sent?.url, '/api/v3/images/generations')
})

void t.test('a picture in base64 without a prefix, and its creation time', async (t) => {
  const answer = await make(
    '[[sandbox created-at]]',
    { response_format: 'b64_json', output_format: 'png' },
    'artB-5.0-pro',
  )
  const [item] = answer.items
  const base64 = item && 'picture' in item && 'base64' in item.picture ? item.picture.base64 : ''
  t.match(await sharp(Buffer.from(String(base64), 'base64')).metadata(), {
    width: 1280,
    format: 'png',
  })
  t.ok((answer.createdS ?? 0) > 1_700_000_000)
})

void t.test('one input picture is sent as text, several as a list', async (t) => {
  const image = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  const uri = `data:image/png;base64,${image.toString('base64')}`
  for (const [sent, count] of [
    [uri, 1],
    [[uri, 'https://media.example.com/a.png'], 2],
  ] as const)
    t.match((await make('a boat', { image: sent })).shown, { usage: { input_images: count } })
})

void t.test('a partly made group has errors among pictures, and counts the pictures', async (t) => {
  const some = await make('[[sandbox some-fail=1]]', group(3))
  t.same(codes(some.items), ['content_policy_violation', 'made', 'made'])
  t.match(some.seen.usage, { image: 2, 'output-token': 2 * TOKENS })
  t.equal(some.failure, undefined)
  t.notMatch(JSON.stringify(some.items[0]), /request id/i)
  const stopped = await make('[[sandbox group-stop=1]]', group(3))
  t.same(codes(stopped.items), ['made', 'InternalServiceError'])
  t.equal(stopped.seen.usage['image'], 1)
})

void t.test('a call without a picture fails with a known code, and bills nothing', async (t) => {
  const cases = [
    ['some-fail=2', 'content_policy_violation'],
    ['group-stop=0', 'upstream_unavailable'],
    ['no-image=OutputImageSensitiveContentDetected', 'content_policy_violation'],
    ['no-image=InternalServiceError', 'upstream_unavailable'],
  ] as const
  for (const [fault, code] of cases) {
    const { failure, seen } = await make(`[[sandbox ${fault}]]`, group(2))
    t.match(failure, { code, isBilled: false }, fault)
    t.equal(seen.usage['image'], 0)
  }
})

void t.test('searches are counted from upstream’s report', async (t) => {
  const search = { tools: [{ type: 'web_search' }] }
  const counted = async (prompt: string, fields = {}) =>
    (await make(prompt, fields)).seen.usage['web-search-call']
  t.equal(await counted('[[sandbox tool-searches=3]]', search), 3)
  t.equal(await counted('[[sandbox tool-searches=0]]', search), 0)
  t.equal(await counted('a boat'), undefined)
  t.equal(await counted('[[sandbox no-usage]]', search), undefined)
})

void t.test('without usage the pictures are counted; an explicit zero is kept', async (t) => {
  t.same((await make('[[sandbox no-usage]]', group(2))).seen.usage, { image: 2 })
  t.equal((await make('[[sandbox zero-usage]]', group(2))).seen.usage['image'], 0)
})

void t.test('layers have their order and position', async (t) => {
  const { items, seen } = await make('[[sandbox layers=3]]', {}, 'artB-5.0-pro')
  t.equal(seen.usage['image'], 3)
  t.match(items[2], {
    shown: {
      z_index: 2,
      name: 'layer 2',
      description: /\w/,
      bounding_box: { absolute: [0, 0, 1280, 720], normalized: [0, 0, 1, 1] },
    },
  })
})

void t.test('refusals have a kind and a known code', async (t) => {
  const cases = [
    ['fail=InputTextSensitiveContentDetected', 'invalid', 'content_policy_violation'],
    ['fail=OutputImageSensitiveContentDetected', 'invalid', 'content_policy_violation'],
    ['fail=InvalidParameter', 'invalid', 'InvalidParameter'],
    ['fail=ModelNotOpen', 'account', 'ModelNotOpen'],
    ['fail=AccountOverdueError', 'account', 'AccountOverdueError'],
    ['fail=QuotaExceeded', 'rate_limited', 'QuotaExceeded'],
    ['fail=InternalServiceError', 'unavailable', 'InternalServiceError'],
    ['http=502', 'unavailable', undefined],
    ['garbage', 'malformed', undefined],
    ['malformed', 'malformed', undefined],
    ['drop-after-accept', 'unavailable', undefined],
  ] as const
  for (const [fault, kind, code] of cases) {
    const error = await failing(make(`[[sandbox ${fault}]]`, {}, 'artB-5.0-pro'))
    t.match(error, { kind, code }, fault)
    t.notMatch(error.message, /drawing|request id/i)
  }
})

async function streamed(prompt: string, fields: Readonly<Record<string, unknown>> = {}) {
  marks += 1
  const call = callOf(`${prompt} [[client=stream-${marks}]]`, { stream: true, ...fields })
  const source = await provider.stream?.(channel, call, options)
  if (source === undefined) throw new Error('the family streams')
  const events: ImageEvent[] = []
  let error: unknown
  try {
    for (let more = await source.read(); more !== undefined; more = await source.read())
      events.push(...more)
  } catch (thrown) {
    error = thrown
  }
  return { events, tally: source.tally(), error }
}

const summaryOf = (events: readonly ImageEvent[]) =>
  events.map((event) => (event.kind === 'frame' ? event.frame.event : 'picture'))

void t.test('a streamed group has pictures, a failed one, and its usage at the end', async (t) => {
  for (const shape of ['', 'crlf', 'split-bytes', 'keep-alive', 'no-done']) {
    const { events, tally, error } = await streamed(`[[sandbox some-fail=1 ${shape}]]`, group(3))
    t.equal(error, undefined, shape)
    t.same(summaryOf(events), [
      'image_generation.partial_failed',
      'picture',
      'picture',
      'image_generation.completed',
    ])
    t.same(
      events.map((event) => event.terminal),
      [false, false, true, true],
      'the last that was asked for is the result whole',
    )
    t.match(tally, { usage: { image: 2, 'output-token': 2 * TOKENS }, finished: true })
    const [failed, picture] = events
    t.match(failed?.kind === 'frame' && JSON.parse(failed.frame.data), {
      type: 'image_generation.partial_failed',
      model: 'artB-5.0-lite',
      image_index: 0,
      error: { code: 'content_policy_violation' },
    })
    if (picture?.kind !== 'picture') throw new Error('a picture comes second')
    t.match(JSON.parse(picture.delivered({ url: 'ours', size: SIZE }).data), {
      type: 'image_generation.partial_succeeded',
      model: 'artB-5.0-lite',
      image_index: 1,
      url: 'ours',
      size: SIZE,
    })
  }
})

void t.test('late headers are waited for', async (t) => {
  const { events, error } = await streamed('[[sandbox first-byte-ms=300]]')
  t.equal(error, undefined)
  t.equal(events.length, 2)
})

void t.test('a fault before a stream begins is a plain refusal', async (t) => {
  const refused = await failing(streamed('[[sandbox fail=InvalidParameter]]').then(() => undefined))
  t.match(refused, { kind: 'invalid', acceptance: 'ruled_out', status: 400 })
})

void t.test('a stream that fails, is cut, or ends before its end', async (t) => {
  const failed = await streamed('[[sandbox error-after=1]]', group(3))
  t.match(failed.error, { kind: 'unavailable', acceptance: 'certain' })
  for (const fault of ['cut-after=1', 'end-after=1', 'cut-before-usage', 'malformed']) {
    const { tally, error } = await streamed(`[[sandbox ${fault}]]`, group(2))
    t.equal(tally.finished, false, fault)
    t.equal(error === undefined, fault === 'end-after=1', fault)
  }
})

void t.test('a stream without a picture has a failure code', async (t) => {
  const { tally } = await streamed('[[sandbox some-fail=2]]', group(2))
  t.match(tally, { finished: true, failure: { code: 'content_policy_violation' } })
  t.match(sandbox.calls({ client_marker: `stream-${marks}` }), [
    { stream: true, wire_usage: { generated_images: 0 } },
  ])
})
