import * as fc from 'fast-check'
import t from 'tap'
import { asModel, goodBody, tasksPath } from '../api/support/app.ts'
import { atLength } from '../helpers/long-run.ts'
import { propertyRuns } from '../helpers/property-runs.ts'
import { attempt, startFuzzed } from './support.ts'
import { character } from '../helpers/characters.ts'

const harness = await startFuzzed()
t.teardown(async () => harness.app.close())

async function post(payload: string | Buffer, contentType = 'application/json') {
  return attempt(harness, {
    method: 'POST',
    url: tasksPath,
    headers: { ...asModel, 'content-type': contentType },
    payload,
  })
}

/** Counts how the answers fell out, so that a run that never got deep is noticed. */
function tally() {
  const counts = new Map<number, number>()
  return {
    add: (status: number) => counts.set(status, (counts.get(status) ?? 0) + 1),
    of: (status: number) => counts.get(status) ?? 0,
  }
}

const strange = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1.5,
    -0,
    4,
    5,
    15,
    30,
    2 ** 31,
    Number.MAX_SAFE_INTEGER,
    1e300,
    '',
    ' ',
    '0',
    'null',
    '__proto__',
    'constructor',
    [],
    {},
    [[]],
    [null],
    { url: null },
    { length: 3 },
    { toString: 1 },
    { toJSON: {} },
    '\u202e\ufeff',
    'asset://',
    'asset://a b',
    'asset://asset-1',
    'data:image/png;base64,',
    'data:image/png;base64,AAAA',
    'https://',
    'https://hooks.example.com/x',
    'https://[::1',
    'javascript:1',
    'x'.repeat(9_000),
  ),
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: character, maxLength: 30 }),
  fc.integer(),
)

const models = fc.constantFrom(
  'domestic-video-2-0',
  'domestic-video-2-0-fast-260128',
  'domestic-video-2-5',
  'overseas-video-2-0',
  'overseas-video-2-0-mini',
  'overseas-video-2-0-filter-off',
  'overseas-video-2-5-260628',
)

const contentItem = fc.oneof(
  fc.constant({ type: 'text', text: 'a boat' }),
  fc.record(
    {
      type: fc.oneof(
        fc.constantFrom('text', 'image_url', 'video_url', 'audio_url', 'draft_task'),
        strange,
      ),
      role: fc.oneof(
        fc.constantFrom(
          'first_frame',
          'last_frame',
          'reference_image',
          'reference_video',
          'reference_audio',
        ),
        strange,
      ),
      text: strange,
      image_url: fc.oneof(fc.record({ url: strange }), strange),
      video_url: fc.oneof(fc.record({ url: strange }), strange),
      audio_url: fc.oneof(fc.record({ url: strange }), strange),
    },
    { requiredKeys: [] },
  ),
  strange,
)

const fields = [
  'ratio',
  'resolution',
  'generate_audio',
  'watermark',
  'return_last_frame',
  'execution_expires_after',
  'priority',
  'safety_identifier',
  'callback_url',
  'CallbackURL',
  'output_format',
  'service_tier',
  'draft',
  'tools',
  'references',
  'seed',
  'frames',
  'fps',
  'camera_fixed',
  'constructor',
  'hasOwnProperty',
  'valueOf',
] as const

const known = {
  model: fc.oneof({ weight: 5, arbitrary: models }, strange),
  content: fc.oneof(
    { weight: 5, arbitrary: fc.array(contentItem, { maxLength: 4 }) },
    { weight: 3, arbitrary: fc.constant(goodBody.content) },
    strange,
  ),
  duration: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: -1, max: 31 }) }, strange),
}
const body = fc
  .tuple(
    fc.oneof(fc.record(known), fc.record(known, { requiredKeys: [] })),
    fc.dictionary(fc.constantFrom(...fields), strange, { maxKeys: 4 }),
  )
  .map(([most, more]) => ({ ...most, ...more }))

void t.test('bodies of known fields with any values: 4xx naming a field, or 200', async (t) => {
  const runs = propertyRuns(atLength(500, 2_500))
  const seen = tally()
  await fc.assert(
    fc.asyncProperty(body, async (value) => {
      const answer = await post(JSON.stringify(value))
      seen.add(answer.statusCode)
      if (answer.statusCode !== 400) return
      const { error } = answer.json<{ error: { code: string; param: string } }>()
      if (error.param === '') throw new Error(`no field named: ${answer.body}`)
      if (!/^(?:invalid_request|invalid_duration)$/.test(error.code)) throw new Error(answer.body)
    }),
    { numRuns: runs, seed: 101 },
  )
  t.ok(seen.of(400) > runs * 0.4, `${seen.of(400)} × 400`)
  t.ok(seen.of(200) > 0, `${seen.of(200)} × 200`)
})

void t.test('a good body with one odd field: 4xx naming that field, or 200', async (t) => {
  const runs = propertyRuns(atLength(400, 2_000))
  const seen = tally()
  const field = fc.constantFrom('model', 'content', 'duration', ...fields)
  await fc.assert(
    fc.asyncProperty(field, strange, async (name, value) => {
      const answer = await post(JSON.stringify({ ...goodBody, [name]: value }))
      seen.add(answer.statusCode)
      if (answer.statusCode !== 400) return
      const { error } = answer.json<{ error: { param: string } }>()
      if (!error.param.startsWith(name)) throw new Error(`${name}: ${answer.body}`)
    }),
    { numRuns: runs, seed: 102 },
  )
  t.ok(seen.of(400) > runs * 0.25, `${seen.of(400)} × 400`)
  t.ok(seen.of(200) > runs * 0.05, `${seen.of(200)} × 200`)
})

const spoken = { model: 'speech-2.8-hd', text: 'a boat', voice_id: 'nova' }
const speechFields = [
  ...Object.keys(spoken),
  'output_format',
  'emotion',
  'sound_effects',
  'language_boost',
  'voice_setting',
  'audio_setting',
  'voice_modify',
  'pronunciation_dict',
  'stream_options',
  'aigc_watermark',
  'timbre_weights',
  'speed',
  'pitch',
  '__proto__',
  'constructor',
] as const

void t.test('speech with some odd fields: refused by name, or accepted', async (t) => {
  const runs = propertyRuns(atLength(300, 1_500))
  let refused = 0
  let taken = 0
  const changed = fc.dictionary(fc.constantFrom(...speechFields), strange, {
    minKeys: 1,
    maxKeys: 3,
  })
  const path = fc.constantFrom('/provB/v1/t2a_v2', '/provB/v1/t2a_async_v2')
  await fc.assert(
    fc.asyncProperty(path, changed, async (url, fields) => {
      const payload = JSON.stringify({ ...spoken, ...fields })
      const headers = { ...asModel, 'content-type': 'application/json' }
      const answer = await attempt(harness, { method: 'POST', url, headers, payload })
      if (answer.statusCode !== 200) return
      const { base_resp: said } = answer.json<{
        base_resp: { status_code: number; status_msg: string }
      }>()
      if (said.status_code === 0) taken += 1
      else if (/`\w+[`.]|model|voice_id|number|key|nest/i.test(said.status_msg)) refused += 1
      else throw new Error(answer.body)
    }),
    { numRuns: runs, seed: 106 },
  )
  t.ok(refused > runs * 0.333, `${refused} refused`)
  t.ok(taken > runs * 0.033, `${taken} taken`)
})

void t.test('any bytes as a body: 400 or 413', async (t) => {
  const runs = propertyRuns(atLength(200, 1_000))
  const seen = tally()
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((each) => Buffer.from(each)),
    fc.string({ unit: character, maxLength: 100 }).map((each) => Buffer.from(each)),
    fc.json({ maxDepth: 4 }).map((each) => Buffer.from(each)),
    fc.nat({ max: 70_000 }).map((length) => Buffer.alloc(length, '[')),
  )
  await fc.assert(
    fc.asyncProperty(bytes, async (payload) => {
      seen.add((await post(payload)).statusCode)
    }),
    { numRuns: runs, seed: 103 },
  )
  t.equal(seen.of(200), 0)
  t.ok(seen.of(413) > 0, `${seen.of(413)} × 413`)
})

void t.test('a good body with its text damaged: 4xx or 200', async (t) => {
  const runs = propertyRuns(atLength(400, 2_000))
  const text = JSON.stringify({ ...goodBody, callback_url: 'https://hooks.example.com/x' })
  const insertion = fc.constantFrom(
    '',
    '"',
    '\\',
    '\\u0000',
    '\\ud800',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '\u0000',
    '9007199254740993',
    '1e999',
    '"model":"x",',
    '"__proto__":{},',
    '/*',
    'NaN',
  )
  const seen = tally()
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: text.length }),
      fc.nat({ max: 6 }),
      insertion,
      async (at, cut, inserted) => {
        seen.add((await post(text.slice(0, at) + inserted + text.slice(at + cut))).statusCode)
      },
    ),
    { numRuns: runs, seed: 104 },
  )
  t.ok(seen.of(400) > runs * 0.5, `${seen.of(400)} × 400`)
})

void t.test('any content type: 415, 400 or 200', async (t) => {
  const runs = propertyRuns(atLength(160, 800))
  const seen = tally()
  const type = fc.oneof(
    fc.constantFrom(
      'application/json',
      'application/json;charset=utf-8',
      'application/json; charset=latin1',
      'APPLICATION/JSON',
      'application/json, text/plain',
      'application/vnd.api+json',
      'multipart/form-data',
      'text/html',
      '*/*',
    ),
    fc.string({ maxLength: 40 }).map((each) => each.replace(/[^\x20-\x7e]/g, '')),
  )
  await fc.assert(
    fc.asyncProperty(type, async (contentType) => {
      seen.add((await post(JSON.stringify(goodBody), contentType)).statusCode)
    }),
    { numRuns: runs, seed: 105 },
  )
  t.ok(seen.of(415) > runs * 0.375, `${seen.of(415)} × 415`)
  t.ok(seen.of(200) > runs * 0.025, `${seen.of(200)} × 200`)
})

const clipFields =
  'model prompt images duration resolution aspect_ratio style audio movement_amplitude bgm seed off_peak watermark wm_position wm_url payload meta_data callback_url constructor'
const videoFields =
  'model prompt seconds size resolution ratio generate_audio input_reference constructor toString'
const image = 'https://hooks.example.com/a.png'
/** What each route takes as it is, and may take in place of any of it. */
const alike = [
  ['/provC/ent/v2/text2video', { model: 'clipq3-pro', prompt: 'a fox' }, clipFields],
  ['/provC/ent/v2/img2video', { model: 'clip1.5', images: [image] }, clipFields],
  ['/provC/ent/v2/start-end2video', { model: 'clipq1', images: [image, image] }, clipFields],
  ['/provC/ent/v2/reference2video', { model: 'clipq2', prompt: 'x', images: [image] }, clipFields],
  ['/v1/videos', { model: 'clipq2', prompt: 'a fox', input_reference: image }, videoFields],
  ['/v1/videos', { model: 'overseas-video-2-5', prompt: 'a fox' }, videoFields],
] as const

void t.test('a good video of any kind with some odd fields: 4xx, or 200', async (t) => {
  const runs = propertyRuns(atLength(500, 2_500))
  const seen = tally()
  const known = fc.constantFrom<unknown>('clipq2', 'clip2.0', '720p', '16:9', '1280x720', 8, '8')
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...alike),
      fc.infiniteStream(fc.nat()),
      fc.array(fc.oneof(known, strange), { maxLength: 3 }),
      async ([url, good, names], places, values) => {
        const all = names.split(' ')
        const changes = values.map(
          (value) => [all[Number(places.next().value) % all.length], value] as const,
        )
        const payload = JSON.stringify({ ...good, ...Object.fromEntries(changes) })
        const headers = { ...asModel, 'content-type': 'application/json' }
        const answer = await attempt(harness, { method: 'POST', url, headers, payload })
        seen.add(answer.statusCode)
      },
    ),
    { numRuns: runs, seed: 106 },
  )
  t.ok(seen.of(400) > runs * 0.32, `${seen.of(400)} × 400`)
  t.ok(seen.of(200) > runs * 0.12, `${seen.of(200)} × 200`)
})

void t.test('/provB video: any values in known fields: 4xx naming one, or 200', async (t) => {
  const runs = propertyRuns(atLength(100, 500))
  const seen = tally()
  const settings = ['ratio', 'resolution', 'callback_url', 'extra', 'constructor'] as const
  const good = {
    model: 'h3-video',
    content: [{ type: 'text', text: 'a lantern' }],
    duration: 6,
    ratio: '16:9',
  }
  const locator = fc.oneof(
    strange,
    fc.constantFrom('media_file://1', 'media_file://x', 'https://hooks.example.com/x'),
    // Long enough to be left as bytes, and not always what it says.
    fc
      .tuple(
        fc.constantFrom('image/png', 'video/mp4', 'a b', ''),
        fc.constantFrom('', '=', '-', '"', '\\'),
      )
      .map(([type, end]) => `data:${type};base64,${'A'.repeat(40_000)}${end}`),
  )
  const kind = fc.constantFrom('image', 'video', 'audio')
  const item = fc.oneof(
    contentItem,
    fc.tuple(kind, locator).map(([name, url]) => ({
      type: `${name}_url`,
      role: `reference_${name}`,
      [`${name}_url`]: { url },
    })),
  )
  const value = fc.oneof(
    fc.constant(good),
    fc
      .tuple(fc.array(item, { maxLength: 3 }), fc.dictionary(fc.constantFrom(...settings), strange))
      .map(([items, more]) => ({ ...good, content: [...good.content, ...items], ...more })),
    fc.tuple(fc.constantFrom(...Object.keys(good)), strange).map(([k, v]) => ({ ...good, [k]: v })),
  )
  await fc.assert(
    fc.asyncProperty(value, async (body) => {
      const answer = await attempt(harness, {
        method: 'POST',
        url: '/provB/v2/video_generation',
        headers: { ...asModel, 'content-type': 'application/json' },
        payload: JSON.stringify(body),
      })
      seen.add(answer.statusCode)
      if (answer.statusCode !== 400) return
      const { error } = answer.json<{ error: { message: string } }>()
      if (!/`[^`]+`|h3-video/.test(error.message)) throw new Error(answer.body)
    }),
    { numRuns: runs, seed: 107 },
  )
  t.ok(seen.of(400) > runs * 0.3, `${seen.of(400)} × 400`)
  t.ok(seen.of(200) > runs * 0.1, `${seen.of(200)} × 200`)
})
