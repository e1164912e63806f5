import { request as httpRequest } from 'node:http'
import OpenAI, { toFile } from 'openai'
import t from 'tap'
import { defaultLimits } from '../../../src/api/app.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import { MemoryFiles } from '../support/memory-media.ts'
import { asModel, nowMs, startApp } from '../support/app.ts'
import { listen } from './support.ts'

const files = new MemoryFiles(nowMs)
const FILE_BYTES = 200_000
const fileForm = { ...defaultLimits.fileForm, fileBytes: FILE_BYTES, bodyBytes: FILE_BYTES + 5_000 }
const harness = await startApp({ files: { kept: files }, limits: { fileForm } })
t.teardown(() => harness.app.close())
const url = await listen(harness)
const clientOf = (apiKey: string): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })
const client = clientOf('sk-one')

const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 251))

void t.test('the official client uploads, lists, shows, downloads and deletes', async (t) => {
  const file = await toFile(bytes, 'boat.png', { type: 'image/png' })
  const made = await client.files.create({ file, purpose: 'vision' })
  t.match(made, {
    id: /^file-[0-9A-Z]{26}$/,
    object: 'file',
    bytes: 70_000,
    created_at: nowMs / 1_000,
    filename: 'boat.png',
    purpose: 'vision',
    status: 'processed',
  })
  t.same(await client.files.retrieve(made.id), made)
  const content = await client.files.content(made.id)
  t.equal(content.headers.get('content-type'), 'application/octet-stream')
  t.match(content.headers.get('content-disposition'), /^attachment; filename="boat\.png"/)
  t.ok(bytes.equals(Buffer.from(await content.arrayBuffer())))
  const others = []
  for (const name of ['a.txt', 'b.txt', 'c.txt'])
    others.push(
      await client.files.create({
        file: await toFile(Buffer.from(name), name),
        purpose: 'user_data',
      }),
    )
  const listed = []
  for await (const one of client.files.list({ limit: 2 })) listed.push(one.filename)
  t.same(listed, ['c.txt', 'b.txt', 'a.txt', 'boat.png'], 'the youngest first, over all pages')
  const page = await client.files.list({ order: 'asc', purpose: 'user_data', limit: 2 })
  t.same(
    page.data.map(({ id }) => id),
    others.slice(0, 2).map(({ id }) => id),
  )
  t.equal(page.has_more, true)
  t.same(await client.files.delete(made.id), { id: made.id, object: 'file', deleted: true })
  await t.rejects(client.files.retrieve(made.id), { message: /^404 / })
})

void t.test('another tenant’s file is answered as a file that never existed', async (t) => {
  const file = await toFile(bytes, 'mine')
  const { id } = await client.files.create({ file, purpose: 'vision' })
  const theirs = { authorization: 'Bearer sk-two' }
  const never = 'file-01JD0000000000000000009999'
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/content'],
    ['DELETE', ''],
  ] as const) {
    const [one, none] = await Promise.all(
      [id, never].map((of) =>
        harness.app.inject({ method, url: `/v1/files/${of}${path}`, headers: theirs }),
      ),
    )
    t.equal(one?.statusCode, 404)
    t.equal(one?.body, none?.body)
    t.match(one?.json(), { error: { code: 'file_not_found', type: 'invalid_request_error' } })
  }
  const list = await harness.app.inject({ url: '/v1/files', headers: theirs })
  t.match(list.json(), { data: [], first_id: null, last_id: null, has_more: false })
  const after = await harness.app.inject({ url: `/v1/files?after=${id}`, headers: theirs })
  t.match(after.json(), { error: { param: 'after' } })
  t.ok(await client.files.retrieve(id))
})

interface Part {
  readonly name?: string
  readonly filename?: string
  readonly value: string
  readonly headers?: string
}
const BOUNDARY = 'a-boundary-of-the-tests'

function formOf(parts: readonly Part[]): string {
  const texts = parts.map(({ name, filename, value, headers = '' }) => {
    const named = name === undefined ? '' : `; name="${name}"`
    const file = filename === undefined ? '' : `; filename="${filename}"`
    return `--${BOUNDARY}\r\ncontent-disposition: form-data${named}${file}\r\n${headers}\r\n${value}\r\n`
  })
  return `${texts.join('')}--${BOUNDARY}--\r\n`
}

const type = `multipart/form-data; boundary=${BOUNDARY}`
const post = (payload: string | Buffer, contentType = type) =>
  harness.app.inject({
    method: 'POST',
    url: '/v1/files',
    headers: { ...asModel, 'content-type': contentType },
    payload,
  })
const purpose = { name: 'purpose', value: 'vision' }
const file = { name: 'file', filename: 'a.png', value: 'bytes' }

void t.test('400, 413 or 415 that names the fault of a form', async (t) => {
  const named = (filename: string): readonly Part[] => [{ ...file, filename }, purpose]
  const large = 'x'.repeat(FILE_BYTES + 1)
  const cases: readonly [string, string, number, string | null, string?][] = [
    ['no purpose', formOf([file]), 400, 'purpose'],
    ['an unknown purpose', formOf([file, { ...purpose, value: 'fine-tune' }]), 400, 'purpose'],
    ['two purposes', formOf([file, purpose, purpose]), 400, 'purpose'],
    ['no file', formOf([purpose]), 400, 'file'],
    ['a file without a name', formOf([{ name: 'file', value: 'x' }, purpose]), 400, 'file'],
    ['an empty name', formOf(named('')), 400, 'file'],
    ['two files', formOf([file, file, purpose]), 400, null],
    ['another file', formOf([{ ...file, name: 'image' }, purpose]), 400, 'image'],
    ['a field of another name', formOf([file, purpose, { name: 'x', value: '1' }]), 400, 'x'],
    [
      'an expiry',
      formOf([file, purpose, { name: 'expires_after[seconds]', value: '1' }]),
      400,
      'expires_after[seconds]',
    ],
    ['many fields', formOf(Array.from({ length: 1_000 }, () => purpose)), 400, null],
    ['many files', formOf(Array.from({ length: 1_000 }, () => file)), 400, null],
    ['a huge field', formOf([{ ...purpose, value: 'v'.repeat(2_000) }, file]), 413, 'purpose'],
    ['a huge file', formOf([{ ...file, value: large }, purpose]), 413, 'file'],
    ['a huge name', formOf(named('n'.repeat(300))), 400, 'file'],
    ['a path', formOf(named('../../etc/passwd')), 400, 'file'],
    ['a path of another system', formOf(named('C:\\\\a\\\\b.png')), 400, 'file'],
    ['a folder', formOf(named('..')), 400, 'file'],
    ['control characters', formOf(named('a\u0007b')), 400, 'file'],
    ['letters that turn round', formOf(named('a\u202egnp.exe')), 400, 'file'],
    ['no part', `--${BOUNDARY}--\r\n`, 400, 'purpose'],
    ['nothing', '', 400, 'purpose'],
    ['no form', 'hello', 400, null],
    ['cut off', formOf([file, purpose]).slice(0, -60), 400, null],
    ['cut off in the file', formOf([purpose, file]).slice(0, -50), 400, null],
    ['another boundary', formOf([file, purpose]), 400, null, 'multipart/form-data; boundary=other'],
    ['no boundary', formOf([file, purpose]), 400, null, 'multipart/form-data'],
    ['JSON', '{"purpose":"vision"}', 415, null, 'application/json'],
    [
      'a field called like none may be',
      formOf([file, { name: '__proto__', value: 'x' }]),
      400,
      null,
    ],
  ]
  for (const [what, payload, status, param, contentType] of cases) {
    const answer = await post(payload, contentType)
    t.equal(answer.statusCode, status, `${what}: ${answer.body}`)
    t.match(answer.json(), { error: { type: /./, message: /./, code: /./ } })
    t.equal(answer.json<{ error: { param: unknown } }>().error.param, param, what)
    t.notMatch(answer.body, /busboy|FST_|Dicer|multipart data/i)
  }
  const page = await client.files.list()
  const known = new Set(page.data.map(({ id }) => id))
  t.same(
    [...files.bytes.keys()].filter((id) => !known.has(id)),
    [],
    'nothing is left of them',
  )
})

void t.test('file names in any script come back unchanged', async (t) => {
  for (const name of ['größe 大きさ.png', "it's (1) 100%.txt", 'a;b=c.png']) {
    const sent = await toFile(Buffer.from('x'), name)
    const made = await client.files.create({ file: sent, purpose: 'user_data' })
    t.equal(made.filename, name)
    const disposition = (await client.files.content(made.id)).headers.get('content-disposition')
    const [, whole = ''] = /filename\*=UTF-8''(.*)$/.exec(disposition ?? '') ?? []
    t.equal(decodeURIComponent(whole), name)
  }
})

void t.test('the query parameters of a list are checked', async (t) => {
  for (const query of ['limit=0', 'limit=10001', 'limit=x', 'order=up', 'purpose=x', 'afterr=1']) {
    const answer = await harness.app.inject({ url: `/v1/files?${query}`, headers: asModel })
    t.equal(answer.statusCode, 400, query)
    t.match(answer.json(), { error: { param: query.split('=')[0] } })
  }
  await t.rejects(client.files.list({ after: 'file-x' }), { message: /^400 / })
})

/** Sends a form in pieces without saying how long it is. */
async function sendChunked(pieces: readonly string[], abort: boolean): Promise<number | undefined> {
  return new Promise((resolve) => {
    const sent = httpRequest(`${url}/v1/files`, {
      method: 'POST',
      headers: { ...asModel, 'content-type': type, 'transfer-encoding': 'chunked' },
    })
    sent.on('response', (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
    sent.on('error', () => resolve(undefined))
    for (const piece of pieces) sent.write(piece)
    if (abort) setTimeout(() => sent.destroy(), 50)
    else sent.end()
  })
}

void t.test('a form of unknown length is accepted, and bounded', async (t) => {
  const whole = formOf([{ ...file, value: 'y'.repeat(150_000) }, purpose])
  const pieces = whole.match(/[^]{1,9000}/g) ?? []
  t.equal(await sendChunked(pieces, false), 200)
  const endless = formOf([{ ...file, value: 'y'.repeat(400_000) }, purpose])
  t.equal(await sendChunked(endless.match(/[^]{1,9000}/g) ?? [], false), 413)
})

void t.test('an upload that its caller breaks off leaves no file', async (t) => {
  const before = files.bytes.size
  const whole = formOf([{ ...file, value: 'y'.repeat(90_000) }, purpose])
  t.equal(await sendChunked([whole.slice(0, 80_000)], true), undefined)
  t.equal((await post(formOf([file, purpose]))).statusCode, 200, 'others go on')
  t.equal(files.bytes.size, before + 1)
})

void t.test('503 that says whether to retry, while files cannot be stored', async (t) => {
  t.teardown(() => (files.broken = undefined))
  const cases = [
    [new DomainError('storage_not_configured', '', {}), 'storage_not_configured', 'false'],
    [
      new DomainError('storage_unavailable', '', { trouble: 'full' }),
      'service_unavailable',
      undefined,
    ],
    [new DomainError('log_unavailable', '', {}), 'service_unavailable', undefined],
  ] as const
  for (const [broken, code, shouldRetry] of cases) {
    files.broken = broken
    const asked = [
      await post(formOf([file, purpose])),
      await harness.app.inject({ url: '/v1/files', headers: asModel }),
    ]
    for (const answer of asked) {
      t.equal(answer.statusCode, 503)
      t.match(answer.json(), { error: { code, type: 'server_error' } })
      t.equal(answer.headers['x-should-retry'], shouldRetry)
    }
  }
})
