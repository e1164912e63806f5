import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { createHash } from 'node:crypto'
import t from 'tap'
import { startApp } from '../../../api/support/app.ts'

const harness = await startApp({ limits: { headerBytes: 2_048, requestTimeoutMs: 500 } })
const { app, logged } = harness
await app.listen({ port: 0, host: '127.0.0.1' })
t.teardown(async () => app.close())

const path = '/real-person/callback'
const secret = 'ONETIMECREDENTIAL01'
const query = `?providerToken=${secret}&resultCode=10000&verify_type=real_time&providerToken=<b>${secret}`

void t.test(
  'the page is identical for every caller, without a token, whatever its query',
  async (t) => {
    const plain = await app.inject({ url: path })
    t.equal(plain.statusCode, 200)
    t.equal(plain.headers['content-type'], 'text/html; charset=utf-8')
    for (const text of ['You can close this page', '您可以关闭', '您可以關閉'])
      t.ok(plain.body.includes(text), text)
    for (const asked of [query, '?resultCode=1', '?%zz', '?a[]=1&__proto__=2', '?']) {
      const answer = await app.inject({ url: path + asked, headers: { cookie: `x=${secret}` } })
      t.equal(answer.statusCode, 200, asked)
      t.equal(answer.body, plain.body)
      t.notOk(answer.headers['set-cookie'])
    }
  },
)

void t.test('the page is not cached, sends no referrer and runs no script', async (t) => {
  const { headers, body } = await app.inject({ url: path + query })
  t.equal(headers['cache-control'], 'no-store')
  t.equal(headers['referrer-policy'], 'no-referrer')
  t.equal(headers['x-content-type-options'], 'nosniff')
  const [, style = ''] = /<style>(.*)<\/style>/s.exec(body) ?? []
  const hash = createHash('sha256').update(style).digest('base64')
  t.equal(
    headers['content-security-policy'],
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  )
  t.notMatch(body, /<script|<form|<a |src=|href=/)
})

void t.test('HEAD answers the headers only', async (t) => {
  const answer = await app.inject({ method: 'HEAD', url: path + query })
  t.equal(answer.statusCode, 200)
  t.equal(answer.body, '')
  t.equal(answer.headers['cache-control'], 'no-store')
})

/** Sends bytes over a separate connection, until the server closes it. */
async function raw(bytes: string): Promise<string> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  let text = ''
  socket.on('data', (part) => (text += part.toString()))
  socket.on('error', () => undefined)
  socket.write(bytes)
  await once(socket, 'close')
  return text
}

void t.test('the query of the page is in no log, for any method', async (t) => {
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'] as const)
    await app.inject({ method, url: path + query })
  await app.inject({ url: `${path}/${query}` })
  await app.inject({ url: path + query, headers: { authorization: 'Bearer sk-one' } })
  const head = `GET ${path}${query} HTTP/1.1\r\nHost: x\r\n`
  t.match(await raw(`${head}Connection: close\r\n\r\n`), /^HTTP\/1\.1 200 /)
  t.match(await raw(`${head}X-Long: ${'a'.repeat(4_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /)
  t.match(await raw(`${head}Bad[Header]: x\r\n\r\n`), /^HTTP\/1\.1 400 /)
  t.match(await raw(`${head}Content-Length: 9\r\n\r\n{`), /^HTTP\/1\.1 (?:200|408) /)
  const lines = logged()
  t.match(lines, /"route":"\/real-person\/callback"/)
  t.notMatch(lines, secret)
  t.notMatch(lines, 'resultCode')
})

void t.test('a request object logged by other code is logged without its URL', async (t) => {
  const other = await startApp()
  t.teardown(async () => other.app.close())
  const request = { method: 'GET', url: path + query, query: { providerToken: secret } }
  other.app.log.error({ req: request }, 'as a plugin of somebody else might')
  t.match(other.logged(), 'as a plugin of somebody else might')
  t.notMatch(other.logged(), secret)
})
