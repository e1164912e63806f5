import type { InjectOptions } from 'fastify'
import t from 'tap'
import { readyOperations } from './support/operations.ts'
import { mountsOf } from '../../src/api/surfaces.ts'
import { v1 } from '../../src/api/v1/mount.ts'
import { families } from '../../src/families/index.ts'
import { openFamilies } from '../../src/families/module.ts'
import { createRefusalBound } from '../../src/app/spending/throttle/free-requests.ts'
import { familyDeps, nowMs, startApp } from './support/app.ts'

/** Requests without a route are 404 below every prefix, before any hook reads a token, query or body. */

const ran: string[] = []
const hook = (name: string) => (): Promise<never> => {
  ran.push(name)
  return Promise.reject(new Error(`${name} ran`))
}
const look = { noun: 'name', isKnown: hook('isKnown'), others: hook('others') }
const { app, logged } = await startApp({
  tokens: { authenticate: hook('authenticate'), used: () => void ran.push('used') },
  throttle: {
    query: () => void ran.push('query'),
    own: hook('own'),
    statuses: () => {
      ran.push('statuses')
      return {}
    },
  },
  queries: {
    knownNames: { tenant_id: look, user_id: look, token_id: look, model: look, sku: look },
  },
  // A form or body of any size is too much.
  limits: { bodyMemoryBytes: 1 },
})
t.teardown(() => app.close())

const prefixes = [
  '',
  '/docs',
  '/api',
  '/api/query',
  '/api/query/v1',
  '/api/user',
  '/api/admin',
  ...mountsOf([{ mount: v1 }, ...openFamilies(families, familyDeps).surfaces]).map(
    ({ prefix }) => prefix,
  ),
]

/** Every parameter that any GET knows, some with values that no store can hold. */
const parameters = [
  'tenant_id',
  'user_id',
  'token_id',
  'model',
  'sku',
  'from',
  'limit',
  'cursor',
  'alt',
  'Action',
  'Version',
  'GroupId',
]
const queries = [
  '',
  `?${parameters.map((name) => `${name}=x`).join('&')}`,
  ...parameters.map((name) => `?${name}=x&${name}=%00`),
]

const json = 'application/json'
const bodies: readonly Pick<InjectOptions, 'headers' | 'payload'>[] = [
  {},
  { headers: { 'content-type': json }, payload: '{}' },
  { headers: { 'content-type': json }, payload: '{"model": ' },
  { headers: { 'content-type': 'text/plain' }, payload: 'x' },
  { headers: { 'content-type': 'multipart/form-data; boundary=x' }, payload: '--x' },
  { headers: { 'content-type': json, 'content-encoding': 'gzip' }, payload: 'x' },
  { headers: { 'idempotency-key': ' ', 'x-cost-in-stream': 'true' } },
]
const tokens = [{}, { authorization: 'Bearer adm-one' }, { authorization: 'x', cookie: 'x' }]

/** All of them differ in one thing from a request without anything. */
const requests: readonly (InjectOptions & { readonly url: string })[] = [
  ...queries.map((query) => ({ query })),
  ...bodies.flatMap((body) =>
    (['POST', 'PUT', 'PATCH'] as const).map((method) => ({ ...body, method })),
  ),
  ...tokens.map((headers) => ({ headers })),
  ...(['DELETE', 'OPTIONS', 'HEAD'] as const).map((method) => ({ method })),
].map(({ query = '', ...request }: InjectOptions & { query?: string }) => ({
  method: 'GET',
  ...request,
  url: `/none/at/all${query}`,
}))

for (const prefix of new Set(prefixes))
  t.test(`404 for each request without a route below ${prefix}/`, async (t) => {
    for (const request of requests) {
      const url = `${prefix}${request.url}`
      const answer = await app.inject({ ...request, url })
      const what = `${String(request.method)} ${url} ${JSON.stringify(request.headers ?? {})}`
      t.equal(answer.statusCode, 404, what)
      const route = `There is no such route: ${String(request.method)} ${prefix}/none/at/all`
      if (request.method !== 'HEAD') t.ok(answer.body.includes(route), answer.body)
      t.notMatch(answer.body, '?', 'the query is not repeated')
    }
    t.same(ran.splice(0), [], 'no hook ran')
    t.notMatch(logged(), /"level":[5-9]0/, 'nothing calls the operator')
  })

t.test('404 on the port of operators', async (t) => {
  const operations = await readyOperations({ clock: { nowMs: () => nowMs } })
  t.teardown(() => operations.close())
  for (const request of requests) t.equal((await operations.inject(request)).statusCode, 404)
})

t.test('a long path is shown in part', async (t) => {
  const { message } = (await app.inject(`/${'x'.repeat(5_000)}`)).json<{
    error: { message: string }
  }>().error
  t.equal(message.length, 'There is no such route: GET '.length + 201)
})

t.test('429 for an address after too many 404 and 405, with any token', async (t) => {
  const refusedForms = createRefusalBound({ nowMs: () => nowMs }, 3, 1)
  const paced = await startApp({ throttle: { refusedForms } })
  t.teardown(() => paced.app.close())
  const asked = async (request: InjectOptions): Promise<number> =>
    (await paced.app.inject(request)).statusCode
  t.equal(await asked({ url: '/v1/none' }), 404)
  t.equal(await asked({ url: '/none', method: 'POST' }), 404)
  t.equal(await asked({ url: '/v1/models', method: 'PUT' }), 405)
  t.equal(await asked({ url: '/v1/none' }), 429)
  t.equal(await asked({ url: '/v1/models', method: 'PUT' }), 429)
  t.equal(await asked({ url: '/v1/none', headers: { authorization: 'Bearer sk-one' } }), 429)
  t.equal(await asked({ url: '/healthz' }), 200)
  t.equal(await asked({ url: '/v1/none', remoteAddress: '203.0.113.9' }), 404, 'another address')
})
