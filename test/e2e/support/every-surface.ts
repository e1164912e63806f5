import sharp from 'sharp'
import type { startStack } from '../../helpers/stack.ts'
import { type Answer, call, TASKS, taskBody } from './client.ts'
import { silentWav } from '../../helpers/silent-wav.ts'

/** Requests of every surface that makes something, for tests of what all of them must do. */

type Asked = Pick<Awaited<ReturnType<typeof startStack>>, 'url' | 'demo'>

const picture = await sharp({
  create: { width: 64, height: 64, channels: 3, background: '#36c' },
})
  .png()
  .toBuffer()
const dataUri = `data:image/png;base64,${picture.toString('base64')}`

export interface Priced {
  /** Name of the surface in the ledger. */
  readonly surface: string
  readonly path: string
  readonly body: Readonly<Record<string, unknown>> | (() => FormData)
  /** Members of the body that are labels there. */
  readonly own?: Readonly<Record<string, unknown>>
}

const prompt = 'a paper boat'
const clip = { model: 'clipq3-pro', prompt, duration: 5, resolution: '720p' }
const speech = { model: 'speech-2.8-hd', text: 'Good morning.', voice_id: 'male-qn-qingse' }
const metadata = { project: 'apollo', undeclared: 'secret-of-body' }
const texts = { metadata, user: 'ann' }
const media = 'https://hooks.example.com/boat.png'

function form(fields: Readonly<Record<string, string>>): FormData {
  const made = new FormData()
  for (const [name, value] of Object.entries(fields)) made.set(name, value)
  made.set('image', new Blob([new Uint8Array(picture)], { type: 'image/png' }), 'boat.png')
  return made
}

async function uploadedSample({ url, demo }: Asked): Promise<string> {
  const bytes = silentWav(12)
  const body = new FormData()
  body.append('purpose', 'voice_clone')
  body.append('file', new Blob([new Uint8Array(bytes)]), 'me.wav')
  const init = { method: 'POST', token: demo.modelToken, body }
  const answer = await call(`${url}/provB/v1/files/upload`, init)
  return String(answer.body.file.file_id)
}

const text = { model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }
const native = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }
const picturesOf = { model: 'image-2', prompt, response_format: 'b64_json' }
const edited = { prompt, images: [{ image_url: dataUri }], response_format: 'b64_json' }

/** One request of every surface that has a price, and of every family. */
export const everySurface = async (
  stack: Asked,
  cloned = 'Voice_of_labels1',
): Promise<readonly Priced[]> => [
  { surface: 'v1.chat', path: '/v1/chat/completions', body: text, own: texts },
  {
    surface: 'v1.chat',
    path: '/v1/chat/completions',
    body: { ...text, stream: true },
    own: { metadata, safety_identifier: 'ann' },
  },
  {
    surface: 'v1.responses',
    path: '/v1/responses',
    body: { model: 'text-basic', input: 'Hello' },
    own: texts,
  },
  {
    surface: 'v1.responses.compact',
    path: '/v1/responses/compact',
    body: { model: 'text-basic', input: [{ role: 'user', content: 'Hello' }] },
    own: texts,
  },
  {
    surface: 'v1.messages',
    path: '/v1/messages',
    body: { ...text, max_tokens: 64 },
    own: texts,
  },
  {
    surface: 'v1.messages',
    path: '/v1/messages',
    body: { ...text, max_tokens: 64, stream: true },
    own: { metadata, safety_identifier: 'ann' },
  },
  {
    surface: 'v1beta.generate',
    path: '/v1beta/models/text-basic:generateContent',
    body: native,
    own: { labels: metadata },
  },
  {
    surface: 'v1.generate',
    path: '/v1/models/text-basic:generateContent',
    body: native,
    own: { labels: metadata },
  },
  {
    surface: 'v1.images.generations',
    path: '/v1/images/generations',
    body: picturesOf,
    own: { user: 'ann' },
  },
  {
    surface: 'v1.images.generations',
    path: '/v1/images/generations',
    body: { model: 'gen-3.1-flash-image', prompt, response_format: 'b64_json' },
    own: { user: 'ann' },
  },
  {
    surface: 'v1.images.generations',
    path: '/v1/images/generations',
    body: { model: 'artB-5.0', prompt, response_format: 'b64_json' },
    own: { user: 'ann' },
  },
  {
    surface: 'v1.images.edits',
    path: '/v1/images/edits',
    body: { model: 'image-2', ...edited },
    own: { user: 'ann' },
  },
  {
    surface: 'v1.images.edits',
    path: '/v1/images/edits',
    body: () => form({ model: 'image-2', prompt, response_format: 'b64_json', user: 'ann' }),
  },
  {
    surface: 'v1.images.generations.async',
    path: '/v1/images/generations/async',
    body: { model: 'image-2', prompt },
    own: { user: 'ann' },
  },
  {
    surface: 'v1.images.edits.async',
    path: '/v1/images/edits/async',
    body: () => form({ model: 'image-2', prompt, user: 'ann' }),
  },
  {
    surface: 'v1.videos',
    path: '/v1/videos',
    body: { model: 'overseas-video-2-5', prompt, seconds: 5 },
  },
  { surface: 'v1.videos', path: '/v1/videos', body: { model: 'h3-video', prompt, seconds: 6 } },
  { surface: 'v1.videos', path: '/v1/videos', body: { model: 'clipq3-pro', prompt, seconds: 5 } },
  {
    surface: 'provA.tasks',
    path: TASKS,
    body: taskBody() as Readonly<Record<string, unknown>>,
    own: { safety_identifier: 'ann' },
  },
  {
    surface: 'provB.video',
    path: '/provB/v2/video_generation',
    body: {
      model: 'h3-video',
      content: [{ type: 'text', text: prompt }],
      duration: 6,
      resolution: '768P',
      ratio: '16:9',
    },
  },
  { surface: 'provC.text2video', path: '/provC/ent/v2/text2video', body: clip },
  {
    surface: 'provC.img2video',
    path: '/provC/ent/v2/img2video',
    body: { ...clip, images: [media] },
  },
  {
    surface: 'provC.start-end2video',
    path: '/provC/ent/v2/start-end2video',
    body: { ...clip, images: [media, media] },
  },
  {
    surface: 'provC.reference2video',
    path: '/provC/ent/v2/reference2video',
    body: { ...clip, model: 'clipq2', images: [media] },
  },
  {
    surface: 'v1.speech',
    path: '/v1/audio/speech',
    body: { model: 'speech-2.8-hd', input: 'Good morning.', voice: 'nova' },
  },
  { surface: 'provB.speech', path: '/provB/v1/t2a_v2', body: speech },
  { surface: 'provB.speech.async', path: '/provB/v1/t2a_async_v2', body: speech },
  {
    surface: 'provB.voice-clone',
    path: '/provB/v1/voice_clone',
    body: {
      file_id: await uploadedSample(stack),
      voice_id: cloned,
      text: 'Good morning.',
      model: 'speech-2.8-hd',
    },
  },
]

/** Sends a request of a surface; a form is made anew, with another boundary. */
export function sendTo(
  { url, demo }: Asked,
  { path, body }: Pick<Priced, 'path' | 'body'>,
  headers: Readonly<Record<string, string>> = {},
  token = demo.modelToken,
): Promise<Answer> {
  const isForm = typeof body === 'function'
  return call(`${url}${path}`, {
    method: 'POST',
    token,
    headers: { ...(isForm ? {} : { 'content-type': 'application/json' }), ...headers },
    body: isForm ? body() : JSON.stringify(body),
  })
}

/** Whether an answer is of a request that was made, in the form of every surface. */
export const isDone = ({ status, body }: Answer): boolean =>
  status < 300 && (body?.base_resp?.status_code ?? 0) === 0
