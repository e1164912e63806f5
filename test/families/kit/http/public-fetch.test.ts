import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { FetchFault, type FetchBounds } from '../../../../src/kernel/public-fetch.ts'
import { until } from '../../../helpers/eventually.ts'
import {
  createOpenPublic,
  createPublicFetch,
} from '../../../../src/families/kit/http/public-fetch.ts'

const PUBLIC = '93.184.216.34'
const bounds: FetchBounds = {
  maxBytes: 1_000,
  timeoutMs: 5_000,
  signal: new AbortController().signal,
}

/** A server that stands where `PUBLIC` is, and what asked for it. */
async function internet(t: Test, listener: RequestListener) {
  const asked: string[] = []
  const resolved: string[] = []
  const hosts = new Map([
    ['pictures.example.com', [PUBLIC]],
    ['other.example.com', [PUBLIC]],
    ['inside.example.com', ['10.0.0.5']],
    ['half.example.com', [PUBLIC, '127.0.0.1']],
  ])
  const server = createServer((request, response) => {
    asked.push(`${request.headers.host?.replace(/:\d+$/, '')}${request.url}`)
    listener(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const located: string[] = []
  const deps: Parameters<typeof createPublicFetch>[0] = {
    resolveHost: async (host) => {
      resolved.push(host)
      return Promise.resolve(hosts.get(host) ?? [])
    },
    locate: (address) => {
      located.push(address)
      return address === PUBLIC ? '127.0.0.1' : address
    },
  }
  const fetchPublic = createPublicFetch(deps)
  const openPublic = createOpenPublic(deps)
  const outcome = async (url: string, changed: Partial<FetchBounds> = {}): Promise<string> => {
    try {
      return Buffer.from(await fetchPublic(url, { ...bounds, ...changed })).toString()
    } catch (error) {
      if (error instanceof FetchFault) return `${error.reason}: ${error.message}`
      throw error
    }
  }
  const at = (path: string, host = 'pictures.example.com') => `http://${host}:${port}${path}`
  return { asked, located, resolved, hosts, port, at, outcome, fetchPublic, openPublic }
}

const say =
  (body: string): RequestListener =>
  (_request, response) =>
    void response.end(body)

function sendEver(response: ServerResponse): void {
  const timer = setInterval(() => response.write('more and more'), 1)
  response.on('close', () => clearInterval(timer))
}

void t.test('a public host is requested by its name at the checked address', async (t) => {
  const net = await internet(t, say('bytes'))
  t.equal(await net.outcome(net.at('/a?b=c')), 'bytes')
  t.same(net.asked, ['pictures.example.com/a?b=c'])
  t.same(net.located, [PUBLIC])
})

void t.test('a host that resolves elsewhere later is requested where it was checked', async (t) => {
  const net = await internet(t, say('bytes'))
  const { fetchPublic } = net
  const original = net.hosts.get('pictures.example.com')
  const rebinding = fetchPublic(net.at('/a'), bounds)
  net.hosts.set('pictures.example.com', ['127.0.0.1'])
  t.ok(original)
  t.equal(Buffer.from(await rebinding).toString(), 'bytes')
  t.same([net.resolved, net.located], [['pictures.example.com'], [PUBLIC]], 'resolved once')
  t.match(await net.outcome(net.at('/a')), /^not_public/)
})

void t.test('a host that is not public is not connected to', async (t) => {
  const net = await internet(t, say('bytes'))
  for (const host of [
    '127.0.0.1',
    'localhost',
    '[::1]',
    '0x7f.1',
    '169.254.169.254',
    '[::ffff:10.0.0.1]',
    'inside.example.com',
    'half.example.com',
  ])
    t.equal(
      await net.outcome(net.at('/', host)),
      'not_public: must have a publicly routable host',
      host,
    )
  for (const url of ['file:///etc/passwd', 'ftp://pictures.example.com/', 'gopher://x/', '//x/'])
    t.match(await net.outcome(url), /^not_public: must use https or http/, url)
  t.match(await net.outcome('http://user:pass@pictures.example.com/'), /^not_public/)
  t.match(
    await net.outcome(net.at('/', 'unknown.example.com')),
    /^not_public: must have a publicly routable host$/,
  )
  t.same(net.asked, [])
})

void t.test('a redirect is followed, each target checked as the first', async (t) => {
  const net = await internet(t, (request, response) => {
    const [, to = ''] = /^\/to\/(.*)$/.exec(request.url ?? '') ?? []
    if (to === '') return void response.end('there')
    response.writeHead(302, { location: decodeURIComponent(to) })
    response.end('elsewhere')
  })
  const via = (...urls: readonly string[]) =>
    urls.reduceRight((to, url) => `${url}/to/${encodeURIComponent(to)}`)
  t.equal(await net.outcome(via(net.at(''), net.at('/end', 'other.example.com'))), 'there')
  t.same(net.asked.at(-1), 'other.example.com/end')
  t.equal(await net.outcome(net.at('/to/%2Fend')), 'there', 'a relative place')
  const before = net.asked.length
  t.equal(
    await net.outcome(via(net.at(''), `http://127.0.0.1:${net.port}/end`)),
    'not_public: must have a publicly routable host',
  )
  t.match(await net.outcome(via(net.at(''), net.at('/end', 'inside.example.com'))), /^not_public/)
  t.match(await net.outcome(via(net.at(''), 'file:///etc/passwd')), /^not_public/)
  t.equal(net.asked.length, before + 3, 'only the first place was asked, each time')
  const five = [0, 1, 2, 3].map(() => net.at(''))
  t.match(await net.outcome(via(...five, net.at('/end'))), /^unreachable: .*more than 3 times/)
})

void t.test('a body over the bound is cut, stated or not', async (t) => {
  const cut: Promise<unknown>[] = []
  const net = await internet(t, (request, response) => {
    cut.push(once(response, 'close'))
    if (request.url === '/stated') response.writeHead(200, { 'content-length': '1001' })
    sendEver(response)
  })
  t.equal(await net.outcome(net.at('/stated')), 'too_large: is larger than 1000 bytes')
  t.equal(await net.outcome(net.at('/endless')), 'too_large: is larger than 1000 bytes')
  await Promise.all(cut)
  const whole = await internet(t, say('x'.repeat(1_000)))
  t.equal((await whole.outcome(whole.at('/'))).length, 1_000)
})

void t.test('a body that does not come in time is cut', async (t) => {
  const net = await internet(t, (request, response) => {
    if (request.url === '/slow') response.writeHead(200).write('a')
  })
  for (const path of ['/slow', '/silent'])
    t.equal(
      await net.outcome(net.at(path), { timeoutMs: 60 }),
      'timeout: did not come in time',
      path,
    )
  const leaving = new AbortController()
  const left = net.outcome(net.at('/slow'), { signal: leaving.signal })
  leaving.abort()
  t.match(await left, /^aborted/)
})

void t.test('a status other than 200 and a broken answer give no bytes', async (t) => {
  const net = await internet(t, (request, response) => {
    if (request.url === '/broken') {
      response.writeHead(200, { 'content-length': '100' }).write('half')
      setImmediate(() => response.destroy())
    } else response.writeHead(Number(request.url?.slice(1))).end('page')
  })
  for (const status of [204, 301, 404, 500])
    t.equal(
      await net.outcome(net.at(`/${status}`)),
      `unreachable: answers with the status ${status}`,
    )
  t.equal(await net.outcome(net.at('/broken')), 'unreachable: cannot be reached')
  t.equal(await net.outcome('http://pictures.example.com:9/'), 'unreachable: cannot be reached')
})

void t.test('an origin named by the operator may be private, its redirects may not', async (t) => {
  const net = await internet(t, (request, response) => {
    if (request.url === '/away') response.writeHead(302, { location: 'http://127.0.0.1:9/' })
    response.end('ours')
  })
  const trustedOrigin = `http://127.0.0.1:${net.port}`
  t.equal(await net.outcome(`${trustedOrigin}/a`, { trustedOrigin }), 'ours')
  t.match(await net.outcome(`${trustedOrigin}/away`, { trustedOrigin }), /^not_public/)
  t.match(await net.outcome(`${trustedOrigin}/a`), /^not_public/)
})

const opening = {
  range: undefined,
  signal: new AbortController().signal,
  firstByteTimeoutMs: 5_000,
  idleTimeoutMs: 5_000,
}

void t.test('an opened body is streamed, with its status and allowed headers only', async (t) => {
  const { at, openPublic } = await internet(t, ({ url, headers }, response) => {
    if (url === '/moved') return void response.writeHead(302, { location: '/file' }).end()
    const status = headers.range === 'bytes=0-1' ? 206 : url === '/file' ? 200 : 404
    const said = {
      'content-type': 'video/mp4',
      'content-range': 'bytes 0-1/4',
      'set-cookie': 'a=b',
    }
    response.writeHead(status, said).end('ab')
  })
  const moved = await openPublic(at('/moved'), opening)
  t.equal(moved.status, 200)
  t.same(Object.keys(moved.headers), ['content-type', 'content-range'])
  t.equal((await moved.body.toArray()).join(''), 'ab')
  const part = await openPublic(at('/file'), { ...opening, range: 'bytes=0-1' })
  t.equal(part.status, 206)
  part.body.destroy()
  const none = await openPublic(at('/none'), opening)
  t.equal(none.status, 404, 'the caller judges the status')
  none.body.destroy()
})

void t.test('an opened body comes from a public address, and is closed when unread', async (t) => {
  let open = 0
  const { asked, at, openPublic } = await internet(t, ({ url }, response) => {
    if (url === '/away') return void response.writeHead(302, { location: 'http://10.0.0.5/' }).end()
    if (url === '/silent') return
    open += 1
    response.on('close', () => (open -= 1))
    response.write('a')
    if (url === '/ever') sendEver(response)
  })
  const reasonOf = (path: string, host?: string, changed = {}) =>
    openPublic(at(path, host), { ...opening, ...changed }).then(
      () => 'opened',
      (error: unknown) => (error instanceof FetchFault ? error.reason : error),
    )
  t.equal(await reasonOf('/ever', 'inside.example.com'), 'not_public')
  t.equal(await reasonOf('/away'), 'not_public')
  t.same(asked, ['pictures.example.com/away'])
  t.equal(await reasonOf('/silent', undefined, { firstByteTimeoutMs: 50 }), 'timeout')
  const leaving = new AbortController()
  const left = await openPublic(at('/ever'), { ...opening, signal: leaving.signal })
  leaving.abort()
  await t.rejects(left.body.toArray())
  const stuck = await openPublic(at('/stuck'), { ...opening, idleTimeoutMs: 50 })
  await t.rejects(stuck.body.toArray(), { code: 'UND_ERR_BODY_TIMEOUT' })
  const dropped = await openPublic(at('/ever'), opening)
  dropped.body.destroy()
  await until(() => open === 0)
  t.pass('no connection is left')
})
