import t from 'tap'
import { startStack } from '../helpers/stack.ts'
import { eventually } from '../helpers/eventually.ts'
import { type Answer, call, queriesOf, startReceiver, steadyHeaders } from './support/client.ts'

const receiver = await startReceiver()
const stack = await startStack({
  sandbox: { callbackMap: new Map([['hooks.example.com', receiver.origin]]) },
  hosts: {
    'hooks.example.com': ['93.184.216.34'],
    'media.example.com': ['93.184.216.34'],
    'inside.example.com': ['10.0.0.7'],
  },
})
t.teardown(async () => {
  await stack.stop()
  await receiver.close()
})

const CREATE = `${stack.url}/provB/v2/video_generation`
const QUERY = `${stack.url}/provB/v2/query/video_generation`
const finance = queriesOf(stack.url, stack.demo.queryToken)

const textItem = (prompt: string) => ({ type: 'text', text: prompt })
const image = (url: string, role?: string) => ({
  type: 'image_url',
  ...(role === undefined ? {} : { role }),
  image_url: { url },
})

function create(
  members: Readonly<Record<string, unknown>> = {},
  { token = stack.demo.modelToken, key = '' } = {},
): Promise<Answer> {
  const { prompt = 'a lantern drifts over a lake', media = [], ...rest } = members
  const body = {
    model: 'h3-video',
    content: [textItem(String(prompt)), ...(media as object[])],
    duration: 6,
    ...((media as object[]).length === 0 ? { ratio: '16:9' } : {}),
    ...rest,
  }
  return call(CREATE, {
    method: 'POST',
    token,
    headers: {
      'content-type': 'application/json',
      ...(key === '' ? {} : { 'idempotency-key': key }),
    },
    body: JSON.stringify(body),
  })
}

const get = (id: string, token = stack.demo.modelToken) => call(`${QUERY}/${id}`, { token })

const reaches = (id: string, status: string): Promise<Answer> =>
  eventually(`${id} ${status}`, async () => {
    const answer = await get(id)
    return answer.body?.task?.status === status ? answer : undefined
  })

t.test('a video is created, renders, is settled by its seconds, and has a history', async (t) => {
  const created = await create({ prompt: 'a lantern [[client=explained]]' })
  t.equal(created.status, 200)
  t.same(Object.keys(created.body).sort(), ['platform_id', 'task_id'])
  t.match(created.body.task_id, /^\d{15}$/)
  t.match(created.body.platform_id, /^video_[0-9A-HJKMNP-TV-Z]{26}$/)
  t.equal(created.headers.get('x-platform-id'), created.body.platform_id)
  const { task_id: id, platform_id: platformId } = created.body
  const done = await reaches(id, 'succeeded')
  t.match(done.body, {
    task: {
      id,
      model: 'h3-video',
      task_type: 'generation',
      modality: 'video',
      status: 'succeeded',
      resolution: '768P',
      ratio: '16:9',
      duration: 6,
      content: { url: /^http/ },
      usage: { input_seconds: 0, output_seconds: 6, total_seconds: 6, input_image_count: 0 },
    },
    platform_id: platformId,
    base_resp: { status_code: 0, status_msg: 'success' },
  })
  const video = await fetch(done.body.task.content.url)
  t.equal(video.headers.get('content-type'), 'video/mp4')
  t.equal(
    Buffer.from(await video.arrayBuffer())
      .subarray(4, 8)
      .toString('latin1'),
    'ftyp',
  )
  const byPlatform = await get(platformId)
  t.same(byPlatform.body, done.body, 'the platform id finds the same')

  await stack.caughtUp()
  const lines = await finance.lines(`source_id=${platformId}`)
  t.match(lines.body.data.items, [
    {
      native_id: id,
      surface: 'provB.video',
      model: 'h3-video',
      sku: 'h3-768p-second',
      rule: 'video-b/requested-resolution',
      quantity: 6,
      unit: 'second',
      currency: 'USD',
      amount: '0.48',
      measurement: 'reported',
    },
  ])
  const history = await finance.history(platformId)
  const types = history.body.data.items.map((item: { type: string }) => item.type)
  t.same(types.slice(-2), ['TaskSucceeded', 'TaskSettled'])
  t.notMatch(history.text, /lantern|https?:\/\//, 'no prompt and no URL')
  t.match(stack.sandbox.accepted({ client_marker: 'explained' }), [
    { id, model: 'Sandbox-H3', requested_model: 'Sandbox-H3' },
  ])
})

t.test(
  'seconds without a total are those of the output; more than five images are a line',
  async (t) => {
    const media = Array.from({ length: 7 }, (_, index) =>
      image(`https://media.example.com/${index}.png`, 'reference_image'),
    )
    const created = await create({ prompt: 'x [[sandbox total-missing]]', media, resolution: '2K' })
    t.equal(created.status, 200)
    const done = await reaches(created.body.task_id, 'succeeded')
    t.notOk('total_seconds' in done.body.task.usage)
    await stack.caughtUp()
    const { body } = await finance.lines(`source_id=${created.body.platform_id}`)
    t.same(
      body.data.items
        .map(({ sku, quantity, amount }: Record<string, unknown>) => [sku, quantity, amount])
        .toSorted(),
      [
        ['h3-2k-second', 6, '0.96'],
        ['h3-extra-input-image', 2, '0.02'],
      ],
    )
  },
)

t.test('failures cost nothing and show upstream’s code', async (t) => {
  const created = await create({ prompt: 'x [[sandbox fail=1026]]' })
  const done = await reaches(created.body.task_id, 'failed')
  t.match(done.body.task.error, { code: '1026', message: 'input content sensitive' })
  t.notOk('usage' in done.body.task)
  await stack.caughtUp()
  const lines = await finance.lines(`source_id=${created.body.platform_id}`)
  t.same(lines.body.data.items, [])
})

t.test('an unknown upstream status does not end a task', async (t) => {
  const created = await create({ prompt: 'x [[sandbox status=Preparing running-ms=400]]' })
  const done = await reaches(created.body.task_id, 'succeeded')
  t.equal(done.body.task.status, 'succeeded')
})

t.test('a refusal by upstream is answered in the family’s shape, with its code', async (t) => {
  const refused = await create({ prompt: 'x [[sandbox refuse=1026]]' })
  t.equal(refused.status, 422)
  t.match(refused.body, {
    type: 'error',
    error: {
      type: 'unprocessable_entity_error',
      message: 'input content sensitive (1026)',
      http_code: '422',
    },
    request_id: refused.headers.get('x-request-id') ?? '',
  })
  const account = await create({ prompt: 'x [[sandbox refuse=1008]]' })
  t.match(account, { status: 503, body: { error: { type: 'server_error', http_code: '503' } } })
  t.notMatch(account.text, /balance/, 'our balance upstream is none of a caller’s business')
})

t.test(
  'media is accepted by public https URL, inline or uploaded, and sent as checked',
  async (t) => {
    const media = [
      image('https://media.example.com/a.png'),
      image('data:image/png;base64,QUJD', 'last_frame'),
    ]
    const created = await create({ media, prompt: 'frames' })
    t.equal(created.status, 200)
    const sent = stack.sandbox
      .requestLog()
      .filter(({ route }) => route === 'video-b.create')
      .at(-1)
    t.match(sent?.body, {
      model: 'Sandbox-H3',
      ratio: 'adaptive',
      resolution: '768P',
      duration: 6,
      content: [
        { type: 'text', text: 'frames' },
        { role: 'first_frame', image_url: { url: 'https://media.example.com/a.png' } },
        { role: 'last_frame', image_url: { url: 'data:image/png;base64,QUJD' } },
      ],
    })
    for (const url of [
      'https://inside.example.com/a.png',
      'https://127.0.0.1/a.png',
      'https://unknown.example.com/a.png',
      'http://media.example.com/a.png',
      '//media.example.com/a.png',
      'file:///etc/passwd',
      'media_file://424010985738629',
    ]) {
      const before = stack.sandbox.accepted().length
      const refused = await create({ media: [image(url)] })
      t.match(refused, { status: 400, body: { error: { type: 'bad_request_error' } } }, url)
      t.match(refused.body.error.message, /`content\[1\]\.image_url\.url` .*\(2013\)$/)
      t.equal(stack.sandbox.accepted().length, before, 'nothing was sent')
    }
  },
)

t.test('a callback is passed through: its receiver is challenged, then notified', async (t) => {
  const created = await create({ callback_url: 'https://hooks.example.com/b' })
  t.equal(created.status, 200)
  const { task_id: id } = created.body
  await eventually('the end is told', async () => {
    await get(id)
    const told = receiver.deliveries.some(
      ({ body }) => Reflect.get(Object(Reflect.get(body, 'task')), 'status') === 'succeeded',
    )
    return told ? true : undefined
  })
  t.match(receiver.deliveries[0]?.body, { challenge: /^[0-9a-f]{32}$/ })
  const silent = await create({ callback_url: 'https://hooks.example.com/mute' })
  t.match(silent, { status: 400, body: { error: { message: /does not give the challenge back/ } } })
  const inside = await create({ callback_url: 'https://inside.example.com/b' })
  t.match(inside.body.error.message, /^`callback_url` must have a publicly routable host \(2013\)$/)
})

t.test('an Idempotency-Key repeated returns the first task', async (t) => {
  const first = await create({}, { key: 'b-1' })
  const again = await create({}, { key: 'b-1' })
  t.same(again.body, first.body)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  const other = await create({ duration: 7 }, { key: 'b-1' })
  t.match(other, { status: 409, body: { error: { type: 'conflict_error', http_code: '409' } } })
})

t.test('another tenant’s video is answered exactly as an unknown one', async (t) => {
  const { task_id: id, platform_id: platformId } = (await create()).body
  const normalised = ({ status, text, headers }: Answer) => ({
    status,
    text: text.replace(/req_[0-9A-Z]{26}/, 'req'),
    headers: steadyHeaders({ status, text, headers, body: undefined }),
  })
  const none = normalised(await get('424010985738629', stack.other.modelToken))
  t.equal(none.status, 404)
  t.match(none.text, /"message":"record not found \(1000\)","http_code":"404"/)
  for (const foreign of [id, platformId, 'video_01JABCDEFGHJKMNPQRSTVWXYZ0', 'x y', '%00'])
    t.same(
      normalised(await get(encodeURIComponent(foreign), stack.other.modelToken)),
      none,
      foreign,
    )
  t.same(
    normalised(
      await call(`${stack.url}/provA/api/v3/contents/generations/tasks/${id}`, {
        token: stack.demo.modelToken,
      }),
    ).status,
    404,
    'nor is it one of another family',
  )
})

t.test('429 while upstream limits the rate, without an accepted task', async (t) => {
  const limited = await create({ prompt: 'x [[sandbox refuse=1002]]' })
  t.match(limited, { status: 429, body: { error: { type: 'rate_limit_error' } } })
  t.equal(limited.headers.get('retry-after'), '2')
})
