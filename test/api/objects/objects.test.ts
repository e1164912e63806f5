import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, open, readdir, readlink, rm } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../../src/kernel/clock.ts'
import { namespacedObjects } from '../../../src/storage/namespaced-objects.ts'
import { openLocalStore } from '../../../src/storage/local/store.ts'
import { eventually } from '../../helpers/eventually.ts'
import { nowMs, startApp } from '../support/app.ts'

const directory = await mkdtemp(join(tmpdir(), 'tollgate-objects-api-'))
const store = await openLocalStore({
  clock: systemClock,
  directory,
  secret: 'a secret',
  baseUrl: () => 'http://gateway.example',
})
const { app, logged } = await startApp({
  objects: (key, query) => store.signedObject(key, query, nowMs),
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

void t.test('200 with the object, its type, and for private caches only', async (t) => {
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
  const encoded = url.replace(key, encodeURIComponent(key))
  t.equal((await get(encoded)).statusCode, 200, 'as clients write a parameter of a path')
  const head = await app.inject({ method: 'HEAD', url })
  t.equal(head.statusCode, 200)
  t.equal(head.headers['content-length'], '200')
  t.equal(head.rawPayload.length, 0)
})

void t.test('content that a page must not render is served as an attachment', async (t) => {
  await store.put('files/plain', bytes)
  const answer = await get(await urlOf('files/plain'))
  t.match(answer.headers, {
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment; filename="plain"',
  })
})

void t.test('206 with the range asked for, 416 with the length of the object', async (t) => {
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

void t.test('404, as for an unknown route, for a forged, expired or malformed URL', async (t) => {
  const [path = '', query = ''] = url.split('?')
  const signature = new URLSearchParams(query).get('signature')!
  const expires = new URLSearchParams(query).get('expires')!
  const withQuery = (e: string, s: string): string => `${path}?expires=${e}&signature=${s}`
  const elsewhere = await openLocalStore({
    clock: systemClock,
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
    url.replace('/objects/', '/objects/%01'),
    `/objects/..%2f..%2fetc%2fpasswd?${query}`,
    `/objects/.incoming/x?${query}`,
    await urlOf(key, 0),
    await urlOf(key, -60_000),
    await urlOf('results/2026-03-04T05/none.png'),
    await urlOf('results/2026-03-04T05'),
    (await elsewhere.publicUrl(key, nowMs + 60_000))!.replace('http://gateway.example', ''),
  ]
  const none = await get('/nothing/here')
  const withoutPath = (text: string): string => text.replace(/: GET [^"]*/, '')
  for (const one of forged) {
    const answer = await get(one)
    t.equal(answer.statusCode, 404, one)
    t.equal(withoutPath(answer.payload), withoutPath(none.payload))
    const [ofNone, ofOne] = [none, answer].map(({ headers }) => Object.keys(headers).sort())
    t.same(ofOne, ofNone)
  }
  t.equal((await get(await urlOf(key, 1_000))).statusCode, 200, 'until its last second')
})

/** More than a few chunks, and not a whole number of them. */
const LARGE_BYTES = 3_000_001
const large = randomBytes(LARGE_BYTES)

/** A GET over a separate socket that is read at this pace. */
async function slowly(path: string, headers: Readonly<Record<string, string>>, pauseMs: number) {
  const { port } = app.server.address() as AddressInfo
  const asked = request({ port, path, headers, agent: false }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const read: Buffer[] = []
  for await (const chunk of answer) {
    read.push(chunk as Buffer)
    if (pauseMs > 0 && read.length % 8 === 0) await sleep(pauseMs)
  }
  return Buffer.concat(read)
}

void t.test('large objects arrive whole, however slowly the caller reads', async (t) => {
  await app.listen({ port: 0, host: '127.0.0.1' })
  await store.put('results/2026-03-04T05/large.png', large)
  const path = await urlOf('results/2026-03-04T05/large.png')
  const chunk = 256 * 1024
  const ranges = [
    [0, LARGE_BYTES - 1],
    [0, chunk - 1],
    [0, chunk],
    [chunk - 1, 3 * chunk],
    [LARGE_BYTES - 1, LARGE_BYTES - 1],
    [7, LARGE_BYTES - 8],
  ] as const
  const all = ranges.flatMap(([start, end]) =>
    [0, 2].map(async (pauseMs) => {
      const read = await slowly(path, { range: `bytes=${start}-${end}` }, pauseMs)
      t.ok(read.equals(large.subarray(start, end + 1)), `${start}-${end}, ${pauseMs} ms`)
    }),
  )
  await Promise.all(all)
  t.ok((await slowly(path, {}, 1)).equals(large))
})

void t.test('requests sent one behind the other are answered in order, each whole', async (t) => {
  const path = await urlOf('results/2026-03-04T05/large.png')
  const { port } = app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  const one = (of: string, connection: string) =>
    `GET ${of} HTTP/1.1\r\nhost: localhost\r\nconnection: ${connection}\r\n\r\n`
  socket.write(one(path, 'keep-alive') + one(path, 'keep-alive') + one(path, 'close'))
  const read: Buffer[] = []
  for await (const piece of socket) read.push(piece as Buffer)
  let rest = Buffer.concat(read)
  for (let n = 0; n < 3; n += 1) {
    const body = rest.indexOf('\r\n\r\n') + 4
    t.ok(rest.subarray(body, body + LARGE_BYTES).equals(large), `answer ${n}`)
    rest = rest.subarray(body + LARGE_BYTES)
  }
  t.equal(rest.length, 0)
})

/** Files this process has open, where the system tells. */
async function openFiles(): Promise<readonly string[]> {
  const fds = await readdir('/proc/self/fd').catch(() => [])
  return Promise.all(fds.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
}

void t.test('a caller that leaves leaves no file open; the next gets its bytes', async (t) => {
  const path = await urlOf('results/2026-03-04T05/large.png')
  const { port } = app.server.address() as AddressInfo
  for (let n = 0; n < 20; n += 1) {
    const asked = request({ port, path, agent: false }).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.destroy()
  }
  await eventually('it is closed', async () => {
    const open = await openFiles()
    return !open.some((file) => file.includes('/large.png'))
  })
  t.ok((await slowly(path, {}, 0)).equals(large))
})

void t.test('an empty object is served as an object of length 0', async (t) => {
  await store.put('results/2026-03-04T05/empty.png', Buffer.alloc(0))
  const answer = await get(await urlOf('results/2026-03-04T05/empty.png'))
  t.match(answer, { statusCode: 200, payload: '', headers: { 'content-length': '0' } })
})

void t.test('a damaged object is never served whole: 503, or the answer breaks off', async (t) => {
  const damagedKey = 'results/2026-03-04T05/damaged.png'
  await store.put(damagedKey, large)
  const path = await urlOf(damagedKey)
  const file = await open(join(directory, `${damagedKey}~1`), 'r+')
  const at = 1_000_000
  await file.write(Buffer.from([large.readUInt8(at) ^ 1]), 0, 1, at)
  await file.close()
  const whole = await slowly(path, {}, 0).catch((error: unknown) => error)
  t.match(whole, { code: 'ECONNRESET' }, 'its header had been sent')
  const answer = await get(path, { range: `bytes=${at}-${at}` })
  t.equal(answer.statusCode, 503)
  t.notMatch(answer.headers, { etag: /./ }, 'nothing of the object')
  t.equal(answer.json().error.code, 'storage_unavailable')
  t.notMatch(answer.payload, /damaged|\//, 'no name of a file')
  t.match(logged(), /damaged\.png~1 is not as it was written: the 65536 bytes from 983040 on/)
  const before = await get(path, { range: 'bytes=5-700000' })
  t.ok(before.rawPayload.equals(large.subarray(5, 700_001)), 'what is whole is served')
})

void t.test(
  'a URL has the namespace without its dot, and one of an earlier release goes on',
  async (t) => {
    const { store: own } = namespacedObjects(store, { namespace: 'tollgate.', startedAtMs: nowMs })
    // As a release before wrote it: this key, and this URL.
    await store.put(`tollgate./${key}`, bytes)
    const signed = '?expires=1772600827&signature=rDN53DSQP5_vknzDRjOMjTVekd_kp-thpLOZDS2sI5A'
    const earlier = `/objects/tollgate./${key}${signed}`
    const present = (await own.publicUrl(key, nowMs + 60_000))!.replace(
      'http://gateway.example',
      '',
    )
    t.equal(present, `/objects/tollgate/${key}${signed}`)
    for (const one of [earlier, present, present.replace(key, encodeURIComponent(key))]) {
      const answer = await get(one)
      t.equal(answer.statusCode, 200, one)
      t.ok(answer.rawPayload.equals(bytes))
    }
    for (const forged of ['tollgate..', 'tollgat', '.tollgate'])
      t.equal((await get(present.replace('tollgate', forged))).statusCode, 404, forged)
    const listed = []
    for await (const one of own.list('results/')) listed.push(one.key)
    t.same(listed, [key])
    await own.remove(key)
    for (const one of [earlier, present]) t.equal((await get(one)).statusCode, 404, 'deleted')
  },
)

void t.test('no URL is logged', async (t) => {
  await get(url)
  await get(`${url}A`)
  t.match(logged(), '"route":"/objects/*"')
  t.notMatch(logged(), /signature=|a-random_name/)
})
