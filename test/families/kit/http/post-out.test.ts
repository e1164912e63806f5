import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { openExchange } from '../../../../src/families/kit/http/exchange.ts'
import { createPostOut } from '../../../../src/families/kit/http/public-fetch.ts'
import { FetchFault } from '../../../../src/kernel/public-fetch.ts'
import { readTrustedTarget } from '../../../../src/kernel/trusted-targets.ts'

/** What the gateway sends to others: webhooks, and calls with a credential. */

const sendEver: RequestListener = (_request, response) => {
  const more = (): void => {
    while (!response.destroyed && response.write(Buffer.alloc(65_536, 'x')));
  }
  response.on('drain', more)
  more()
}

async function listening(t: Test, listener: RequestListener) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    request.resume()
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { requests, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const message = (tenantId: string, timeoutMs = 5_000) => ({
  tenantId,
  headers: { 'webhook-id': 'alert_1' },
  body: '{}',
  timeoutMs,
  signal: new AbortController().signal,
})

t.test('a webhook follows no redirect, and reads no body without an end', async (t) => {
  const other = await listening(t, (_request, response) => response.end())
  const receiver = await listening(t, (request, response) => {
    if (request.url === '/hooks/ever') return sendEver(request, response)
    if (request.url === '/hooks/silent') return
    response.writeHead(307, { location: `${other.origin}/hooks/` }).end()
  })
  const trustedTargets = [receiver, other].map(({ origin }) =>
    readTrustedTarget(`${origin}/hooks/`)!,
  )
  const post = createPostOut({ resolveHost: () => Promise.resolve([]), trustedTargets })
  t.equal(await post(`${receiver.origin}/hooks/moved`, message('acme')), 307)
  t.equal(await post(`${receiver.origin}/hooks/ever`, message('acme')), 200)
  const late = post(`${receiver.origin}/hooks/silent`, message('acme', 50))
  t.match(await late.catch((error: unknown) => error), { reason: 'timeout' })
  t.same(other.requests, [])
})

t.test('a webhook goes inside for the named tenant and at the named path only', async (t) => {
  const { origin, requests } = await listening(t, (_request, response) => response.end())
  const trustedTargets = [`acme=${origin}/low`].map((text) => readTrustedTarget(text)!)
  const resolveHost = () => Promise.resolve(['127.0.0.1'])
  const post = createPostOut({ resolveHost, trustedTargets })
  t.equal(await post(`${origin}/low`, message('acme')), 200)
  for (const [tenantId, url] of [
    ['other', `${origin}/low`],
    ['acme', `${origin}/admin`],
    ['acme', `${origin}/low/%2e%2e/admin`],
    ['acme', 'https://inside.example.com/low'],
  ] as const) {
    const fault = await post(url, message(tenantId)).catch((error: unknown) => error)
    t.ok(fault instanceof FetchFault && fault.reason === 'not_public', `${tenantId} to ${url}`)
  }
  t.equal(requests.length, 1)
})

t.test('a webhook goes to the address that was checked at its delivery', async (t) => {
  let asked = 0
  const located: string[] = []
  const post = createPostOut({
    // Public at the check; inside if it is resolved again.
    resolveHost: () => Promise.resolve([(asked += 1) === 1 ? '93.184.216.34' : '127.0.0.1']),
    locate: (address) => {
      located.push(address)
      return '127.0.0.1'
    },
  })
  const send = () =>
    post('https://hooks.example.com:1/low', message('acme')).catch((error: unknown) => error)
  t.match(await send(), { reason: 'unreachable' })
  t.same([asked, located], [1, ['93.184.216.34']])
  t.match(await send(), { reason: 'not_public' }, 'each delivery is checked again')
  t.equal(located.length, 1)
})

t.test('a call follows no redirect with its credential, and its answer has a bound', async (t) => {
  const other = await listening(t, (_request, response) => response.end('{}'))
  const provider = await listening(t, (request, response) => {
    if (request.url === '/ever') return sendEver(request, response)
    response.writeHead(308, { location: other.origin }).end()
  })
  const exchange = openExchange(provider.origin, 1)
  t.teardown(() => exchange.close())
  const asked = {
    method: 'POST',
    headers: { authorization: 'Bearer secret' },
    body: '{}',
    signal: new AbortController().signal,
  } as const
  const moved = await exchange.request({ ...asked, path: '/moved', timeoutMs: 5_000 })
  t.equal(moved.statusCode, 308)
  const bounds = { firstByteTimeoutMs: 5_000, idleTimeoutMs: 5_000 }
  const opened = await exchange.open({ ...asked, ...bounds, path: '/moved' })
  t.equal(opened.statusCode, 308)
  opened.cancel()
  await t.rejects(exchange.request({ ...asked, path: '/ever', timeoutMs: 5_000 }), {
    message: 'upstream exchange: too_large after sending',
  })
  t.same(other.requests, [])
})
