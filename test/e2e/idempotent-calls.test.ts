import t, { type Test } from 'tap'
import sharp from 'sharp'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, RAW, withRawSpeech } from './support/client.ts'
import { silentWav } from '../helpers/silent-wav.ts'

const stack = await startStack({
  channels: withRawSpeech,
})
t.teardown(() => stack.stop())
const replica = await stack.replica(['api'])
const { demo, other } = stack
const urls = [stack.url, replica.url]
const finance = queriesOf(stack.url, demo.queryToken)
const picture = await sharp({
  create: { width: 64, height: 64, channels: 3, background: '#36c' },
})
  .png()
  .toBuffer()

let keys = 0
const newKey = (): string => `key ${(keys += 1)}`

interface Ask {
  readonly path: string
  readonly body: object | FormData
  readonly key?: string
  /** Which of the replicas. */
  readonly at?: number
  readonly token?: string
}

function ask({ path, body, key, at = 0, token = demo.modelToken }: Ask): Promise<Answer> {
  const isForm = body instanceof FormData
  return call(`${urls[at % urls.length]}${path}`, {
    method: 'POST',
    token,
    headers: {
      ...(isForm ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    body: isForm ? body : JSON.stringify(body),
  })
}

const CHAT = '/v1/chat/completions'
const chat = (content: string, members: object = {}) => ({
  model: 'text-basic',
  messages: [{ role: 'user', content }],
  ...members,
})

/** How often upstream was asked with this marker. */
const sentUpstream = (marker: string): number =>
  stack.sandbox.calls().filter(({ client_marker }) => client_marker === marker).length

/** Settlements in the log, of all calls or of one. */
async function settlements(callId?: string): Promise<number> {
  let count = 0
  for await (const event of stack.gateway.log.readAll())
    if (event.type === 'CallSettled' && (callId ?? event.data.callId) === event.data.callId)
      count += 1
  return count
}

const costOf = ({ headers }: Answer) =>
  ['x-call-id', 'x-cost', 'x-cost-currency', 'x-price-book', 'x-cost-split', 'content-type'].map(
    (name) => headers.get(name),
  )

/** The second is the first again, and nothing was sent or charged for it. */
async function repeats(t: Test, first: Answer, second: Answer): Promise<void> {
  t.equal(first.status, 200)
  t.equal(first.headers.get('idempotent-replayed'), null)
  t.equal(second.status, 200)
  t.equal(second.text, first.text, 'the same answer')
  t.same(costOf(second), costOf(first), 'of the same call, at the same cost')
  t.equal(second.headers.get('idempotent-replayed'), 'true')
  t.not(second.headers.get('x-request-id'), first.headers.get('x-request-id'))
  t.equal(await settlements(String(first.headers.get('x-call-id'))), 1)
}

const speech = { model: 'speech-2.8-hd', voice_id: 'male-qn-qingse' }
const small = { size: '1024x1024', output_format: 'jpeg', output_compression: 1 }

const surfaces: readonly (readonly [path: string, body: (marker: string) => object | FormData])[] =
  [
    [CHAT, (marker) => chat(`hello ${marker}`)],
    ['/v1/responses', (marker) => ({ model: 'text-basic', input: `hello ${marker}` })],
    [
      '/v1beta/models/text-basic:generateContent',
      (marker) => ({ contents: [{ parts: [{ text: `hello ${marker}` }] }] }),
    ],
    [
      '/v1/images/generations',
      (marker) => ({ model: 'image-2', prompt: `a boat ${marker}`, ...small }),
    ],
    [
      '/v1/images/edits',
      (marker) => {
        const form = new FormData()
        form.set('model', 'image-2')
        form.set('prompt', `a boat ${marker}`)
        for (const [name, value] of Object.entries(small)) form.set(name, String(value))
        form.set('image', new Blob([new Uint8Array(picture)]), 'a.png')
        return form
      },
    ],
    [
      '/v1/audio/speech',
      (marker) => ({ model: 'speech-2.8-hd', voice: 'nova', input: `Good morning. ${marker}` }),
    ],
    ['/provB/v1/t2a_v2', (marker) => ({ ...speech, text: `Good morning. ${marker}` })],
    ['/provB/v1/t2a_v2', (marker) => ({ ...speech, model: RAW, text: `Good morning. ${marker}` })],
  ]

void t.test('one key and body has one answer, on every surface', async (t) => {
  for (const [index, [path, body]] of surfaces.entries())
    await t.test(path, async (t) => {
      const name = `same-${index}`
      const marker = `[[client=${name}]]`
      const key = newKey()
      const before = await settlements()
      const first = await ask({ path, key, body: body(marker) })
      const second = await ask({ path, key, body: body(marker), at: 1 })
      await repeats(t, first, second)
      t.equal(sentUpstream(name), 1, 'upstream was asked once')
      t.equal(await settlements(), before + 1)
      const changed = await ask({ path, key, body: body(`other ${marker}`) })
      t.equal(changed.status, 409, changed.text)
      t.equal(changed.headers.get('x-should-retry'), 'false')
      t.equal(sentUpstream(name), 1)
    })
})

void t.test('a voice is cloned once under a key', async (t) => {
  const sample = silentWav(12)
  const form = new FormData()
  form.set('purpose', 'voice_clone')
  form.set('file', new Blob([sample]), 'me.wav')
  const { file } = (await ask({ path: '/provB/v1/files/upload', body: form })).body
  const order = { file_id: Number(file.file_id), voice_id: 'my-own-voice' }
  const clone = { path: '/provB/v1/voice_clone', key: newKey(), body: order }
  await repeats(t, await ask(clone), await ask({ ...clone, at: 1 }))
})

void t.test('409 in each family’s shape for another body', async (t) => {
  const key = newKey()
  await ask({ path: CHAT, key, body: chat('one') })
  const changed = await ask({ path: CHAT, key, body: chat('two') })
  t.match(changed.body, { error: { code: 'idempotency_key_reused', param: null } })
  const path = '/v1beta/models/text-basic:generateContent'
  await ask({ path, key, body: { contents: [{ parts: [{ text: 'one' }] }] } })
  const native = await ask({ path, key, body: { contents: [{ parts: [{ text: 'two' }] }] } })
  t.match(native.body.error, { code: 409, status: 'ABORTED' })
  t.match(native.body.error.details[0], { reason: 'IDEMPOTENCY_KEY_REUSED' })
})

void t.test('a key belongs to one tenant and one path', async (t) => {
  const key = newKey()
  const body = chat('hello')
  const ids = [
    await ask({ path: CHAT, key, body }),
    await ask({ path: CHAT, key, body, token: other.modelToken }),
    await ask({ path: '/v1/responses', key, body: { model: 'text-basic', input: 'hello' } }),
  ].map(({ headers }) => headers.get('x-call-id'))
  t.equal(new Set(ids).size, 3, 'three calls')
  const { tenantId, userId } = demo
  const scope = { tenantId, userId, kind: 'model' as const }
  const wide = await issueToken(stack.access, { ...scope, name: 'another' })
  const again = await ask({ path: CHAT, key, body, token: wide.secret })
  t.equal(again.headers.get('x-call-id'), ids[0], 'another token of the tenant repeats it')
  const narrow = await issueToken(stack.access, { ...scope, name: 'n', models: ['image-2'] })
  const refused = await ask({ path: CHAT, key, body, token: narrow.secret })
  t.match([refused.status, refused.body.error.code], [403, 'model_not_allowed'])
})

void t.test('of twenty requests at once on two replicas one is sent', async (t) => {
  const key = newKey()
  const body = chat('hello [[client=twenty]] [[sandbox first-byte-ms=300]]')
  const before = await settlements()
  const asked = Array.from({ length: 20 }, (_, at) => ask({ path: CHAT, key, body, at }))
  const answers = await Promise.all(asked)
  const made = answers.filter(({ status }) => status === 200)
  t.ok(made.length >= 1)
  t.equal(new Set(made.map(({ text }) => text)).size, 1)
  for (const { status, body: told, headers } of answers.filter((one) => !made.includes(one))) {
    t.equal(status, 409)
    t.equal(told.error.code, 'idempotency_in_progress')
    t.equal(headers.get('retry-after'), '1', 'which is worth another try')
    t.equal(headers.get('x-should-retry'), null)
  }
  t.equal(sentUpstream('twenty'), 1)
  t.equal(await settlements(), before + 1)
  const later = await ask({ path: CHAT, key, body, at: 1 })
  t.equal(later.text, made[0]?.text)
})

void t.test('a caller who hangs up and repeats gets the first answer', async (t) => {
  const key = newKey()
  const body = chat('hello [[client=hung-up]] [[sandbox first-byte-ms=400]]')
  const leaving = new AbortController()
  const left = fetch(`${stack.url}${CHAT}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${demo.modelToken}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify(body),
    signal: leaving.signal,
  })
  await eventually('sent', () => sentUpstream('hung-up') > 0)
  leaving.abort()
  await t.rejects(left)
  const answer = await eventually('made', async () => {
    const told = await ask({ path: CHAT, key, body, at: 1 })
    return told.status === 409 ? undefined : told
  })
  t.match([answer.status, answer.headers.get('idempotent-replayed')], [200, 'true'])
  t.equal(sentUpstream('hung-up'), 1)
})

void t.test('a failure without a charge frees its key', async (t) => {
  const key = newKey()
  const broken = chat('hello [[client=broken]] [[sandbox http-after-accept=500]]')
  for (const times of [1, 2]) {
    const failed = await ask({ path: CHAT, key, body: broken })
    t.equal(failed.status, 502, failed.text)
    t.ok(sentUpstream('broken') >= times, 'it was made again')
  }
  t.equal((await ask({ path: CHAT, key, body: chat('x', { max_tokens: 0 }) })).status, 400)
  const mended = await ask({ path: CHAT, key, body: chat('hello') })
  t.equal(mended.status, 200, 'also with another body')
  const failing = {
    path: '/v1/responses',
    key: newKey(),
    body: { model: 'text-basic', input: 'hi [[client=free]] [[sandbox fail=server_error]]' },
  }
  for (const times of [1, 2]) {
    const { status, body, headers } = await ask(failing)
    t.match([status, body.status, headers.get('x-cost')], [200, 'failed', '0'])
    t.equal(sentUpstream('free'), times, 'a result that failed is free, and made again')
  }
})

void t.test('a charged refusal is repeated unchanged', async (t) => {
  const prompt = 'a boat [[client=refused]] [[sandbox no-image=NO_IMAGE]]'
  const asked = {
    path: '/v1/images/generations',
    key: newKey(),
    body: { model: 'gen-3-pro-image-preview', prompt },
  }
  const first = await ask(asked)
  const second = await ask({ ...asked, at: 1 })
  t.match([first.status, second.status], [422, 422])
  t.same([second.text, costOf(second)], [first.text, costOf(first)])
  t.equal(sentUpstream('refused'), 1)
})

void t.test(
  'an answer that is not kept is reported with its call id, without a second call',
  async (t) => {
    const long = { ...speech, text: `[[client=large]] ${'a word '.repeat(200)}` }
    const asks: readonly (readonly [name: string, asked: Ask, refused: object])[] = [
      [
        'streamed',
        { path: CHAT, body: chat('hello [[client=streamed]]', { stream: true }) },
        { status: 409, body: { error: { code: 'idempotency_answer_not_kept' } } },
      ],
      [
        'large',
        { path: '/provB/v1/t2a_v2', body: long },
        {
          status: 409,
          body: { base_resp: { status_code: 2013, status_msg: /its answer is not kept/ } },
        },
      ],
    ]
    for (const [name, asked, refused] of asks) {
      const key = newKey()
      const first = await ask({ ...asked, key })
      t.equal(first.status, 200)
      const second = await eventually('the first is over', async () => {
        const answer = await ask({ ...asked, key, at: 1 })
        return answer.text.includes('idempotency_in_progress') ? undefined : answer
      })
      t.match(second, refused, name)
      const callId = String(first.headers.get('x-call-id'))
      t.equal(second.headers.get('x-call-id'), callId)
      t.equal(second.headers.get('x-should-retry'), 'false')
      t.equal(sentUpstream(name), 1)
      t.equal(await settlements(callId), 1)
      await stack.caughtUp()
      const { status, body } = await finance.get(`/receipts/${callId}`)
      t.match([status, body.data.state], [200, 'settled'], 'its receipt is there')
    }
  },
)

void t.test('a stream that was broken off frees its key', async (t) => {
  const body = chat('hello [[client=cut]] [[sandbox error-after=2]]', { stream: true })
  const asked = { path: CHAT, key: newKey(), body }
  for (const times of [1, 2]) {
    await eventually('the one before is over', async () => {
      const answer = await ask(asked)
      return answer.status === 200 ? answer : undefined
    })
    t.equal(sentUpstream('cut'), times)
  }
})

void t.test('a key may be used again after a day', async (t) => {
  const asked = { path: CHAT, key: newKey(), body: chat('hello [[client=day]]') }
  await ask(asked)
  await stack.gateway.pool.query(`update ops.call_claims set expires_at = now() - interval '1 s'`)
  const again = await ask({ ...asked, body: chat('another [[client=day]]') })
  t.match([again.status, again.headers.get('idempotent-replayed')], [200, null])
  t.equal(sentUpstream('day'), 2)
})

void t.test('a key is 1 to 255 printable characters', async (t) => {
  for (const key of ['', 'x'.repeat(256), 'tab\tbed']) {
    const { status, body } = await ask({ path: CHAT, key, body: chat('hello') })
    t.match([status, body.error.param], [400, 'Idempotency-Key'], JSON.stringify(key))
  }
})

void t.test('the documentation of every synchronous call has the key', async (t) => {
  const { paths } = (await call(`${stack.url}/openapi.json`)).body
  const taking = Object.keys(paths).filter((path) =>
    (paths[path].post?.parameters ?? []).some(
      ({ name }: { readonly name: string }) => name === 'idempotency-key',
    ),
  )
  for (const path of [
    CHAT,
    '/v1/responses',
    '/v1/messages',
    '/v1beta/models/{model}:generateContent',
    '/v1beta/models/{model}:streamGenerateContent',
    '/v1/images/generations',
    '/v1/images/edits',
    '/v1/audio/speech',
    '/provB/v1/t2a_v2',
    '/provB/v1/voice_clone',
  ])
    t.ok(taking.includes(path), `${path} of ${taking.join(', ')}`)
})

void t.test('the database holds no key and no answer in clear text', async (t) => {
  const secret = 'a-word-nobody-else-writes'
  const answer = await ask({ path: CHAT, key: secret, body: chat('hello [[client=clear]]') })
  const said = String(answer.body.choices[0].message.content).slice(0, 12)
  const { rows } = await stack.gateway.pool.query<{ row: string; answer: Buffer | null }>(
    'select (claims.*)::text as row, answer from ops.call_claims claims',
  )
  const all = rows.map(({ row, answer: kept }) => row + (kept?.toString('latin1') ?? '')).join('\n')
  t.ok(all.length > 0)
  t.notOk(all.includes(secret))
  t.notOk(all.includes(said))
})

void t.test('while Postgres is away only calls under a key are refused', async (t) => {
  t.equal((await ask({ path: CHAT, body: chat('warm') })).status, 200)
  const { pool } = stack.gateway
  await pool.query('alter table ops.call_claims rename to call_claims_away')
  const body = chat('hello [[client=away]]')
  const refused = await ask({ path: CHAT, key: newKey(), body })
  t.match([refused.status, refused.body.error.code], [503, 'service_unavailable'])
  t.ok(refused.headers.get('retry-after'))
  t.equal(sentUpstream('away'), 0, 'nothing was sent')
  t.equal((await ask({ path: CHAT, body })).status, 200)
  await pool.query('alter table ops.call_claims_away rename to call_claims')
  t.equal((await ask({ path: CHAT, key: newKey(), body })).status, 200)
})
