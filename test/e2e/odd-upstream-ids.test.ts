import t from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, taskBody, TASKS } from './support/client.ts'
import { silentWav } from '../helpers/silent-wav.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const { url, demo } = stack
const ODD = ['large', 'nul', 'surrogate', 'none'] as const
/** No event of these is as large, whatever it says. */
const MAX_EVENT_CHARACTERS = 10_000

const post = (path: string, body: object | FormData): Promise<Answer> =>
  call(`${url}${path}`, {
    method: 'POST',
    token: demo.modelToken,
    ...(body instanceof FormData
      ? { body }
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
const odd = (family: string, op: string, id: string) =>
  stack.sandbox.faults.add({ faults: [`answer-id=${id}`], match: { family, op } })

/** Events since, as they stand in the log. @throws where one holds what no row can */
async function eventsBehind(from: bigint | undefined): Promise<readonly string[]> {
  const types: string[] = []
  for await (const event of stack.gateway.log.readAll()) {
    if (from !== undefined && event.position <= from) continue
    const text = JSON.stringify(event.data)
    if (text.length > MAX_EVENT_CHARACTERS || /\\u0000|\\ud800/.test(text))
      throw new Error(`${event.type} holds the id: ${text.slice(0, 200)}`)
    types.push(event.type)
  }
  return types
}

const TASKS_OF_FAMILIES = [
  ['video-a', TASKS, taskBody()],
  [
    'video-b',
    '/provB/v2/video_generation',
    { model: 'h3-video', content: [{ type: 'text', text: 'a fox' }], duration: 6, ratio: '16:9' },
  ],
  ['video-c', '/provC/ent/v2/text2video', { model: 'clipq3-pro', prompt: 'a fox', duration: 5 }],
  [
    'speech',
    '/provB/v1/t2a_async_v2',
    { model: 'speech-2.8-hd', voice_id: 'nova', text: 'a paper boat' },
  ],
] as const

for (const [family, path, body] of TASKS_OF_FAMILIES)
  void t.test(
    `${family}: a task with an invalid upstream id is uncertain, and its id is nowhere`,
    async (t) => {
      for (const id of ODD) {
        const from = await stack.gateway.log.endPosition()
        // Lists as well, so that what looks for it finds no better.
        const faults = ['create', 'create-task', 'get', 'list'].map((op) => odd(family, op, id))
        const answer = await post(path, body)
        t.equal(answer.status, 502, `${id}: ${answer.text.slice(0, 200)}`)
        t.ok(answer.text.length < 1_000, 'its caller is told in few words')
        t.ok((await eventsBehind(from)).includes('TaskSubmissionUncertain'), id)
        await stack.caughtUp()
        const { rows } = await stack.gateway.pool.query<{ native_id: string | null }>(
          'select native_id from tasks.tasks where family = $1 order by position desc limit 1',
          [family],
        )
        t.same(rows, [{ native_id: null }], id)
        for (const fault of faults) stack.sandbox.faults.clear(fault.id)
      }
    },
  )

/** Twelve seconds of it as a WAV. */
const silence = silentWav(12)

/** Asked for again while its account rests: one that gave such ids again and again does for a moment. */
const awake = (ask: () => Promise<Answer>): Promise<Answer> =>
  eventually('the account is asked', async () => {
    const answer = await ask()
    return answer.status === 503 ? undefined : answer
  })

function upload(purpose: string): Promise<Answer> {
  const form = new FormData()
  form.set('purpose', purpose)
  form.set('file', new Blob([new Uint8Array(silence)]), 'me.wav')
  return awake(() => post('/provB/v1/files/upload', form))
}

void t.test('an upload with an invalid upstream id is not recorded', async (t) => {
  for (const purpose of ['voice_clone', 'video_generation_input'])
    for (const id of ODD) {
      const from = await stack.gateway.log.endPosition()
      const fault = stack.sandbox.faults.add({
        faults: [`answer-id=${id}`],
        match: { op: 'upload' },
      })
      const answer = await upload(purpose)
      stack.sandbox.faults.clear(fault.id)
      t.equal(answer.status, 502, `${id}: ${answer.text.slice(0, 200)}`)
      t.match(answer.body, { base_resp: { status_code: 1033 } })
      t.ok(answer.text.length < 1_000)
      t.notOk((await eventsBehind(from)).includes('MediaUploaded'), id)
    }
  await stack.caughtUp()
  const { rows } = await stack.gateway.pool.query('select from voices.uploads')
  t.same(rows, [])
})

void t.test('a clone with an invalid upstream request id omits the id', async (t) => {
  const { file_id } = (await upload('voice_clone')).body.file
  for (const [n, id] of ODD.entries()) {
    const from = await stack.gateway.log.endPosition()
    const fault = odd('speech', 'clone', id)
    const answer = await post('/provB/v1/voice_clone', { file_id, voice_id: `Odd-Voice-${n}` })
    stack.sandbox.faults.clear(fault.id)
    t.equal(answer.body?.base_resp?.status_code, 0, `${id}: ${answer.text.slice(0, 200)}`)
    t.ok(answer.text.length < 2_000)
    await stack.caughtUp()
    t.ok((await eventsBehind(from)).includes('CallSettled'), id)
  }
})

void t.test('a response with an invalid upstream id has a short id or none', async (t) => {
  for (const id of ODD) {
    const from = await stack.gateway.log.endPosition()
    const fault = odd('responses', 'create', id)
    const answer = await post('/v1/responses', { model: 'text-basic', input: 'hello' })
    stack.sandbox.faults.clear(fault.id)
    t.equal(answer.status, 200, `${id}: ${answer.text.slice(0, 200)}`)
    if (id !== 'none') t.match(answer.body.id, /^resp_[\w-]{20,1500}$/)
    t.ok(answer.text.length < 20_000, `${id}: ${answer.text.length}`)
    await stack.caughtUp()
    t.ok((await eventsBehind(from)).includes('CallSettled'), id)
  }
})
