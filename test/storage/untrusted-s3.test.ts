import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/kernel/clock.ts'
import { plainXml } from '../../src/storage/s3/answers.ts'
import { createS3Store } from '../../src/storage/s3/store.ts'
import type { ObjectStore } from '../../src/storage/types.ts'

/** A service that is not the one that the operator meant, or is not what it was. */

const key = 'results/2026-11-22T13/name.png'
const away = { code: 'storage_unavailable', details: { trouble: 'away' } }
const refused = { code: 'storage_unavailable', details: { trouble: 'refused' } }

async function listening(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function storeAt(t: Test, listener: RequestListener): Promise<ObjectStore> {
  const store = createS3Store({
    endpoint: await listening(t, listener),
    region: 'us-east-1',
    bucket: 'media',
    accessKeyId: 'an id',
    secretAccessKey: 'a secret',
    publicBaseUrl: undefined,
    clock: systemClock,
    limits: { partBytes: 1_000, exchangesAPage: 5 },
  })
  t.teardown(() => store.close())
  return store
}

const listed = async (store: ObjectStore): Promise<string[]> => {
  const keys: string[] = []
  for await (const one of store.list('results/')) keys.push(one.key)
  return keys
}

const asked: Readonly<Record<string, (store: ObjectStore) => Promise<unknown>>> = {
  put: (store) => store.put(key, Buffer.from('the bytes')),
  'put in parts': (store) => store.put(key, Buffer.alloc(5_000, 1)),
  open: (store) => store.open(key),
  'open a range': (store) => store.open(key, { firstByte: 1 }),
  remove: (store) => store.remove(key),
  list: listed,
}

const page = (keys: readonly string[], token?: string): string =>
  `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.example/">${keys
    .map((one) => `<Contents><Key>${one}</Key><Size>1</Size></Contents>`)
    .join('')}${
    token === undefined
      ? '<IsTruncated>false</IsTruncated>'
      : `<IsTruncated>true</IsTruncated><NextContinuationToken>${token}</NextContinuationToken>`
  }</ListBucketResult>`

t.test('a redirect is an error, and is not followed to another host', async (t) => {
  let followed = 0
  const other = await listening(t, (request, response) => {
    followed += 1
    request.resume()
    response.end()
  })
  for (const status of [301, 302, 303, 307, 308]) {
    const store = await storeAt(t, (request, response) => {
      request.resume()
      response.writeHead(status, { location: `${other}${request.url}` }).end()
    })
    for (const [name, ask] of Object.entries(asked))
      await t.rejects(ask(store), refused, `${status} to ${name}`)
  }
  t.equal(followed, 0)
})

t.test('a list ends, for any tokens and keys', async (t) => {
  const cases: Readonly<Record<string, (asked: number) => string>> = {
    'the same token': () => page([], 'again'),
    'always another token': (asked) => page([], `token-${asked}`),
    'the same token and key': () => page(['results/a'], 'again'),
    'keys in no order': () => page(['results/b', 'results/a']),
    'a key twice': () => page(['results/a', 'results/a']),
    'keys of others': () => page(['payloads/a']),
    'no list': () => '<a><b></a></b>',
  }
  for (const [name, answer] of Object.entries(cases)) {
    let requests = 0
    const store = await storeAt(t, (request, response) => {
      request.resume()
      response.writeHead(200, { 'content-type': 'application/xml' }).end(answer((requests += 1)))
    })
    await t.rejects(listed(store), away, name)
    t.ok(requests <= 5, `${name}: ${requests} requests`)
  }
  const pages = [page(['results/a'], 'b'), page([], 'c'), page(['results/b', 'results/c'])]
  const honest = await storeAt(t, (request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'application/xml' }).end(pages.shift())
  })
  t.same(await listed(honest), ['results/a', 'results/b', 'results/c'])
})

t.test('an endless answer is not read to its end', async (t) => {
  for (const status of [200, 403]) {
    let sentBytes = 0
    const store = await storeAt(t, (request, response) => {
      request.resume()
      response.writeHead(status, { 'content-type': 'application/xml' })
      response.write('<ListBucketResult>')
      const more = (): void => {
        sentBytes += 65_536
        if (!response.destroyed && response.write(Buffer.alloc(65_536, 'x'))) setImmediate(more)
      }
      response.on('drain', more)
      more()
    })
    for (const [name, ask] of Object.entries(asked)) {
      if (status === 200 && name.startsWith('open')) continue
      sentBytes = 0
      await t.rejects(ask(store), away, `${status} to ${name}`)
      t.ok(sentBytes < 16 * 1024 * 1024, `${name}: ${sentBytes} bytes`)
    }
  }
})

t.test('an object has the bytes that were announced and asked for', async (t) => {
  const store = await storeAt(t, (request, response) => {
    const isRange = request.headers.range !== undefined
    if (request.url?.includes('ignored') === true)
      response.writeHead(200, { 'content-length': '10' }).end('0123456789')
    else if (request.url?.includes('shifted') === true)
      response.writeHead(206, { 'content-range': 'bytes 0-8/10' }).end('012345678')
    else if (request.url?.includes('longer') === true)
      response.writeHead(206, { 'content-range': 'bytes 1-3/10' }).end('123456789')
    else if (request.url?.includes('shorter') === true)
      response.writeHead(206, { 'content-range': 'bytes 1-9/10' }).end('1')
    else if (request.url?.includes('unknown') === true) response.writeHead(200).end('0123')
    else if (isRange) response.writeHead(206, { 'content-range': 'bytes 1-9/10' }).end('123456789')
    else response.writeHead(200, { 'content-length': '10' }).end('0123456789')
  })
  const at = (name: string): string => `results/2026-11-22T13/${name}.png`
  const range = { firstByte: 1 }
  t.equal((await buffer((await store.open(key))!.body)).toString(), '0123456789')
  const part = await store.open(key, range)
  t.equal((await buffer(part!.body)).toString(), '123456789')
  t.equal(part!.sizeBytes, 10)
  for (const name of ['ignored', 'shifted', 'unknown'])
    await t.rejects(store.open(at(name), range), away, name)
  await t.rejects(store.open(at('unknown')), away, 'of unknown size')
  for (const name of ['longer', 'shorter'])
    await t.rejects(buffer((await store.open(at(name), range))!.body), away, name)
})

t.test('XML that would take quadratic time is refused', async (t) => {
  const times = (text: string): string => text.repeat(Math.floor(1_000_000 / text.length))
  for (const bad of ['<a>', '<a', '<a ', '</a>', '<a><b></a>', '<!--', '<![CDATA[', '<?', '<'])
    t.equal(plainXml(times(bad)), undefined, bad)
  t.equal(plainXml(`${times('<a>')}${times('</a>')}`), undefined, 'too deep')
  t.equal(plainXml(times('<a />')), times('<a />').replaceAll(' ', ''), 'ends are unambiguous')
  t.equal(plainXml('<?xml version="1.0"?>\n<a b="c">d<e f/></a>\n'), '\n<a>d<e/></a>\n')
  t.equal(plainXml('no XML at all'), 'no XML at all')
})
