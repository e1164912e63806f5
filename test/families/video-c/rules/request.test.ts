import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  resolveVideoCModel,
  videoCModels,
  videoCModes,
  type VideoCMode,
} from '../../../../src/families/video-c/rules/models.ts'
import { acceptVideoCRequest } from '../../../../src/families/video-c/rules/request.ts'
import { provCEnvelope } from '../../../../src/families/video-c/surface/envelope.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'
import type { JsonObject } from '../../../../src/kernel/json.ts'

const IMAGE = 'https://media.example.test/in.png'
const PNG = `data:image/png;base64,${Buffer.from('89504e470d0a1a0a0000', 'hex').toString('base64')}`
const COUNTS = { text2video: 0, img2video: 1, 'start-end2video': 2, reference2video: 3 } as const

/** What every model of a mode accepts, with changes. */
function bodyFor(mode: VideoCMode, changes: JsonObject = {}): JsonObject {
  const model = videoCModels.find(({ modes }) => modes.includes(mode))?.name
  const images = Array.from({ length: COUNTS[mode] }, () => IMAGE)
  return { model, prompt: 'a fox', ...(images.length === 0 ? {} : { images }), ...changes }
}

function refused(
  t: Test,
  mode: VideoCMode,
  body: JsonObject,
  param: string,
  reason = 'FieldInvalid',
): void {
  const title = `${mode} ${param} ${JSON.stringify(body).slice(0, 100)}`
  try {
    acceptVideoCRequest(mode, body)
  } catch (error) {
    if (!isDomainError(error)) throw error
    t.equal(error.details['param'], param, title)
    t.match(provCEnvelope(error, 'req_1').body, { reason }, title)
    t.ok(error.message.includes(`\`${param}\``), error.message)
    return
  }
  t.fail(`accepted: ${title}`)
}

t.test('the models and durations of each mode', async (t) => {
  const table: Readonly<Record<VideoCMode, string>> = {
    text2video: 'clipq3-turbo clipq3-pro clipq2 clipq1 clip2.0 clip1.5',
    img2video:
      'clipq3-turbo clipq3-pro clipq2-pro-fast clipq2-pro clipq2-turbo clipq1 clipq1-classic clip2.0 clip1.5',
    'start-end2video':
      'clipq3-turbo clipq3-pro clipq2-pro-fast clipq2-pro clipq2-turbo clipq1 clipq1-classic clip2.0',
    reference2video: 'clipq2 clipq1 clip2.0 clip1.5',
  }
  for (const mode of videoCModes)
    for (const { name, durationsS } of videoCModels) {
      if (!table[mode].split(' ').includes(name)) {
        refused(t, mode, bodyFor(mode, { model: name }), 'model')
        continue
      }
      const accept = (duration: number) =>
        acceptVideoCRequest(mode, bodyFor(mode, { model: name, duration })).facts
      for (const duration of durationsS) t.equal(accept(duration).settings['duration'], duration)
      for (const duration of [0, Math.max(...durationsS) + 1, 2.5, '5'])
        refused(t, mode, bodyFor(mode, { model: name, duration }), 'duration')
    }
  const longest = (name: string) => Math.max(...(resolveVideoCModel(name)?.durationsS ?? []))
  t.same(['clipq3-pro', 'clipq2', 'clip2.0'].map(longest), [16, 8, 8])
  t.same(resolveVideoCModel('clip2.0')?.durationsS, [4, 8])
})

t.test('a full body is split into recorded settings and the upstream body', async (t) => {
  const accepted = acceptVideoCRequest('text2video', {
    model: 'clipq3-pro',
    prompt: 'a fox',
    duration: 5,
    resolution: '1080p',
    aspect_ratio: '9:16',
    style: 'anime',
    audio: true,
    movement_amplitude: 'small',
    bgm: false,
    seed: 7,
    off_peak: true,
    watermark: true,
    wm_position: '4',
    wm_url: 'https://media.example.test/mark.png',
    payload: 'order-7',
    meta_data: '{}',
    callback_url: ' https://hooks.example.test/done ',
    unknown: 1,
  })
  const settings = {
    duration: 5,
    resolution: '1080p',
    aspect_ratio: '9:16',
    style: 'anime',
    audio: true,
    movement_amplitude: 'small',
    bgm: false,
    seed: 7,
    off_peak: true,
    watermark: true,
    wm_position: 4,
  }
  t.strictSame(accepted.facts, {
    inputs: { text: 1, image: 0 },
    tools: [],
    settings: { mode: 'text2video', ...settings },
  })
  t.strictSame(accepted.upstreamBody({ callbackUrl: accepted.callbackUrl }), {
    ...settings,
    prompt: 'a fox',
    wm_url: 'https://media.example.test/mark.png',
    meta_data: '{}',
    callback_url: 'https://hooks.example.test/done',
  })
  t.equal(accepted.payload, 'order-7')
})

t.test('watermark positions are sent as numbers, in any notation', async (t) => {
  const positions = ['1', 2, 'bottom_right', 'bottom_left'].map(
    (wm_position) =>
      acceptVideoCRequest('text2video', bodyFor('text2video', { wm_position })).upstreamBody({
        callbackUrl: undefined,
      })['wm_position'],
  )
  t.same(positions, [1, 2, 3, 4])
  for (const wm_position of ['0', '5', 'middle', 1.5])
    refused(t, 'text2video', bodyFor('text2video', { wm_position }), 'wm_position')
})

t.test('each mode has its own pictures and prompt', async (t) => {
  const images = (count: number): JsonObject => ({
    images: Array.from({ length: count }, () => IMAGE),
  })
  const limits = {
    text2video: [0, 0],
    img2video: [1, 1],
    'start-end2video': [2, 2],
    reference2video: [1, 7],
  } as const
  for (const mode of videoCModes) {
    const [min, max] = limits[mode]
    for (const count of [0, 1, 2, 3, 7, 8]) {
      const body = bodyFor(mode, images(count))
      const reason = max === 0 ? 'FieldUnwanted' : 'FieldItemCountOutOfRange'
      if (count < min || count > max) refused(t, mode, body, 'images', reason)
      else t.equal(acceptVideoCRequest(mode, body).facts.inputs['image'], count)
    }
    const { prompt: _prompt, ...silent } = bodyFor(mode)
    if (mode === 'text2video' || mode === 'reference2video')
      refused(t, mode, silent, 'prompt', 'FieldLacking')
    else t.equal(acceptVideoCRequest(mode, silent).facts.inputs['text'], 0)
  }
  refused(t, 'img2video', { model: 'clipq1' }, 'images', 'FieldLacking')
  refused(t, 'text2video', { prompt: 'x' }, 'model', 'FieldLacking')
  t.ok(acceptVideoCRequest('img2video', bodyFor('img2video', { images: [PNG] })))
  const wrong = PNG.replace('image/png', 'image/jpeg')
  for (const image of [
    'asset://a1',
    'ftp://a/b',
    'media_file://1',
    wrong,
    'data:image/png;base64,',
    7,
  ])
    refused(t, 'img2video', bodyFor('img2video', { images: [image] }), 'images[0]')
})

t.test('a prompt has at most 2000 code points', async (t) => {
  const accept = (prompt: string) =>
    acceptVideoCRequest('text2video', bodyFor('text2video', { prompt }))
  t.ok(accept('x'.repeat(2_000)))
  t.ok(accept('🦊'.repeat(2_000)))
  for (const prompt of ['x'.repeat(2_001), '🦊'.repeat(1_999) + 'xx'])
    refused(t, 'text2video', bodyFor('text2video', { prompt }), 'prompt')
  refused(t, 'text2video', bodyFor('text2video', { prompt: '  ' }), 'prompt')
})

t.test('members of another mode or model are FieldUnwanted', async (t) => {
  const cases = [
    ['img2video', { aspect_ratio: '16:9' }, 'aspect_ratio'],
    ['start-end2video', { style: 'anime' }, 'style'],
    ['text2video', { model: 'clipq2', audio: true }, 'audio'],
  ] as const
  for (const [mode, changes, param] of cases)
    refused(t, mode, bodyFor(mode, changes), param, 'FieldUnwanted')
  t.ok(acceptVideoCRequest('text2video', bodyFor('text2video', { model: 'clipq2', audio: false })))
})

t.test('any body is read or refused by a member, without recording secrets', async (t) => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('clipq3-pro', IMAGE, PNG, '720p', 5, true, [IMAGE], [IMAGE, IMAGE]),
  )
  const names = fc.constantFrom(
    ...'model prompt images duration resolution aspect_ratio style audio movement_amplitude bgm seed off_peak watermark wm_position wm_url payload meta_data callback_url __proto__'.split(
      ' ',
    ),
  )
  fc.assert(
    fc.property(fc.constantFrom(...videoCModes), fc.dictionary(names, value), (mode, changes) => {
      try {
        const { facts } = acceptVideoCRequest(mode, bodyFor(mode, changes))
        if (/https?:|data:|a fox/.test(JSON.stringify(facts))) throw new Error('a secret is kept')
      } catch (error) {
        if (!isDomainError(error) || typeof error.details['param'] !== 'string') throw error
      }
    }),
    { numRuns: 2_000, seed: 12 },
  )
  t.pass()
})
