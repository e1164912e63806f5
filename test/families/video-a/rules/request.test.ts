import t from 'tap'
import { acceptVideoARequest } from '../../../../src/families/video-a/rules/request.ts'
import { videoAModels } from '../../../../src/families/video-a/rules/models.ts'
import { accept, acceptBody, audio, bodyFor, image, prompt, refused, video } from './requests.ts'

const every = videoAModels.map((model) => model.name)
const of25 = ['domestic-video-2-5', 'overseas-video-2-5']
const of20 = every.filter((name) => !of25.includes(name))
const overseas = every.filter((name) => name.startsWith('overseas'))
const domestic20 = of20.filter((name) => name.startsWith('domestic'))

t.test('a full body is accepted and normalised for upstream', async (t) => {
  const accepted = acceptBody({
    model: 'overseas-video-2-5-260628',
    content: [prompt, image('reference_image', 'asset://asset-1'), video(), audio()],
    duration: 5,
    ratio: '16:9',
    resolution: '720p',
    generate_audio: true,
    watermark: false,
    return_last_frame: true,
    execution_expires_after: 86_400,
    priority: 3,
    safety_identifier: 'hash-of-a-user',
    callback_url: '  https://hooks.example.test/done  ',
    output_format: 'mov',
    service_tier: 'default',
    draft: false,
  })
  t.equal(accepted.model.name, 'overseas-video-2-5')
  t.equal(accepted.safetyIdentifier, 'hash-of-a-user')
  t.equal(accepted.executionExpiresAfterS, 86_400)
  t.equal(accepted.callbackUrl, 'https://hooks.example.test/done')
  t.strictSame(accepted.assets, [{ assetId: 'asset-1', kind: 'image' }])
  const settings = {
    duration: 5,
    ratio: '16:9',
    resolution: '720p',
    generate_audio: true,
    watermark: false,
    return_last_frame: true,
    execution_expires_after: 86_400,
    priority: 3,
    output_format: 'mov',
    service_tier: 'default',
    draft: false,
  }
  t.strictSame(accepted.facts, {
    inputs: { text: 1, image: 1, video: 1, audio: 1 },
    tools: [],
    settings,
  })
  t.strictSame(accepted.upstreamBody, {
    content: [prompt, image('reference_image', 'asset://asset-1'), video(), audio()],
    ...settings,
    callback_url: 'https://hooks.example.test/done',
  })
})

t.test('the facts hold no prompt, no URL and no identifier of a person (P7)', async (t) => {
  const facts = JSON.stringify(
    accept('overseas-video-2-0', {
      content: [{ type: 'text', text: 'SECRET-PROMPT' }, video('https://secret.example/v.mp4')],
      callback_url: 'https://secret.example/hook',
      safety_identifier: 'SECRET-USER',
    }).facts,
  )
  t.notMatch(facts, /secret/i)
})

t.test('a minimal body is accepted by every model and sent unchanged', async (t) => {
  for (const name of every)
    t.strictSame(accept(name).upstreamBody, { content: [prompt], duration: 5 }, name)
})

t.test('400 model: absent, not a string, or not an external name', async (t) => {
  refused(t, { content: [prompt], duration: 5 }, 'model')
  for (const model of [null, 5, ['domestic-video-2-0'], {}, '', 'video-2-0', '__proto__'])
    refused(t, { ...bodyFor('x'), model }, 'model')
})

t.test('the task type of references is left to upstream', async (t) => {
  const name = 'omni_reference_task_type'
  for (const model of every) {
    t.notOk(name in accept(model, { [name]: 'auto' }).upstreamBody)
    for (const asked of ['edit', 'extend', 1]) refused(t, bodyFor(model, { [name]: asked }), name)
  }
})

t.test('2.5 refuses seed, frames and frame-rate fields; null ones are not passed on', async (t) => {
  for (const name of ['seed', 'frames', 'frames_per_second', 'frame_rate', 'fps', 'camera_fixed'])
    for (const model of of25) {
      for (const value of [0, false, 'x']) refused(t, bodyFor(model, { [name]: value }), name)
      t.notOk(name in accept(model, { [name]: null }).upstreamBody)
    }
})

t.test('2.0 passes seed and camera_fixed on, checked, and refuses the others', async (t) => {
  for (const name of of20) {
    const { upstreamBody } = accept(name, { seed: -1, camera_fixed: true })
    t.match(upstreamBody, { seed: -1, camera_fixed: true }, name)
    for (const other of ['frames', 'frames_per_second', 'framespersecond', 'frame_rate', 'fps'])
      refused(t, bodyFor(name, { [other]: 24 }), other)
    refused(t, bodyFor(name, { seed: 2 ** 32 }), 'seed')
    refused(t, bodyFor(name, { camera_fixed: 1 }), 'camera_fixed')
  }
})

t.test('unknown fields are left out, never sent upstream and never an error', async (t) => {
  const body = JSON.parse(
    '{"model":"overseas-video-2-5","content":[{"type":"text","text":"x","extra":1}],"duration":5,' +
      '"quux":24,"__proto__":{"draft":true},"constructor":1,"toString":2}',
  )
  t.strictSame(acceptBody(body).upstreamBody, {
    content: [{ type: 'text', text: 'x' }],
    duration: 5,
  })
})

t.test('members of the prototype are not the caller’s fields', async (t) => {
  const body = Object.assign(Object.create({ draft: true, seed: 1 }), bodyFor('overseas-video-2-5'))
  t.strictSame(acceptVideoARequest(body).facts.settings, { duration: 5 })
})

t.test('duration: required, an integer of the model’s range, or -1', async (t) => {
  for (const name of every) {
    const max = of25.includes(name) ? 30 : 15
    for (const duration of [-1, 4, 5, max])
      t.equal(
        accept(name, { duration }).facts.settings['duration'],
        duration,
        `${name} ${duration}`,
      )
    const outside = [0, 3, max + 1, -2, 4.5, 2 ** 53, 1e300, Infinity, Number.NaN]
    for (const duration of outside)
      refused(t, bodyFor(name, { duration }), 'duration', 'invalid_duration', `${name} ${duration}`)
  }
  refused(t, { model: 'domestic-video-2-0', content: [prompt] }, 'duration')
  for (const duration of [null, '5', true, [5], {}])
    refused(t, bodyFor('domestic-video-2-0', { duration }), 'duration')
})

t.test('resolution: one that the model renders, spelled exactly', async (t) => {
  const all = ['480p', '720p', '1080p', '4k']
  for (const { name, resolutions } of videoAModels)
    for (const resolution of all)
      if (resolutions.some((known) => known === resolution))
        t.equal(accept(name, { resolution }).upstreamBody['resolution'], resolution)
      else refused(t, bodyFor(name, { resolution }), 'resolution')
  for (const resolution of ['4K', '2k', '720', 720, '', '__proto__'])
    refused(t, bodyFor('overseas-video-2-0', { resolution }), 'resolution')
})

t.test('ratio: the seven values', async (t) => {
  for (const ratio of ['adaptive', '16:9', '9:16', '1:1', '4:3', '3:4', '21:9'])
    for (const name of every) t.equal(accept(name, { ratio }).upstreamBody['ratio'], ratio)
  for (const ratio of ['2:1', '16x9', '', 1, ['16:9']])
    refused(t, bodyFor('overseas-video-2-0', { ratio }), 'ratio')
})

t.test('flags are booleans', async (t) => {
  for (const name of ['generate_audio', 'watermark', 'return_last_frame', 'draft']) {
    t.equal(accept('domestic-video-2-0', { [name]: false }).upstreamBody[name], false)
    for (const value of ['true', 1, 0, []])
      refused(t, bodyFor('domestic-video-2-0', { [name]: value }), name)
  }
})

t.test('priority 0 to 9 and execution_expires_after 3600 to 259200, on every model', async (t) => {
  for (const model of every) {
    for (const priority of [0, 9])
      t.equal(accept(model, { priority }).facts.settings['priority'], priority)
    for (const priority of [-1, 10, 1.5, '3', 2 ** 53])
      refused(t, bodyFor(model, { priority }), 'priority')
    for (const seconds of [3_600, 259_200])
      t.equal(accept(model, { execution_expires_after: seconds }).executionExpiresAfterS, seconds)
    for (const value of [3_599, 259_201, 0, 3_600.5, '3600'])
      refused(t, bodyFor(model, { execution_expires_after: value }), 'execution_expires_after')
  }
})

t.test('service_tier: flex only on domestic 2.0, where it is passed on', async (t) => {
  for (const name of every) {
    const { upstreamBody } = accept(name, { service_tier: 'default' })
    t.equal(upstreamBody['service_tier'], 'default')
  }
  for (const name of domestic20)
    t.equal(accept(name, { service_tier: 'flex' }).upstreamBody['service_tier'], 'flex')
  for (const name of [...overseas, 'domestic-video-2-5'])
    for (const value of ['flex', 'Default', '', 1])
      refused(t, bodyFor(name, { service_tier: value }), 'service_tier')
  refused(t, bodyFor('domestic-video-2-0', { service_tier: 'fast' }), 'service_tier')
})

t.test('draft: true only on domestic 2.0, where it is passed on', async (t) => {
  for (const name of every) t.equal(accept(name, { draft: false }).upstreamBody['draft'], false)
  for (const name of domestic20) t.equal(accept(name, { draft: true }).upstreamBody['draft'], true)
  for (const name of [...overseas, 'domestic-video-2-5'])
    for (const value of [true, 'false']) refused(t, bodyFor(name, { draft: value }), 'draft')
})

t.test('output_format: mp4 or mov on 2.5; 2.0 has only mp4 and does not get it', async (t) => {
  for (const name of of25) {
    for (const format of ['mp4', 'mov'])
      t.equal(accept(name, { output_format: format }).upstreamBody['output_format'], format)
    for (const format of ['webm', 'MP4', '', 4])
      refused(t, bodyFor(name, { output_format: format }), 'output_format')
  }
  for (const name of of20) {
    t.notOk('output_format' in accept(name, { output_format: 'mp4' }).upstreamBody, name)
    refused(t, bodyFor(name, { output_format: 'mov' }), 'output_format')
  }
})

t.test('tools: web search only on domestic 2.5 and only with text-only content', async (t) => {
  const tools = [{ type: 'web_search' }]
  const accepted = accept('domestic-video-2-5', { tools })
  t.strictSame(accepted.facts.tools, ['web_search'])
  t.strictSame(accepted.upstreamBody['tools'], tools)
  for (const name of every.filter((name) => name !== 'domestic-video-2-5'))
    refused(t, bodyFor(name, { tools }), 'tools')
  for (const item of [image('reference_image'), video(), audio(), image()])
    refused(t, bodyFor('domestic-video-2-5', { tools, content: [prompt, item] }), 'tools')
})

t.test('tools: exactly one web_search; an empty list counts as none', async (t) => {
  for (const name of every) {
    const accepted = accept(name, { tools: [] })
    t.strictSame(accepted.facts.tools, [], name)
    t.notOk('tools' in accepted.upstreamBody)
  }
  const web = { type: 'web_search' }
  for (const tools of [
    {},
    'web_search',
    web,
    ['web_search'],
    [{}],
    [null],
    [{ type: 'x' }],
    [web, web],
  ])
    refused(t, bodyFor('domestic-video-2-5', { tools }), 'tools')
})

t.test('callback_url: a non-empty https URL, trimmed', async (t) => {
  for (const name of every) {
    const accepted = accept(name, { callback_url: '\n https://hooks.example.test/x?a=b ' })
    t.equal(accepted.callbackUrl, 'https://hooks.example.test/x?a=b')
    t.equal(accepted.upstreamBody['callback_url'], 'https://hooks.example.test/x?a=b')
    const alias = { callback_url: null, CallbackURL: 'https://hooks.example.test/y' }
    t.equal(accept(name, alias).callbackUrl, 'https://hooks.example.test/y', 'null wins over none')
  }
  const bad = [
    '',
    '   ',
    5,
    {},
    ['https://x.test'],
    'http://x.test',
    'ftp://x.test',
    '//x.test',
    'https://',
    'https:///x',
    'https:x.test',
    'https://x .test/',
    'https://x.test/\n',
    'x.test/hook',
    'javascript:alert(1)',
    'https://x.test/\u0000',
    'https://[::1',
    `https://x.test/${'a'.repeat(2_048)}`,
  ]
  for (const value of bad.filter((value) => value !== 'https://x.test/\n'))
    refused(t, bodyFor('overseas-video-2-0', { callback_url: value }), 'callback_url')
})

t.test('CallbackURL is accepted everywhere and normalised; callback_url wins', async (t) => {
  for (const name of every) {
    const alone = accept(name, { CallbackURL: 'https://a.example.test/' })
    t.equal(alone.upstreamBody['callback_url'], 'https://a.example.test/')
    t.notOk('CallbackURL' in alone.upstreamBody)
    const both = accept(name, {
      CallbackURL: 'https://a.example.test/',
      callback_url: 'https://b.example.test/',
    })
    t.equal(both.callbackUrl, 'https://b.example.test/')
  }
  const lost = accept('overseas-video-2-0', { CallbackURL: 5, callback_url: 'https://b.test/' })
  t.equal(lost.callbackUrl, 'https://b.test/', 'the loser is not looked at')
  refused(t, bodyFor('overseas-video-2-0', { CallbackURL: 'http://a.test' }), 'CallbackURL')
  refused(
    t,
    bodyFor('overseas-video-2-0', { CallbackURL: 'https://a.test', callback_url: '' }),
    'callback_url',
  )
})

t.test('safety_identifier: a storable, non-blank string, kept out of the body', async (t) => {
  const accepted = accept('overseas-video-2-0', { safety_identifier: 'user-5f2a' })
  t.equal(accepted.safetyIdentifier, 'user-5f2a')
  t.notOk('safety_identifier' in accepted.upstreamBody)
  for (const value of [5, '', ' ', 'a\u0000', '\uD83D', 'x'.repeat(513)])
    refused(t, bodyFor('overseas-video-2-0', { safety_identifier: value }), 'safety_identifier')
})
