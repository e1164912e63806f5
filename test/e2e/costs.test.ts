import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { formatAmount, parseAmount } from '../../src/kernel/money.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import {
  type Answer,
  call,
  queriesOf,
  RAW,
  taskBody,
  TASKS,
  withRawSpeech,
} from './support/client.ts'
import { silentWav } from '../helpers/silent-wav.ts'

const stack = await startStack({
  env: { OBJECT_STORAGE: 'local', PUBLIC_BASE_URL: 'https://gateway.example.com' },
  channels: withRawSpeech,
})
t.teardown(() => stack.stop())
const { url, demo } = stack
const token = demo.modelToken
const finance = queriesOf(url, demo.queryToken)
const json = { 'content-type': 'application/json' }

const post = (path: string, body: object, headers: Record<string, string> = {}): Promise<Answer> =>
  call(`${url}${path}`, {
    method: 'POST',
    token,
    headers: { ...json, ...headers },
    body: JSON.stringify(body),
  })

interface Line {
  readonly sku: string
  readonly amount: string
  readonly currency: string
  readonly price_book_version: string
}

async function linesOf(id: string): Promise<readonly Line[]> {
  await stack.caughtUp()
  return (await finance.lines(`source_id=${id}`)).body.data.items.toReversed()
}

/** What the ledger has of it, as headers would say it. */
function toldOf(lines: readonly Line[]) {
  const total = lines.reduce((sum, { amount }) => sum + parseAmount(amount), 0n)
  return {
    'x-cost': formatAmount(total),
    'x-cost-currency': lines[0]?.currency,
    'x-price-book': lines[0]?.price_book_version,
    'x-cost-split': lines.map(({ sku, amount }) => `${sku}=${amount}`).join(', '),
  }
}

function costIn({ headers }: Answer) {
  const names = ['x-cost', 'x-cost-currency', 'x-price-book', 'x-cost-split']
  return Object.fromEntries(names.map((name) => [name, headers.get(name) ?? undefined]))
}

async function toldAsSettled(t: Test, answer: Answer, id = answer.headers.get('x-call-id')) {
  t.equal(answer.status, 200, answer.text)
  const lines = await linesOf(String(id))
  t.ok(lines.length > 0, 'it was settled')
  t.same(costIn(answer), toldOf(lines))
}

const chat = { model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }
const native = { contents: [{ parts: [{ text: 'Hello' }] }] }
const speech = { model: 'speech-2.8-hd', text: 'Good morning.', voice_id: 'male-qn-qingse' }

void t.test('an answer states the cost of its ledger lines, on every surface', async (t) => {
  const asked: readonly (readonly [path: string, body: object])[] = [
    ['/v1/chat/completions', chat],
    ['/v1/responses', { model: 'text-basic', input: 'Hello' }],
    ['/v1/messages', { ...chat, max_tokens: 64 }],
    ['/v1beta/models/text-basic:generateContent', native],
    ['/v1/images/generations', { model: 'image-2', prompt: 'a boat', n: 2 }],
    ['/v1/images/generations', { model: 'image-2.5-flare', prompt: 'a boat', size: '1K' }],
    ['/provB/v1/t2a_v2', speech],
    ['/v1/audio/speech', { model: 'speech-2.8-hd', input: 'Good morning.', voice: 'nova' }],
    ['/provB/v1/t2a_v2', { ...speech, model: RAW }],
  ]
  for (const [path, body] of asked)
    await t.test(path, async (t) => toldAsSettled(t, await post(path, body)))
})

void t.test('a clone of a voice states the cost of both of its lines', async (t) => {
  const sample = silentWav(12)
  const form = new FormData()
  form.set('purpose', 'voice_clone')
  form.set('file', new Blob([sample]), 'me.wav')
  const upload = { method: 'POST', token, body: form }
  const { file } = (await call(`${url}/provB/v1/files/upload`, upload)).body
  const audition = { text: 'Good morning.', model: 'speech-2.8-hd' }
  const order = { file_id: Number(file.file_id), voice_id: 'my-own-voice', ...audition }
  const answer = await post('/provB/v1/voice_clone', order)
  await toldAsSettled(t, answer)
  t.match(
    answer.headers.get('x-cost-split'),
    /^voice-clone=[\d.]+, speech-2\.8-hd-character=[\d.]+$/,
  )
})

void t.test('a free answer states 0; a refused one has no cost headers', async (t) => {
  const prompt = 'Hello [[sandbox zero-usage]]'
  const free = await post('/v1/chat/completions', {
    ...chat,
    messages: [{ role: 'user', content: prompt }],
  })
  t.match(costIn(free), { 'x-cost': '0', 'x-cost-currency': 'USD', 'x-cost-split': '' })
  t.ok(free.headers.get('x-price-book'))
  const input = 'Hello [[sandbox fail=server_error]]'
  const failed = await post('/v1/responses', { model: 'text-basic', input })
  t.match([failed.status, failed.body.status, failed.headers.get('x-cost')], [200, 'failed', '0'])
  const refused = await post('/v1/chat/completions', { model: 'text-basic' })
  t.match([refused.status, refused.headers.get('x-cost')], [400, null])
})

void t.test('a billed refusal states its cost', async (t) => {
  const prompt = 'a boat [[sandbox no-image=NO_IMAGE]]'
  const answer = await post('/v1/images/generations', { model: 'gen-3-pro-image-preview', prompt })
  t.equal(answer.status, 422, answer.text)
  t.same(costIn(answer), toldOf(await linesOf(String(answer.headers.get('x-call-id')))))
})

interface StreamCost {
  readonly amount: string
  readonly currency: string
  readonly price_book: string
  readonly split: readonly { readonly sku: string; readonly amount: string }[]
}

/** Frames of a stream that are JSON. */
// oxlint-disable-next-line typescript/no-explicit-any -- frames are looked into as users do
function framesOf({ text }: Answer): readonly any[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)))
}

/** As a stream says it. */
function memberOf(lines: readonly Line[]): StreamCost {
  const [first] = lines
  return {
    amount: toldOf(lines)['x-cost'],
    currency: first?.currency ?? '',
    price_book: first?.price_book_version ?? '',
    split: lines.map(({ sku, amount }) => ({ sku, amount })),
  }
}

const wanted = { 'x-cost-in-stream': 'true' }
const streams = [
  ['/v1/chat/completions', { ...chat, stream: true }],
  ['/v1/chat/completions', { ...chat, stream: true, stream_options: { include_usage: true } }],
  ['/v1/responses', { model: 'text-basic', input: 'Hello', stream: true }],
  ['/v1/messages', { ...chat, max_tokens: 64, stream: true }],
  ['/v1beta/models/text-basic:streamGenerateContent?alt=sse', native],
  ['/v1/images/generations', { model: 'image-2.5-flare', prompt: 'a boat', stream: true }],
  ['/provB/v1/t2a_v2', { ...speech, stream: true }],
] as const

void t.test('a stream states its cost in the last frame, where requested', async (t) => {
  for (const [path, body] of streams)
    await t.test(path, async (t) => {
      const answer = await post(path, body, wanted)
      t.equal(answer.status, 200, answer.text)
      t.equal(answer.headers.get('x-cost'), null, 'its headers left before')
      // Messages end with a frame that has nothing else.
      const frames = framesOf(answer).filter(({ type }) => type !== 'message_stop')
      const last = frames.at(-1)
      const told = last.usageMetadata?.cost ?? last.cost
      t.same(told, memberOf(await linesOf(String(answer.headers.get('x-call-id')))))
      t.notOk(
        frames.slice(0, -1).some((frame) => 'cost' in frame),
        'and in no other',
      )
      const plain = await post(path, body)
      t.notOk(plain.text.includes('"cost"'), 'nor where nobody asked')
    })
})

void t.test('official clients read a stream with its cost as any other', async (t) => {
  const client = new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: token,
    maxRetries: 0,
    defaultHeaders: wanted,
  })
  const stream = client.chat.completions.stream({
    model: 'text-basic',
    messages: [{ role: 'user', content: 'Hello' }],
    stream_options: { include_usage: true },
  })
  const completion = await stream.finalChatCompletion()
  t.equal(completion.choices[0]?.finish_reason, 'stop')
  t.ok((completion.usage?.total_tokens ?? 0) > 0, 'the figures are still there')
  t.match(Reflect.get(completion, 'cost'), { amount: /^0\.\d+$/, currency: 'USD' })
  const response = await client.responses
    .stream({ model: 'text-basic', input: 'Hello' })
    .finalResponse()
  t.equal(response.status, 'completed')
})

void t.test('a failed stream states no cost', async (t) => {
  const messages = [{ role: 'user', content: 'Hello [[sandbox error-after=2]]' }]
  const answer = await post('/v1/chat/completions', { ...chat, messages, stream: true }, wanted)
  t.notOk(answer.text.includes('"cost"'), answer.text)
})

/** Asks until it has ended. */
function ended(path: string): Promise<Answer> {
  return eventually(path, async () => {
    const answer = await call(`${url}${path}`, { token })
    const { status, state, task } = answer.body
    const now = String(status ?? state ?? task?.status)
    return /^(?:succeeded|completed|success|Success|failed)$/.test(now) ? answer : undefined
  })
}

void t.test('the query of a settled task states its cost, on every surface', async (t) => {
  const clip = { model: 'clipq3-pro', prompt: 'a fox', duration: 5 }
  const created: readonly (readonly [path: string, body: object, query: string])[] = [
    [TASKS, taskBody(), `${TASKS}/`],
    ['/v1/videos', { model: 'domestic-video-2-0', prompt: 'a fox' }, '/v1/videos/'],
    [
      '/provB/v2/video_generation',
      { model: 'h3-video', content: [{ type: 'text', text: 'a fox' }], duration: 6, ratio: '16:9' },
      '/provB/v2/query/video_generation/',
    ],
    ['/provC/ent/v2/text2video', clip, '/provC/ent/v2/tasks/ /creations'],
    ['/provB/v1/t2a_async_v2', speech, '/provB/v1/query/t2a_async_query_v2?task_id='],
    [
      '/v1/images/generations/async',
      { model: 'image-2', prompt: 'a boat' },
      '/v1/images/generations/',
    ],
  ]
  for (const [creation, body, query] of created)
    await t.test(creation, async (t) => {
      const answer = await post(creation, body)
      t.equal(answer.status, 200, answer.text)
      t.equal(answer.headers.get('x-cost'), null, 'nothing is settled yet')
      const id = String(answer.headers.get('x-platform-id'))
      const [before = '', after = ''] = query.split(' ')
      const path = `${before}${id}${after}`
      // An answer leaves the cost out where neither the ledger nor the log states it in a second.
      const told = await eventually(`the cost of ${path}`, async () => {
        const answer = await ended(path)
        return answer.headers.has('x-cost') ? answer : undefined
      })
      await toldAsSettled(t, told, id)
    })
})

void t.test('the query of a failed task has no cost headers', async (t) => {
  const answer = await post(TASKS, taskBody({ prompt: 'x [[sandbox fail=InternalError]]' }))
  const failed = await ended(`${TASKS}/${String(answer.body.id)}`)
  t.equal(failed.body.status, 'failed')
  t.equal(failed.headers.get('x-cost'), null)
})

void t.test('a task is shown as settled before the ledger has it', async (t) => {
  const answer = await post(TASKS, taskBody())
  const id = String(answer.headers.get('x-platform-id'))
  const done = await ended(`${TASKS}/${id}`)
  await stack.caughtUp()
  await stack.gateway.pool.query('delete from ledger.settlements where source_id = $1', [id])
  const again = await call(`${url}${TASKS}/${id}`, { token })
  t.same(costIn(again), costIn(done), 'its own events say it')
})
