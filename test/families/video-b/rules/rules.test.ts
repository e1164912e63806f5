import { catalog } from '../../../../src/families/index.ts'
import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import { readStrictDataUri } from '../../../../src/domain/catalog/checks/media.ts'
import { acceptVideoBRequest } from '../../../../src/families/video-b/rules/request.ts'
import { videoBRules } from '../../../../src/families/video-b/module.ts'
import type { Usage } from '../../../../src/domain/pricing/usage.ts'
import { RawString } from '../../../../src/kernel/raw-string.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'

const MIB = 1024 * 1024
const URL = 'https://media.example.com/x'

const text = (prompt: unknown = 'a lantern drifts over a lake', more: object = {}) => ({
  type: 'text',
  text: prompt,
  ...more,
})
const media = (kind: 'image' | 'video' | 'audio', role?: unknown, url: unknown = URL) => ({
  type: `${kind}_url`,
  ...(role === undefined ? {} : { role }),
  [`${kind}_url`]: { url },
})
const many = (count: number, item: object) => Array.from({ length: count }, () => item)

/** A text-to-video body with these members instead. */
function body(over: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { model: 'h3-video', content: [text()], duration: 6, ratio: '16:9', ...over }
}

/** A body with media, which needs no ratio. */
function withMedia(items: readonly object[], over: Readonly<Record<string, unknown>> = {}) {
  const { ratio: _ratio, ...rest } = body()
  return { ...rest, content: [text(), ...items], ...over }
}

const accepted = (given: object) => acceptVideoBRequest(given as Record<string, unknown>)

/** The prompt that upstream gets. */
function promptOf(prompt: string): string {
  const { upstreamBody } = accepted(body({ content: [text(prompt)] }))
  const { content } = upstreamBody({ callbackUrl: undefined, urlOf: () => '' })
  return (content as readonly { readonly text: string }[])[0]?.text ?? ''
}

/** The field a body is refused for, and why. */
function refusal(given: object): readonly [string, string, string] {
  try {
    accepted(given)
  } catch (error) {
    if (isDomainError(error)) return [error.code, String(error.details['param']), error.message]
    throw error
  }
  throw new Error('the body was accepted')
}

function refusedFor(t: Test, given: object, param: string, title = ''): void {
  t.equal(refusal(given)[1], param, title)
}

t.test('models: the two names; names of SKUs are unknown', (t) => {
  for (const name of ['h3-video', 'h3-video-max']) t.equal(catalog.findTaskModel(name)?.name, name)
  for (const model of [
    'h3-768p-second',
    'h3-2k-second',
    'h3-max-480p-second',
    'h3-max-768p-second',
    'h3-extra-input-image',
    'H3-VIDEO',
    '',
    undefined,
    7,
  ]) {
    refusedFor(t, body({ model }), 'model', String(model))
    t.equal(catalog.findTaskModel(String(model)), undefined, 'nor is it an entry of an allowlist')
  }
  t.end()
})

t.test('duration: an integer, from 4 or 5 to 15 by model', (t) => {
  for (const duration of [4, 15]) t.equal(accepted(body({ duration })).settings.duration, duration)
  for (const duration of [3, 16, 4.5, 0, -1, 1e300])
    t.match(refusal(body({ duration })), ['invalid_duration', 'duration'])
  for (const duration of [undefined, '6', null, true])
    t.match(refusal(body({ duration })), ['invalid_request', 'duration'])
  const max = { model: 'h3-video-max' }
  t.equal(accepted(body({ ...max, duration: 5 })).settings.duration, 5)
  t.match(refusal(body({ ...max, duration: 4 })), ['invalid_duration', 'duration'])
  t.end()
})

t.test('resolution: 768P by default, and only those that the model renders', (t) => {
  t.equal(accepted(body()).settings.resolution, '768P')
  t.equal(accepted(body({ resolution: '2K' })).settings.resolution, '2K')
  t.equal(accepted(body({ model: 'h3-video-max', resolution: '480P' })).settings.resolution, '480P')
  for (const [model, resolution] of [
    ['h3-video', '480P'],
    ['h3-video', '768p'],
    ['h3-video', '1080P'],
    ['h3-video-max', '2K'],
  ])
    refusedFor(t, body({ model, resolution }), 'resolution', `${model} ${resolution}`)
  t.end()
})

t.test('content: one text that is not empty, without a role, of at most 7000 characters', (t) => {
  t.equal(promptOf('語'.repeat(7_000)).length, 7_000)
  t.equal(promptOf('🪁'.repeat(7_000)).length, 14_000)
  for (const prompt of ['🪁'.repeat(7_001), 'x'.repeat(7_001), 'x'.repeat(100_000), '', ' \n', 7])
    refusedFor(t, body({ content: [text(prompt)] }), 'content[0].text')
  refusedFor(t, body({ content: [text('x', { role: 'user' })] }), 'content[0].role')
  refusedFor(t, body({ content: [text(), text()] }), 'content')
  refusedFor(t, body({ content: [] }), 'content')
  refusedFor(t, body({ content: [media('image')] }), 'content')
  refusedFor(t, body({ content: 'x' }), 'content')
  refusedFor(t, body({ content: [7] }), 'content[0]')
  refusedFor(t, body({ content: [{ type: 'draft_task' }] }), 'content[0].type')
  t.end()
})

t.test('content: at most 13 items, and a bound for each role', (t) => {
  const all = [
    ...many(9, media('image', 'reference_image')),
    ...many(3, media('video', 'reference_video')),
  ]
  t.same(accepted(withMedia(all)).facts.inputs, { text: 1, image: 9, video: 3, audio: 0 })
  t.match(refusal(withMedia([...all, media('audio', 'reference_audio')])), [
    'invalid_request',
    'content',
    /at most 13 items/,
  ])
  for (const [count, kind, role] of [
    [2, 'image', 'first_frame'],
    [2, 'image', 'last_frame'],
    [10, 'image', 'reference_image'],
    [4, 'video', 'reference_video'],
    [4, 'audio', 'reference_audio'],
  ] as const)
    t.match(refusal(withMedia(many(count, media(kind, role))))[2], `role ${role}`)
  t.match(
    refusal(withMedia([media('image'), media('image', 'first_frame')]))[2],
    'role first_frame',
    'an image without a role is a first frame',
  )
  t.end()
})

t.test('content: roles fit their kind; only an image may be without', (t) => {
  refusedFor(t, withMedia([media('image', 'reference_video')]), 'content[1].role')
  refusedFor(t, withMedia([media('video')]), 'content[1].role')
  refusedFor(t, withMedia([media('video', 'base_video')]), 'content[1].role')
  refusedFor(t, withMedia([media('audio', null)]), 'content[1].role')
  refusedFor(t, withMedia([{ type: 'image_url' }]), 'content[1].image_url')
  refusedFor(t, withMedia([{ type: 'image_url', image_url: URL }]), 'content[1].image_url')
  t.end()
})

t.test('text to video: a concrete ratio is required', (t) => {
  for (const ratio of ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'])
    t.equal(accepted(body({ ratio })).settings.ratio, ratio)
  for (const ratio of [undefined, 'adaptive', '2:1', null, 16])
    refusedFor(t, body({ ratio }), 'ratio', String(ratio))
  t.end()
})

t.test('frames: the ratio is adaptive, and references are refused', (t) => {
  const first = media('image', 'first_frame')
  const last = media('image', 'last_frame')
  for (const items of [[first], [last], [first, last], [media('image')]])
    for (const over of [{}, { ratio: 'adaptive' }])
      t.equal(accepted(withMedia(items, over)).settings.ratio, 'adaptive')
  refusedFor(t, withMedia([first], { ratio: '16:9' }), 'ratio')
  for (const reference of [
    media('image', 'reference_image'),
    media('video', 'reference_video'),
    media('audio', 'reference_audio'),
  ])
    t.match(refusal(withMedia([last, reference]))[2], 'must not be mixed')
  t.end()
})

t.test('references: any ratio or none, and never audio without a picture or video', (t) => {
  const image = media('image', 'reference_image')
  const video = media('video', 'reference_video')
  const audio = media('audio', 'reference_audio')
  for (const items of [[image], [video], [image, audio], [video, audio], [image, video, audio]]) {
    t.equal(accepted(withMedia(items)).settings.ratio, 'adaptive')
    for (const ratio of ['adaptive', '9:16'])
      t.equal(accepted(withMedia(items, { ratio })).settings.ratio, ratio)
  }
  for (const items of [[audio], [audio, audio]])
    t.match(refusal(withMedia(items))[2], '`reference_audio` needs')
  t.end()
})

t.test('h3-video-max takes text and frames, and no references', (t) => {
  const max = { model: 'h3-video-max' }
  t.ok(accepted(body(max)))
  t.ok(accepted(withMedia([media('image'), media('image', 'last_frame')], max)))
  for (const item of [media('image', 'reference_image'), media('video', 'reference_video')])
    t.match(refusal(withMedia([item], max))[2], 'does not accept reference items')
  t.end()
})

t.test('locators: public https, strict data URIs and uploaded files only', (t) => {
  const at = 'content[1].image_url.url'
  const locatorOf = (url: unknown, kind: 'image' | 'video' | 'audio' = 'image') =>
    accepted(withMedia([media(kind, `reference_${kind}`, url), media('image', 'reference_image')]))
      .media[0]?.locator
  t.same(locatorOf(URL), { from: 'web', url: URL })
  for (const id of ['1', '424010985738629', '9223372036854775807'])
    t.same(locatorOf(`media_file://${id}`), { from: 'file', fileId: id })
  t.same(locatorOf('data:image/png;base64,QUI='), {
    from: 'data',
    url: 'data:image/png;base64,QUI=',
  })
  for (const url of [
    'http://media.example.com/x',
    '//media.example.com/x',
    'HTTPS:/media.example.com',
    'file:///etc/passwd',
    'ftp://media.example.com/x',
    'blob:https://media.example.com/x',
    'javascript:alert(1)',
    'asset://a',
    'media_file://0',
    'media_file://01',
    'media_file://-1',
    'media_file://9223372036854775808',
    'media_file://1/x',
    'media_file://1?x',
    'media_file://1#x',
    'media_file://a@1',
    'media_file://1:80',
    'MEDIA_FILE://1',
    'mm_file://1',
    '',
    7,
    null,
    'https://media.example.com/a b',
    `https://media.example.com/${'x'.repeat(9_000)}`,
  ])
    refusedFor(t, withMedia([media('image', undefined, url)]), at, String(url).slice(0, 60))
  t.end()
})

t.test('data URIs: their type and their decoded size', (t) => {
  const uri = (type: string, decodedBytes: number) => {
    const whole = Buffer.alloc(Math.ceil(decodedBytes / 3) * 4, 'A')
    const padding = (3 - (decodedBytes % 3)) % 3
    whole.fill('=', whole.length - padding)
    return new RawString(Buffer.concat([Buffer.from(`data:${type};base64,`), whole]))
  }
  const take = (kind: 'image' | 'video' | 'audio', type: string, decodedBytes: number) =>
    withMedia([
      media(kind, `reference_${kind}`, uri(type, decodedBytes)),
      media('image', 'reference_image'),
    ])
  for (const [kind, type, limit] of [
    ['image', 'image/png', 30 * MIB],
    ['video', 'video/mp4', 50 * MIB],
    ['audio', 'audio/wav', 15 * MIB],
  ] as const) {
    t.ok(accepted(take(kind, type, limit)))
    t.match(refusal(take(kind, type, limit + 1))[2], `at most ${limit / MIB} MiB decoded`)
  }
  for (const type of ['jpeg', 'jpg', 'png', 'webp', 'heic', 'heif'])
    t.ok(accepted(take('image', `image/${type}`, 5)))
  t.ok(accepted(take('audio', 'audio/mp3', 5)))
  for (const [kind, type] of [
    ['image', 'image/gif'],
    ['image', 'video/mp4'],
    ['video', 'video/quicktime'],
    ['audio', 'audio/mpeg'],
  ] as const)
    t.match(refusal(take(kind, type, 5))[1], /^content\[1\]/, type)
  t.end()
})

t.test('data URIs: a type and strict base64 only', (t) => {
  for (const uri of [
    'data:image/png;base64,',
    'data:image/png;base64,QQ',
    'data:image/png;base64,QQ=',
    'data:image/png;base64,QR==',
    'data:image/png;base64,Q=Q=',
    'data:image/png;base64,QUI=QUI=',
    'data:image/png;base64, QUJD',
    'data:image/png;base64,QU-_',
    'data:image/png;base64,QUJ\n',
    'data: image/png;base64,QUJD',
    'data:image/png; base64,QUJD',
    'data:image/png;charset=utf-8;base64,QUJD',
    'data:image/png;BASE64,QUJD',
    'data:image/png,QUJD',
    'data:;base64,QUJD',
    'DATA:image/png;base64,QUJD',
    'data:image/png;base64QUJD',
  ]) {
    t.equal(readStrictDataUri(uri), undefined, uri)
    t.equal(readStrictDataUri(new RawString(Buffer.from(uri))), undefined)
    refusedFor(t, withMedia([media('image', undefined, uri)]), 'content[1].image_url.url')
  }
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 60 }), (bytes) => {
      const uri = `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`
      for (const form of [uri, new RawString(Buffer.from(uri))])
        t.strictSame(readStrictDataUri(form), {
          mediaType: 'image/png',
          decodedBytes: bytes.length,
        })
    }),
    { numRuns: 100 },
  )
  t.end()
})

t.test('upstream gets every setting and role, and no unknown member', (t) => {
  const given = withMedia([media('image'), media('image', 'last_frame')], {
    aigc_watermark: true,
    extra: { prompt_expansion_mode: 'x' },
    seed: 1,
  })
  t.strictSame(
    accepted(given).upstreamBody({
      callbackUrl: 'https://hooks/x',
      urlOf: ({ role }) => `https://checked/${role}`,
    }),
    {
      content: [
        text(),
        {
          type: 'image_url',
          role: 'first_frame',
          image_url: { url: 'https://checked/first_frame' },
        },
        { type: 'image_url', role: 'last_frame', image_url: { url: 'https://checked/last_frame' } },
      ],
      duration: 6,
      resolution: '768P',
      ratio: 'adaptive',
      callback_url: 'https://hooks/x',
    },
  )
  t.end()
})

const book = {
  version: 'v1',
  lookup: (sku: string, currency: 'CNY' | 'USD') => ({
    sku,
    currency,
    unit: sku.endsWith('second') ? 'second' : 'image',
    per: 1 as const,
    price: sku.endsWith('second') ? '0.1' : '0.01',
  }),
}

function settled(given: object, usage: Usage) {
  const { model, facts } = accepted(given)
  const quote = videoBRules.quote(model.name, facts, book)
  const settlement = videoBRules.settle({ model: model.name, facts, quote, usage, output: {} })
  return settlement?.lines.map(({ sku, quantity, measurement }) => [sku, quantity, measurement])
}

t.test('a second is priced by model and resolution, and billed as counted upstream', (t) => {
  for (const [model, resolution, sku] of [
    ['h3-video', '768P', 'h3-768p-second'],
    ['h3-video', '2K', 'h3-2k-second'],
    ['h3-video-max', '480P', 'h3-max-480p-second'],
    ['h3-video-max', '768P', 'h3-max-768p-second'],
  ])
    t.same(settled(body({ model, resolution }), { total_seconds: 6 }), [[sku, 6, 'reported']])
  t.same(settled(body(), { total_seconds: 11, output_seconds: 6, input_seconds: 5 }), [
    ['h3-768p-second', 11, 'reported'],
  ])
  t.same(settled(body(), { output_seconds: 6, input_seconds: 5 }), [
    ['h3-768p-second', 6, 'reported'],
  ])
  t.same(settled(body(), { total_seconds: 0, output_seconds: 6 }), [], 'an explicit zero stays')
  t.equal(settled(body(), {}), undefined, 'nothing is settled at a guess')
  t.equal(settled(body(), { input_seconds: 5, input_image_count: 1 }), undefined)
  t.end()
})

t.test('images beyond the fifth are billed, as upstream counts them or as they were sent', (t) => {
  const images = (count: number) => withMedia(many(count, media('image', 'reference_image')))
  const seconds = ['h3-768p-second', 6, 'reported']
  t.same(settled(images(5), { total_seconds: 6, input_image_count: 5 }), [seconds])
  t.same(settled(images(7), { total_seconds: 6, input_image_count: 7 }), [
    seconds,
    ['h3-extra-input-image', 2, 'reported'],
  ])
  t.same(settled(images(7), { total_seconds: 6 }), [
    seconds,
    ['h3-extra-input-image', 2, 'estimated'],
  ])
  t.same(settled(images(7), { total_seconds: 6, input_image_count: 5 }), [seconds])
  t.same(settled(images(5), { total_seconds: 6, input_image_count: 9 }), [seconds], 'not quoted')
  t.end()
})

t.test('the hold has the requested seconds, those of reference videos, and extra images', (t) => {
  const hold = (given: object) => {
    const { model, facts } = accepted(given)
    return videoBRules.quote(model.name, facts, book).hold
  }
  t.equal(hold(body({ duration: 15 })), '1.5')
  t.equal(hold(withMedia([media('video', 'reference_video')])), '2.1')
  t.equal(hold(withMedia(many(8, media('image', 'reference_image')))), '0.63')
  t.same(
    videoBRules.prices('h3-video-max').map(({ sku }) => sku),
    ['h3-max-480p-second', 'h3-max-768p-second'],
  )
  t.end()
})

t.test('a simple video order: open settings have defaults, refusals name the order', (t) => {
  const rules = videoBRules.simpleVideo
  const order = {
    model: 'h3-video',
    prompt: 'a lantern' as string | undefined,
    seconds: undefined as number | undefined,
    resolution: undefined as string | undefined,
    ratio: undefined as string | undefined,
    generateAudio: undefined as boolean | undefined,
    references: [] as readonly { kind: 'image' | 'video' | 'audio'; url: string }[],
  }
  const bodyFor = (over: Partial<typeof order>) =>
    rules?.accept({ ...order, ...over }).upstreamBody(new Map()) ?? {}
  t.match(bodyFor({}), { duration: 5, resolution: '768P', ratio: '16:9' })
  t.match(bodyFor({ resolution: '2k', seconds: 8, ratio: '1:1' }), {
    duration: 8,
    resolution: '2K',
    ratio: '1:1',
  })
  const image = { kind: 'image', url: URL } as const
  t.match(bodyFor({ references: [image] }), {
    ratio: 'adaptive',
    content: [{ type: 'text' }, { role: 'reference_image', image_url: { url: URL } }],
  })
  t.match(bodyFor({ model: 'h3-video-max', references: [image] }), {
    content: [{ type: 'text' }, { role: 'first_frame' }],
  })
  for (const [param, over] of [
    ['prompt', { prompt: undefined }],
    ['seconds', { seconds: 60 }],
    ['resolution', { resolution: '720p' }],
    ['ratio', { ratio: '2:1' }],
    ['generate_audio', { generateAudio: true }],
    ['input_reference', { references: [{ kind: 'image', url: 'asset://a' }] }],
    ['input_reference', { references: [{ kind: 'image', url: 'media_file://1' }] }],
  ] as const)
    try {
      bodyFor(over)
      t.fail(`${param} was accepted`)
    } catch (error) {
      t.equal(isDomainError(error) && error.details['param'], param)
    }
  t.end()
})
