import t from 'tap'
import { type UploadEventData, uploadStream } from '../../src/domain/upload/events.ts'
import { eventId } from '../../src/kernel/ids.ts'
import { startStack } from '../helpers/stack.ts'
import { call } from './support/client.ts'
import { silentWav } from '../helpers/silent-wav.ts'

const stack = await startStack({ env: { UPLOAD_LIFE_DAYS: '2' } })
t.teardown(() => stack.stop())
const { url, demo, other } = stack
const { log } = stack.gateway

const content = (fileId: string, token = demo.modelToken) =>
  fetch(`${url}/provB/v1/files/retrieve_content?file_id=${fileId}`, {
    headers: { authorization: `Bearer ${token}` },
  })
const asked = () => stack.sandbox.requestLog().length

/** A voice sample, as its event says it. */
async function uploaded(): Promise<UploadEventData<'MediaUploaded'>> {
  const wav = silentWav(12)
  const form = new FormData()
  form.set('purpose', 'voice_clone')
  form.set('file', new Blob([new Uint8Array(wav)]), 'me.wav')
  const answer = await call(`${url}/provB/v1/files/upload`, {
    method: 'POST',
    token: demo.modelToken,
    body: form,
  })
  const [event] = await log.readStream(uploadStream(String(answer.body.file.file_id)))
  if (event?.type !== 'MediaUploaded') throw new Error(answer.text)
  return event.data
}

void t.test('an expired upload is answered as an unknown one', async (t) => {
  const upload = await uploaded()
  const lifeMs = Date.parse(upload.expiresAt ?? '') - Date.parse(upload.uploadedAt)
  t.equal(lifeMs, 2 * 86_400_000)
  const alive = await content(upload.fileId)
  t.equal(alive.status, 200)
  t.equal((await alive.arrayBuffer()).byteLength, upload.sizeBytes)

  const fileId = String(BigInt(upload.fileId) - 1n)
  const stream = uploadStream(fileId)
  const expiresAt = new Date(Date.now() - 1_000).toISOString()
  await log.append(
    stream,
    [
      {
        id: eventId(stream, 'test', 0),
        type: 'MediaUploaded',
        data: { ...upload, fileId, expiresAt },
        metadata: { schemaVersion: 1, commandId: 'test', correlationId: 'test' },
      },
    ],
    'no_stream',
  )
  const before = asked()
  const without = (text: string) => text.replace(/req_[0-9A-Z]{26}/, 'req')
  const shown = async (answer: Response) => ({
    status: answer.status,
    text: without(await answer.text()),
  })
  const ended = await shown(await content(fileId))
  t.match(JSON.parse(ended.text), { base_resp: { status_code: 2013 } })
  t.same(ended, await shown(await content(String(2n ** 52n))), 'like an id that names nothing')
  t.same(ended, await shown(await content(fileId, other.modelToken)))
  const retrieved = await call(`${url}/provB/v1/files/retrieve?file_id=${fileId}`, {
    token: demo.modelToken,
  })
  t.match(retrieved.body, { base_resp: { status_code: 2013 } })
  t.equal(asked(), before, 'nothing is asked upstream')
})
