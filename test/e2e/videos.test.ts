import { createHmac } from 'node:crypto'
import OpenAI, { toFile } from 'openai'
import t from 'tap'
import { pictureOf } from '../../infra/sandbox/media/pictures.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, startReceiver, steadyHeaders } from './support/client.ts'

const receiver = await startReceiver()
t.teardown(() => receiver.close())
const stack = await startStack({
  sandbox: { callbackMap: new Map([['hooks.example.com', receiver.origin]]) },
  hosts: {
    'hooks.example.com': ['93.184.216.34'],
    'media.example.com': ['93.184.216.34'],
    'inside.example.com': ['10.0.0.7'],
  },
})
t.teardown(() => stack.stop())
const finance = queriesOf(stack.url, stack.demo.queryToken)

const IMAGE = 'https://media.example.com/boat.png'
const QUICK = 'x [[sandbox queued-ms=0 running-ms=0]]'

function clipsOf(token: string) {
  const at = (path: string, init: RequestInit = {}): Promise<Answer> =>
    call(`${stack.url}/provC/ent/v2${path}`, { token, ...init })
  const create = (mode: string, body: object, headers: Record<string, string> = {}) =>
    at(`/${mode}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const get = (id: string) => at(`/tasks/${id}/creations`)
  return {
    create,
    text: (prompt: string, rest: object = {}) =>
      create('text2video', { model: 'clipq3-pro', prompt, ...rest }),
    get,
    cancel: (id: string) => at(`/tasks/${id}/cancel`, { method: 'POST' }),
    reaches: (id: string, state: string) =>
      eventually(`${id} ${state}`, async () => {
        const answer = await get(id)
        return answer.body?.state === state ? answer : undefined
      }),
  }
}

const clips = clipsOf(stack.demo.modelToken)
const foreign = clipsOf(stack.other.modelToken)
const acceptedOf = (id: string) => stack.sandbox.accepted().find((task) => task.id === id)

function payloadOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, 'payload') : undefined
}

async function linesOf(platformId: string) {
  await stack.caughtUp()
  return (await finance.lines(`source_id=${platformId}`)).body.data.items
}

t.test('each mode makes a video, settled once by the credits upstream took', async (t) => {
  const bodies = {
    text2video: { model: 'clipq3-pro', prompt: 'a fox in the snow', duration: 5, style: 'anime' },
    img2video: { model: 'clip1.5', images: [IMAGE] },
    'start-end2video': { model: 'clipq2-turbo', images: [IMAGE, IMAGE], resolution: '1080p' },
    reference2video: { model: 'clipq2', prompt: 'they meet', images: [IMAGE, IMAGE, IMAGE] },
  }
  const seconds = { text2video: 5, img2video: 4, 'start-end2video': 5, reference2video: 5 }
  const each = Object.entries(bodies).map(async ([mode, body]) => {
    const created = await clips.create(mode, body)
    t.equal(created.status, 200, created.text)
    const { task_id: id, platform_id: platformId, state } = created.body
    t.match(id, /^8\d{15}$/)
    t.equal(created.body.id, id)
    t.match(platformId, /^video_[0-9A-HJKMNP-TV-Z]{26}$/)
    t.equal(created.headers.get('x-platform-id'), platformId)
    t.equal(state, 'created')
    const done = await clips.reaches(id, 'success')
    const credits = seconds[mode as keyof typeof seconds] * (mode === 'start-end2video' ? 40 : 20)
    t.match(done.body, {
      id,
      platform_id: platformId,
      state: 'success',
      err_code: '',
      credits,
      model: body.model,
      creations: [{ id: /^8\d{15}$/, url: /^http/, cover_url: /^http/ }],
    })
    t.notOk(Object.hasOwn(done.body.creations[0], 'watermarked_url'), 'it was not asked for')
    t.same((await clips.get(platformId)).body, done.body, 'the platform id finds it too')
    t.match(await linesOf(platformId), [
      {
        native_id: id,
        surface: `provC.${mode}`,
        model: body.model,
        sku: `${body.model}-credit`,
        rule: 'video-c/credit',
        quantity: credits,
        unit: 'credit',
        price: '0.005',
        currency: 'USD',
        amount: String(credits * 0.005),
      },
    ])
    t.equal(acceptedOf(id)?.model, body.model.replace('clip', 'reel'), 'upstream has its own names')
  })
  await Promise.all(each)
})

t.test('off-peak costs half; the watermark is sent where requested', async (t) => {
  const created = await clips.text('x [[sandbox queued-ms=0 running-ms=0]]', {
    off_peak: true,
    watermark: true,
    wm_position: 'top_left',
    payload: 'order-7',
  })
  const done = await clips.reaches(created.body.task_id, 'success')
  t.match(done.body, { credits: 50, off_peak: true, watermark: true, payload: 'order-7' })
  t.match(done.body.creations[0].watermarked_url, /^http/)
  t.match(await linesOf(created.body.platform_id), [
    { rule: 'video-c/credit/off-peak', quantity: 50, amount: '0.25' },
  ])
  const sent = stack.sandbox.requestLog().find(({ body }) => payloadOf(body) === 'order-7')
  t.match(sent?.body, { wm_position: 1, payload: 'order-7', off_peak: true })
})

t.test('a waiting video is cancelled upstream and costs nothing', async (t) => {
  const created = await clips.text('x [[sandbox stall-queued]]')
  const { task_id: id, platform_id: platformId } = created.body
  await clips.reaches(id, 'queueing')
  const cancelled = await clips.cancel(platformId)
  t.equal(cancelled.status, 200, cancelled.text)
  const ended = { id, state: 'failed', err_code: 'UserCancelled', credits: 0, creations: [] }
  t.match(cancelled.body, ended)
  t.match((await clips.get(id)).body, ended)
  t.equal(acceptedOf(id)?.cancelled, true)
  t.same(await linesOf(platformId), [])
  const again = await clips.cancel(id)
  t.equal(again.status, 400)
  t.match(again.body, { code: 400, reason: 'BadRequest', metadata: { trace_id: /^req_/ } })
  const types = (await finance.history(id)).body.data.items.map((i: { type: string }) => i.type)
  t.same(types, ['TaskRequested', 'TaskSubmitted', 'TaskCancelled'])
})

t.test('400 for cancelling a running or ended video, which goes on and is billed', async (t) => {
  const working = await clips.text('x [[sandbox queued-ms=0 stall]]')
  await clips.reaches(working.body.task_id, 'processing')
  const late = await clips.cancel(working.body.task_id)
  t.equal(late.status, 400)
  t.match(late.body, { reason: 'BadRequest', message: /can not cancel/ })
  t.equal((await clips.get(working.body.task_id)).body.state, 'processing')
  const created = await clips.text('x [[sandbox queued-ms=0 running-ms=0]]')
  const { task_id: id, platform_id: platformId } = created.body
  await clips.reaches(id, 'success')
  t.equal((await clips.cancel(id)).status, 400)
  t.equal((await clips.get(id)).body.state, 'success', 'it is not hidden')
  t.equal((await linesOf(platformId)).length, 1)
})

t.test('of a cancellation and an end at once, one is in the log and settled', async (t) => {
  const made = await Promise.all(
    Array.from({ length: 6 }, async (_, index) => {
      const wait = 40 * index
      const { body } = await clips.text(`x [[sandbox queued-ms=${wait} running-ms=0]]`)
      const cancel = await clips.cancel(body.task_id)
      const ended = await eventually(`${body.task_id} ends`, async () => {
        const answer = await clips.get(body.task_id)
        return ['success', 'failed'].includes(answer.body?.state) ? answer : undefined
      })
      return { body, cancel, ended }
    }),
  )
  for (const { body, cancel, ended } of made) {
    const won = acceptedOf(body.task_id)?.cancelled === true
    t.equal(ended.body.state, won ? 'failed' : 'success')
    if (won) t.equal(ended.body.err_code, 'UserCancelled')
    t.equal(cancel.status, won ? 200 : 400)
    t.equal((await linesOf(body.platform_id)).length, won ? 0 : 1)
  }
})

t.test('a failed video shows its error code and costs nothing', async (t) => {
  const failed = await clips.text('x [[sandbox fail=CreationPolicyViolation running-ms=0]]')
  const ended = await clips.reaches(failed.body.task_id, 'failed')
  t.match(ended.body, { err_code: 'CreationPolicyViolation', credits: 0, creations: [] })
  t.same(await linesOf(failed.body.platform_id), [])
})

t.test("errors in the family's own shape", async (t) => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    call(`${stack.url}/provC/ent/v2/text2video`, {
      method: 'POST',
      token: stack.demo.modelToken,
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
  const url = `${stack.url}/provC/ent/v2/tasks/8000000000000000/creations`
  const q3 = { model: 'clipq3-pro' }
  const cases = [
    [await post('{"model":'), 400, 'BadRequest'],
    [await post('{}', { 'content-type': 'text/plain' }), 415, 'BadRequest'],
    [await post('{}'), 400, 'FieldLacking'],
    [await clips.text('x', { duration: 17 }), 400, 'FieldInvalid'],
    [await clips.text('x', { images: [IMAGE] }), 400, 'FieldUnwanted'],
    [await clips.create('img2video', { ...q3, images: [] }), 400, 'FieldItemCountOutOfRange'],
    [
      await clips.create('reference2video', { ...q3, prompt: 'x', images: [IMAGE] }),
      400,
      'FieldInvalid',
    ],
    [await clips.text('x', { callback_url: 'https://inside.example.com/' }), 400, 'FieldInvalid'],
    [
      await clips.text('x [[sandbox refuse=TaskPromptPolicyViolation]]'),
      400,
      'TaskPromptPolicyViolation',
    ],
    [await clips.text('x [[sandbox refuse=CreditInsufficient]]'), 503, 'ModelUnavailable'],
    [
      await clips.text('x [[sandbox refuse=SystemThrottling]]', { model: 'clipq1' }),
      429,
      'SystemThrottling',
    ],
    [await clips.text('x [[sandbox drop-after-accept]]'), 502, 'InternalServiceFailure'],
    [await call(url), 401, 'Unauthorized'],
    [await call(url, { token: stack.demo.queryToken }), 403, 'Forbidden'],
    [await clips.get('8000000000000000'), 404, 'TaskNotFound'],
    [
      await call(`${stack.url}/provC/ent/v2/nothing`, { token: stack.demo.modelToken }),
      404,
      'NotFound',
    ],
  ] as const
  for (const [answer, status, reason] of cases) {
    t.equal(answer.status, status, `${status} ${reason} ${answer.text}`)
    t.same(Object.keys(answer.body), ['code', 'reason', 'message', 'metadata'])
    t.match(answer.body, { code: status, reason, metadata: { trace_id: /^req_/ } })
  }
})

t.test('a creation whose answer was lost is found by its marker', async (t) => {
  const lost = await clips.text('x [[client=lost]] [[sandbox drop-after-accept running-ms=0]]')
  t.equal(lost.status, 502)
  t.equal(lost.headers.get('x-should-retry'), 'false')
  const platformId = lost.headers.get('x-platform-id') ?? ''
  await clips.reaches(platformId, 'success')
  t.equal(stack.sandbox.accepted({ client_marker: 'lost' }).length, 1, 'sent once')
  t.equal((await linesOf(platformId)).length, 1)
})

t.test('usage that a list lacks of a success is queried', async (t) => {
  const rule = stack.sandbox.faults.add({ faults: ['usage-missing'], match: { op: 'list' } })
  const made = await Promise.all([1, 2, 3].map(() => clips.text(QUICK)))
  for (const { body } of made)
    await eventually(`a line of ${body.platform_id}`, async () => {
      const { body: found } = await finance.lines(`source_id=${body.platform_id}`)
      return found.data.items.length === 1 ? true : undefined
    })
  t.ok((stack.sandbox.requests().routes['video-c.list']?.count ?? 0) > 0)
  stack.sandbox.faults.clear(rule.id)
})

t.test('a repeated key creates no second task; another mode is another request', async (t) => {
  const key = { 'idempotency-key': 'clip-1' }
  const body = { model: 'clipq2', prompt: 'once' }
  const first = await clips.create('text2video', body, key)
  const again = await clips.create('text2video', body, key)
  t.equal(again.body.task_id, first.body.task_id)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  const reused = await clips.create('text2video', { ...body, prompt: 'twice' }, key)
  t.equal(reused.status, 409)
  t.equal(reused.body.reason, 'Conflict')
  const other = await clips.create('reference2video', { ...body, images: [IMAGE] }, key)
  t.not(other.body.task_id, first.body.task_id)
})

t.test('callbacks are passed on, signed with the gateway’s key', async (t) => {
  const created = await clips.text('x', { callback_url: 'https://hooks.example.com/clip?n=1' })
  const id: string = created.body.task_id
  const told = await eventually('two callbacks', () => {
    const found = receiver.deliveries.filter(({ body }) => body.id === id)
    return found.length >= 2 ? found : undefined
  })
  t.same(
    told.map(({ body }) => body.state),
    ['processing', 'success'],
  )
  const { headers = {} } = told[0] ?? {}
  const of = (name: string): string => String(headers[name])
  const signed = `Date:${of('date')}\nx-request-nonce:${of('x-request-nonce')}\n`
  const text = `POST\n/clip\nn=1\n${of('x-hmac-access-key')}\n${of('date')}\n${signed}`
  const expected = createHmac('sha256', 'sandbox').update(text).digest('base64')
  t.equal(headers['x-hmac-signature'], expected)
})

t.test("another tenant's video is answered byte for byte as an unknown one", async (t) => {
  const unknown = '8000000000000000'
  const created = await clips.text('x [[sandbox stall-queued]]')
  const ids: string[] = [created.body.task_id, created.body.platform_id]
  const plain = ({ text }: Answer) => text.replace(/req_\w+/, 'req')
  for (const ask of [foreign.get, foreign.cancel]) {
    const reference = await ask(unknown)
    t.equal(reference.status, 404)
    for (const id of ids) {
      const answer = await ask(id)
      t.equal(answer.status, 404)
      t.equal(plain(answer), plain(reference))
      t.same(steadyHeaders(answer), steadyHeaders(reference))
    }
  }
  t.match((await clips.get(unknown)).status, 404)
  t.equal(acceptedOf(created.body.task_id)?.cancelled, false, 'nothing happened to it')
})

const openai = new OpenAI({
  apiKey: stack.demo.modelToken,
  baseURL: `${stack.url}/v1`,
  maxRetries: 0,
})

function completed(id: string) {
  return eventually(`${id} completed`, async () => {
    const video = await openai.videos.retrieve(id)
    return video.status === 'completed' ? video : undefined
  })
}

/** What our own answers have beside those of the client's types. */
function own(video: object, name: string): unknown {
  return Reflect.get(video, name)
}

t.test('the official client makes, follows, downloads, lists and deletes videos', async (t) => {
  const asked = { prompt: QUICK, seconds: '5' as never, size: '1280x720' } as const
  const ofA = await openai.videos.create({ model: 'overseas-video-2-0', ...asked })
  t.match(ofA, {
    id: /^video_/,
    object: 'video',
    status: 'queued',
    model: 'overseas-video-2-0',
    progress: 0,
    seconds: '5',
    size: '1280x720',
    error: null,
    completed_at: null,
  })
  t.match(own(ofA, 'task_id'), /^cgt-/)
  const ofC = await openai.videos.create({ model: 'clipq2', ...asked })
  t.match(own(ofC, 'task_id'), /^8\d{15}$/)
  const ofB = await openai.videos.create({
    model: 'h3-video',
    prompt: QUICK,
    seconds: '6' as never,
    // The types of the client do not have it, and answers may show it.
    size: 'auto' as never,
  })
  t.equal(ofB.seconds, '6')
  const begun = await openai.videos.create({
    model: 'clipq3-pro',
    prompt: QUICK,
    input_reference: await toFile(await pictureOf(64, 64, 'png'), 'boat.png'),
  })

  for (const { id } of [ofA, ofB, ofC, begun]) {
    const done = await completed(id)
    t.match(done, { progress: 100, completed_at: Number, error: null })
    const whole = Buffer.from(await (await openai.videos.downloadContent(id)).arrayBuffer())
    t.equal(whole.subarray(4, 8).toString('latin1'), 'ftyp')
  }
  t.match(own(await completed(ofA.id), 'usage'), { completion_tokens: Number })
  t.match(own(await completed(ofC.id), 'usage'), { credits: 100 })
  const clip = await clips.get(ofC.id)
  t.equal(clip.body.state, 'success', 'one task, whichever surface looks at it')
  t.equal((await completed(clip.body.id)).id, ofC.id, 'by its native id too')
  t.match(await linesOf(begun.id), [{ surface: 'v1.videos', sku: 'clipq3-pro-credit' }])
  const sent = stack.sandbox.requestLog().filter(({ url }) => url.endsWith('/img2video'))
  t.match(JSON.stringify(sent.at(-1)?.body), /"images":\["data:image\/png;base64,/)

  const two = await openai.videos.list({ limit: 2 })
  t.same(
    two.data.map(({ id }) => id),
    [begun.id, ofB.id],
  )
  t.equal(two.has_more, true)
  const rest = await two.getNextPage()
  t.same(
    rest.data.map(({ id }) => id),
    [ofC.id, ofA.id],
  )
  const beyond = await rest.getNextPage()
  const oldest = await openai.videos.list({ order: 'asc', limit: 100 })
  t.same(
    oldest.data.map(({ id }) => id),
    (await openai.videos.list({ limit: 100 })).data.map(({ id }) => id).toReversed(),
  )

  t.same(await openai.videos.delete(ofA.id), {
    id: ofA.id,
    object: 'video.deleted',
    deleted: true,
  })
  await t.rejects(openai.videos.retrieve(ofA.id), { status: 404, code: 'task_not_found' })
  const on = await openai.videos.list({ after: ofA.id })
  t.same(on.data[0]?.id, beyond.data[0]?.id, 'lists go on from one that was deleted')
})

t.test('ranges of a video, its thumbnail, and missing parts', async (t) => {
  const made = await openai.videos.create({ model: 'clip2.0', prompt: QUICK })
  await completed(made.id)
  const content = (query: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${stack.url}/v1/videos/${made.id}/content${query}`, {
      method,
      headers: { authorization: `Bearer ${stack.demo.modelToken}`, ...headers },
    })
  const part = await content('', { range: 'bytes=4-7' })
  t.equal(part.status, 206)
  t.match(part.headers.get('content-range'), /^bytes 4-7\/\d+$/)
  t.equal(part.headers.get('content-type'), 'video/mp4')
  t.equal(await part.text(), 'ftyp')
  t.equal((await content('', { range: 'bytes=999999999-' })).status, 416)
  for (const range of [{}, { range: 'bytes=4-7' }] as const) {
    const [whole, head] = [await content('', range), await content('', range, 'HEAD')]
    await whole.arrayBuffer()
    t.equal(head.status, whole.status, 'HEAD has the status of GET')
    for (const name of ['content-type', 'content-length', 'content-range', 'cache-control'])
      t.equal(head.headers.get(name), whole.headers.get(name), name)
    t.ok(Number(head.headers.get('content-length')) > 0)
    t.equal((await head.arrayBuffer()).byteLength, 0)
  }
  const picture = await content('?variant=thumbnail')
  t.equal(picture.headers.get('content-type'), 'image/png')
  await picture.arrayBuffer()
  const none = await content('?variant=spritesheet')
  t.equal(none.status, 404)
  t.match(await none.json(), { error: { code: 'result_not_available' } })
  const waiting = await openai.videos.create({ model: 'clipq2', prompt: 'x [[sandbox stall]]' })
  await t.rejects(openai.videos.downloadContent(waiting.id), {
    status: 404,
    code: 'result_not_available',
  })
  const rule = stack.sandbox.faults.add({ faults: ['http=503'], match: { op: 'media' } })
  t.equal((await content('')).status, 502)
  stack.sandbox.faults.clear(rule.id)
  t.equal((await content('')).status, 200)
})

t.test('a family’s refusal names the members of this surface', async (t) => {
  const post = (body: object) =>
    call(`${stack.url}/v1/videos`, {
      method: 'POST',
      token: stack.demo.modelToken,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const clip = { model: 'clipq2', prompt: 'x' }
  const asset = { model: 'overseas-video-2-5', prompt: 'x', input_reference: ['asset://a1'] }
  const cases = [
    [{}, 400, 'invalid_value', 'model'],
    [{ ...clip, model: 'text-basic' }, 404, 'model_not_found', 'model'],
    [{ ...clip, seconds: '9' }, 400, 'invalid_value', 'seconds'],
    [{ ...clip, seconds: 'long' }, 400, 'invalid_value', 'seconds'],
    [{ ...clip, size: '1280x700' }, 400, 'invalid_value', 'size'],
    [{ ...clip, size: '1280x720', ratio: '16:9' }, 400, 'invalid_value', 'size'],
    [{ ...clip, generate_audio: true }, 400, 'invalid_value', 'generate_audio'],
    [
      { ...clip, input_reference: ['https://inside.example.com/a.png'] },
      400,
      'invalid_value',
      'input_reference',
    ],
    [
      { ...clip, input_reference: { url: IMAGE, type: 'video' } },
      400,
      'invalid_value',
      'input_reference',
    ],
    [asset, 404, 'asset_not_found', 'input_reference'],
    [
      { ...clip, prompt: 'x [[sandbox refuse=TaskPromptPolicyViolation]]' },
      400,
      'TaskPromptPolicyViolation',
      null,
    ],
    [{ ...clip, prompt: 'x [[sandbox drop-after-accept]]' }, 502, 'upstream_error', null],
  ] as const
  for (const [body, status, code, param] of cases) {
    const answer = await post(body)
    t.equal(answer.status, status, `${status} ${answer.text}`)
    t.match(answer.body.error, { code, param })
    if (status === 502) t.equal(answer.headers.get('x-should-retry'), 'false')
  }
})

t.test("another tenant's videos are answered byte for byte as unknown ones", async (t) => {
  const made = await openai.videos.create({ model: 'clipq2', prompt: QUICK })
  await completed(made.id)
  const native = String(own(made, 'task_id'))
  const ask = (id: string, path = '', init: RequestInit = {}) =>
    call(`${stack.url}/v1/videos/${id}${path}`, { token: stack.other.modelToken, ...init })
  for (const [path, init] of [
    ['', {}],
    ['/content', {}],
    ['', { method: 'DELETE' }],
  ] as const) {
    const reference = await ask('video_01JABCDEFGHJKMNPQRSTVWXYZ0', path, init)
    t.equal(reference.status, 404)
    for (const id of [made.id, native]) {
      const answer = await ask(id, path, init)
      t.equal(answer.status, 404)
      t.equal(answer.text, reference.text)
      t.same(steadyHeaders(answer), steadyHeaders(reference))
    }
  }
  const list = (query: string) =>
    call(`${stack.url}/v1/videos?${query}`, { token: stack.other.modelToken })
  t.same((await list('')).body.data, [])
  const after = await list(`after=${made.id}`)
  t.equal(after.status, 400)
  t.equal(after.text, (await list('after=video_01JABCDEFGHJKMNPQRSTVWXYZ0')).text)
  t.equal((await openai.videos.retrieve(made.id)).status, 'completed', 'nothing happened to it')
})

t.test('neither prompts nor links are in the log', async (t) => {
  for await (const event of stack.gateway.log.readAll())
    t.notMatch(
      JSON.stringify(event.data),
      /a fox|sandbox queued|X-Tos|media\.example|hooks\.example/,
    )
})
