import { request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyRequest } from 'fastify'
import t from 'tap'
import { sendFailure } from '../../../../src/api/kit/envelope.ts'
import { RequestError } from '../../../../src/api/kit/request-error.ts'
import { usePerCaller } from '../../../../src/api/kit/bounds/per-caller.ts'
import type { Principal } from '../../../../src/app/access/principal.ts'
import { createAttempts } from '../../../../src/app/spending/throttle/attempts.ts'
import { createFreeRequests } from '../../../../src/app/spending/throttle/free-requests.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { noLimits } from '../../../../src/app/spending/throttle/limits.ts'
import { DomainError, isDomainError } from '../../../../src/kernel/errors.ts'
import { principal } from '../../support/app.ts'
import { noRefusedForms, noThrottle } from '../../support/no-throttle.ts'

const model = principal({ kind: 'model' })
const tenantAdmin: Principal = { ...model, kind: 'admin', scope: { level: 'all_users' } }
const operator: Principal = { ...model, kind: 'admin', scope: { level: 'all_tenants' } }

/** Routes as a token of this kind asks for them, with five free requests a minute. */
function routesFor(principal: Principal, { isDiskShort = false } = {}) {
  const app = Fastify()
  app.decorateRequest('principal', undefined)
  app.addHook('onRequest', (request, _reply, done) => {
    request.principal = principal
    done()
  })
  app.setErrorHandler((error, _request, reply) =>
    reply.code(isDomainError(error, 'storage_full') ? 507 : 429).send(),
  )
  const checkDisk = () =>
    isDiskShort ? Promise.reject(new DomainError('storage_full', 'short', {})) : Promise.resolve()
  const attempts = createAttempts({ nowMs: () => 1_000 })
  usePerCaller(app, {
    tokens: { used: () => undefined },
    throttle: {
      ...noThrottle,
      free: createFreeRequests({ nowMs: () => 1_000 }, 5, 1),
      attempt: ({ tokenId, limits }) =>
        limits && attempts.begin([{ whose: 'token', id: tokenId, limits }]),
    },
    files: { checkDisk },
    http: { refusedForms: noRefusedForms },
  })
  app.post('/repeated', (_request, reply) => reply.header('idempotent-replayed', 'true').send())
  app.all('/answer/:status', (request, reply) =>
    reply.code(Number((request.params as { status: string }).status)).send(),
  )
  const looking = new Set<() => void>()
  app.post('/looked-up/:status', async (request, reply) => {
    const { status } = request.params as { status: string }
    await new Promise<void>((resolve) => looking.add(resolve))
    if (status === '200') return 'found'
    const failure = new RequestError('parameter_invalid', 'there is no such name')
    return sendFailure(() => ({ status: 400, headers: {}, body: {} }), failure, request, reply)
  })
  app.post('/upload', { config: { isFree: true } }, () => 'kept')
  const isFree = ({ url }: FastifyRequest) => url.endsWith('keeps')
  app.post('/action', { config: { startsNothing: true, isFree } }, () => 'done')
  app.post('/quote', { config: { startsNothing: true } }, () => 'cheap')
  const headers = { 'idempotency-key': 'a' }
  const ask = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, times = 1) => {
    const statuses = []
    for (let time = 0; time < times; time += 1)
      statuses.push((await app.inject({ method, url, headers })).statusCode)
    return statuses
  }
  /** Asks for a name, and leaves before it is found or refused. */
  const leave = async (url: string): Promise<void> => {
    if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    const left = send({ port, host: '127.0.0.1', method: 'POST', path: url, agent: false })
    left.on('error', () => undefined).end()
    await eventually('the look-up', () => Promise.resolve(looking.size > 0 || undefined))
    left.destroy()
    await eventually('the end of its connection', async () => {
      const open = await new Promise((resolve) => app.server.getConnections((_, n) => resolve(n)))
      return open === 0 ? true : undefined
    })
    for (const answer of looking) answer()
    looking.clear()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { ask, leave, close: () => app.close() }
}

const five = (status: number): number[] => Array.from({ length: 5 }, () => status)

t.test('calls refused with 4xx for their content are bounded, other calls are not', async (t) => {
  for (const refused of [400, 404, 409, 422]) {
    const { ask } = routesFor(model)
    t.same(await ask('POST', `/answer/${refused}`, 6), [...five(refused), 429])
    t.same(await ask('GET', '/answer/200'), [200], 'reads have a pace of their own')
  }
  for (const status of [200, 429, 502, 503]) {
    const { ask } = routesFor(model)
    t.same(await ask('POST', `/answer/${status}`, 7), [...five(status), status, status])
  }
  const { ask } = routesFor(model)
  for (let round = 0; round < 20; round += 1)
    t.same(
      [...(await ask('POST', '/answer/400')), ...(await ask('POST', '/answer/200'))],
      [400, 200],
    )
})

t.test('a repeated answer gives no counted refusal back', async (t) => {
  const { ask } = routesFor(model)
  t.same(await ask('POST', '/answer/400', 4), [400, 400, 400, 400])
  t.same(await ask('POST', '/repeated', 9), [...five(200), 200, 200, 200, 200])
  t.same(await ask('POST', '/answer/400'), [400])
  t.same(await ask('POST', '/repeated'), [429])
})

t.test('uploads and changes of accounts are bounded for tenants, not for operators', async (t) => {
  t.same(await routesFor(model).ask('POST', '/upload', 6), [...five(200), 429])
  const { ask } = routesFor(model)
  t.same(await ask('POST', '/action?keeps', 6), [...five(200), 429])
  t.same(await ask('POST', '/action?reads', 2), [200, 200])
  for (const method of ['POST', 'PATCH'] as const)
    t.same(await routesFor(tenantAdmin).ask(method, '/answer/200', 6), [...five(200), 429])
  t.same(await routesFor(tenantAdmin).ask('DELETE', '/answer/200', 6), [...five(200), 200])
  t.same(await routesFor(operator).ask('POST', '/answer/200', 6), [...five(200), 200])
})

t.test('507 on a short disk for free requests that store data, not for calls', async (t) => {
  const isDiskShort = true
  t.same(await routesFor(model, { isDiskShort }).ask('POST', '/upload'), [507])
  t.same(await routesFor(model, { isDiskShort }).ask('POST', '/action?keeps'), [507])
  t.same(await routesFor(model, { isDiskShort }).ask('POST', '/action?reads'), [200])
  t.same(await routesFor(tenantAdmin, { isDiskShort }).ask('POST', '/answer/200'), [507])
  t.same(await routesFor(model, { isDiskShort }).ask('POST', '/answer/200'), [200], 'a call')
  t.same(await routesFor(model, { isDiskShort }).ask('POST', '/quote'), [200])
  t.same(await routesFor(model, { isDiskShort }).ask('POST', '/action?keeps'), [507])
  t.same(await routesFor(model, { isDiskShort }).ask('POST', '/action?reads'), [200])
  t.same(await routesFor(tenantAdmin, { isDiskShort }).ask('DELETE', '/answer/200'), [200])
  t.same(await routesFor(operator, { isDiskShort }).ask('POST', '/answer/200'), [200])
})

t.test('a token with a request limit may have that many requests refused', async (t) => {
  const limited: Principal = { ...model, limits: { ...noLimits, requestsPerMinute: 1 } }
  for (const refused of ['/answer/400', '/answer/404', '/answer/429', '/quote?x=1']) {
    const { ask } = routesFor(limited)
    const status = refused === '/quote?x=1' ? 200 : Number(refused.slice(-3))
    t.same(await ask('POST', refused, 5), five(status))
    t.same(await ask('POST', refused), [status === 200 ? 200 : 429])
    t.same(await ask('POST', '/answer/200'), [status === 200 ? 200 : 429])
    t.same(await ask('GET', '/answer/200'), [200], 'reads have a pace of their own')
  }
  for (const served of ['/answer/200', '/answer/502', '/repeated']) {
    const { ask } = routesFor(limited)
    const statuses = await ask('POST', served, 20)
    t.notOk(statuses.includes(429), `${served} is given back`)
  }
})

t.test('a caller that leaves before its refusal is still counted once', async (t) => {
  const limited: Principal = { ...model, limits: { ...noLimits, requestsPerMinute: 1 } }
  for (const [principal, url] of [
    [model, '/looked-up/400'],
    [limited, '/looked-up/400'],
    [limited, '/looked-up/200'],
  ] as const) {
    const { ask, leave, close } = routesFor(principal)
    t.teardown(close)
    for (let times = 0; times < 4; times += 1) await leave(url)
    t.same(await ask('POST', '/answer/400'), [400], `${url}: four are counted, not more`)
    t.same(await ask('POST', '/answer/200'), [429], `${url}: and not fewer`)
  }
})

t.test('a caller that leaves gives no counted refusal back', async (t) => {
  const { ask, leave, close } = routesFor(model)
  t.teardown(close)
  t.same(await ask('POST', '/answer/400', 4), [400, 400, 400, 400])
  await leave('/looked-up/200')
  t.same(await ask('POST', '/answer/400', 2), [400, 429])
})
