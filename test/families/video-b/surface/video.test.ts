import t from 'tap'
import type { ResolveMediaFiles } from '../../../../src/app/files/uploads/media-files.ts'
import { RawString } from '../../../../src/kernel/raw-string.ts'
import { DomainError } from '../../../../src/kernel/errors.ts'
import { asModel, startApp } from '../../../api/support/app.ts'

/** Knows one file of one tenant. */
const resolveMediaFiles: ResolveMediaFiles = async ({ tenantId }, wanted) => {
  await Promise.resolve()
  if (wanted.length === 0) return undefined
  for (const { fileId, param } of wanted)
    if (fileId !== '4503599627370497' || tenantId !== 'tenant_1')
      throw new DomainError('invalid_request', `\`${param}\` names no file of the tenant`, {
        param,
      })
  return { channelId: 'account-2', upstreamIds: new Map([['4503599627370497', '77']]) }
}

const { app, tasks, hosts } = await startApp({ files: { find: resolveMediaFiles } })
t.teardown(async () => app.close())
hosts.set('media.example.com', ['93.184.216.34'])
hosts.set('inside.example.com', ['10.0.0.7', '93.184.216.34'])

const CREATE = '/provB/v2/video_generation'
const MIB = 1024 * 1024

const goodBody = {
  model: 'h3-video',
  content: [{ type: 'text', text: 'a lantern' }],
  duration: 6,
  ratio: '16:9',
}

function create(payload: unknown, headers: Record<string, string> = {}) {
  return app.inject({
    method: 'POST',
    url: CREATE,
    headers: { 'content-type': 'application/json', ...asModel, ...headers },
    payload:
      typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload),
  })
}

const withUrl = (url: string, type = 'image_url', role = 'reference_image') => ({
  ...goodBody,
  content: [...goodBody.content, { type, role, [type]: { url } }],
})

t.test('200 with both ids; the use case gets the facts and a body for upstream', async (t) => {
  const answer = await create({ ...goodBody, callback_url: ' https://hooks.example.com/x ' })
  t.equal(answer.statusCode, 200)
  const view = tasks.owned[0]?.view
  t.same(answer.json(), { task_id: view?.nativeId, platform_id: view?.platformId })
  t.equal(answer.headers['x-platform-id'], view?.platformId)
  t.match(tasks.created.at(-1), {
    family: 'video-b',
    surface: 'provB.video',
    model: 'h3-video',
    channelId: undefined,
    callerMarker: undefined,
    facts: { inputs: { text: 1, image: 0 }, settings: { duration: 6, resolution: '768P' } },
    upstreamBody: { callback_url: 'https://hooks.example.com/x', ratio: '16:9' },
  })
})

t.test('an uploaded file pins its account; a foreign file is refused as unknown', async (t) => {
  const url = 'media_file://4503599627370497'
  t.equal((await create(withUrl(url))).statusCode, 200)
  t.match(tasks.created.at(-1), {
    channelId: 'account-2',
    upstreamBody: { content: [{}, { image_url: { url: 'media_file://77' } }] },
  })
  const refusals = await Promise.all([
    create(withUrl(url), { authorization: 'Bearer sk-two' }),
    create(withUrl('media_file://4503599627370498'), { authorization: 'Bearer sk-two' }),
  ])
  const answers = refusals.map(({ statusCode, body }) => [
    statusCode,
    body.replace(/req_[0-9A-Z]{26}/, ''),
  ])
  t.same(answers[0], answers[1], 'another tenant’s file reads like one that never was')
  t.match(answers[0], [400, /`content\[1\]\.image_url\.url` names no file of the tenant \(2013\)/])
})

t.test('400 for media and callbacks whose host is not public or does not resolve', async (t) => {
  const before = tasks.created.length
  for (const host of [
    'inside.example.com',
    'unknown.example.com',
    '127.0.0.1',
    '[::1]',
    'localhost',
  ])
    for (const body of [
      withUrl(`https://${host}/x`),
      { ...goodBody, callback_url: `https://${host}/x` },
    ]) {
      const answer = await create(body)
      t.equal(answer.statusCode, 400, host)
      t.match(answer.json().error, { type: 'bad_request_error', http_code: '400' })
    }
  for (const callback of ['', ' ', 'http://hooks.example.com', 7, 'x'.repeat(3_000)])
    t.match(
      (await create({ ...goodBody, callback_url: callback })).json().error.message,
      /^`callback_url` /,
    )
  t.equal(tasks.created.length, before, 'nothing was created')
})

t.test('misspelled and foreign members are refused, unknown ones are left out', async (t) => {
  const unsafe = await create('{"duration":9007199254740993}')
  t.match(unsafe.json().error.message, /: `duration` \(2013\)$/, 'the field is always named')
  const misspelled = await create({ ...goodBody, resolutoin: '2K' })
  t.match(misspelled.json().error.message, /did you mean `resolution`/)
  const foreign = await create({ ...goodBody, aigc_watermark: true })
  t.match(foreign.json().error.message, /`aigc_watermark`/, 'another interface’s is refused')
  t.equal((await create({ ...goodBody, made_up_member: 1 })).statusCode, 200)
  t.notOk('made_up_member' in (tasks.created.at(-1)?.upstreamBody ?? {}))
})

t.test('every failure has the family’s shape and its request id', async (t) => {
  const cases: readonly (readonly [
    Promise<Awaited<ReturnType<typeof create>>>,
    number,
    string,
    string,
  ])[] = [
    [create(goodBody, { authorization: 'Bearer sk-none' }), 401, 'authorized_error', '1004'],
    [create(goodBody, { authorization: 'Bearer qak-all' }), 403, 'permission_error', '1004'],
    [create('{"model"'), 400, 'bad_request_error', '2013'],
    [create('{"model":"a","model":"b"}'), 400, 'bad_request_error', '2013'],
    [create(Buffer.from([0x22, 0xff, 0x22])), 400, 'bad_request_error', '2013'],
    [create({ ...goodBody, model: 'h3-768p-second' }), 400, 'bad_request_error', '2013'],
    [create({ ...goodBody, duration: 60 }), 400, 'bad_request_error', '2013'],
    [create(goodBody, { 'content-type': 'text/plain' }), 415, 'bad_request_error', '2013'],
    [create(goodBody, { 'idempotency-key': '' }), 400, 'bad_request_error', '2013'],
    [app.inject({ url: '/provB/v2/nothing', headers: asModel }), 404, 'not_found_error', '1000'],
    [
      app.inject({ url: '/provB/v2/query/video_generation/1', headers: asModel }),
      404,
      'not_found_error',
      '1000',
    ],
  ]
  for (const [sent, status, type, number] of cases) {
    const answer = await sent
    t.equal(answer.statusCode, status)
    t.strictSame(Object.keys(answer.json()), ['type', 'error', 'request_id'])
    t.match(answer.json(), {
      type: 'error',
      error: { type, message: new RegExp(`\\(${number}\\)$`), http_code: String(status) },
      request_id: answer.headers['x-request-id'],
    })
  }
  for (const [failure, status, type] of [
    ['insufficient_balance', 402, 'insufficient_balance_error'],
    ['rate_limited', 429, 'rate_limit_error'],
    ['submission_uncertain', 502, 'server_error'],
    ['price_not_configured', 503, 'server_error'],
    ['kept_unavailable', 503, 'server_error'],
  ] as const) {
    tasks.failure = new DomainError(failure, '', { platformId: 'video_x' })
    const answer = await create(goodBody)
    t.match(answer.json().error, { type, http_code: String(status) }, failure)
    t.equal(answer.headers['x-platform-id'], 'video_x')
  }
})

t.test('a succeeded task without a fresh URL shows none; a failed one its error', async (t) => {
  const show = async (part: Parameters<typeof tasks.add>[1]) => {
    const { platformId } = tasks.add('tenant_1', { model: 'h3-video', ...part })
    const answer = await app.inject({
      url: `/provB/v2/query/video_generation/${platformId}`,
      headers: asModel,
    })
    return answer.json().task
  }
  const done = await show({
    status: 'succeeded',
    usage: { total_seconds: 6, unheard_of: 1 },
    urls: { url: 'https://signed.example.com/x', other: 'https://signed.example.com/y' },
  })
  t.match(done, { content: { url: 'https://signed.example.com/x' }, usage: { total_seconds: 6 } })
  t.strictSame(Object.keys(done.usage), ['total_seconds'])
  t.notOk('content' in (await show({ status: 'succeeded' })))
  t.match(await show({ status: 'failed', error: { code: '1026', message: 'no' } }), {
    error: { code: '1026', message: 'no' },
  })
  const waiting = await show({ status: 'queued', nativeId: undefined })
  t.match(waiting.id, /^video_/, 'under its platform id while no other is known')
})

t.test('47 MiB of video in data passes unchanged, 50 MiB is 413', async (t) => {
  const bodyOf = (decodedBytes: number) => {
    const [head = '', tail = ''] = JSON.stringify(
      withUrl('data:video/mp4;base64,@', 'video_url', 'reference_video'),
    ).split('@')
    const base64 = Buffer.alloc(Math.ceil(decodedBytes / 3) * 4, 'A')
    base64.fill('=', base64.length - ((3 - (decodedBytes % 3)) % 3))
    return Buffer.concat([Buffer.from(head), base64, Buffer.from(tail)])
  }
  t.equal((await create(bodyOf(47 * MIB))).statusCode, 200)
  const [, item] = (tasks.created.pop()?.upstreamBody['content'] ?? []) as {
    video_url: { url: unknown }
  }[]
  t.ok(item?.video_url.url instanceof RawString)
  const large = await create(bodyOf(50 * MIB))
  t.equal(large.statusCode, 413)
  t.match(large.json().error, {
    type: 'bad_request_error',
    http_code: '413',
    message: 'The request body is larger than 64 MiB (2013)',
  })
})
