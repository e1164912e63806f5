import t, { type Test } from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import type { EventLog } from '../../src/eventlog/log/types.ts'
import { currentSharer } from '../../src/platform/sharer-context.ts'
import { sharedStack } from '../helpers/stack.ts'
import { call, TASKS, taskBody } from './support/client.ts'
import { watchConnections } from './support/token-connections.ts'

/** A token of one request a minute that makes many which are refused after a look-up. */

const stack = await sharedStack(t)
const { url, demo, access } = stack
const { tenantId, userId } = demo
const connections = watchConnections(stack.gateway.pool)
const reads = watchReads(stack.gateway.log)
const REQUESTS = 25
/** A handful, however many were asked for. */
const MOST_LOOK_UPS = 12

/** Counts the reads of streams by the token in whose context they are made. */
function watchReads(log: EventLog): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  const { readStream } = log
  const counted: EventLog['readStream'] = (stream, options) => {
    const tokenId = currentSharer()?.user ?? ''
    counts.set(tokenId, (counts.get(tokenId) ?? 0) + 1)
    return readStream.call(log, stream, options)
  }
  Object.assign(log, { readStream: counted })
  return counts
}

const ID = '01M80DRGZXCTZFYWS8HKBYTW5F'
const clip = { model: 'clipq3-pro', prompt: 'a fox', duration: 5 }
const speech = (n: number) => ({ model: 'speech-2.8-hd', text: 'Hello.', voice_id: `unknown${n}` })
const frames = (image: string) => ({
  model: 'h3-video',
  content: [
    { type: 'text', text: 'a boat' },
    { type: 'image_url', role: 'first_frame', image_url: { url: image } },
  ],
  resolution: '768P',
  duration: 6,
})
const video = (reference: string) => ({
  model: 'overseas-video-2-5',
  prompt: 'x',
  input_reference: [reference],
})
const used = (n: number) =>
  taskBody({
    content: [
      { type: 'text', text: 'a boat' },
      {
        type: 'image_url',
        role: 'reference_image',
        image_url: { url: `asset://asset-01ARZ3NDEKTSV4RRFFQ69G${1000 + n}` },
      },
    ],
  })
const turn = (uri: string) => ({
  contents: [{ parts: [{ text: 'hi' }, { file_data: { mime_type: 'video/mp4', file_uri: uri } }] }],
})
const ACTION = '/provA/?Version=2024-01-01&Action='
const library = { model: 'domestic-video-2-0', GroupId: `group-${ID}`, AssetType: 'Image' }

type Kind = readonly [name: string, path: string, body: (n: number, host: string) => object]
const kinds: readonly Kind[] = [
  ['an unknown voice', '/provB/v1/t2a_v2', speech],
  [
    'an unknown voice of a file',
    '/v1/audio/speech',
    (n) => ({ model: 'speech-2.8-hd', input: 'x', voice: `voice${n}1234` }),
  ],
  ['an unknown voice of a task', '/provB/v1/t2a_async_v2', speech],
  [
    'an unknown file of a clone',
    '/provB/v1/voice_clone',
    (n) => ({ file_id: 424010985738 + n, voice_id: `voice${n}1234` }),
  ],
  ['an unknown file', '/provB/v2/video_generation', (n) => frames(`media_file://42401098${n}`)],
  ['a host of a picture', '/provB/v2/video_generation', (_n, host) => frames(`${host}/a.png`)],
  ['an unknown asset', TASKS, used],
  [
    'an asset of a video',
    '/v1/videos',
    (n) => video(`asset://asset-${ID.slice(0, 22)}${1000 + n}`),
  ],
  ['a host of a video', '/v1/videos', (_n, host) => video(`${host}/a.png`)],
  ['a callback of A', TASKS, (_n, host) => taskBody({ callback_url: `${host}/done` })],
  [
    'a callback of B',
    '/provB/v2/video_generation',
    (_n, host) => ({ ...frames('https://93.184.216.34/a.png'), callback_url: `${host}/done` }),
  ],
  [
    'a callback of C',
    '/provC/ent/v2/text2video',
    (_n, host) => ({ ...clip, callback_url: `${host}/done` }),
  ],
  [
    'a file of a chat',
    '/v1beta/models/gen-3-pro-preview-file:generateContent',
    (_n, host) => turn(`${host}/a`),
  ],
  [
    'a picture to edit',
    '/v1/images/edits',
    (_n, host) => ({
      model: 'image-2',
      prompt: 'a boat',
      images: [{ image_url: `${host}/a.png` }],
    }),
  ],
  ['an asset to keep', `${ACTION}CreateAsset`, (_n, host) => ({ ...library, URL: `${host}/a` })],
  [
    'an asset to show',
    `${ACTION}GetAsset`,
    (n) => ({ ...library, Id: `asset-${ID.slice(4)}${1000 + n}` }),
  ],
  ['a quote of a voice', '/v1/quote', (n) => ({ path: '/provB/v1/t2a_v2', body: speech(n) })],
  [
    'a quote of a host',
    '/v1/quote',
    (_n, host) => ({ path: '/v1/videos', body: video(`${host}/a.png`) }),
  ],
]

let issued = 0
async function slowToken(): Promise<{ readonly tokenId: string; readonly secret: string }> {
  issued += 1
  return issueToken(access, {
    tenantId,
    userId,
    kind: 'model',
    name: `slow ${issued}`,
    limits: { requestsPerMinute: 1 },
  })
}

async function checkKind(
  t: Test,
  [name, path, body]: Kind,
  headers: (n: number) => Readonly<Record<string, string>>,
): Promise<void> {
  const { secret } = await slowToken()
  const user = `user\n${tenantId}\n${userId}`
  const before = [reads.get(user) ?? 0, connections.asked(user)] as const
  const hostOf = (n: number): string => `https://h${n}-of-${issued}.example.com`
  const ask = (n: number) =>
    call(`${url}${path}`, {
      method: 'POST',
      token: secret,
      headers: { 'content-type': 'application/json', ...headers(n) },
      // Each case asks for other names, because a missing one is remembered for a moment.
      body: JSON.stringify(body(issued * REQUESTS + n, hostOf(n))),
    })
  const answers = await Promise.all(Array.from({ length: REQUESTS }, (_, n) => ask(n)))
  const refusals = answers.filter(({ status }) => status !== 429)
  t.ok(refusals.length > 0 && refusals.length <= 5, `${name}: ${refusals.length} were looked at`)
  for (const { status, text } of refusals)
    t.ok(status >= 400 || /"status_code":2/.test(text), `${name}: ${status} ${text}`)
  const late = answers.find(({ status }) => status === 429)
  t.ok(Number(late?.headers.get('retry-after')) >= 1, `${name}: ${late?.text}`)
  const resolved = stack.resolved.filter((host) => host.endsWith(`-of-${issued}.example.com`))
  const counts = [
    (reads.get(user) ?? 0) - before[0],
    connections.asked(user) - before[1],
    resolved.length,
  ]
  for (const count of counts) t.ok(count <= MOST_LOOK_UPS, `${name}: ${counts.join(', ')}`)
  t.ok(
    counts.some((count) => count > 0),
    `${name} looks something up: ${counts.join(', ')}`,
  )
}

void t.test('refused requests of every kind cost few database look-ups', async (t) => {
  for (const kind of kinds) await checkKind(t, kind, () => ({}))
})

void t.test('refused requests under an Idempotency-Key cost few look-ups', async (t) => {
  for (const kind of kinds.slice(0, 5))
    await checkKind(t, kind, (n) => ({ 'idempotency-key': `k${n}-${issued}` }))
})

void t.test('an unknown name is not looked up again for a moment', async (t) => {
  const ask = (path: string, body: object) =>
    call(`${url}${path}`, {
      method: 'POST',
      token: demo.modelToken,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const host = 'https://same.example.com'
  const before = [...reads.values()].reduce((sum, count) => sum + count, 0)
  for (let n = 0; n < 20; n += 1) {
    await ask('/provB/v1/t2a_v2', speech(-1))
    await ask(TASKS, taskBody({ callback_url: `${host}/done` }))
  }
  const after = [...reads.values()].reduce((sum, count) => sum + count, 0)
  t.ok(stack.resolved.filter((one) => one === 'same.example.com').length <= 4)
  t.ok(after - before < 20, `${after - before} reads`)
})
