import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import t from 'tap'
import { useKeptPages } from '../../../../src/api/kit/answers/kept-pages.ts'
import { startApp } from '../../support/app.ts'

void t.test('a page is rendered once, and sent compressed as the caller accepts', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const text = JSON.stringify({ text: 'a page '.repeat(10_000) })
  let written = 0
  useKeptPages(app)
  app.get('/page', (_request, reply) => {
    written += 1
    return reply.type('application/json').send(text)
  })
  app.get('/absent', (_request, reply) => reply.code(404).type('text/plain').send(text))
  const get = (path: string, headers = {}) => app.inject({ url: path, headers })
  const cases = [
    [undefined, undefined, (bytes: Buffer) => bytes],
    ['gzip, deflate', 'gzip', gunzipSync],
    ['gzip;q=0.5, br', 'br', brotliDecompressSync],
    ['br;q=0, GZIP', 'gzip', gunzipSync],
    ['gzip;q=0.000', undefined, (bytes: Buffer) => bytes],
  ] as const
  const tags = new Set<unknown>()
  for (const [accepted, encoding, read] of cases) {
    const headers = accepted === undefined ? {} : { 'accept-encoding': accepted }
    const answer = await get('/page', headers)
    t.equal(answer.statusCode, 200)
    t.equal(answer.headers['content-encoding'], encoding, String(accepted))
    t.equal(answer.headers['content-length'], String(answer.rawPayload.length))
    t.equal(answer.headers['vary'], 'Accept-Encoding')
    t.equal(read(answer.rawPayload).toString(), text)
    tags.add(answer.headers['etag'])
  }
  t.equal(written, 1)
  t.equal(tags.size, 1)
  const [tag] = tags
  const known = await get('/page?again', { 'if-none-match': `"other", ${String(tag)}` })
  t.match(known, { statusCode: 304, body: '' })
  t.equal(known.headers['etag'], tag)
  t.equal((await get('/page', { 'if-none-match': '"other"' })).statusCode, 200)
  const head = await app.inject({ method: 'HEAD', url: '/page' })
  t.match(head, { statusCode: 200, body: '' })
  t.equal(head.headers['content-length'], String(text.length))
  t.match(await get('/absent'), { statusCode: 404, body: text })
})

void t.test('the OpenAPI document and the files of its page are kept compressed', async (t) => {
  const { app } = await startApp()
  t.teardown(() => app.close())
  for (const url of ['/openapi.json', '/docs/json', '/docs/static/swagger-ui-bundle.js']) {
    const plain = await app.inject({ url })
    for (const encoding of ['br', 'gzip', 'gzip']) {
      const answer = await app.inject({ url, headers: { 'accept-encoding': encoding } })
      t.equal(answer.headers['content-encoding'], encoding, url)
      const decompressed = encoding === 'br' ? brotliDecompressSync : gunzipSync
      t.ok(decompressed(answer.rawPayload).equals(plain.rawPayload), url)
      t.equal(answer.headers['content-type'], plain.headers['content-type'])
    }
    const tag = plain.headers['etag']
    const known = await app.inject({ url, headers: { 'if-none-match': String(tag) } })
    t.match(known, { statusCode: 304, body: '' }, url)
  }
  const { headers } = await app.inject('/docs/static/index.html')
  const again = await app.inject('/docs/static/index.html')
  t.equal(again.headers['content-security-policy'], headers['content-security-policy'])
  t.ok(headers['content-security-policy'])
  t.equal((await app.inject('/docs/static/absent.js')).statusCode, 404)
})
