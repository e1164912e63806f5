import sharp from 'sharp'
import t, { type Test } from 'tap'
import { passVerification } from '../app/assets/support/library.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, TASKS, taskBody } from './support/client.ts'
import { watchConnections } from './support/token-connections.ts'
import { silentWav } from '../helpers/silent-wav.ts'

/**
 * Every kind of call where a token holds one connection of the pool at most: what asked for a second one
 * while it holds the first would wait for itself until it fails.
 */

const PUBLIC = ['93.184.216.34']
const stack = await startStack({
  env: {
    DATABASE_POOL_SIZE: '4',
    DATABASE_USER_SHARE: '0.25',
    OBJECT_STORAGE: 'local',
    PUBLIC_BASE_URL: 'https://media.example.com',
  },
  hosts: { 'media.example.com': PUBLIC, 'caller.example.com': PUBLIC },
})
t.teardown(() => stack.stop())
const { url, demo } = stack
const connections = watchConnections(stack.gateway.pool)
/** Of each kind of call so many at once. */
const AT_ONCE = 4

const picture = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#36c' } })
  .png()
  .toBuffer()
const silence = silentWav(12)

const send = (method: string, path: string, body?: object, key?: string): Promise<Answer> => {
  const isForm = body instanceof FormData
  return call(`${url}${path}`, {
    method,
    token: demo.modelToken,
    headers: {
      ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  })
}
const post = (path: string, body: object, key?: string) => send('POST', path, body, key)
const get = (path: string) => send('GET', path)
const form = (fields: Readonly<Record<string, string>>, name: string, bytes: Uint8Array) => {
  const made = new FormData()
  for (const [field, value] of Object.entries(fields)) made.set(field, value)
  const type = name === 'image' ? 'image/png' : 'application/octet-stream'
  made.set(name, new Blob([new Uint8Array(bytes)], { type }), name === 'image' ? 'a.png' : 'a.wav')
  return made
}

/** The same thing several times at once; it is done each time. */
async function together(t: Test, what: string, ask: (at: number) => Promise<Answer>) {
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_none, at) => ask(at)))
  for (const { status, text, body } of answers) {
    const isDone = status < 300 && (body?.base_resp?.status_code ?? 0) === 0
    t.ok(isDone, isDone ? what : `${what}: ${status} ${text}`)
  }
  return answers
}

const chat = { model: 'text-basic', messages: [{ role: 'user', content: 'hello' }] }
const turn = { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] }
const speech = { model: 'speech-2.8-hd', voice_id: 'nova', text: 'a boat' }
const image = { model: 'image-2', prompt: 'a boat', size: '1024x1024' }
const calls: Readonly<Record<string, object>> = {
  '/v1/chat/completions': chat,
  '/v1/responses': { model: 'text-basic', input: 'hello' },
  '/v1/messages': { ...chat, max_tokens: 64 },
  '/v1beta/models/text-basic:generateContent': turn,
  '/v1beta/models/text-basic:streamGenerateContent': turn,
  '/v1/images/generations': image,
  '/provB/v1/t2a_v2': speech,
  '/v1/quote': { path: '/v1/chat/completions', body: chat },
}

void t.test('calls: whole, streamed, under a key and repeated', async (t) => {
  for (const [path, body] of Object.entries(calls)) await together(t, path, () => post(path, body))
  for (const path of [
    '/v1/chat/completions',
    '/v1/responses',
    '/v1/messages',
    '/provB/v1/t2a_v2',
  ]) {
    const body = calls[path] ?? {}
    await together(t, `${path} as a stream`, () => post(path, { ...body, stream: true }))
    await together(t, `${path} under keys`, (at) => post(path, body, `${path} ${at}`))
    const again = await together(t, `${path} again`, (at) => post(path, body, `${path} ${at}`))
    for (const { headers } of again) t.equal(headers.get('idempotent-replayed'), 'true', path)
  }
  const edit = () => post('/v1/images/edits', form({ ...image }, 'image', picture))
  await together(t, '/v1/images/edits', edit)
  for (const path of ['/v1/models', '/v1/key']) await together(t, path, () => get(path))
})

/** What makes tasks, and where they are looked at. */
const made: readonly (readonly [create: string, body: object, look: string])[] = [
  [TASKS, taskBody(), `${TASKS}/:id`],
  ['/v1/videos', { model: 'domestic-video-2-0', prompt: 'a boat' }, '/v1/videos/:id'],
  [
    '/provB/v2/video_generation',
    { model: 'h3-video', content: [{ type: 'text', text: 'a boat' }], duration: 6, ratio: '16:9' },
    '/provB/v2/query/video_generation/:id',
  ],
  [
    '/provC/ent/v2/text2video',
    { model: 'clipq3-turbo', prompt: 'a boat' },
    '/provC/ent/v2/tasks/:id/creations',
  ],
  ['/v1/images/generations/async', image, '/v1/images/generations/:id'],
  ['/provB/v1/t2a_async_v2', speech, '/provB/v1/query/t2a_async_query_v2?task_id=:id'],
]

void t.test('tasks: created, read, listed and deleted', async (t) => {
  for (const [path, body, look] of made) {
    const answers = await together(t, path, (at) => post(path, body, `task ${path} ${at}`))
    await together(t, `${path} again`, (at) => post(path, body, `task ${path} ${at}`))
    const ids = answers.map(({ body }) => String(body.id ?? body.task_id))
    await together(t, look, (at) => get(look.replace(':id', ids[at] ?? '')))
    await together(t, `${look}, the same`, () => get(look.replace(':id', ids[0] ?? '')))
  }
  for (const path of [TASKS, '/v1/videos?limit=5']) await together(t, path, () => get(path))
  const [first] = (await get(TASKS)).body.items
  await eventually('it has ended', async () => {
    const { body } = await get(`${TASKS}/${first.id}`)
    return body.status === 'succeeded' ? true : undefined
  })
  await together(t, 'deleted', () => send('DELETE', `${TASKS}/${first.id}`))
})

void t.test('files, uploads and voices', async (t) => {
  const files = await together(t, '/v1/files', () =>
    post('/v1/files', form({ purpose: 'vision' }, 'file', picture)),
  )
  const idAt = (at: number): string => String(files[at]?.body.id)
  await together(t, 'listed', () => get('/v1/files'))
  await together(t, 'looked at', (at) => get(`/v1/files/${idAt(at)}`))
  await together(t, 'read', (at) => get(`/v1/files/${idAt(at)}/content`))
  await together(t, 'deleted', (at) => send('DELETE', `/v1/files/${idAt(at)}`))
  const uploads = await together(t, '/provB/v1/files/upload', () =>
    post('/provB/v1/files/upload', form({ purpose: 'voice_clone' }, 'file', silence)),
  )
  const fileId = (at: number): number => Number(uploads[at]?.body.file.file_id)
  await together(t, 'retrieved', (at) => get(`/provB/v1/files/retrieve?file_id=${fileId(at)}`))
  await together(t, 'cloned', (at) =>
    post('/provB/v1/voice_clone', { file_id: fileId(at), voice_id: `Ann-voice-${at}` }),
  )
  const edits = () => form({ model: 'image-2', prompt: 'a boat' }, 'image', picture)
  await together(t, 'edits', () => post('/v1/images/edits/async', edits()))
})

void t.test('the asset library', async (t) => {
  const act = (action: string, body: object) =>
    post(`/provA/?Action=${action}&Version=2024-01-01`, body)
  const MODEL = { model: 'domestic-video-2-0' }
  const groups = await together(t, 'CreateAssetGroup', (at) =>
    act('CreateAssetGroup', { ...MODEL, Name: `boats ${at}` }),
  )
  const groupAt = (at: number): string => String(groups[at]?.body.Result.Id)
  const created = async (groupIdAt: (at: number) => string): Promise<readonly string[]> => {
    const picture = { URL: 'https://media.example.com/a.png', AssetType: 'Image', Name: 'a boat' }
    const answers = await together(t, 'CreateAsset', (at) =>
      act('CreateAsset', { ...MODEL, ...picture, GroupId: groupIdAt(at) }),
    )
    const ids = answers.map(({ body }) => String(body.Result.Id))
    for (const Id of ids)
      await eventually('it is active', async () => {
        const { body } = await act('GetAsset', { Id })
        return body.Result.Status === 'Active' ? true : undefined
      })
    return ids
  }
  const assets = await created(groupAt)
  await together(t, 'GetAsset', (at) => act('GetAsset', { Id: assets[at] }))
  await together(t, 'ListAssets', () => act('ListAssets', { Filter: { GroupType: 'AIGC' } }))
  await together(t, 'ListAssetGroups', () =>
    act('ListAssetGroups', { Filter: { GroupType: 'AIGC' } }),
  )
  await together(t, 'used', (at) =>
    post(
      TASKS,
      taskBody({
        content: [
          { type: 'text', text: 'a boat' },
          {
            type: 'image_url',
            role: 'reference_image',
            image_url: { url: `asset://${assets[at]}` },
          },
        ],
      }),
    ),
  )
  const session = await act('CreateVisualValidateSession', {
    ...MODEL,
    CallbackURL: 'https://caller.example.com/done',
  })
  t.equal(session.status, 200, session.text)
  await passVerification(String(session.body.Result.H5Link))
  const { ProviderToken } = session.body.Result
  const people = await together(t, 'GetVisualValidateResult', () =>
    act('GetVisualValidateResult', { ...MODEL, ProviderToken }),
  )
  const GroupId = String(people[0]?.body.Result.GroupId)
  // What is a person's is changed and deleted, too.
  const portraits = await created(() => GroupId)
  await together(t, 'UpdateAsset', (at) => act('UpdateAsset', { Id: portraits[at], Name: 'Ann' }))
  await together(t, 'UpdateAssetGroup', () => act('UpdateAssetGroup', { Id: GroupId, Name: 'Ann' }))
  await together(t, 'DeleteAsset', (at) => act('DeleteAsset', { Id: portraits[at] }))
  const gone = await act('DeleteAssetGroup', { Id: GroupId })
  t.equal(gone.status, 200, gone.text)
})

void t.test('no request waited for its own connection', (t) => {
  t.same(connections.failures, [])
  t.notMatch(stack.logged(), /holds its share of the connections/)
  const user = `user\n${stack.demo.tenantId}\n${stack.demo.userId}`
  t.equal(connections.mostHeld(user), 1)
  t.ok(connections.asked(user) > 100, `${connections.asked(user)} connections asked for`)
  t.end()
})
