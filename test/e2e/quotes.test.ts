import t, { type Test } from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { parseAmount } from '../../src/kernel/money.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, TASKS, taskBody } from './support/client.ts'

const stack = await startStack({
  env: { OBJECT_STORAGE: 'local', PUBLIC_BASE_URL: 'https://gateway.example.com' },
  hosts: { 'inside.example.com': ['10.0.0.7'] },
})
t.teardown(() => stack.stop())
const { url, demo, access } = stack

const post = (path: string, body: object, token = demo.modelToken): Promise<Answer> =>
  call(`${url}${path}`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const quote = (path: string, body: object, token?: string): Promise<Answer> =>
  post('/v1/quote', { path, body }, token)

async function logEnd(): Promise<bigint | undefined> {
  return stack.gateway.log.endPosition()
}

const speech = { model: 'speech-2.8-hd', text: 'Good morning.', voice_id: 'male-qn-qingse' }
const chat = { model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }

// The first of all: later there is always something under way that writes.
void t.test('a quote sends no request, writes no event and holds no funds', async (t) => {
  await stack.caughtUp()
  const before = [await logEnd(), stack.sandbox.accepted().length, stack.sandbox.calls().length]
  const upstream = stack.sandbox.requestLog().length
  await quote(TASKS, taskBody())
  await quote('/v1/chat/completions', chat)
  await quote('/v1/images/generations', { model: 'image-2', prompt: 'a boat' })
  await quote('/provB/v1/t2a_v2', speech)
  t.same([await logEnd(), stack.sandbox.accepted().length, stack.sandbox.calls().length], before)
  const asked = stack.sandbox.requestLog().slice(upstream)
  t.notOk(
    asked.some(({ method }) => method === 'POST'),
    'no call upstream',
  )
  const rich = await quote('/v1/chat/completions', chat, await poorToken())
  t.equal(rich.status, 200, 'nor does it need a balance')
})

void t.test('the quote of a task is the hold of its creation', async (t) => {
  const tasks: readonly (readonly [path: string, body: object])[] = [
    [TASKS, taskBody()],
    [TASKS, taskBody({ model: 'overseas-video-2-0', resolution: '1080p', duration: 10 })],
    ['/v1/videos', { model: 'domestic-video-2-0', prompt: 'a fox', seconds: '5' }],
    [
      '/provB/v2/video_generation',
      { model: 'h3-video', content: [{ type: 'text', text: 'a fox' }], duration: 6, ratio: '16:9' },
    ],
    ['/provC/ent/v2/text2video', { model: 'clipq3-pro', prompt: 'a fox', duration: 5 }],
    ['/provB/v1/t2a_async_v2', speech],
    ['/v1/images/generations/async', { model: 'image-2', prompt: 'a boat', n: 2 }],
  ]
  for (const [path, body] of tasks)
    await t.test(path, async (t) => {
      const quoted = await quote(path, body)
      t.equal(quoted.status, 200, quoted.text)
      const created = await post(path, body)
      t.equal(created.status, 200, created.text)
      await stack.caughtUp()
      const { rows } = await stack.gateway.pool.query<{ amount: string; currency: string }>(
        `select trim_scale(amount)::text as amount, currency from ledger.holds where source_id = $1`,
        [created.headers.get('x-platform-id')],
      )
      t.same(rows, [{ amount: quoted.body.hold, currency: quoted.body.currency }])
      t.match(quoted.body, { object: 'quote', path, price_book: /./ })
      t.ok(quoted.body.lines.length > 0)
    })
})

/** The smallest credit by which a call is admitted is its hold: just under it the refusal names both. */
async function admitted(t: Test, path: string, body: object): Promise<void> {
  const quoted = await quote(path, body)
  t.equal(quoted.status, 200, quoted.text)
  const { hold, currency } = quoted.body
  const refused = await post(path, body, await poorToken())
  const words = refused.body?.error?.message ?? refused.body?.base_resp?.status_msg
  t.match(
    words,
    new RegExp(`hold of ${String(hold).replace('.', '\\.')} ${currency}`),
    refused.text,
  )
}

let poor: string | undefined
async function poorToken(): Promise<string> {
  if (poor !== undefined) return poor
  const { openTenant, addUser } = await import('../../src/app/accounts/account-commands.ts')
  await openTenant(access, { tenantId: 'tenant_poor', name: 'poor' })
  await addUser(access, { tenantId: 'tenant_poor', userId: 'user_poor', name: 'poor' })
  const of = { tenantId: 'tenant_poor', userId: 'user_poor', kind: 'model', name: 'poor' } as const
  poor = (await issueToken(access, of)).secret
  await stack.caughtUp()
  return poor
}

void t.test('the quote of a call is the hold that it takes from the balance', async (t) => {
  const calls: readonly (readonly [path: string, body: object])[] = [
    ['/v1/chat/completions', { ...chat, max_tokens: 100 }],
    ['/v1/chat/completions', { ...chat, stream: true, web_search_options: {} }],
    ['/v1/responses', { model: 'text-basic', input: 'Hello' }],
    ['/v1/responses/compact', { model: 'text-basic', input: 'Hello' }],
    ['/v1/messages', { ...chat, max_tokens: 100 }],
    ['/v1beta/models/text-basic:generateContent', { contents: [{ parts: [{ text: 'Hello' }] }] }],
    ['/v1/images/generations', { model: 'image-2', prompt: 'a boat', n: 3 }],
    ['/v1/images/generations', { model: 'image-2.5-flare', prompt: 'a boat', size: '1K' }],
    ['/provB/v1/t2a_v2', speech],
  ]
  for (const [path, body] of calls) await t.test(path, (t) => admitted(t, path, body))
  const streamed = await quote('/v1beta/models/text-basic:streamGenerateContent', {
    contents: [{ parts: [{ text: 'Hello' }] }],
  })
  t.equal(streamed.status, 200)
  const edit = await quote('/v1/images/edits', {
    model: 'image-2',
    prompt: 'red',
    images: [{ image_url: 'data:image/png;base64,iVBORw0KGgo=' }],
  })
  t.match([edit.status, edit.body.lines?.length > 0], [200, true], edit.text)
})

void t.test('a line of a quote has the price of the settlement', async (t) => {
  const { body } = await quote('/v1/images/generations', { model: 'image-2', prompt: 'a boat' })
  const made = await post('/v1/images/generations', { model: 'image-2', prompt: 'a boat' })
  const [line] = body.lines
  t.match(line, { sku: 'image-2-low-image', unit: 'image', rule: /^image/, per: 1 })
  t.equal(made.headers.get('x-cost-split'), `${line.sku}=${line.price}`)
  t.equal(made.headers.get('x-price-book'), body.price_book)
  t.ok(parseAmount(made.headers.get('x-cost') ?? '') <= parseAmount(body.hold))
})

void t.test('a quote refuses an order as its creation does, naming the field', async (t) => {
  const bound = await issueToken(access, {
    tenantId: demo.tenantId,
    userId: demo.userId,
    kind: 'model',
    name: 'bound',
    models: ['text-basic'],
  })
  const refusals: readonly (readonly [
    path: string,
    body: object,
    status: number,
    code: string,
    param: string | null,
  ])[] = [
    [TASKS, taskBody({ duration: 99 }), 400, 'invalid_value', 'duration'],
    [TASKS, taskBody({ resolutoin: '720p' }), 400, 'invalid_value', 'resolutoin'],
    [
      TASKS,
      taskBody({ callback_url: 'https://inside.example.com/x' }),
      400,
      'invalid_value',
      'callback_url',
    ],
    [TASKS, taskBody({ model: 'nothing-2-0' }), 400, 'invalid_value', 'model'],
    ['/v1/videos', { model: 'nothing-2-0' }, 404, 'model_not_found', 'model'],
    ['/v1/chat/completions', { model: 'text-basic' }, 400, 'invalid_value', 'messages'],
    ['/v1/chat/completions', { ...chat, model: 'nothing' }, 404, 'model_not_found', 'model'],
    ['/v1/images/generations', { model: 'image-2', prompt: '' }, 400, 'invalid_value', 'prompt'],
    [
      '/v1/images/generations/async',
      { model: 'image-2.5-flare', prompt: 'x', stream: true },
      400,
      'invalid_value',
      'stream',
    ],
    ['/provB/v1/t2a_v2', { ...speech, voice_id: 'nobody-1' }, 404, 'voice_not_found', null],
    ['/provC/ent/v2/text2video', { model: 'clipq3-pro' }, 400, 'invalid_value', 'prompt'],
    ['/v1/videos', { model: 'domestic-video-2-0', seconds: 'x' }, 400, 'invalid_value', 'seconds'],
  ]
  for (const [path, body, status, code, param] of refusals) {
    const answer = await quote(path, body)
    t.equal(answer.status, status, `${path} ${answer.text}`)
    t.match(answer.body.error, { code, param })
  }
  const other = await quote(
    '/v1/images/generations',
    { model: 'image-2', prompt: 'x' },
    bound.secret,
  )
  t.match([other.status, other.body.error.code], [403, 'model_not_allowed'])
})

void t.test('400 for a malformed quote, 401 without a token', async (t) => {
  const wrong: readonly (readonly [body: object, param: string])[] = [
    [{ body: {} }, 'path'],
    [{ path: '/v1/chat/completions' }, 'body'],
    [{ path: '/v1/files', body: {} }, 'path'],
    [{ path: '/v1/images/edits/async', body: {} }, 'path'],
    [{ path: '/v1beta/models/:generateContent', body: {} }, 'path'],
    [{ path: '/v1/chat/completions', body: chat, more: 1 }, 'more'],
    [{ path: 7, body: chat }, 'path'],
  ]
  for (const [body, param] of wrong) {
    const answer = await post('/v1/quote', body)
    t.match([answer.status, answer.body.error.param], [400, param], answer.text)
  }
  t.equal((await post('/v1/quote', {}, 'sk-nobody')).status, 401)
  t.equal((await post('/v1/quote', {}, demo.queryToken)).status, 403)
})
