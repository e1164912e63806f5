import type { Demo } from '../../faults/driver/machine.ts'

/** Calls of every kind to a gateway on the sandbox, so that each figure of a dashboard has something to show. */

interface Call {
  readonly path: string
  /** The token that it is made with; that of models unless another one is named. */
  readonly as?: 'modelToken' | 'queryToken' | 'profileToken'
  readonly body?: object
}

const say = (content: string) => [{ role: 'user', content }]
const video = (text: string): Call => ({
  path: '/provA/api/v3/contents/generations/tasks',
  body: {
    model: 'domestic-video-2-0',
    duration: 5,
    resolution: '720p',
    content: [{ type: 'text', text }],
  },
})
const chat = (content: string, stream: boolean): Call => ({
  path: '/v1/chat/completions',
  body: { model: 'text-basic', stream, messages: say(content) },
})

const served: readonly Call[] = [
  chat('hello', false),
  chat('hello', true),
  { path: '/v1/responses', body: { model: 'text-basic', input: 'hello' } },
  {
    path: '/v1beta/models/text-basic:generateContent',
    body: { contents: [{ parts: [{ text: 'hello' }] }] },
  },
  { path: '/v1/images/generations', body: { model: 'image-2', prompt: 'a paper boat' } },
  { path: '/v1/audio/speech', body: { model: 'speech-2.8-hd', input: 'A boat.', voice: 'nova' } },
  {
    path: '/provB/v1/t2a_async_v2',
    body: { model: 'speech-2.8-turbo', voice_id: 'echo', text: 'A long story.' },
  },
  video('a paper boat'),
  {
    path: '/provB/v2/video_generation',
    body: {
      model: 'h3-video',
      duration: 6,
      ratio: '16:9',
      content: [{ type: 'text', text: 'a lantern' }],
    },
  },
  {
    path: '/provC/ent/v2/text2video',
    body: { model: 'clipq3-pro', prompt: 'a fox', duration: 5 },
  },
  { path: '/api/query/v1/ledger/lines', as: 'queryToken' },
]

/** Each fails at its provider, or is refused by the gateway. */
const unsuccessful: readonly Call[] = [
  chat('[[sandbox http=503]]', false),
  video('[[sandbox http=503]]'),
  { path: '/v1/chat/completions', body: { model: 'no-such-model', messages: say('hello') } },
]

async function send(url: string, demo: Demo, { path, as = 'modelToken', body }: Call) {
  const response = await fetch(`${url}${path}`, {
    headers: { authorization: `Bearer ${demo[as]}`, 'content-type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  await response.arrayBuffer()
  return `${response.status} ${path}`
}

/** Makes one call of every kind that is served. @throws where one is not */
export async function callOnceEach(url: string, demo: Demo): Promise<void> {
  for (const call of served) {
    const answer = await send(url, demo, call)
    if (!answer.startsWith('200 ')) throw new Error(answer)
  }
}

/** Makes calls that fail and calls that are refused, also by a limit. @throws where one is served */
export async function callInVain(url: string, demo: Demo): Promise<void> {
  for (const call of unsuccessful) {
    const answer = await send(url, demo, call)
    if (answer.startsWith('200 ')) throw new Error(answer)
  }
  for (let answer = ''; !answer.startsWith('429 ');)
    answer = await send(url, demo, { path: '/api/user/tokens', as: 'profileToken' })
}
