import t from 'tap'
import { environmentOf, tollgate } from '../cli/support/commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { durationMs } from '../families/speech/upstream/sounds.ts'
import {
  type Answer,
  call,
  queriesOf,
  RAW,
  steadyHeaders,
  TASKS,
  withRawSpeech,
} from './support/client.ts'

const stack = await startStack({
  channels: withRawSpeech,
})
t.teardown(() => stack.stop())
const { url, demo, other } = stack
const support = queriesOf(url, demo.queryToken)

const base = `${url}/provB/v1`
const good = { model: 'speech-2.8-hd', text: 'Good morning.', voice_id: 'male-qn-qingse' }
type Fields = Readonly<Record<string, unknown>>

function post(
  path: string,
  fields: Fields,
  { token = demo.modelToken, ...headers }: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return call(`${base}${path}`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...good, ...fields }),
  })
}
const speak = (fields: Fields = {}, headers?: Readonly<Record<string, string>>) =>
  post('/t2a_v2', fields, headers)
const create = (fields: Fields = {}, headers?: Readonly<Record<string, string>>) =>
  post('/t2a_async_v2', fields, headers)
const query = (id: string, token = demo.modelToken) =>
  call(`${base}/query/t2a_async_query_v2?task_id=${id}`, { token })
const upstreamOf = (marker: string) =>
  stack.sandbox.calls({ family: 'speech', client_marker: marker })

async function billed(id: string): Promise<readonly unknown[]> {
  await stack.caughtUp()
  const { items } = (await support.lines(`source_id=${id}`)).body.data
  return (items as { sku: string; quantity: number; amount: string }[]).map(
    ({ sku, quantity, amount }) => [sku, quantity, amount],
  )
}

void t.test('a text is spoken, and settled by its characters before the answer', async (t) => {
  const answer = await speak({ voice_id: 'nova', text: '你好 [[client=s1]]' })
  t.equal(answer.status, 200)
  t.match(answer.body, {
    data: { audio: /^[0-9a-f]+$/, status: 2 },
    extra_info: { usage_characters: 18, audio_format: 'mp3' },
    trace_id: answer.headers.get('x-request-id'),
    base_resp: { status_code: 0, status_msg: 'success' },
  })
  const bytes = Buffer.from(answer.body.data.audio, 'hex')
  t.ok(Math.abs(durationMs('mp3', bytes) - answer.body.extra_info.audio_length) <= 40)
  const sent = stack.sandbox.requestLog().findLast(({ route }) => route === 'speech.create')
  t.match(sent?.body, {
    model: 'voicer-2.8-hd',
    voice_setting: { voice_id: 'presenter_female', emotion: 'happy' },
  })
  const id = answer.headers.get('x-call-id') ?? ''
  t.same(await billed(id), [['speech-2.8-hd-character', 18, '0.0018']])
  t.equal(upstreamOf('s1').length, 1)

  const byUrl = await speak({ output_format: 'url', model: 'speech-2.6-hd' })
  t.match(byUrl.body.data.audio, /^http:.*\.mp3\?/)
  t.equal((await fetch(byUrl.body.data.audio)).status, 200)
  t.notMatch(stack.logged(), /X-Tos-Signature/, 'a link is nowhere in what is logged')
})

void t.test('an account may answer audio bytes, and JSON where a URL is requested', async (t) => {
  const respond = (fields: Fields) =>
    fetch(`${base}/t2a_v2`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${demo.modelToken}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ ...good, model: RAW, ...fields }),
    })
  for (const stream of [false, true])
    for (const [format, type] of [
      ['mp3', 'audio/mpeg'],
      ['flac', 'audio/flac'],
    ] as const) {
      const response = await respond({ stream, audio_setting: { format } })
      t.equal(response.headers.get('content-type'), type)
      const bytes = Buffer.from(await response.arrayBuffer())
      t.ok(Math.abs(durationMs(format, bytes) - good.text.length * 60) <= 40, `${format} whole`)
      const id = response.headers.get('x-call-id') ?? ''
      t.same(await billed(id), [['speech-2.8-turbo-character', 13, '0.00078']])
    }
  const byUrl = await respond({ output_format: 'url' })
  t.match(await byUrl.json(), { data: { audio: /^http/ } })
  const early = await respond({ stream: true, text: '[[sandbox cut-after=1]]' })
  t.equal(early.status, 502, 'nothing of it was sent')
  t.match(early.headers.get('content-type'), /^application\/json/)
  t.match(await early.json(), { base_resp: { status_code: 1033 } })
  const broken = await respond({ stream: true, text: '[[sandbox cut-before-usage]]' })
  await t.rejects(broken.arrayBuffer(), 'not the whole: the connection breaks off')
  t.same(await billed(broken.headers.get('x-call-id') ?? ''), [])
})

void t.test('a stream ends with its usage, once it is settled', async (t) => {
  const answer = await speak({ stream: true, text: `${'x'.repeat(40)} [[client=s2]]` })
  t.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const frames = answer.text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => JSON.parse(frame.slice('data: '.length)))
  t.match(frames.at(-1), { data: { status: 2 }, extra_info: { usage_characters: 54 } })
  t.ok(frames.slice(0, -1).every(({ data }) => data.status === 1))
  const id = answer.headers.get('x-call-id') ?? ''
  t.same(await billed(id), [['speech-2.8-hd-character', 54, '0.0054']])

  const broken = await speak({ stream: true, text: `[[sandbox error-after=1]]` })
  t.match(broken.text, /"base_resp":\{"status_code":1033/)
  t.same(await billed(broken.headers.get('x-call-id') ?? ''), [])
})

void t.test('failures cost nothing, and uncounted speech is not delivered', async (t) => {
  const cases = [
    ['refuse=1026', 200, 1026],
    ['fail=1027', 200, 1027],
    ['refuse=2042', 200, 2042],
    ['refuse=1008', 503, 1000],
    ['refuse=1002', 429, 1002],
    ['drop-after-accept', 502, 1033],
    ['refuse=1001', 504, 1001],
    ['no-usage', 502, 1033],
  ] as const
  for (const [fault, status, code] of cases) {
    // Each at an account that was not asked to rest.
    const model = fault === 'refuse=1002' ? 'speech-2.6-hd' : good.model
    const answer = await speak({ model, text: `x [[sandbox ${fault}]]` })
    t.equal(answer.status, status, fault)
    t.match(answer.body, { base_resp: { status_code: code, status_msg: String } }, fault)
    t.notOk('data' in answer.body, fault)
    t.same(await billed(answer.headers.get('x-call-id') ?? ''), [], fault)
  }
  const zero = await speak({ text: '[[sandbox zero-usage]]' })
  t.equal(zero.body.base_resp.status_code, 0, 'an explicit zero stays zero')
  t.same(await billed(zero.headers.get('x-call-id') ?? ''), [])
})

void t.test('an invalid order is refused before a request is sent', async (t) => {
  const before = stack.sandbox.requests().routes['speech.create']?.count
  const cases: readonly (readonly [Fields, number, RegExp])[] = [
    [{ text: '' }, 2013, /`text`/],
    [{ voice_setting: { speed: 9 } }, 2013, /`voice_setting\.speed`/],
    [{ model: 'speech-9' }, 2013, /speech-9/],
    [{ model: 'text-basic' }, 2013, /text-basic/],
    [{ emotoin: 'sad' }, 2013, /emotion/],
    [{ voice_id: 'MyVoice_001' }, 2042, /voice_id/],
  ]
  for (const path of ['/t2a_v2', '/t2a_async_v2'])
    for (const [fields, code, words] of cases) {
      const { status, body } = await post(path, fields)
      t.equal(status, 200)
      t.match(body, { base_resp: { status_code: code, status_msg: words } }, String(words))
    }
  t.equal((await speak({}, { token: 'sk-nobody' })).status, 401)
  t.equal((await speak({}, { token: demo.queryToken })).status, 403)
  t.equal((await call(`${base}/nothing`, { token: demo.modelToken })).status, 404)
  t.equal(stack.sandbox.requests().routes['speech.create']?.count, before)
})

void t.test('a task is settled with its success, by the usage at its acceptance', async (t) => {
  const secret = 'words that nobody may read of'
  const fields = { text: `${secret} [[client=t1]]`, output_format: 'hex' }
  const key = { 'idempotency-key': 'one speech' }
  const created = await create(fields, key)
  const { task_id: id, platform_id: platformId } = created.body
  const characters = fields.text.length
  t.match(created.body, {
    task_id: /^4\d{17}$/,
    file_id: id,
    platform_id: /^speech_[0-9A-HJKMNP-TV-Z]{26}$/,
    usage_characters: characters,
    base_resp: { status_code: 0 },
  })
  t.equal(created.headers.get('x-platform-id'), platformId)
  const again = await create(fields, key)
  t.match(again.body, { task_id: id, usage_characters: characters })
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.match(await create({ text: 'another' }, key), {
    status: 409,
    body: { base_resp: { status_code: 2013 } },
  })
  const done = await eventually('it succeeded', async () => {
    const { body } = await query(id)
    return body.status === 'Success' ? body : undefined
  })
  t.match(done, {
    task_id: id,
    platform_id: platformId,
    model: 'speech-2.8-hd',
    file_id: id,
    usage_characters: characters,
  })
  t.same((await query(platformId)).body.task_id, id)
  const late = await create(fields, key)
  t.match(late.body, { task_id: id, usage_characters: characters }, 'repeated after its end')
  const events = await stack.gateway.log.readStream(`task-${platformId}`)
  t.same(
    events.map(({ type }) => type).filter((type) => type !== 'TaskStatusChanged'),
    ['TaskRequested', 'TaskSubmitted', 'TaskSucceeded', 'TaskSettled'],
  )
  t.notMatch(JSON.stringify(events.map(({ data }) => data)), secret)
  const [line] = await billed(platformId)
  t.match(line, ['speech-2.8-hd-character', characters])
  t.equal(stack.sandbox.accepted({ client_marker: 't1' }).length, 1)
  const refused = await create({ text: '[[sandbox refuse=1026]]' })
  t.match(refused.body, { base_resp: { status_code: 1026 } })
  const failed = await create({ text: '[[sandbox fail=1033 running-ms=1]]' })
  const end = await eventually('it failed', async () => {
    const { body } = await query(failed.body.task_id)
    return body.status === 'Failed' ? body : undefined
  })
  t.match(end, { error: { code: 'speech_failed' }, file_id: undefined })
  t.same(await billed(failed.body.platform_id), [])
})

void t.test('another tenant’s task is answered as a missing one', async (t) => {
  const { body } = await create({ text: 'mine' })
  const blank = (answer: Answer) => [
    answer.status,
    answer.text.replaceAll(answer.headers.get('x-request-id') ?? '', ''),
    steadyHeaders(answer),
  ]
  const missing = blank(await query('4123456789'))
  t.match(missing, [200, /"status_code":2013/])
  for (const id of [body.task_id, body.platform_id, 'speech_01JD0000000000000000000001', 'no~id'])
    t.same(blank(await query(id, other.modelToken)), missing, id)
  const onVideo = await call(`${url}${TASKS}/${body.platform_id}`, { token: demo.modelToken })
  t.equal(onVideo.status, 404, 'nor on another surface')
  const voices = ['MyVoice_001', 'NoVoice_404'].map((voice_id) => speak({ voice_id }))
  const [theirs, none] = (await Promise.all(voices)).map(blank)
  t.same(theirs, none)
})

void t.test('the audit has no finding', async (t) => {
  await stack.caughtUp()
  const { code, stdout } = await tollgate(['audit', '--json'], environmentOf(stack))
  t.equal(code, 0, stdout)
})
