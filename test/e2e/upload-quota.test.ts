import sharp from 'sharp'
import t from 'tap'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call } from './support/client.ts'
import { silentWav } from '../helpers/silent-wav.ts'

const PUBLIC = 'https://media.example.com'
const FILES = 3
const DAY_S = 86_400

const stack = await startStack({
  env: {
    OBJECT_STORAGE: 'local',
    PUBLIC_BASE_URL: PUBLIC,
    UPLOAD_QUOTA_FILES: String(FILES),
    UPLOAD_QUOTA_BYTES: '300000',
    UPLOAD_LIFE_DAYS: '2',
  },
})
t.teardown(() => stack.stop())
const { url, demo } = stack

const picture = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#36c' } })
  .png()
  .toBuffer()

/** Twelve seconds of it as a WAV. */
const silence = silentWav(12)

function form(fields: Readonly<Record<string, string>>, name: string, bytes: Uint8Array): FormData {
  const made = new FormData()
  for (const [field, value] of Object.entries(fields)) made.set(field, value)
  made.set(
    name,
    new Blob([new Uint8Array(bytes)], { type: 'image/png' }),
    name === 'image' ? 'a.png' : 'me.wav',
  )
  return made
}
const send = (path: string, body: FormData): Promise<Answer> =>
  call(`${url}${path}`, { method: 'POST', token: demo.modelToken, body })
const toFiles = (bytes: Uint8Array = picture) =>
  send('/v1/files', form({ purpose: 'vision' }, 'file', bytes))
const toProvider = () =>
  send('/provB/v1/files/upload', form({ purpose: 'voice_clone' }, 'file', silence))
const toTask = () =>
  send(
    '/v1/images/edits/async',
    form({ model: 'image-2', prompt: 'a boat [[sandbox first-byte-ms=8000]]' }, 'image', picture),
  )
const usesOf = async () =>
  (await call(`${url}/api/user/balance`, { token: demo.profileToken })).body.data.uploads

void t.test('every way to upload counts in one quota, refused in its own shape', async (t) => {
  t.same(await usesOf(), { files: 0, files_limit: FILES, bytes: 0, bytes_limit: 300_000 })
  const file = await toFiles()
  t.equal(file.status, 200, file.text)
  t.equal(file.body.expires_at, file.body.created_at + 2 * DAY_S)
  const media = await toProvider()
  t.equal(media.body.base_resp.status_code, 0, media.text)
  const kept = { files: 2, bytes: picture.length + silence.length }
  t.match(await usesOf(), kept)

  const large = await toFiles(Buffer.alloc(300_001))
  t.equal(large.status, 429)
  t.match(large.body.error, { type: 'rate_limit_error', code: 'upload_quota_reached' })
  t.match(large.body.error.message, /300000 bytes/)
  t.equal(large.headers.get('x-should-retry'), 'false')
  t.match(await usesOf(), kept, 'nothing of it is kept')

  const task = await toTask()
  t.equal(task.status, 200, task.text)
  t.match(await usesOf(), { files: 3, bytes: 2 * picture.length + silence.length })

  const [second, third, fourth] = [await toFiles(), await toProvider(), await toTask()]
  t.equal(second.status, 429)
  t.match(second.body.error, { code: 'upload_quota_reached', message: /3 uploads/ })
  t.equal(third.status, 429)
  t.match(third.body, { base_resp: { status_code: 1002, status_msg: /3 uploads/ } })
  t.equal(fourth.status, 429)
  t.match(fourth.body.error, { code: 'upload_quota_reached' })

  await stack.caughtUp()
  t.match(await usesOf(), { files: 3 })
  const path = `${url}/v1/files/${file.body.id}`
  t.equal((await call(path, { method: 'DELETE', token: demo.modelToken })).status, 200)
  await stack.caughtUp()
  t.match(await usesOf(), { files: 2 })
  const again = await toFiles()
  t.equal(again.status, 200, again.text)
})
