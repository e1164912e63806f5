import t from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { keyHashOf } from '../../src/kernel/keyed-hash.ts'
import { type Answer, queriesOf, startReceiver, TASKS, taskBody } from './support/client.ts'
import { everySurface, isDone, type Priced, sendTo } from './support/every-surface.ts'

/** Every call and every task records what shows that a request was sent again, and no content. */

const receiver = await startReceiver()
t.teardown(() => receiver.close())
const stack = await startStack({
  sandbox: { callbackMap: new Map([['hooks.example.com', receiver.origin]]) },
  env: { OBJECT_STORAGE: 'local', PUBLIC_BASE_URL: 'https://gateway.example.com' },
  hosts: { 'hooks.example.com': ['93.184.216.34'] },
})
t.teardown(() => stack.stop())
const { other } = stack
const requests = await everySurface(stack, 'Voice_of_repeats')

type Facts = Readonly<Record<string, unknown>>

/** The event of the log that has the facts of a request. */
async function eventOf(answer: Answer): Promise<Facts> {
  const requestId = answer.headers.get('x-request-id')
  let found: Facts | undefined
  await eventually(`the event of ${requestId}`, async () => {
    for await (const { type, data } of stack.access.log.readAll())
      if (/^(?:CallSettled|CallFailed|TaskRequested)$/.test(type) && 'requestId' in data)
        if (data.requestId === requestId) found = data
    return found !== undefined
  })
  return found ?? {}
}

const requestOf = ({ path, body }: Pick<Priced, 'path' | 'body'>) => ({ path, body })
const again = (n: number) => ({ 'x-stainless-retry-count': '1', 'idempotency-key': `key ${n}` })

t.test('every surface records the fingerprint of a body, retries and keys', async (t) => {
  const first = await Promise.all(requests.map((one) => sendTo(stack, requestOf(one))))
  for (const [index, answer] of first.entries()) {
    const one = requests[index]
    if (one === undefined || !t.ok(isDone(answer), `${one?.path}: ${answer.text.slice(0, 300)}`))
      continue
    const facts = await eventOf(answer)
    t.match(facts['bodyFingerprint'], /^[\w-]{11}$/, one.path)
    for (const name of ['retry', 'idempotency', 'attempts', 'callback'])
      t.notOk(name in facts, `${one.path}: no ${name}`)
    const repeated = await sendTo(stack, requestOf(one), again(index))
    // A voice is cloned once; its failure is not recorded before upstream was asked.
    if (!isDone(repeated)) {
      t.match(one.surface, /clone/, repeated.text.slice(0, 300))
      continue
    }
    const { bodyFingerprint } = facts
    t.match(await eventOf(repeated), { surface: one.surface, bodyFingerprint, retry: 1 }, one.path)
    const { idempotency } = (await eventOf(repeated)) as { idempotency?: Facts }
    t.match(idempotency, { keyHash: /^[0-9a-f]{64}$/, bodyHash: /^[0-9a-f]{64}$/ }, one.path)
  }
})

t.test('another body, or another tenant, has another fingerprint', async (t) => {
  const path = '/v1/chat/completions'
  const body = (content: string) => ({ model: 'text-basic', messages: [{ role: 'user', content }] })
  const answers = await Promise.all([
    sendTo(stack, { path, body: body('Hello') }),
    sendTo(stack, { path, body: body('Hello') }),
    sendTo(stack, { path, body: body('Hallo') }),
    sendTo(stack, { path, body: body('Hello') }, {}, other.modelToken),
  ])
  const [one, same, different, foreign] = await Promise.all(
    answers.map(async (answer) => (await eventOf(answer))['bodyFingerprint']),
  )
  t.equal(one, same)
  t.not(one, different)
  t.not(one, foreign)
})

t.test('forms are compared without their boundaries', async (t) => {
  const form = requests.find(({ body }) => typeof body === 'function')
  if (form === undefined) throw new Error('no surface takes a form')
  const [one, two] = await Promise.all([1, 2].map(() => sendTo(stack, requestOf(form))))
  t.equal((await eventOf(one!))['bodyFingerprint'], (await eventOf(two!))['bodyFingerprint'])
})

t.test('a malformed retry count is ignored', async (t) => {
  const [chat] = requests
  for (const count of ['0', '-1', 'many', '1e3', '9'.repeat(300)]) {
    const answer = await sendTo(stack, requestOf(chat!), { 'x-stainless-retry-count': count })
    t.ok(isDone(answer), count)
    t.notOk('retry' in (await eventOf(answer)), count)
  }
})

t.test('a task whose body names a callback says so, and not where it leads', async (t) => {
  const callback_url = 'https://hooks.example.com/done'
  const content = [{ type: 'text', text: 'a paper boat' }]
  const video = { duration: 6, resolution: '768P', ratio: '16:9' }
  const clip = { model: 'clipq3-pro', prompt: 'a paper boat', duration: 5, resolution: '720p' }
  const named: readonly Priced[] = [
    { surface: 'provA.tasks', path: TASKS, body: taskBody({ callback_url }) as Facts },
    {
      surface: 'provB.video',
      path: '/provB/v2/video_generation',
      body: { model: 'h3-video', content, ...video, callback_url },
    },
    {
      surface: 'provC.text2video',
      path: '/provC/ent/v2/text2video',
      body: { ...clip, callback_url },
    },
  ]
  for (const one of named) {
    const answer = await sendTo(stack, one)
    t.ok(isDone(answer), `${one.path}: ${answer.text.slice(0, 300)}`)
    const facts = await eventOf(answer)
    t.match(facts, { surface: one.surface, callback: true })
    t.notMatch(JSON.stringify(facts), /hooks\.example/)
  }
})

t.test('a key is recorded by the hash that support searches by', async (t) => {
  const [chat] = requests
  const key = 'order 4711'
  const answer = await sendTo(stack, requestOf(chat!), { 'idempotency-key': key })
  const { idempotency } = (await eventOf(answer)) as { idempotency?: Facts }
  t.equal(idempotency?.['keyHash'], keyHashOf('a marker secret of the tests alone', key))
  const logged = JSON.stringify(await eventOf(answer))
  t.notMatch(logged, /4711|Hello/)
})

t.test('no life, ticket or reply of any surface has content of its request (P7)', async (t) => {
  const { queryToken } = stack.demo
  // A voice has its name once.
  const made = await Promise.all(
    requests
      .filter(({ surface }) => !surface.includes('clone'))
      .map(async (one) => ({ one, answer: await sendTo(stack, requestOf(one)) })),
  )
  for (const { one, answer } of made) {
    const path = `/lives/${answer.headers.get('x-request-id')}`
    const found = await eventually(`the life of ${one.path}`, async () => {
      const shown = await queriesOf(stack.url, queryToken).get(path)
      return shown.status === 200 ? shown : undefined
    })
    t.equal(found.body.data.receipt.surface, one.surface)
    const ticket = await queriesOf(stack.url, queryToken).get(`${path}/ticket?format=md`)
    t.match(ticket, { status: 200, text: /^# (?:call|task) / }, one.path)
    for (const { text } of [found, ticket])
      t.notMatch(
        text,
        /paper boat|Good morning|Hello|hooks\.example|secret-of-body|base64|https?:/i,
        one.path,
      )
  }
  t.ok(made.length > 15, `${made.length} surfaces`)
})
