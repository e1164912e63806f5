import t from 'tap'
import { call, create, query, sandboxFor, TASKS, video, type Reply } from './client.ts'

const CREDENTIAL = { authorization: 'Bearer right-key' }

function assertEnvelope(t: Tap, reply: Reply, status: number, code: string, type: string): void {
  t.equal(reply.status, status, `${code}: ${reply.text}`)
  t.strictSame(Object.keys(reply.json.error), ['code', 'message', 'param', 'type'])
  t.equal(reply.json.error.code, code)
  t.equal(reply.json.error.type, type)
  t.match(reply.json.error.message, / Request id: 02\d{13}[0-9a-f]{32}$/)
}
type Tap = Pick<typeof t, 'equal' | 'strictSame' | 'match'>

void t.test('401 in the envelope without a Bearer credential, on every route', async (t) => {
  const sandbox = await sandboxFor(t, { apiKeys: ['right-key'] })
  const task = await call(sandbox.url, 'POST', TASKS, video('x'), CREDENTIAL)
  t.equal(task.status, 200)
  const routes = [
    ['POST', TASKS],
    ['GET', TASKS],
    ['GET', `${TASKS}/${task.json.id}`],
    ['DELETE', `${TASKS}/${task.json.id}`],
  ] as const
  for (const [method, path] of routes) {
    for (const authorization of ['', 'Bearer', 'Bearer wrong-key', 'Token right-key']) {
      const body = method === 'POST' ? video('x') : undefined
      const reply = await call(sandbox.url, method, path, body, { authorization })
      assertEnvelope(t, reply, 401, 'AuthenticationError', 'Unauthorized')
    }
  }
  t.equal(sandbox.accepted().length, 1)
})

void t.test('an unknown path or method answers 404 with an empty body', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const [method, path] of [
    ['GET', '/api/v3/nothing'],
    ['PUT', TASKS],
    ['GET', '/'],
    ['POST', '/__sandbox/nothing'],
  ] as const) {
    const reply = await call(sandbox.url, method, path)
    t.equal(reply.status, 404, path)
    t.equal(reply.text, '')
  }
})

void t.test('404 in the envelope for a task that does not exist', async (t) => {
  const sandbox = await sandboxFor(t)
  const id = 'cgt-20260102030405-x7k2p'
  assertEnvelope(t, await query(sandbox.url, id), 404, 'NotFound.Task', 'NotFound')
  const removed = await call(sandbox.url, 'DELETE', `${TASKS}/${id}`)
  assertEnvelope(t, removed, 404, 'NotFound.Task', 'NotFound')
})

const image = (role: string): object => ({
  type: 'image_url',
  role,
  image_url: { url: 'asset://asset-1' },
})
const text = { type: 'text', text: 'x' }
const referenceVideo = (url: string): object => ({
  type: 'video_url',
  role: 'reference_video',
  video_url: { url },
})

const REFUSED: readonly (readonly [object, string])[] = [
  [{ model: undefined }, 'MissingParameter.model'],
  [{ model: 7 }, 'InvalidParameter.model'],
  [{ content: undefined }, 'MissingParameter.content'],
  [{ content: [] }, 'MissingParameter.content'],
  [{ content: 'x' }, 'InvalidParameter.content'],
  [{ content: [{ type: 'poem', text: 'x' }] }, 'InvalidParameter.content'],
  [{ content: [{ type: 'text' }] }, 'MissingParameter.content'],
  [{ content: [{ type: 'text', text: ' ' }] }, 'MissingParameter.content'],
  [{ content: [text, image('reference_video')] }, 'InvalidParameter.content'],
  [{ content: [text, { type: 'image_url', image_url: {} }] }, 'MissingParameter.content'],
  [{ content: [text, referenceVideo('data:video/mp4;base64,AA')] }, 'InvalidParameter.content'],
  [{ content: [text, image('last_frame')], ratio: 'adaptive' }, 'InvalidParameter.content'],
  [
    { content: [text, image('first_frame'), image('reference_image')], ratio: 'adaptive' },
    'InvalidParameter.content',
  ],
  [{ content: [text, image('first_frame')], ratio: '16:9' }, 'InvalidParameter.ratio'],
  [{ duration: 3 }, 'InvalidParameter.duration'],
  [{ duration: 31 }, 'InvalidParameter.duration'],
  [{ duration: '5' }, 'InvalidParameter.duration'],
  [{ ratio: '2:1' }, 'InvalidParameter.ratio'],
  [{ resolution: '8k' }, 'InvalidParameter.resolution'],
  [{ model: 'domestic-video-2-0-mini', resolution: '4k' }, 'InvalidParameter.resolution'],
  [{ priority: 10 }, 'InvalidParameter.priority'],
  [{ execution_expires_after: 3599 }, 'InvalidParameter.execution_expires_after'],
  [{ service_tier: 'gold' }, 'InvalidParameter.service_tier'],
  [{ tools: [{ type: 'shell' }] }, 'InvalidParameter.tools'],
  [{ callback_url: 'nowhere' }, 'InvalidParameter.callback_url'],
  [{ watermark: true, draft: 'no' }, 'InvalidParameter.draft'],
]

void t.test('400 with the code of the faulty parameter, without an accepted task', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const [change, code] of REFUSED) {
    const reply = await call(sandbox.url, 'POST', TASKS, video('x', change))
    assertEnvelope(t, reply, 400, code, 'BadRequest')
  }
  for (const body of ['', '{', '[]', 'null', '"x"']) {
    const reply = await call(sandbox.url, 'POST', TASKS, body)
    assertEnvelope(t, reply, 400, 'InvalidParameter', 'BadRequest')
  }
  const unknown = await call(sandbox.url, 'POST', TASKS, video('x', { model: 'poet-1' }))
  assertEnvelope(t, unknown, 404, 'InvalidEndpointOrModel.NotFound', 'NotFound')
  t.equal(sandbox.accepted().length, 0)
})

void t.test('valid inputs are accepted: data URIs, frames, null for absent', async (t) => {
  const sandbox = await sandboxFor(t, { queuedMs: 0, runningMs: 0 })
  const inline = { url: 'data:image/png;base64,AAAA' }
  await create(sandbox.url, 'x', {
    ratio: 'adaptive',
    priority: null,
    content: [text, { type: 'image_url', role: 'first_frame', image_url: inline }],
  })
  const id = await create(sandbox.url, 'x', { model: 'domestic-video-2-0', frames: 121 })
  const { json } = await query(sandbox.url, id)
  t.equal(json.frames, 121)
  t.notOk('duration' in json, 'exactly one of frames and duration')
  t.equal(json.usage.total_tokens, 108_900)
  const automatic = await create(sandbox.url, 'x', { duration: -1 })
  t.equal((await query(sandbox.url, automatic)).json.duration, 5)
})

void t.test('an edit that fixes its length is accepted and fails later', async (t) => {
  const sandbox = await sandboxFor(t, { queuedMs: 0, runningMs: 0 })
  const content = [
    { type: 'text', text: '[[sandbox task-type=edit]]' },
    referenceVideo('https://media.example.com/a.mp4'),
  ]
  const failed = (await query(sandbox.url, await create(sandbox.url, '', { content }))).json
  t.equal(failed.status, 'failed')
  t.equal(failed.error.code, 'InvalidParameter.TaskTypeConstraint')
  const right = { content, duration: -1, ratio: 'adaptive' }
  const good = (await query(sandbox.url, await create(sandbox.url, '', right))).json
  t.equal(good.status, 'succeeded')
})
