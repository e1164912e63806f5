import t from 'tap'
import { startApp } from './support/app.ts'

const { app } = await startApp()
t.teardown(() => app.close())

/** Bodies that each route takes but for their model's price or channel. */
const creations = {
  '/provA/api/v3/contents/generations/tasks': {
    model: 'domestic-video-2-0',
    content: [{ type: 'text', text: 'a boat' }],
    duration: 5,
    resolution: '720p',
  },
  '/v1/videos': { model: 'overseas-video-2-5', prompt: 'a boat', seconds: '4' },
  '/provB/v2/video_generation': {
    model: 'h3-video',
    content: [{ type: 'text', text: 'a boat' }],
    duration: 6,
    ratio: '16:9',
  },
  '/provC/ent/v2/text2video': { model: 'clip2.0', prompt: 'a boat' },
  '/provB/v1/t2a_v2': { model: 'speech-2.8-hd', voice_id: 'nova', text: 'a boat' },
  '/v1/images/generations': { model: 'image-2', prompt: 'a boat' },
  '/v1/chat/completions': { model: 'text-basic', messages: [{ role: 'user', content: 'hello' }] },
  '/v1/responses': { model: 'text-basic', input: 'hello' },
} as const
type Path = keyof typeof creations

const post = (url: string, payload: object) =>
  app.inject({ method: 'POST', url, payload, headers: { authorization: 'Bearer sk-one' } })

/** Members that another interface has, and what is used for them here. */
const foreign: readonly (readonly [path: Path, name: string, counterpart: string | undefined])[] = [
  ['/v1/videos', 'image_url', 'input_reference'],
  ['/v1/videos', 'callback_url', undefined],
  ['/v1/videos', 'aspect_ratio', undefined],
  ['/v1/videos', 'duration', 'seconds'],
  ['/v1/videos', 'seed', undefined],
  ['/provA/api/v3/contents/generations/tasks', 'aspect_ratio', 'ratio'],
  ['/provA/api/v3/contents/generations/tasks', 'seconds', 'duration'],
  ['/provA/api/v3/contents/generations/tasks', 'size', 'resolution'],
  ['/provA/api/v3/contents/generations/tasks', 'image_url', 'content'],
  ['/provA/api/v3/contents/generations/tasks', 'prompt', undefined],
  ['/provB/v2/video_generation', 'seconds', 'duration'],
  ['/provB/v2/video_generation', 'aspect_ratio', 'ratio'],
  ['/provB/v2/video_generation', 'generate_audio', undefined],
  ['/provC/ent/v2/text2video', 'ratio', 'aspect_ratio'],
  ['/provC/ent/v2/text2video', 'seconds', 'duration'],
  ['/provC/ent/v2/text2video', 'subjects', undefined],
  ['/provB/v1/t2a_v2', 'voice', 'voice_id'],
  ['/provB/v1/t2a_v2', 'input', 'text'],
  ['/v1/images/generations', 'duration', undefined],
  ['/v1/images/generations', 'safety_identifier', 'user'],
  ['/v1/images/generations', 'frame_count', undefined],
  ['/v1/images/generations', 'frame_duration_ms', undefined],
  ['/v1/images/generations', 'svg', undefined],
  ['/v1/images/generations', 'complexity', undefined],
  ['/v1/videos', 'omni_reference_task_type', undefined],
  ['/provA/api/v3/contents/generations/tasks', 'user', 'safety_identifier'],
  ['/provA/api/v3/contents/generations/tasks', 'frame_count', undefined],
  ['/v1/chat/completions', 'max_output_tokens', 'max_tokens'],
  ['/v1/responses', 'max_completion_tokens', 'max_output_tokens'],
  ['/v1/responses', 'max_tokens', 'max_output_tokens'],
]

t.test('400 for a member of another interface, naming the member to use', async (t) => {
  for (const [path, name, counterpart] of foreign) {
    const said =
      counterpart === undefined
        ? `\`${name}\` is not accepted here`
        : `\`${name}\` is not accepted here; use \`${counterpart}\``
    const answer = await post(path, { ...creations[path], [name]: 'x' })
    if (!path.startsWith('/provB/v1/')) t.equal(answer.statusCode, 400, `${path} ${name}`)
    t.ok(answer.body.includes(said), `${path} ${name}: ${answer.body}`)
    const quoted = await post('/v1/quote', { path, body: { ...creations[path], [name]: 'x' } })
    t.ok(quoted.body.includes(said), `/v1/quote ${path} ${name}: ${quoted.body}`)
  }
})

t.test('a member of another object within a creation is 400, naming its path', async (t) => {
  const text = { type: 'text', text: 'a boat' }
  const nested: readonly (readonly [path: Path, members: object, at: string])[] = [
    [
      '/provA/api/v3/contents/generations/tasks',
      { content: [{ ...text, url: 'x' }] },
      'content[0].url',
    ],
    ['/provB/v2/video_generation', { content: [{ ...text, file_id: 'x' }] }, 'content[0].file_id'],
    ['/v1/videos', { input_reference: { url: 'x', role: 'first_frame' } }, 'input_reference.role'],
    ['/provB/v1/t2a_v2', { audio_setting: { force_cbr: true } }, 'audio_setting.force_cbr'],
  ]
  for (const [path, members, at] of nested) {
    const answer = await post(path, { ...creations[path], ...members })
    t.ok(answer.body.includes(`\`${at}\` is not accepted here`), `${path}: ${answer.body}`)
  }
  const mixed = { content: [{ ...text, image_url: { url: 'https://media.example.com/a.png' } }] }
  for (const path of [
    '/provA/api/v3/contents/generations/tasks',
    '/provB/v2/video_generation',
  ] as const) {
    const answer = await post(path, { ...creations[path], ...mixed })
    t.match(answer.body, /`content\[0\]\.image_url` must be in a separate item/, path)
  }
})

t.test('a member that no interface has is accepted and ignored', async (t) => {
  for (const path of Object.keys(creations) as Path[]) {
    const plain = await post(path, creations[path])
    const answer = await post(path, { ...creations[path], quux_level: 1 })
    t.equal(answer.statusCode, plain.statusCode, path)
    t.notMatch(answer.body, /quux_level/)
  }
})
