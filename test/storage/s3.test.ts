import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/kernel/clock.ts'
import { openStorage } from '../../src/storage/open.ts'
import type { S3Limits, S3Options } from '../../src/storage/s3/client.ts'
import { createS3Store } from '../../src/storage/s3/store.ts'
import type { ObjectStore } from '../../src/storage/types.ts'
import { startS3Server } from '../helpers/s3-server.ts'

const key = 'results/2026-11-22T13/name.png'
const body = Buffer.from('the bytes of an image')

function storeOn(t: Test, options: S3Options, limits: Partial<S3Limits> = {}): ObjectStore {
  const store = createS3Store({
    ...options,
    clock: systemClock,
    limits: { partBytes: 1_000, ...limits },
  })
  t.teardown(() => store.close())
  return store
}

const account = {
  region: 'us-east-1',
  bucket: 'media',
  accessKeyId: 'an id',
  secretAccessKey: 'a secret',
  publicBaseUrl: undefined,
}

/** A service whose answers the test gives. */
async function faulty(
  t: Test,
  listener: RequestListener,
  limits: Partial<S3Limits> = {},
): Promise<ObjectStore> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return storeOn(t, { ...account, endpoint: `http://127.0.0.1:${port}` }, limits)
}

const xml = (code: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>m</Message></Error>`

/** Everything that can be asked of a store. */
const asked: Readonly<Record<string, (store: ObjectStore) => Promise<unknown>>> = {
  put: (store) => store.put(key, body),
  'put in parts': (store) => store.put(key, Buffer.alloc(5_000, 1)),
  open: (store) => store.open(key),
  remove: (store) => store.remove(key),
  list: async (store) => {
    for await (const _one of store.list('results/')) break
  },
}

void t.test('errors of the service are distinguished by their kind', async (t) => {
  const cases: readonly [number, string, string][] = [
    [403, 'AccessDenied', 'refused'],
    [404, 'NoSuchBucket', 'refused'],
    [507, 'XMinioStorageFull', 'full'],
    [400, 'QuotaExceeded', 'full'],
    [503, 'SlowDown', 'away'],
  ]
  for (const [status, code, trouble] of cases) {
    let requests = 0
    const store = await faulty(t, (request, response) => {
      requests += 1
      request.resume()
      response.writeHead(status, { 'content-type': 'application/xml' }).end(xml(code))
    })
    for (const [name, ask] of Object.entries(asked)) {
      if (name === 'remove' && code === 'NoSuchBucket') continue
      requests = 0
      await t.rejects(ask(store), { code: 'storage_unavailable', details: { trouble } }, name)
      t.equal(requests, trouble === 'away' ? 3 : 1, `${name}: tries`)
    }
  }
})

void t.test('an unreachable or silent service is away', async (t) => {
  const away = { code: 'storage_unavailable', details: { trouble: 'away' } }
  const nowhere = storeOn(t, { ...account, endpoint: 'http://127.0.0.1:1' })
  const soon = { exchangeTimeoutMs: 100, silenceTimeoutMs: 100, tries: 2 }
  const silent = await faulty(t, () => undefined, soon)
  for (const store of [nowhere, silent])
    await Promise.all(Object.entries(asked).map(([name, ask]) => t.rejects(ask(store), away, name)))
})

void t.test('storage is opened as configured', async (t) => {
  const server = await startS3Server()
  t.teardown(() => server.stop())
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-open-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const signing = { secret: 'a secret', baseUrl: () => undefined }
  const options = { directory, ...signing, clock: systemClock, namespace: 'tests.' }
  const none = await openStorage({ kind: 'none' }, options)
  t.same(none, { objects: undefined, local: undefined })
  const s3 = await openStorage({ kind: 's3', s3: server.options }, options)
  const local = await openStorage({ kind: 'local' }, options)
  t.equal(s3.local, undefined, 'the gateway serves what it keeps itself alone')
  t.equal(local.local, local.objects?.unprefixed)
  for (const { objects } of [s3, local]) {
    const store = objects?.store
    await store?.put(key, body)
    t.equal((await objects?.unprefixed.open(`tests./${key}`))?.sizeBytes, body.length)
    t.equal((await store?.open(key))?.sizeBytes, body.length)
    await store?.close()
  }
})

void t.test('a request that fails once is retried', async (t) => {
  let requests = 0
  const store = await faulty(t, (request, response) => {
    requests += 1
    request.resume()
    if (requests === 1) response.writeHead(500).end()
    else if (requests === 2) response.destroy()
    else response.writeHead(200).end()
  })
  await store.put(key, body)
  t.equal(requests, 3)
})

void t.test('an object that breaks off is not taken for a complete one', async (t) => {
  const store = await faulty(t, (_request, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('the beginning')
    setTimeout(() => response.destroy(), 20)
  })
  const found = await store.open(key)
  await t.rejects(buffer(found!.body), { code: 'storage_unavailable' })
})

void t.test('a real service: accounts, buckets and URLs', async (t) => {
  const server = await startS3Server()
  t.teardown(() => server.stop())
  const store = storeOn(t, server.options)
  await store.put(key, body)

  const stranger = storeOn(t, { ...server.options, accessKeyId: 'a stranger' })
  const refused = { code: 'storage_unavailable', details: { trouble: 'refused' } }
  for (const [name, ask] of Object.entries(asked)) await t.rejects(ask(stranger), refused, name)
  const elsewhere = storeOn(t, { ...server.options, bucket: 'nothing' })
  await t.rejects(elsewhere.open(key), refused, 'a bucket that is not there has no objects')

  const inAnHour = Date.now() + 3_600_000
  const url = (await store.publicUrl(key, inAnHour))!
  const answer = await fetch(url)
  t.equal(answer.headers.get('content-type'), 'image/png')
  t.ok(body.equals(Buffer.from(await answer.arrayBuffer())))
  t.equal(
    (await fetch(url.replace(/.$/, (last) => (last === '0' ? '1' : '0')))).status,
    403,
    'forged',
  )
  const other = url.replace('name.png', 'other.png')
  await store.put('results/2026-11-22T13/other.png', body)
  t.equal((await fetch(other)).status, 403, 'of another object')
  t.equal((await fetch(url.replace(/\?.*/, ''))).status, 403, 'unsigned')
  const soon = new URL((await store.publicUrl(key, Date.now() + 90_500))!)
  t.match(Number(soon.searchParams.get('X-Amz-Expires')), 90)
  const never = new URL((await store.publicUrl(key, Date.now() + 1e12))!)
  t.equal(Number(never.searchParams.get('X-Amz-Expires')), 7 * 24 * 3_600, 'the most there is')

  const named = { ...server.options, publicBaseUrl: 'https://media.example.com/bucket' }
  t.match(
    await storeOn(t, named).publicUrl(key, inAnHour),
    /^https:\/\/media\.example\.com\/bucket\/results\/2026-11-22T13\/name\.png\?/,
  )
})
