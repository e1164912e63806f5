import sharp from 'sharp'
import t from 'tap'
import { startSandbox } from '../../../../infra/sandbox/server.ts'
import { type Channel, ProviderError } from '../../../../src/app/ports/provider.ts'
import type { ImageCall } from '../../../../src/app/ports/images.ts'
import { createImageProvider } from '../../../../src/families/kit/image/client.ts'
import { genUsage, genWire } from '../../../../src/families/gen/upstream/wire.ts'
import { gen } from '../../../../src/families/gen/module.ts'
import { sandboxImageChannels } from '../../../helpers/sandbox-channels.ts'

/** The adapter of the `gen-*` models against the sandbox, which refuses what upstream would. */

const sandbox = await startSandbox({ apiKeys: ['right-key'] })
const provider = createImageProvider(genWire)
t.teardown(async () => {
  await provider.close()
  await sandbox.close()
})
const channel = (credential = 'right-key'): Channel => {
  const found = sandboxImageChannels({ baseUrl: sandbox.url }).find(
    ({ family }) => family === 'gen',
  )
  if (found === undefined) throw new Error('the sandbox plays every family')
  return { ...found, id: `gen ${credential}`, credential }
}
const picture = new Uint8Array(
  await sharp({ create: { width: 48, height: 64, channels: 3, background: '#36c' } })
    .png()
    .toBuffer(),
)
const upload = { from: 'upload', bytes: picture, mediaType: 'image/png' } as const

function asked(
  prompt: string,
  rest: Partial<ImageCall> & { readonly size?: string } = {},
): ImageCall {
  const { size, ...call } = rest
  const model = call.model ?? 'gen-3.1-flash-image'
  return {
    kind: 'generation',
    model,
    upstreamModel: gen.sandbox[0]!.models[model] ?? '',
    body: { prompt, ...(size === undefined ? {} : { size }) },
    inputs: [],
    mask: undefined,
    delivery: 'b64_json',
    streamed: false,
    count: 1,
    facts: { inputs: {}, tools: [], settings: {} },
    ...call,
  }
}

const options = { signal: new AbortController().signal, requestId: 'req_1' }
const make = (call: ImageCall, on = channel()) => provider.make(on, call, options)
const failing = async (call: ImageCall, on = channel()): Promise<ProviderError> => {
  const error: unknown = await make(call, on).catch((thrown: unknown) => thrown)
  if (error instanceof ProviderError) return error
  throw new Error('it did not fail')
}
const lastSent = (): unknown => sandbox.requestLog().at(-1)?.body

void t.test(
  'a generation is one user turn with the picture’s shape, under the native key header',
  async (t) => {
    const call = asked('a boat', { body: { prompt: 'a boat', size: '512', aspect_ratio: '4:1' } })
    const answer = await make(call)
    t.same(lastSent(), {
      contents: [{ role: 'user', parts: [{ text: 'a boat' }] }],
      generationConfig: {
        responseModalities: ['TEXT', 'IMAGE'],
        imageConfig: { aspectRatio: '4:1', imageSize: '512' },
      },
    })
    const logged = sandbox.requestLog().at(-1)
    t.equal(logged?.url, '/gen/v1beta/models/painter-3.1-flash-image-preview:generateContent')
    t.match(logged?.headers, { 'x-client-request-id': 'req_1', authorization: undefined })
    const [item] = answer.items
    t.ok(item && 'picture' in item && 'base64' in item.picture)
    if (!item || !('picture' in item) || !('base64' in item.picture)) return
    const made = sharp(Buffer.from(String(item.picture.base64), 'base64'))
    t.match(await made.metadata(), { width: 1024, height: 256, format: 'png' })
    t.match(answer, {
      failure: undefined,
      seen: { usage: { image: 1, input: 2, output: 747 }, output: { size: '512' } },
      shown: {
        usage: {
          input_tokens: 2,
          output_tokens: 747,
          total_tokens: 749,
          input_tokens_details: { text_tokens: 2, image_tokens: 0 },
          output_tokens_details: { text_tokens: 0, image_tokens: 747 },
        },
      },
    })
  },
)

void t.test('a model of one size is sent no size', async (t) => {
  await make(asked('a boat', { model: 'gen-2.5-flash-image' }))
  t.same(lastSent(), {
    contents: [{ role: 'user', parts: [{ text: 'a boat' }] }],
    generationConfig: { responseModalities: ['TEXT', 'IMAGE'] },
  })
})

void t.test(
  'the pictures of an edit are sent in order, the mask last with its purpose',
  async (t) => {
    const jpeg = new Uint8Array(await sharp(picture).jpeg().toBuffer())
    const second = { from: 'upload', bytes: jpeg, mediaType: 'image/jpeg' } as const
    const answer = await make(
      asked('red', { kind: 'edit', inputs: [upload, second], mask: upload, size: '1K' }),
    )
    const inline = (bytes: Uint8Array, mimeType: string) => ({
      inlineData: { mimeType, data: Buffer.from(bytes).toString('base64') },
    })
    t.match(lastSent(), {
      contents: [
        {
          parts: [
            { text: 'red' },
            inline(picture, 'image/png'),
            inline(jpeg, 'image/jpeg'),
            { text: /mask/ },
            inline(picture, 'image/png'),
          ],
        },
      ],
    })
    t.match(answer.shown, { usage: { input_tokens_details: { image_tokens: 3 * 258 } } })
  },
)

void t.test('thoughts are neither pictures nor answer text, and count as output', async (t) => {
  const { items, seen } = await make(
    asked('x [[sandbox thoughts words=2]]', { model: 'gen-3-pro-image-preview', size: '2K' }),
  )
  t.match(items, [{ shown: { revised_prompt: 'word0 word1' } }])
  t.equal(items.length, 1)
  const [item] = items
  const base64 = item && 'picture' in item && 'base64' in item.picture ? item.picture.base64 : ''
  t.match(
    await sharp(Buffer.from(String(base64), 'base64')).metadata(),
    { width: 2048 },
    'not the draft',
  )
  t.equal(seen.usage['output'], 1120 + 3 + 180)
})

void t.test(
  'an answer without a picture is free if policy refused it, else its input is billed',
  async (t) => {
    const of = async (fault: string) => (await make(asked(`x [[sandbox ${fault}]]`))).failure
    for (const reason of [
      'IMAGE_SAFETY',
      'PROHIBITED_CONTENT',
      'SAFETY',
      'BLOCKLIST',
      'IMAGE_RECITATION',
    ])
      t.match(
        await of(`no-image=${reason}`),
        { code: 'content_policy_violation', isBilled: false },
        reason,
      )
    t.match(await of('blocked'), { code: 'content_policy_violation', isBilled: false })
    for (const reason of ['NO_IMAGE', 'IMAGE_OTHER', 'STOP', 'MAX_TOKENS'])
      t.match(
        await of(`no-image=${reason}`),
        { code: 'no_image_generated', message: `No image was produced: ${reason}`, isBilled: true },
        reason,
      )
    for (const uncounted of ['zero-usage', 'no-usage'])
      t.match(await of(`no-image=IMAGE_OTHER ${uncounted}`), { isBilled: false }, uncounted)
    const { seen, items } = await make(asked('x [[sandbox no-image=STOP]]'))
    t.match(seen.usage, { image: 0, input: 7 })
    t.same(items, [])
  },
)

void t.test('refusals have a kind and a code that callers of this surface know', async (t) => {
  const cases = [
    ['fail=INVALID_ARGUMENT', { kind: 'invalid', code: 'invalid_request', status: 400 }],
    ['refuse=RESOURCE_EXHAUSTED retry-after=7', { kind: 'rate_limited', retryAfterMs: 7_000 }],
    ['refuse=UNAVAILABLE', { kind: 'unavailable', acceptance: 'ruled_out' }],
    ['refuse=INTERNAL', { kind: 'unavailable', acceptance: 'unknown' }],
    ['refuse=PERMISSION_DENIED', { kind: 'account' }],
    ['malformed', { kind: 'malformed' }],
    ['drop-after-accept', { kind: 'unavailable', acceptance: 'unknown' }],
  ] as const
  for (const [fault, expected] of cases)
    t.match(await failing(asked(`x [[sandbox ${fault}]]`)), expected, fault)
  const wrapped = asked('x [[sandbox refuse=RESOURCE_EXHAUSTED retry-after=3 wrap-error]]')
  t.match(await failing(wrapped), { kind: 'rate_limited', retryAfterMs: 3_000 })
  // A key that is not let in is a 400 on this wire, and not the caller's.
  t.match(await failing(asked('x'), channel('wrong-key')), { kind: 'account' })
})

t.test('tool tokens are input, thoughts are output, absent members are zero', async (t) => {
  t.match(
    genUsage({
      promptTokenCount: 10,
      toolUsePromptTokenCount: 5,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 7,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 4 },
        { modality: 'IMAGE', tokenCount: 3 },
        { modality: 'IMAGE', tokenCount: 3 },
      ],
    }),
    {
      input_tokens: 15,
      output_tokens: 27,
      total_tokens: 42,
      input_tokens_details: { text_tokens: 4, image_tokens: 6 },
    },
  )
  t.match(genUsage({}), { total_tokens: 0 })
  for (const none of [undefined, null, 7, { promptTokenCount: -1 }, { candidatesTokenCount: 'x' }])
    t.equal(genUsage(none), undefined)
})
