import { createHash } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import t, { type Test } from 'tap'
import { allProjections } from '../../projections/registry.ts'
import { audit } from '../../src/app/audit/audit.ts'
import { createVoiceBook } from '../../src/families/speech/calls/voices.ts'
import { eventually } from '../helpers/eventually.ts'
import { sharedStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, steadyHeaders } from './support/client.ts'

const stack = await sharedStack(t)
const { url, demo, other } = stack
const finance = queriesOf(url, demo.queryToken)
const NO_SUCH = (2n ** 52n).toString()
/** Past what one receive buffer takes. */
const LARGE_BYTES = 3 * 1024 * 1024

/** So many seconds of silence as a WAV. */
function wavOf(seconds: number, bytesPerSecond = 8_000): Uint8Array {
  const bytes = Buffer.alloc(44 + seconds * bytesPerSecond)
  bytes.write('RIFF', 0, 'latin1')
  bytes.write('WAVEfmt ', 8, 'latin1')
  bytes.writeUInt32LE(bytesPerSecond, 28)
  return bytes
}

interface Part {
  readonly name: string
  readonly value: string | { readonly filename: string; readonly bytes: Uint8Array }
}

/** A form whose parts come in this order. */
function formOf(parts: readonly Part[]): FormData {
  const form = new FormData()
  for (const { name, value } of parts)
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, new Blob([new Uint8Array(value.bytes)]), value.filename)
  return form
}

const purposed = (value: string): Part => ({ name: 'purpose', value })
const filed = (filename: string, bytes: Uint8Array): Part => ({
  name: 'file',
  value: { filename, bytes },
})

const post = (path: string, body: string | FormData, token = demo.modelToken) =>
  call(`${url}/provB/v1/${path}`, {
    method: 'POST',
    token,
    body,
    ...(typeof body === 'string' ? { headers: { 'content-type': 'application/json' } } : {}),
  })
const upload = (parts: readonly Part[], token?: string) =>
  post('files/upload', formOf(parts), token)
const clone = (body: object, token?: string) => post('voice_clone', JSON.stringify(body), token)
const retrieve = (fileId: string, token = demo.modelToken) =>
  call(`${url}/provB/v1/files/retrieve?file_id=${encodeURIComponent(fileId)}`, { token })

async function uploaded(
  purpose: string,
  options: { readonly seconds?: number; readonly token?: string; readonly filename?: string } = {},
): Promise<string> {
  const { seconds = 12, token, filename = 'me.wav' } = options
  const answer = await upload([purposed(purpose), filed(filename, wavOf(seconds))], token)
  if (answer.body?.base_resp.status_code !== 0) throw new Error(answer.text)
  return String(answer.body.file.file_id)
}

function refused(t: Test, answer: Answer, code: number, message: RegExp | string, status = 200) {
  t.equal(answer.status, status, answer.text)
  t.match(answer.body, { base_resp: { status_code: code, status_msg: message }, trace_id: /^req_/ })
}

async function billed(callId: string | null): Promise<Record<string, number>> {
  await stack.caughtUp()
  const { items } = (await finance.lines(`source_id=${callId}`)).body.data
  return Object.fromEntries(
    (items as { sku: string; quantity: number }[]).map(({ sku, quantity }) => [sku, quantity]),
  )
}

/** Clones the provider made, the last first. */
const made = () => stack.sandbox.calls({ model: 'voice-clone' }).toReversed()
const logged = (route: string) =>
  stack.sandbox
    .requestLog()
    .filter((one) => one.route === route)
    .toReversed()

/** What the provider has of the file it took last, by its hash. */
async function lastFileUpstream(): Promise<{ readonly sha: string; readonly filename: string }> {
  await stack.caughtUp()
  const { rows } = await stack.gateway.pool.query<{ upstream_file_id: string }>(
    'select upstream_file_id from voices.uploads order by position desc limit 1',
  )
  const at = `${stack.sandbox.url}/speech/v1/files/retrieve?file_id=${rows[0]?.upstream_file_id}`
  const { body } = await call(at, { token: 'sandbox' })
  const got = await fetch(body.file.download_url)
  const sha = createHash('sha256')
    .update(Buffer.from(await got.arrayBuffer()))
    .digest('hex')
  return { sha, filename: body.file.filename }
}

const content = (fileId: string, token = demo.modelToken) =>
  fetch(`${url}/provB/v1/files/retrieve_content?file_id=${encodeURIComponent(fileId)}`, {
    headers: { authorization: `Bearer ${token}` },
  })

void t.test('uploads and asynchronous speech are downloaded', async (t) => {
  for (const purpose of ['voice_clone', 'video_generation_input']) {
    const bytes = Buffer.alloc(LARGE_BYTES, purpose)
    const parts = [purposed(purpose), filed('größe 1.wav', bytes)]
    const { file_id: id } = (await upload(parts)).body.file
    const answer = await content(String(id))
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('content-type'), 'application/octet-stream')
    t.match(answer.headers.get('content-disposition'), /^attachment; filename="gr__e 1\.wav"/)
    t.equal(answer.headers.get('content-length'), String(LARGE_BYTES))
    t.ok(bytes.equals(Buffer.from(await answer.arrayBuffer())), purpose)
    const foreign = await content(String(id), other.modelToken)
    const none = await content(NO_SUCH, other.modelToken)
    const without = (text: string) => text.replace(/req_[0-9A-Z]{26}/, 'req')
    const told = await foreign.text()
    t.match(JSON.parse(told), { base_resp: { status_code: 2013 }, trace_id: /^req_/ })
    t.equal(without(told), without(await none.text()), 'reads like none')
  }

  const spoken = await post(
    't2a_async_v2',
    JSON.stringify({ model: 'speech-2.8-hd', voice_id: 'nova', text: 'a paper boat' }),
  )
  const taskId = String(spoken.body.file_id ?? spoken.body.task_id)
  const early = await content(taskId)
  t.match(await early.json(), { base_resp: { status_code: 2013 } }, 'not made yet')
  const audio = await eventually('it is made', async () => {
    const answer = await content(taskId)
    return answer.headers.get('content-type')?.startsWith('audio/') ? answer : undefined
  })
  const { body } = await retrieve(taskId)
  const linked = await fetch(body.file.download_url)
  t.ok(
    Buffer.from(await linked.arrayBuffer()).equals(Buffer.from(await audio.arrayBuffer())),
    'the same as its link leads to',
  )
  t.match(audio.headers.get('content-disposition'), body.file.filename)
  const theirs = await content(taskId, other.modelToken)
  t.match(await theirs.json(), { base_resp: { status_code: 2013 } })
})

void t.test('a download that upstream refuses or breaks off is an error, or cut off', async (t) => {
  const id = await uploaded('voice_clone')
  const fault = (...faults: readonly string[]) =>
    stack.sandbox.faults.add({ faults, match: { family: 'speech', op: 'retrieve-content' } })
  const broken = fault('http=500')
  const failed = await content(id)
  stack.sandbox.faults.clear(broken.id)
  t.equal(failed.status, 502)
  t.match(await failed.json(), { base_resp: { status_code: 1033 }, trace_id: /^req_/ })
  const halved = fault('truncated')
  const cut = await content(id)
  t.equal(cut.status, 200)
  await t.rejects(cut.arrayBuffer(), 'never ended as if whole')
  stack.sandbox.faults.clear(halved.id)
  const missing = await fetch(`${url}/provB/v1/files/retrieve_content`, {
    headers: { authorization: `Bearer ${demo.modelToken}` },
  })
  t.match(await missing.json(), { base_resp: { status_code: 2013, status_msg: /file_id/ } })
  const hanging = fault('hang')
  const leaving = Array.from({ length: 30 }, () =>
    fetch(`${url}/provB/v1/files/retrieve_content?file_id=${id}`, {
      headers: { authorization: `Bearer ${demo.modelToken}` },
      signal: AbortSignal.timeout(300),
    }).catch(() => 'left'),
  )
  await Promise.all(leaving)
  stack.sandbox.faults.clear(hanging.id)
  t.equal((await content(id)).status, 200, 'and the account goes on')
})

void t.test('an upload is passed through complete, in either order of its parts', async (t) => {
  const bytes = Buffer.alloc(LARGE_BYTES, 'ab')
  const sha = createHash('sha256').update(bytes).digest('hex')
  const file = filed('größe 1.wav', bytes)
  for (const parts of [
    [purposed('voice_clone'), file],
    [file, purposed('prompt_audio')],
  ]) {
    const answer = await upload(parts)
    const purpose = parts.flatMap(({ value }) => (typeof value === 'string' ? [value] : []))[0]
    t.match(answer.body, {
      file: { file_id: /^\d{16}$/, bytes: LARGE_BYTES, filename: 'größe 1.wav', purpose },
      base_resp: { status_code: 0, status_msg: 'success' },
    })
    t.equal(answer.status, 200)
    const id = String(answer.body.file.file_id)
    t.equal(String(Number(id)), id, 'a double holds it')
    const shown = await retrieve(id)
    t.strictSame(shown.body.file, answer.body.file)
    t.same(await lastFileUpstream(), { sha, filename: 'größe 1.wav' })
  }
  await stack.caughtUp()
  const { rows } = await stack.gateway.pool.query<{ id: string }>(
    'select upstream_file_id as id from voices.uploads',
  )
  t.ok(
    rows.every(({ id }) => BigInt(id) > 2n ** 53n && String(Number(id)) !== id),
    'upstream’s are such that none does, and keep every digit',
  )
})

void t.test('a faulty upload is refused with its fault, and none of it arrives', async (t) => {
  const good = filed('me.wav', wavOf(1))
  const before = logged('speech.upload').filter(({ status }) => status === 200).length
  const cases = [
    [[good], 'purpose'],
    [[purposed('voice_clone')], 'file'],
    [[purposed('assistants'), good], 'purpose'],
    [[purposed('voice_clone'), purposed('voice_clone'), good], 'purpose'],
    [[purposed('voice_clone'), { name: 'file', value: 'text' }], 'file'],
    [[purposed('voice_clone'), { ...good, name: 'other' }], 'file'],
    [[purposed('voice_clone'), filed('../me.wav', wavOf(1))], 'file'],
    [[purposed('voice_clone'), good, { name: 'tail', value: 'x' }], 'tail'],
    [[purposed('voice_clone'), good, purposed('prompt_audio')], 'purpose'],
    [[{ name: 'tail', value: 'x' }, purposed('voice_clone'), good], 'tail'],
  ] as const
  for (const [parts, param] of cases) refused(t, await upload(parts), 2013, new RegExp(param))
  refused(t, await upload([purposed('voice_clone'), good, good]), 2013, /at most 1 files/)
  refused(t, await post('files/upload', '{}'), 2013, /multipart/, 415)
  const large = filed('me.wav', new Uint8Array(20 * 1024 * 1024 + 1))
  refused(t, await upload([purposed('voice_clone'), large]), 2013, /at most 20971520/, 413)
  refused(t, await upload([large, purposed('voice_clone')]), 2013, /at most 20971520/, 413)
  const arrived = logged('speech.upload').filter(({ status }) => status === 200).length
  t.equal(arrived, before)
  const format = await upload([purposed('voice_clone'), filed('me.txt', wavOf(1))])
  refused(t, format, 2013, /format/)
})

void t.test('an upload whose caller leaves midway records no event', async (t) => {
  const { events } = await lastEvent()
  const before = logged('speech.upload').length
  await new Promise<void>((resolve) => {
    const sent = httpRequest(`${url}/provB/v1/files/upload`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${demo.modelToken}`,
        'content-type': 'multipart/form-data; boundary=b',
      },
    })
    sent.on('error', () => resolve())
    sent.write(
      '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nvoice_clone\r\n' +
        '--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n',
    )
    sent.write(Buffer.alloc(1024 * 1024), () => sent.destroy())
  })
  // The next one is served: nothing hangs, and no channel is thought to have failed.
  await uploaded('voice_clone')
  const after = logged('speech.upload')
  t.equal(after.length, before + 1, 'the broken one never was a request to the end')
  t.equal((await lastEvent()).events, events + 1)
})

async function lastEvent(): Promise<{ readonly events: number }> {
  await stack.caughtUp()
  const { rows } = await stack.gateway.pool.query<{ n: number }>(
    'select count(*)::int as n from voices.uploads',
  )
  return { events: rows[0]?.n ?? 0 }
}

void t.test('a voice is cloned under the gateway’s name, settled, and recorded', async (t) => {
  const fileId = await uploaded('voice_clone')
  const prompt = await uploaded('prompt_audio', { seconds: 5 })
  const answer = await clone({
    file_id: fileId,
    voice_id: 'MyVoice_001',
    clone_prompt: { prompt_audio: Number(prompt), prompt_text: 'hello [[client=c1]]' },
    text: 'good 早',
    model: 'speech-2.8-hd',
    need_noise_reduction: true,
  })
  t.equal(answer.status, 200, answer.text)
  t.match(answer.body, {
    demo_audio: /^http/,
    extra_info: { usage_characters: 7 },
    base_resp: { status_code: 0, status_msg: 'success' },
  })
  t.notOk('input_sensitive' in answer.body, 'nothing to say of it')
  const callId = answer.headers.get('x-call-id')
  t.strictSame(await billed(callId), { 'voice-clone': 1, 'speech-2.8-hd-character': 7 })
  const [upstream] = made()
  t.match(upstream, { client_marker: 'c1', tool_calls: { voice_clone: 1 }, ending: 'whole' })
  const [sent] = logged('speech.clone')
  const body = sent?.body as Record<string, unknown>
  t.match(body, { voice_id: /^v[0-9a-f]{40}$/, need_noise_reduction: true })
  t.notMatch(JSON.stringify(body), /MyVoice_001|tenant_/)
  t.match(await createVoiceBook(stack.gateway.log).find(demo.tenantId, 'MyVoice_001'), {
    upstreamVoiceId: body['voice_id'],
    channelId: 'sandbox-speech',
  })
  t.notMatch(stack.logged(), /X-Tos-Signature=/, 'P7: the link of an audition is nowhere')
})

void t.test('a voice name in use is refused and costs nothing', async (t) => {
  const fileId = await uploaded('voice_clone')
  const before = made().length
  const again = await clone({ file_id: fileId, voice_id: 'MyVoice_001' })
  refused(t, again, 2039, /./)
  t.same(await billed(again.headers.get('x-call-id')), {})
  t.equal(made().length, before)
  const others = await uploaded('voice_clone', { token: other.modelToken })
  const theirs = await clone({ file_id: others, voice_id: 'MyVoice_001' }, other.modelToken)
  t.equal(theirs.body.base_resp.status_code, 0, 'another tenant may use it')
  const book = createVoiceBook(stack.gateway.log)
  const mine = await book.find(demo.tenantId, 'MyVoice_001')
  t.not((await book.find(other.tenantId, 'MyVoice_001'))?.upstreamVoiceId, mine?.upstreamVoiceId)
})

void t.test('a voice that upstream expired is cloned again under its name', async (t) => {
  const order = {
    file_id: await uploaded('voice_clone'),
    voice_id: 'Lapsed-Voice-1',
    model: 'speech-2.8-turbo',
  }
  const first = await clone({ ...order, text: 'hi [[sandbox forget-voice]]' })
  const second = await clone({ ...order, text: 'hi [[sandbox input-sensitive=3]]' })
  t.match(second.body, { input_sensitive: { type: 3 }, base_resp: { status_code: 0 } })
  for (const { headers } of [first, second])
    t.match(await billed(headers.get('x-call-id')), { 'voice-clone': 1 })
  const [a, b] = logged('speech.clone').map(({ body }) => Reflect.get(Object(body), 'voice_id'))
  t.equal(a, b, 'it keeps its name upstream')
})

void t.test('a clone of unknown outcome is not billed, and blocks no later clone', async (t) => {
  const order = {
    file_id: await uploaded('voice_clone'),
    voice_id: 'Uncertain-1',
    model: 'speech-2.8-hd',
  }
  const before = made().length
  const uncertain = [
    ['drop-after-accept', 1033, 502],
    ['garbage', 1033, 502],
    ['http-after-accept=502', 1033, 502],
    ['fail=1000', 1033, 502],
  ] as const
  for (const [fault, code, status] of uncertain) {
    const answer = await clone({ ...order, text: `hi [[sandbox ${fault}]]` })
    refused(t, answer, code, /./, status)
    t.equal(answer.headers.get('x-should-retry'), 'false', fault)
    t.same(await billed(answer.headers.get('x-call-id')), {}, fault)
  }
  t.equal(made().length, before + uncertain.length, 'each was sent once')
  const text = 'hi [[sandbox no-usage sensitive-flag]]'
  const again = await clone({ ...order, text })
  t.equal(again.body.base_resp.status_code, 0, 'the next one is another')
  const lines = await billed(again.headers.get('x-call-id'))
  t.same(
    lines,
    { 'voice-clone': 1, 'speech-2.8-hd-character': text.length },
    'without figures: expected',
  )
})

void t.test('upstream’s refusals keep their codes, the gateway’s faults are masked', async (t) => {
  const order = {
    file_id: await uploaded('voice_clone'),
    voice_id: 'Refused-Voice',
    model: 'speech-2.8-hd',
  }
  for (const code of [1026, 1042, 1043, 2037, 2048, 20132])
    refused(t, await clone({ ...order, text: `[[sandbox refuse=${code}]]` }), code, /./)
  for (const code of [1004, 1008, 2038, 2049])
    refused(t, await clone({ ...order, text: `[[sandbox refuse=${code}]]` }), 1000, /./, 503)
  const short = await uploaded('voice_clone', { seconds: 2 })
  refused(t, await clone({ file_id: short, voice_id: 'Refused-Voice' }), 2037, /./)
})

void t.test('404, byte for byte, for another tenant’s file and a missing one', async (t) => {
  const fileId = await uploaded('voice_clone')
  const prompt = await uploaded('prompt_audio', { seconds: 3 })
  const mine = await uploaded('voice_clone', { token: other.modelToken })
  const constant = (answer: Answer) => ({
    status: answer.status,
    headers: steadyHeaders(answer),
    text: answer.text.replace(/req_\w+/, 'req_…'),
  })
  const asOther = async (work: (id: string) => Promise<Answer>, id: string) =>
    t.strictSame(constant(await work(id)), constant(await work(NO_SUCH)))
  const token = other.modelToken
  await asOther((id) => retrieve(id, token), fileId)
  await asOther((id) => clone({ file_id: id, voice_id: 'Their-Voice-1' }, token), fileId)
  const prompted = (id: string) =>
    clone({ file_id: mine, voice_id: 'Their-Voice-1', clone_prompt: { prompt_audio: id } }, token)
  await asOther(prompted, prompt)
})

void t.test('a video uses the uploads of its tenant, and no other file', async (t) => {
  const frame = filed('a.png', new Uint8Array(8))
  const video = await upload([purposed('video_generation_input'), frame])
  const fileId = String(video.body.file.file_id)
  const create = (id: string, token = demo.modelToken) =>
    call(`${url}/provB/v2/video_generation`, {
      method: 'POST',
      token,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'h3-video',
        content: [
          { type: 'text', text: 'a boat' },
          {
            type: 'image_url',
            role: 'first_frame',
            image_url: { url: `media_file://${id}` },
          },
        ],
        resolution: '768P',
        duration: 6,
      }),
    })
  const created = await create(fileId)
  t.equal(created.status, 200, created.text)
  await stack.caughtUp()
  const { rows } = await stack.gateway.pool.query<{ upstream_file_id: string }>(
    'select upstream_file_id from voices.uploads where file_id = $1',
    [fileId],
  )
  const [sent] = logged('video-b.create')
  t.match(JSON.stringify(sent?.body), `mm_file://${rows[0]?.upstream_file_id}"`)
  const constant = (answer: Answer) => ({
    status: answer.status,
    headers: steadyHeaders(answer),
    text: answer.text.replace(/req_\w+/, 'req_…'),
  })
  const none = constant(await create(NO_SUCH, other.modelToken))
  t.match(none, { status: 400, text: /names no file of the tenant/ })
  t.strictSame(constant(await create(fileId, other.modelToken)), none)
  const sample = await uploaded('voice_clone')
  t.match((await create(sample)).text, /was not uploaded for video_generation_input/)
  refused(t, await clone({ file_id: fileId, voice_id: 'Their-Voice-1' }), 2013, /file_id/)
})

void t.test('a cloned voice is usable by its tenant, and unknown to other tenants', async (t) => {
  const spoken = { model: 'speech-2.8-hd', text: 'hello' }
  const speak = (path: string, voice_id: string, token: string) =>
    post(path, JSON.stringify({ ...spoken, voice_id }), token)
  const heard = await speak('t2a_v2', 'MyVoice_001', demo.modelToken)
  t.equal(heard.body.base_resp.status_code, 0, heard.text)
  const [sent] = logged('speech.create')
  t.match(sent?.body, { voice_setting: { voice_id: /^v[0-9a-f]{40}$/ } })
  const [upstreamName] = [Reflect.get(Object(sent?.body), 'voice_setting') as { voice_id: string }]
  for (const path of ['t2a_v2', 't2a_async_v2']) {
    const said = async (name: string) => {
      const answer = await speak(path, name, other.modelToken)
      const text = answer.text.replace(/req_\w+/, 'req_…')
      return { status: answer.status, headers: steadyHeaders(answer), text }
    }
    const none = await said('Never_Cloned')
    t.match(none.text, /"status_code":2042/)
    t.strictSame(await said('Lapsed-Voice-1'), none, path)
    t.strictSame(await said(upstreamName?.voice_id ?? ''), none, 'nor by its name upstream')
  }
})

void t.test('asynchronous speech is retrieved by the id of its task', async (t) => {
  const order = { model: 'speech-2.8-hd', text: 'hello', voice_id: 'MyVoice_001' }
  const created = await post('t2a_async_v2', JSON.stringify(order))
  const id = String(created.body.file_id)
  const done = await eventually('it is made', async () => {
    const answer = await retrieve(id)
    return answer.body.base_resp.status_code === 0 ? answer : undefined
  })
  t.match(done.body.file, { file_id: id, purpose: 't2a_async', filename: `${id}.mp3` })
  t.equal((await fetch(done.body.file.download_url)).status, 200)
  const constant = ({ text }: Answer): string => text.replace(/req_\w+/, 'req_…')
  const foreign = await retrieve(id, other.modelToken)
  t.equal(constant(foreign), constant(await retrieve(NO_SUCH, other.modelToken)))
  t.strictSame(steadyHeaders(foreign), steadyHeaders(await retrieve(NO_SUCH, other.modelToken)))
})

void t.test('ids of 64 bits and more are refused, never rounded to another id', async (t) => {
  const fileId = await uploaded('voice_clone')
  const ids = [(2n ** 53n + 1n).toString(), (2n ** 63n - 1n).toString(), (2n ** 63n).toString()]
  for (const id of [...ids, '0', '-1', '1e3', '', '/', '𝟙', `${fileId}0`])
    refused(t, await retrieve(id), 2013, /./)
  for (const id of ids) {
    refused(t, await clone({ file_id: id, voice_id: 'Wide-Voice-1' }), 2013, /file_id/)
    const written = `{"file_id":${id},"voice_id":"Wide-Voice-1"}`
    refused(t, await post('voice_clone', written), 2013, /./)
  }
  refused(t, await retrieve('', other.modelToken), 2013, /./)
})

void t.test('a rate-limited account rests, also for its uploads', async (t) => {
  const order = { file_id: await uploaded('voice_clone'), voice_id: 'Limited-Voice' }
  const asked = { ...order, model: 'speech-2.8-hd', text: '[[sandbox refuse=1002]]' }
  const limited = await clone(asked)
  refused(t, limited, 1002, /./, 429)
  t.ok(Number(limited.headers.get('retry-after')) > 0)
  const before = logged('speech.clone').length
  refused(t, await clone(order), 1002, /./, 429)
  t.equal(logged('speech.clone').length, before, 'it is not asked')
  const parts = [purposed('prompt_audio'), filed('me.wav', wavOf(1))]
  refused(t, await upload(parts), 1002, /./, 429)
})

void t.test('the log explains every voice: replay by request, and an audit', async (t) => {
  await stack.caughtUp()
  const { rows } = await stack.gateway.pool.query<{ request_id: string }>(
    `select request_id from voices.voices where voice_key = '${demo.tenantId}/MyVoice_001'`,
  )
  const told = await finance.history(rows[0]?.request_id ?? '')
  t.same(
    (told.body.data.items as { type: string }[]).map(({ type }) => type),
    ['VoiceCloned', 'CallSettled'],
  )
  t.notMatch(told.text, /sandbox-speech|upstreamVoiceId/, 'where it is is for operators')
  const { pool, log } = stack.gateway
  const report = await audit({ pool, log, models: allProjections })
  t.same(report.findings, [])
  t.ok(report.uploads > 5 && report.voices > 3)
})
