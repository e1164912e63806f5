import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI, { RateLimitError } from 'openai'
import t, { type Test } from 'tap'
import { changeTokenLimits, issueToken } from '../../src/app/accounts/account-commands.ts'
import type { TokenLimits } from '../../src/domain/token/events.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, tasksOf } from './support/client.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const replica = await stack.replica()
const { access, demo, url } = stack
const { tenantId, userId } = demo

const issue = (limits?: TokenLimits) =>
  issueToken(access, {
    tenantId,
    userId,
    kind: 'model',
    name: 'limited',
    ...(limits ? { limits } : {}),
  })

const post = (path: string, token: string, body: object, at = url): Promise<Answer> =>
  call(`${at}${path}`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const chat = (token: string, part: object = {}, at = url) =>
  post('/v1/chat/completions', token, { model: 'text-basic', ...say('Hello'), ...part }, at)
const say = (content: string) => ({ messages: [{ role: 'user' as const, content }] })
const native = (token: string) =>
  post('/v1beta/models/text-reason:generateContent', token, {
    contents: [{ parts: [{ text: 'Hello' }] }],
  })
const remainingOf = (answer: Answer, of = 'requests') =>
  Number(answer.headers.get(`x-ratelimit-remaining-${of}`))

function isToldToWait(t: Test, answer: Answer): void {
  t.equal(answer.status, 429)
  const seconds = answer.headers.get('retry-after') ?? ''
  t.match(seconds, /^\d+$/)
  t.ok(Number(seconds) >= 1 && Number(seconds) <= 60, seconds)
}

t.test('each family answers 429 in its own shape, and sends no request upstream', async (t) => {
  const { secret } = await issue({ requestsPerMinute: 1 })
  const tasks = tasksOf(url, secret)
  t.equal((await chat(secret)).status, 200)
  const before = stack.sandbox.calls().length + stack.sandbox.accepted().length
  const chatted = await chat(secret, { stream: true })
  isToldToWait(t, chatted)
  t.match(chatted.body.error, {
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    param: null,
  })
  t.equal(chatted.headers.get('x-ratelimit-limit-requests'), '1')
  t.equal(chatted.headers.get('x-ratelimit-remaining-requests'), '0')
  t.match(chatted.headers.get('x-ratelimit-reset-requests'), /^5\d(\.\d+)?s$|^1m0s$/)
  const responded = await post('/v1/responses', secret, { model: 'text-basic', input: 'Hello' })
  isToldToWait(t, responded)
  t.match(responded.body.error, { code: 'rate_limit_exceeded' })
  const generated = await native(secret)
  isToldToWait(t, generated)
  t.match(generated.body.error, { code: 429, status: 'RESOURCE_EXHAUSTED' })
  t.match(
    generated.body.error.details.find((one: { '@type': string }) => /RetryInfo/.test(one['@type'])),
    { retryDelay: /^\d+(\.\d+)?s$/ },
  )
  const created = await tasks.create()
  isToldToWait(t, created)
  t.match(created.body.error, { code: 'RateLimitExceeded', type: 'TooManyRequests', param: '' })
  t.equal(created.headers.get('x-platform-id'), null, 'there is nothing to be found')
  t.equal((await tasks.list()).status, 200, 'looking is free')
  t.equal(stack.sandbox.calls().length + stack.sandbox.accepted().length, before)
})

t.test('answers count down the token’s limits, without upstream’s figures', async (t) => {
  const { secret } = await issue({ requestsPerMinute: 3, tokensPerMinute: 30_000 })
  const upstreams = say('Hello [[sandbox remaining=77 reset-ms=900]]')
  const first = await chat(secret, upstreams)
  t.equal(first.headers.get('x-ratelimit-limit-requests'), '3')
  t.equal(remainingOf(first), 2)
  const used = Number(first.body.usage.total_tokens)
  const remaining = remainingOf(first, 'tokens')
  t.ok(remaining >= 30_000 - used && remaining <= 30_000, `${remaining} left of 30000 - ${used}`)
  const streamed = await chat(secret, { ...upstreams, stream: true })
  t.equal(remainingOf(streamed), 1)
  t.ok(remainingOf(streamed, 'tokens') < 29_000, 'what is expected of it is reserved')
  const models = await call(`${url}/v1/models`, { token: secret })
  t.equal(remainingOf(models), 1, 'what calls no model is free, and says it too')
  t.equal((await chat(secret, { messages: [] })).status, 400)
  t.equal(remainingOf(await chat(secret)), 0, 'and so is what is refused')
})

t.test(
  'the official client throws its own error, and waits as long as retry-after says',
  async (t) => {
    const { secret } = await issue({ requestsPerMinute: 20 })
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: secret, maxRetries: 0 })
    const ask = (as = client) =>
      as.chat.completions.create({ model: 'text-basic', ...say('Hello') })
    const refusal = async (): Promise<RateLimitError> => {
      for (let n = 0; n < 40; n += 1)
        try {
          await ask()
        } catch (error) {
          if (error instanceof RateLimitError) return error
          throw error
        }
      throw new Error('it was never refused')
    }
    const toldBy = ({ headers }: RateLimitError) => Number(headers.get('retry-after-ms'))
    const error = await refusal()
    t.equal(error.status, 429)
    t.equal(error.code, 'rate_limit_exceeded')
    t.ok(toldBy(error) > 0 && toldBy(error) <= 3_000, `${toldBy(error)} ms`)
    const told = await eventually('more than the client would wait by itself', async () => {
      // On a busy machine most of a wait may be over before its refusal is read: the next one is as good.
      await sleep(toldBy(await refusal()))
      const waitMs = toldBy(await refusal())
      return waitMs > 1_000 ? waitMs : undefined
    })
    t.ok(told > 1_000, `${told} ms`)
    // On a busy machine a second wait may be needed: what was shared meanwhile counts too.
    const patient = new OpenAI({ baseURL: `${url}/v1`, apiKey: secret, maxRetries: 2 })
    t.ok((await ask(patient)).id)
  },
)

t.test('the expected tokens of a call are reserved', async (t) => {
  const { secret } = await issue({ tokensPerMinute: 5_000 })
  const slow = { ...say('x [[sandbox first-byte-ms=5000]]'), max_tokens: 4_000 }
  const first = chat(secret, slow)
  await eventually('it began', async () =>
    remainingOf(await call(`${url}/v1/models`, { token: secret }), 'tokens') < 2_000
      ? true
      : undefined,
  )
  const second = await chat(secret, slow)
  isToldToWait(t, second)
  t.match(second.body.error.message, /tokens a minute \(5000\)/)
  t.equal((await first).status, 200)
  t.equal(
    (await chat(secret, { max_tokens: 4_000 })).status,
    200,
    'once it is settled there is room',
  )
})

t.test('two replicas share one limit, a second apart', async (t) => {
  const { secret } = await issue({ requestsPerMinute: 6 })
  const sinceMs = performance.now()
  for (let n = 0; n < 3; n += 1) t.equal((await chat(secret)).status, 200)
  t.equal((await chat(secret, {}, replica.url)).status, 200)
  const left = await eventually('the other learns of it', async () => {
    const answer = await call(`${replica.url}/v1/models`, { token: secret })
    return remainingOf(answer) <= 3 ? remainingOf(answer) : undefined
  })
  t.ok(left >= 2, `${left} left of 6 after 4`)
  const statuses: number[] = []
  while (statuses.slice(-2).join() !== '429,429')
    statuses.push((await chat(secret, {}, replica.url)).status)
  const passed = statuses.filter((status) => status === 200).length
  // One comes back every ten seconds, and a busy machine takes such a time.
  const returned = Math.floor((performance.now() - sinceMs) / 10_000)
  t.ok(passed <= left + returned, `${passed} passed of ${left} left and ${returned} that came back`)
  await eventually('here as well', async () =>
    remainingOf(await call(`${url}/v1/models`, { token: secret })) === 0 ? true : undefined,
  )
  isToldToWait(t, await chat(secret))
})

t.test('changed limits apply on every replica at once', async (t) => {
  const { secret, tokenId } = await issue()
  const answer = await chat(secret)
  t.equal(answer.headers.get('x-ratelimit-limit-requests'), null, 'none at first')
  for (const at of [url, replica.url]) t.equal((await chat(secret, {}, at)).status, 200)
  const limitIs = (limit: string | null) =>
    Promise.all(
      [url, replica.url].map((at) =>
        eventually(`${limit} at ${at}`, async () => {
          const { headers } = await call(`${at}/v1/models`, { token: secret })
          return headers.get('x-ratelimit-limit-requests') === limit ? true : undefined
        }),
      ),
    )
  await changeTokenLimits(access, { tokenId, changes: { requestsPerMinute: 1 } })
  await limitIs('1')
  for (const at of [url, replica.url]) {
    await chat(secret, {}, at)
    t.equal((await chat(secret, {}, at)).status, 429)
  }
  await changeTokenLimits(access, { tokenId, changes: { requestsPerMinute: 50 } })
  await limitIs('50')
  for (const at of [url, replica.url]) t.equal((await chat(secret, {}, at)).status, 200)
  await changeTokenLimits(access, { tokenId, changes: { requestsPerMinute: 'default' } })
  await limitIs(null)
})

t.test('the limit of concurrent tasks counts open tasks on both replicas', async (t) => {
  const { secret } = await issue({ concurrentTasks: 2 })
  const [here, there] = [tasksOf(url, secret), tasksOf(replica.url, secret)]
  const id = await here.created({ prompt: 'x [[sandbox stall-queued]]' })
  await there.created({ prompt: 'x [[sandbox stall-queued]]' })
  for (const tasks of [here, there]) {
    const refused = await tasks.create()
    isToldToWait(t, refused)
    t.match(refused.body.error, {
      code: 'RateLimitExceeded',
      message: 'This token is at its limit of tasks at a time (2)',
    })
  }
  t.equal((await here.get(id)).status, 200)
  t.equal((await there.del(id)).status, 200)
  await there.created()
})

t.test('the operator’s default limits apply to tokens without limits', async (t) => {
  const strict = await startStack({
    env: { RATE_LIMIT_RPM: '2', RATE_LIMIT_TPM: '50000', RATE_LIMIT_CONCURRENT_TASKS: '1' },
  })
  t.teardown(() => strict.stop())
  const token = strict.demo.modelToken
  const answer = await chat(token, {}, strict.url)
  t.equal(answer.headers.get('x-ratelimit-limit-requests'), '2')
  t.equal(answer.headers.get('x-ratelimit-limit-tokens'), '50000')
  const tasks = tasksOf(strict.url, token)
  await tasks.created({ prompt: 'x [[sandbox stall-queued]]' })
  t.match((await tasks.create()).body.error.message, /requests a minute \(2\)/)
  const own = await issueToken(strict.access, {
    tenantId: strict.demo.tenantId,
    userId: strict.demo.userId,
    kind: 'model',
    name: 'own',
    limits: { requestsPerMinute: null, concurrentTasks: 2 },
  })
  const free = await chat(own.secret, {}, strict.url)
  t.equal(free.headers.get('x-ratelimit-limit-requests'), null)
  t.equal(free.headers.get('x-ratelimit-limit-tokens'), '50000')
})
