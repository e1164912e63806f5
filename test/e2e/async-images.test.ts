import sharp from 'sharp'
import t from 'tap'
import { exactInteger } from '../../src/kernel/exact-integers.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, TASKS } from './support/client.ts'

/** Where callers would reach the gateway: what it answers is asked of where it listens. */
const PUBLIC = 'https://gateway.example.com'

const stack = await startStack({
  env: { OBJECT_STORAGE: 'local', PUBLIC_BASE_URL: PUBLIC },
  hosts: { 'media.example.com': ['93.184.216.34'] },
})
t.teardown(() => stack.stop())
const { url, demo, other } = stack
const support = queriesOf(url, demo.queryToken)

const picture = await sharp({
  create: { width: 64, height: 64, channels: 3, background: '#36c' },
})
  .png()
  .toBuffer()

const token = demo.modelToken
const json = { 'content-type': 'application/json' }

function generate(body: object, headers: Record<string, string> = {}): Promise<Answer> {
  const init = {
    method: 'POST',
    token,
    body: JSON.stringify(body),
    headers: { ...json, ...headers },
  }
  return call(`${url}/v1/images/generations/async`, init)
}

function edit(parts: Record<string, string | Blob>): Promise<Answer> {
  const form = new FormData()
  for (const [name, value] of Object.entries(parts)) form.set(name, value)
  return call(`${url}/v1/images/edits/async`, { method: 'POST', token, body: form })
}

const ask = (id: string, as = token): Promise<Answer> =>
  call(`${url}/v1/images/generations/${id}`, { token: as })

function reaches(id: string, status: string): Promise<Answer> {
  return eventually(`${id} is ${status}`, async () => {
    const answer = await ask(id)
    return answer.body.status === status ? answer : undefined
  })
}

t.test('a queued request keeps the digits of its members', async (t) => {
  const note = '9223372036854775807'
  const body = `{"model":"image-2","prompt":"digits","quux":{"labels":{"note":${note}}}}`
  const init = { method: 'POST', token, body, headers: json }
  const made = await call(`${url}/v1/images/generations/async`, init)
  if (exactInteger === undefined) {
    t.equal(made.status, 400)
    t.match(made.text, /Node 22/)
    return
  }
  t.equal(made.status, 200, made.text)
  await reaches(made.body.id, 'failed')
  const sent = stack.sandbox.requestLog().map((one) => JSON.stringify(one.body))
  t.ok(sent.some((one) => one.includes(`"labels":{"note":${note}}`)))
})

async function billed(id: string): Promise<Record<string, number>> {
  await stack.caughtUp()
  const { items } = (await support.lines(`source_id=${id}`)).body.data
  return Object.fromEntries(
    (items as { sku: string; quantity: number }[]).map(({ sku, quantity }) => [sku, quantity]),
  )
}

async function typesOf(id: string): Promise<readonly string[]> {
  await stack.caughtUp()
  const { items } = (
    await call(`${url}/api/query/v1/tasks/${id}/history`, { token: demo.queryToken })
  ).body.data
  return (items as { type: string }[]).map(({ type }) => type)
}

const upstreamOf = (marker: string) =>
  stack.sandbox.calls().filter(({ client_marker }) => client_marker === marker)

void t.test('a generation is accepted at once, made, stored, settled and shown', async (t) => {
  const secret = 'a boat nobody may read of'
  const created = await generate({ model: 'image-2', prompt: `${secret} [[client=a1]]`, n: 2 })
  t.equal(created.status, 200)
  const { id } = created.body
  t.match(created.body, {
    id: /^image_[0-9A-HJKMNP-TV-Z]{26}$/,
    object: 'image.generation.task',
    status: 'pending',
    model: 'image-2',
    created_at: Number,
  })
  t.equal(created.headers.get('location'), `/v1/images/generations/${id}`)
  t.equal(created.headers.get('retry-after'), '3')
  t.equal(created.headers.get('cache-control'), 'no-store')
  t.equal(created.headers.get('x-platform-id'), id)

  const { body } = await reaches(id, 'completed')
  t.match(body, { id, created_at: created.body.created_at, usage: { total_tokens: Number } })
  t.equal(body.created, body.completed_at)
  t.equal(body.expires_at, body.completed_at + 24 * 3_600)
  t.equal(body.data.length, 2)
  for (const { url: link } of body.data as { url: string }[]) {
    t.ok(link.startsWith(`${PUBLIC}/objects/${stack.namespace.replace('.', '')}/results/`))
    const image = await fetch(link.replace(PUBLIC, url))
    t.equal(image.headers.get('content-type'), 'image/png')
    const { width, height } = await sharp(await image.arrayBuffer()).metadata()
    t.same([width, height], [1024, 1024])
  }
  t.strictSame(await billed(id), { 'image-2-low-image': 2 })
  t.equal(upstreamOf('a1').length, 1)
  t.same(await typesOf(id), ['TaskRequested', 'TaskStarted', 'TaskSucceeded', 'TaskSettled'])

  // Neither what was asked nor what leads to the pictures is in the log, or in what is logged (P7).
  const events = await stack.gateway.log.readStream(`task-${id}`)
  const names = (body.data as { url: string }[]).map(
    (item) => /results\/[^/]+\/([^.?]+)/.exec(item.url)?.[1],
  )
  for (const hidden of [secret, ...names])
    for (const [where, text] of [
      ['log', JSON.stringify(events.map(({ data }) => data))],
      ['lines', stack.logged()],
    ] as const)
      t.notOk(text.includes(hidden ?? 'none'), `${where} ${hidden}`)
  const left: string[] = []
  for await (const { key } of stack.gateway.store?.list('payloads/') ?? []) left.push(key)
  t.same(left, [], 'what was asked is gone')
})

void t.test('an edit by form is created once per key', async (t) => {
  const image = new Blob([new Uint8Array(picture)])
  const created = await edit({ model: 'image-2', prompt: 'red [[client=a2]]', image })
  t.equal(created.status, 200)
  await reaches(created.body.id, 'completed')
  t.equal(upstreamOf('a2')[0]?.usage.input_tokens, 323 + 5)

  const body = { model: 'image-2', prompt: 'x [[client=a3]]' }
  const key = { 'idempotency-key': 'once' }
  const [first, second] = await Promise.all([generate(body, key), generate(body, key)])
  t.equal(first.body.id, second.body.id)
  await reaches(first.body.id, 'completed')
  const again = await generate(body, key)
  t.equal(again.body.id, first.body.id)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.equal(again.body.created_at, first.body.created_at)
  const reused = await generate({ ...body, n: 2 }, key)
  t.match([reused.status, reused.body.error.code], [409, 'idempotency_key_reused'])
  t.equal(upstreamOf('a3').length, 1)
})

void t.test('every family of images is made asynchronously', async (t) => {
  const asked = [
    [{ model: 'gen-2.5-flash-image', prompt: 'x [[client=b1]]' }, 'gen-2.5-flash-image-1k-image'],
    [{ model: 'artB-5.0-pro', prompt: 'x [[client=b2]]', size: '1K' }, 'artB-5.0-pro-image'],
  ] as const
  for (const [body, sku] of asked) {
    const created = await generate(body)
    t.equal(created.status, 200, JSON.stringify(created.body))
    const { data } = (await reaches(created.body.id, 'completed')).body
    const image = await fetch(String(data[0].url).replace(PUBLIC, url))
    t.match(await sharp(await image.arrayBuffer()).metadata(), { width: Number }, body.model)
    t.strictSame(await billed(created.body.id), { [sku]: 1 })
  }
})

void t.test('a failed task shows its error and costs nothing', async (t) => {
  const ends = [
    ['black', 'suspected_black_image_from_upstream', 'server_error', true],
    ['fail=moderation_blocked', 'content_policy_violation', 'invalid_request_error', undefined],
    ['malformed', 'upstream_error', 'server_error', true],
  ] as const
  for (const [fault, code, type, leak] of ends) {
    const { body } = await generate({ model: 'image-2', prompt: `x [[sandbox ${fault}]]` })
    const failed = await reaches(body.id, 'failed')
    t.match(failed.body.error, { code, type, param: null, message: String })
    t.strictSame(await billed(body.id), {})
    t.same(await typesOf(body.id), ['TaskRequested', 'TaskStarted', 'TaskFailed'])
    const [, , end] = await stack.gateway.log.readStream(`task-${body.id}`)
    t.equal(end?.type === 'TaskFailed' && end.data.possibleCostLeak, leak ?? undefined, fault)
  }
  const unmeasured = await generate({ model: 'image-2.5-flare', prompt: 'x [[sandbox no-usage]]' })
  t.match((await reaches(unmeasured.body.id, 'failed')).body.error, { code: 'upstream_error' })

  const lost = await generate({
    model: 'image-2',
    prompt: 'x [[client=a4]] [[sandbox drop-after-accept]]',
  })
  await eventually('it is uncertain', async () =>
    (await typesOf(lost.body.id)).includes('TaskSubmissionUncertain') ? true : undefined,
  )
  t.match((await ask(lost.body.id)).body, { status: 'in_progress' })
  t.equal(upstreamOf('a4').length, 1, 'never sent again')
})

void t.test('an invalid creation is refused before an event is written', async (t) => {
  const before = (await stack.gateway.log.endPosition()) ?? 0n
  const prompt = 'x'
  const cases = [
    [{ model: 'image-2', prompt, stream: true }, 400, 'invalid_value', 'stream'],
    [
      { model: 'image-2', prompt, response_format: 'b64_json' },
      400,
      'invalid_value',
      'response_format',
    ],
    [{ model: 'image-2.5-flare', prompt, n: 2 }, 400, 'n_not_supported', 'n'],
    [{ model: 'image-9', prompt }, 404, 'model_not_found', 'model'],
    [{ model: 'image-2' }, 400, 'invalid_value', 'prompt'],
  ] as const
  for (const [body, status, code, param] of cases) {
    const answer = await generate(body)
    t.equal(answer.status, status, code)
    t.match(answer.body, { error: { code, param } })
  }
  const image = new Blob([new Uint8Array(picture)])
  const forms = [
    { model: 'image-2', prompt, image, mask: image },
    { model: 'image-2', prompt, image: 'https://media.example.com/a.png' },
    { model: 'image-2', prompt, 'image_urls[]': 'https://media.example.com/a.png' },
  ]
  for (const form of forms)
    t.match((await edit(form)).body, { error: { code: 'unsupported_image_input' } })
  const asJson = await call(`${url}/v1/images/edits/async`, {
    method: 'POST',
    token,
    headers: json,
    body: JSON.stringify({
      model: 'image-2',
      prompt,
      images: [{ image_url: 'https://media.example.com/a.png' }],
    }),
  })
  t.equal(asJson.status, 400)
  t.match(asJson.body, { error: { code: 'unsupported_image_input', param: 'image' } })
  t.equal(await stack.gateway.log.endPosition(), before)
})

void t.test('a task is visible to its tenant and on its surface only', async (t) => {
  const { body } = await generate({ model: 'image-2', prompt: 'x' })
  await reaches(body.id, 'completed')
  for (const id of [body.id, 'image_01JD0000000000000000000001', 'nothing']) {
    const foreign = await ask(id, other.modelToken)
    t.match([foreign.status, foreign.body.error.code], [404, 'task_not_found'])
  }
  const onVideo = await call(`${url}${TASKS}/${body.id}`, { token })
  t.equal(onVideo.status, 404)
  const video = await call(`${url}${TASKS}`, {
    method: 'POST',
    token,
    headers: json,
    body: JSON.stringify({
      model: 'domestic-video-2-0',
      duration: 5,
      resolution: '480p',
      content: [{ type: 'text', text: 'x' }],
    }),
  })
  const videoId = video.headers.get('x-platform-id') ?? ''
  t.equal((await ask(videoId)).status, 404)
  await stack.caughtUp()
  const listed = await call(`${url}${TASKS}?page_size=100`, { token })
  t.equal(listed.body.total, 1, 'the video alone')
})
