import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openLocalStore } from '../../../src/storage/local/store.ts'
import { nowMs, startApp } from '../support/app.ts'

const directory = await mkdtemp(join(tmpdir(), 'tollgate-objects-api-'))
const store = await openLocalStore({
  directory,
  secret: 'a secret',
  baseUrl: () => 'http://gateway.example',
})
const { app, logged } = await startApp({
  objects: (key, query) => store.fileOf(key, query, nowMs),
})
t.teardown(async () => {
  await app.close()
  await rm(directory, { recursive: true, force: true })
})

const key = 'results/2026-03-04T05/a-random_name.png'
const bytes = Buffer.from([...Array.from({ length: 200 }).keys()])
await store.put(key, bytes)
const urlOf = async (of = key, lifeMs = 60_000): Promise<string> =>
  (await store.publicUrl(of, nowMs + lifeMs))!.replace('http://gateway.example', '')
const url = await urlOf()
const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  app.inject({ method: 'GET', url: path, headers })

void t.test('200 with the object, as what it is and for nobody else', async (t) => {
  const answer = await get(url)
  t.equal(answer.statusCode, 200)
  t.ok(answer.rawPayload.equals(bytes))
  t.match(answer.headers, {
    'content-type': 'image/png',
    'content-length': '200',
    'accept-ranges': 'bytes',
    'cache-control': 'private',
    'x-content-type-options': 'nosniff',
    'content-disposition': 'inline; filename="a-random_name.png"',
    'content-security-policy': "default-src 'none'; sandbox",
    etag: /./,
  })
  const again = await get(url, { 'if-none-match': String(answer.headers.etag) })
  t.equal(again.statusCode, 304)
  t.equal(again.rawPayload.length, 0)
  const head = await app.inject({ method: 'HEAD', url })
  t.equal(head.statusCode, 200)
  t.equal(head.headers['content-length'], '200')
  t.equal(head.rawPayload.length, 0)
})

void t.test('what no page may show by itself is for a file', async (t) => {
  await store.put('files/plain', bytes)
  const answer = await get(await urlOf('files/plain'))
  t.match(answer.headers, {
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment; filename="plain"',
  })
})

void t.test('206 with the range asked for, 416 with how much there is', async (t) => {
  const cases = [
    ['bytes=0-9', 0, 10],
    ['bytes=190-', 190, 200],
    ['bytes=-5', 195, 200],
    ['bytes=199-500', 199, 200],
  ] as const
  for (const [range, start, end] of cases) {
    const answer = await get(url, { range })
    t.equal(answer.statusCode, 206, range)
    t.equal(answer.headers['content-range'], `bytes ${start}-${end - 1}/200`)
    t.ok(answer.rawPayload.equals(bytes.subarray(start, end)))
  }
  const beyond = await get(url, { range: 'bytes=200-' })
  t.equal(beyond.statusCode, 416)
  t.equal(beyond.headers['content-range'], 'bytes */200')
  t.equal(beyond.rawPayload.length, 0)
  const { headers } = await get(url)
  const changed = await get(url, { range: 'bytes=0-9', 'if-range': '"another"' })
  t.equal(changed.statusCode, 200, 'of another version the whole')
  t.equal((await get(url, { 'if-match': '"another"' })).statusCode, 412)
  t.equal((await get(url, { 'if-match': String(headers.etag) })).statusCode, 200)
})

void t.test(
  '404, the same as for any route there is not, for what is no URL of ours',
  async (t) => {
    const [path = '', query = ''] = url.split('?')
    const signature = new URLSearchParams(query).get('signature')!
    const expires = new URLSearchParams(query).get('expires')!
    const withQuery = (e: string, s: string): string => `${path}?expires=${e}&signature=${s}`
    const elsewhere = await openLocalStore({
      directory: join(directory, 'other'),
      secret: 'another secret',
      baseUrl: () => 'http://gateway.example',
    })
    await store.put('results/2026-03-04T05/other.png', bytes)
    const forged = [
      path,
      withQuery(expires, ''),
      withQuery(expires, signature.slice(1)),
      withQuery(expires, `${signature}A`),
      withQuery(
        expires,
        signature.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
      ),
      withQuery(expires, `${signature}&signature=${signature}`),
      withQuery(String(Number(expires) + 1), signature),
      withQuery(`0${expires}`, signature),
      withQuery(`${expires}.0`, signature),
      withQuery('Infinity', signature),
      url.replace('a-random_name', 'other'),
      url.replace('/results/', '/results//'),
      url.replace('/results/', '/results%2f..%2fresults/'),
      url.replace('/results/', '/%2e%2e/'),
      url.replace('/objects/', '/objects/%00'),
      `/objects/..%2f..%2fetc%2fpasswd?${query}`,
      `/objects/.incoming/x?${query}`,
      await urlOf(key, 0),
      await urlOf(key, -60_000),
      await urlOf('results/2026-03-04T05/none.png'),
      await urlOf('results/2026-03-04T05'),
      (await elsewhere.publicUrl(key, nowMs + 60_000))!.replace('http://gateway.example', ''),
    ]
    const none = await get('/nothing/here')
    for (const one of forged) {
      const answer = await get(one)
      t.equal(answer.statusCode, 404, one)
      t.equal(answer.payload, none.payload)
      const [ofNone, ofOne] = [none, answer].map(({ headers }) => Object.keys(headers).sort())
      t.same(ofOne, ofNone)
    }
    t.equal((await get(await urlOf(key, 1_000))).statusCode, 200, 'until its last second')
  },
)

void t.test('no URL is logged', async (t) => {
  await get(url)
  await get(`${url}A`)
  t.match(logged(), '"route":"/objects/*"')
  t.notMatch(logged(), /signature=|a-random_name/)
})
