import t from 'tap'
import { videoAModels } from '../../../../src/families/video-a/rules/models.ts'
import { maxContentItems } from '../../../../src/families/video-a/rules/body.ts'
import { acceptVideoARequest } from '../../../../src/families/video-a/rules/request.ts'
import { accept, audio, bodyFor, image, prompt, refused, video, type Body } from './requests.ts'

const every = videoAModels.map((model) => model.name)
const of25 = ['domestic-video-2-5', 'overseas-video-2-5']
const of20 = every.filter((name) => !of25.includes(name))
const mini = 'overseas-video-2-0-mini'

const withContent = (model: string, ...content: readonly unknown[]): Body =>
  bodyFor(model, { content })

t.test('content is required and is an array of at most 100 items', async (t) => {
  const { content: _, ...without } = bodyFor('overseas-video-2-0')
  refused(t, without, 'content')
  for (const content of [null, 'x', {}, { 0: prompt }])
    refused(t, bodyFor('overseas-video-2-0', { content }), 'content')
  const many = Array.from({ length: maxContentItems + 1 }, () => prompt)
  refused(t, withContent('overseas-video-2-0', ...many), 'content')
  t.equal(accept('overseas-video-2-0', { content: many.slice(1) }).facts.inputs['text'], 100)
})

t.test('content needs a non-empty prompt or a reference', async (t) => {
  for (const name of every) {
    refused(t, withContent(name), 'content')
    refused(t, withContent(name, { type: 'text', text: '' }), 'content')
    refused(t, withContent(name, { type: 'text', text: ' \n\t' }), 'content')
    for (const item of [image('reference_image'), video(), audio()])
      t.ok(accept(name, { content: [item] }), `${name} with a reference alone`)
    t.ok(accept(name, { content: [{ type: 'text', text: '' }, video()] }))
  }
})

t.test('items have a known type and its shape', async (t) => {
  const bad: readonly (readonly [unknown, string])[] = [
    [null, 'content[1]'],
    ['text', 'content[1]'],
    [[prompt], 'content[1]'],
    [{}, 'content[1].type'],
    [{ type: 'draft_task', draft_task: { id: 'x' } }, 'content[1].type'],
    [{ type: '__proto__' }, 'content[1].type'],
    [{ type: 'text' }, 'content[1].text'],
    [{ type: 'text', text: 5 }, 'content[1].text'],
    [{ type: 'text', text: null }, 'content[1].text'],
    [{ type: 'text', text: 'a\uD800b' }, 'content[1].text'],
    [{ type: 'text', text: 'a\u0000b' }, 'content[1].text'],
    [{ type: 'text', text: 'x'.repeat(100_001) }, 'content[1].text'],
    [{ type: 'text', text: 'x', role: 'user' }, 'content[1].role'],
    [{ type: 'image_url' }, 'content[1].image_url'],
    [{ type: 'text', text: 'x', image_url: { url: 'https://x.test/a' } }, 'content[1].image_url'],
    [{ type: 'image_url', image_url: 'https://x.test/a.png' }, 'content[1].image_url'],
    [{ type: 'image_url', image_url: {} }, 'content[1].image_url.url'],
    [{ type: 'image_url', video_url: { url: 'https://x.test/a' } }, 'content[1].image_url'],
    [{ type: 'video_url', video_url: { url: 5 } }, 'content[1].video_url.url'],
    [{ type: 'audio_url', audio_url: { url: null } }, 'content[1].audio_url.url'],
  ]
  for (const [item, param] of bad)
    refused(t, withContent('overseas-video-2-0', prompt, item), param)
})

t.test('roles follow the item’s type; absent is passed on as absent', async (t) => {
  const bad: readonly Body[] = [
    { ...image(), role: 'reference_video' },
    { ...image(), role: '' },
    { ...video(), role: 'first_frame' },
    { ...audio(), role: 'reference_image' },
  ]
  for (const item of bad)
    refused(t, withContent('overseas-video-2-0', prompt, item), 'content[1].role')
  for (const name of every)
    t.strictSame(accept(name, { content: [prompt, image()] }).upstreamBody['content'], [
      prompt,
      image(),
    ])
})

t.test('media URLs: https, http and asset references for every kind', async (t) => {
  for (const url of [
    'https://x.test/a?b=c#d',
    'HTTPS://x.test',
    'http://x.test/a',
    'asset://asset-2026_x.1',
  ]) {
    const content = [image('reference_image', url), video(url), audio(url)]
    t.strictSame(accept('overseas-video-2-5', { content }).upstreamBody['content'], content, url)
  }
})

t.test('media URLs: other schemes, blanks and malformed ones are refused', async (t) => {
  const bad = [
    '',
    ' ',
    'ftp://x.test/a',
    'file:///etc/passwd',
    'javascript:alert(1)',
    '//x.test/a',
    'x.test',
    'https:/x.test',
    'https://',
    'https:///x',
    ' https://x.test',
    'https://x.test/a b',
    'https://x.test/\u0000',
    'blob:https://x.test/1',
    'asset://',
    'asset://a/b',
    'asset://a b',
    'ASSET://a',
    'asset:a',
    'asset://../x',
    `asset://${'a'.repeat(129)}`,
    `https://x.test/${'a'.repeat(8_192)}`,
    'https://x.test/\uD800',
  ]
  for (const url of bad) {
    refused(
      t,
      withContent('overseas-video-2-0', image('reference_image', url)),
      'content[0].image_url.url',
    )
    refused(t, withContent('overseas-video-2-0', video(url)), 'content[0].video_url.url')
    refused(t, withContent('overseas-video-2-0', audio(url)), 'content[0].audio_url.url')
  }
})

t.test('data URIs: images and audio of a matching type, strict Base64; never video', async (t) => {
  const png = 'data:image/png;base64,iVBORw0KGgo='
  const wav = 'data:audio/wav;base64,UklGRg=='
  const content = [image('reference_image', png), audio(wav)]
  t.strictSame(accept('overseas-video-2-0', { content }).upstreamBody['content'], content)
  refused(
    t,
    withContent('overseas-video-2-0', video('data:video/mp4;base64,AAAA')),
    'content[0].video_url.url',
  )
  for (const url of [
    wav,
    'data:image/png,AAAA',
    'data:image/png;base64,',
    'data:image/png;base64,A A=',
    'data:image/png;base64',
    'data:;base64,AAAA',
    'data:image/png;charset=x;base64,AAAA',
    'data:image/png;base64,é',
  ])
    refused(
      t,
      withContent('overseas-video-2-0', image('reference_image', url)),
      'content[0].image_url.url',
    )
  refused(t, withContent('overseas-video-2-0', audio(png)), 'content[0].audio_url.url')
})

t.test('a data URI of many megabytes is checked without falling over', async (t) => {
  const url = `data:image/png;base64,${'A'.repeat(32 * 1024 * 1024)}`
  t.ok(accept('overseas-video-2-0', { content: [image('reference_image', url)] }))
  refused(
    t,
    withContent('overseas-video-2-0', image('reference_image', `${url}!`)),
    'content[0].image_url.url',
    'invalid_request',
    'bad last character',
  )
})

t.test(
  'assets are collected once each in order, and twice where they are named as two kinds',
  async (t) => {
    const again = image('reference_image', 'asset://a')
    const content = [video('asset://b'), again, audio('asset://b'), again]
    const accepted = accept('overseas-video-2-5', { content })
    t.strictSame(accepted.assets, [
      { assetId: 'b', kind: 'video' },
      { assetId: 'a', kind: 'image' },
      { assetId: 'b', kind: 'audio' },
    ])
    const nativeIds = new Map([['a', 'native-a']])
    const { upstreamBody } = acceptVideoARequest(bodyFor('overseas-video-2-5', { content }))
    const { content: sent } = upstreamBody({ callbackUrl: undefined, nativeIds })
    const native = image('reference_image', 'asset://native-a')
    t.strictSame(sent, [video('asset://b'), native, audio('asset://b'), native])
  },
)

t.test('2.5: last_frame needs first_frame', async (t) => {
  for (const name of of25) {
    refused(t, withContent(name, prompt, image('last_frame')), 'content[1].role')
    t.ok(accept(name, { content: [prompt, image('last_frame'), image('first_frame')] }))
  }
  for (const name of of20) t.ok(accept(name, { content: [prompt, image('last_frame')] }), name)
})

t.test('2.5: frames are not mixed with references; 2.0 is upstream’s to judge', async (t) => {
  for (const item of [image('reference_image'), video(), audio()]) {
    for (const name of of25)
      refused(t, withContent(name, prompt, image('first_frame'), item), 'content[2]')
    for (const name of of20)
      t.ok(accept(name, { content: [prompt, image('first_frame'), item] }), name)
  }
  const { role: _, ...roleless } = video()
  refused(t, withContent('overseas-video-2-5', roleless, image('first_frame')), 'content[0]')
})

t.test(
  '2.5: frames go with ratio adaptive, which is sent when the caller left it out',
  async (t) => {
    const content = [prompt, image('first_frame')]
    for (const name of of25) {
      t.equal(accept(name, { content, ratio: 'adaptive' }).upstreamBody['ratio'], 'adaptive')
      const without = accept(name, { content })
      t.equal(without.upstreamBody['ratio'], 'adaptive')
      t.notOk('ratio' in without.facts.settings, 'the settings stay the caller’s own')
      refused(t, bodyFor(name, { content, ratio: '16:9' }), 'ratio')
    }
    for (const name of of20)
      t.equal(accept(name, { content, ratio: '16:9' }).upstreamBody['ratio'], '16:9')
  },
)

t.test('each frame role at most once', async (t) => {
  for (const name of every)
    for (const role of ['first_frame', 'last_frame'])
      refused(
        t,
        withContent(name, image('first_frame'), image('last_frame'), image(role)),
        'content[2].role',
      )
})

t.test('2.5 media counts: 30 images, 10 videos, 10 audios', async (t) => {
  const times = (count: number, item: Body): readonly Body[] =>
    Array.from({ length: count }, () => item)
  const full = [
    ...times(30, image('reference_image')),
    ...times(10, video()),
    ...times(10, audio()),
  ]
  for (const name of of25) {
    t.strictSame(accept(name, { content: full }).facts.inputs, {
      text: 0,
      image: 30,
      video: 10,
      audio: 10,
    })
    for (const item of [image('reference_image'), image(), video(), audio()])
      refused(t, withContent(name, ...full, item), 'content')
  }
  t.ok(accept('overseas-video-2-0', { content: [...full, video()] }), '2.0 has no such count')
})

t.test('references.audio of the overseas mini is folded into content', async (t) => {
  const audioUrls = ['https://x.test/a.mp3', { url: 'asset://sound' }, 'data:audio/mp3;base64,AAAA']
  const accepted = accept(mini, { references: { audio: audioUrls } })
  t.strictSame(accepted.upstreamBody['content'], [
    prompt,
    audio('https://x.test/a.mp3'),
    audio('asset://sound'),
    audio('data:audio/mp3;base64,AAAA'),
  ])
  t.notOk('references' in accepted.upstreamBody)
  t.equal(accepted.facts.inputs['audio'], 3)
  t.strictSame(accepted.assets, [{ assetId: 'sound', kind: 'audio' }])
  t.ok(
    accept(mini, { content: [], references: { audio: ['https://x.test/a.mp3'] } }),
    'alone it is a reference',
  )
  t.ok(accept(mini, { references: {} }))
})

t.test('references elsewhere or of another shape is refused', async (t) => {
  for (const name of every.filter((name) => name !== mini))
    refused(t, bodyFor(name, { references: { audio: ['https://x.test/a.mp3'] } }), 'references')
  refused(t, bodyFor(mini, { references: [] }), 'references')
  refused(t, bodyFor(mini, { references: { image: ['https://x.test/a.png'] } }), 'references')
  refused(t, bodyFor(mini, { references: { audio: 'https://x.test/a.mp3' } }), 'references.audio')
  refused(t, bodyFor(mini, { references: { audio: [5] } }), 'references.audio[0]')
  refused(
    t,
    bodyFor(mini, { references: { audio: ['https://x.test/a.mp3', {}] } }),
    'references.audio[1].url',
  )
  refused(
    t,
    bodyFor(mini, { references: { audio: ['ftp://x.test/a.mp3'] } }),
    'references.audio[0]',
  )
})
