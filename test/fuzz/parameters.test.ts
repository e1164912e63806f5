import t from 'tap'
import { families } from '../../src/families/index.ts'
import { openFamilies } from '../../src/families/module.ts'
import { familyDeps } from '../api/support/app.ts'
import { videoCModes } from '../../src/families/video-c/rules/models.ts'
import { call } from '../e2e/support/client.ts'
import { withSchemasInPlace } from '../helpers/description.ts'
import { startStack } from '../helpers/stack.ts'

/** Odd values for every parameter and member that `/openapi.json` describes, over real stores: none is a 5xx. */

const stack = await startStack({
  env: {
    QUERY_RATE_LIMIT_RPM: '1000000',
    OBJECT_STORAGE: 'local',
    PUBLIC_BASE_URL: 'https://gateway.example.com',
  },
})
t.teardown(() => stack.stop())
const { demo, url } = stack

/** As they stand in a URL, by what is odd about them. */
const oddTexts: Readonly<Record<string, string>> = {
  nothing: '',
  'a NUL': '%00',
  'a NUL inside': 'a%00b',
  'bytes that are not UTF-8': '%ff%fe',
  'an overlong NUL': '%c0%80',
  'a lone surrogate': '%ed%a0%80',
  'a broken escape': '%zz',
  'a character beyond the first plane': '%f0%9f%98%80',
  '5,000 characters': 'x'.repeat(5_000),
  'a prototype': '__proto__',
  'an integer beyond 2^53': '9007199254740993',
  'the largest integer that is read': '999999999999999',
  'a negative number': '-1',
  'a number that no double holds': '1e309',
  'a line break': 'a%0d%0ab',
  SQL: "'%3b%20select%20pg_sleep(9)--",
  'a list': 'a,b%5b%5d',
  'a far time': '%2b275760-09-13T00:00:00Z',
  'a cursor that holds a NUL': Buffer.from('{"after":"\u0000"}').toString('base64url'),
}
const withNul: ReadonlySet<string> = new Set(['a NUL', 'a NUL inside'])

/** As they stand in a JSON body. */
const oddValues: Readonly<Record<string, string>> = {
  'an empty text': '""',
  'a NUL': '"a\\u0000b"',
  'a lone surrogate': '"a\\ud800b"',
  'a reversed pair': '"\\udc00\\ud800"',
  '5,000 characters': `"${'x'.repeat(5_000)}"`,
  '5,000 pairs': `"${'😀'.repeat(5_000)}"`,
  'a prototype': '"__proto__"',
  'a member of the prototype': '{"__proto__":{"a":1}}',
  'a member named so': '{"constructor":{"prototype":1}}',
  'an integer beyond 2^53': '9007199254740993',
  'a large integer': '9007199254740991',
  'a number that no double holds': '1e309',
  'a negative number': '-1',
  'a fraction': '0.1',
  null: 'null',
  true: 'true',
  'an empty list': '[]',
  'a list of lists': '[[[]],null,"\\u0000"]',
  'an empty object': '{}',
}

interface Described {
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly schema: { readonly enum?: readonly string[] }
  }[]
  readonly requestBody?: {
    readonly content: Readonly<
      Record<
        string,
        { readonly schema: { readonly properties?: Readonly<Record<string, unknown>> } }
      >
    >
  }
  readonly security?: readonly Readonly<Record<string, unknown>>[]
}
const api = withSchemasInPlace((await call(`${url}/openapi.json`)).body)
const routes = Object.entries(
  api.paths as Readonly<Record<string, Readonly<Record<string, Described>>>>,
).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, route]) => ({ method: method.toUpperCase(), path, route })),
)

const ask = (method: string, path: string, token: string | undefined, body?: string) =>
  call(`${url}${path}`, {
    method,
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
  })
const [{ version }] = (await ask('GET', '/api/admin/price-books', demo.adminToken)).body.data.items
const task = await ask(
  'POST',
  '/v1/videos',
  demo.modelToken,
  '{"model":"domestic-video-2-0","prompt":"a boat"}',
)
t.equal(task.status, 200, task.text)

/** What is asked about where another parameter is the odd one. */
const real: Readonly<Record<string, string>> = {
  tenant_id: demo.tenantId,
  version,
  id: task.body.id,
  against: version,
  currency: 'CNY',
  q: task.body.id,
  task_id: task.body.id,
  file_id: '1',
  model: 'text-basic',
  from: '2026-01-01T00:00:00Z',
  Action: 'ListAssets',
  Version: '2024-01-01',
}
const required: Readonly<Record<string, readonly string[]>> = {
  '/api/admin/price-books/{version}/diff': ['against'],
  '/api/admin/price-books/{version}/what-if': ['from'],
  '/api/query/v1/movements': ['currency'],
  '/api/query/v1/search': ['q'],
  '/provA': ['Action', 'Version'],
}
/** Bodies that a route takes: what is odd is put into them. */
const video = { model: 'domestic-video-2-0', prompt: 'a boat' }
const speech = { model: 'speech-2.8-hd', voice_id: 'nova', text: 'a boat' }
const turn = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
const clip = { model: 'viduq3-turbo', prompt: 'a boat' }
const bodies: Readonly<Record<string, object>> = {
  '/provA/api/v3/contents/generations/tasks': {
    model: 'domestic-video-2-0',
    content: [{ type: 'text', text: 'a boat' }],
  },
  '/provC/ent/v2/text2video': clip,
  '/provB/v1/t2a_v2': speech,
  '/provB/v1/t2a_async_v2': speech,
  '/v1/audio/speech': { model: 'speech-2.8-hd', voice: 'nova', input: 'a boat' },
  '/v1/chat/completions': { model: 'text-basic', messages: [{ role: 'user', content: 'hi' }] },
  '/v1/responses': { model: 'text-basic', input: 'hi' },
  '/v1/images/generations': { model: 'image-2', prompt: 'a boat' },
  '/v1/images/generations/async': { model: 'image-2', prompt: 'a boat' },
  '/v1/videos': video,
  '/v1/quote': { path: '/v1/videos', body: video },
  '/v1beta/models/{model}:generateContent': turn,
  '/v1beta/models/{model}:streamGenerateContent': turn,
  '/api/user/tokens': { kind: 'model', name: 'odd' },
  '/api/admin/tenants': { name: 'Odd', tenant_id: 'tenant_odd' },
  '/api/admin/tenants/{tenant_id}/users': { name: 'Odd', user_id: 'user_odd' },
  '/api/admin/tenants/{tenant_id}/credit/grants': {
    currency: 'USD',
    amount: '1',
    reason: 'odd',
    grant_id: 'odd',
  },
  '/api/admin/tenants/{tenant_id}/credit/limit': { currency: 'USD', amount: '1', limit_id: 'odd' },
  '/api/admin/tenants/{tenant_id}/budgets': { budgets: [] },
  '/api/admin/tenants/{tenant_id}/limits': { limits: [] },
  '/api/admin/tenants/{tenant_id}/balance-alerts': { thresholds: [] },
  '/api/admin/tenants/{tenant_id}/prices': { expected_revision: 0 },
  '/api/admin/price-books': { version: 'odd', effective_from: '2099-01-01T00:00:00Z', prices: [] },
  '/api/admin/tokens': {
    tenant_id: 'tenant_other',
    user_id: 'user_other',
    kind: 'model',
    name: 'x',
  },
}

const tokens: Readonly<Record<string, string>> = {
  modelToken: demo.modelToken,
  queryToken: demo.queryToken,
  profileToken: demo.profileToken,
  adminToken: demo.adminToken,
}
const tokenOf = ({ security = [] }: Described): string | undefined =>
  tokens[Object.keys(security[0] ?? {})[0] ?? '']

/** The path with every parameter set but one, which is odd. */
function urlOf(path: string, place: string, name: string, odd: string): string {
  const filled = path.replaceAll(/\{([\w*]+)\}/g, (_whole, one: string) =>
    place === 'path' && one === name ? odd : (real[one] ?? 'x'),
  )
  const further = (required[path] ?? []).filter((one) => one !== name)
  const query = [
    ...further.map((one) => `${one}=${real[one] ?? 'x'}`),
    ...(place === 'query' ? [`${name}=${odd}`] : []),
  ]
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`
}

/** Whether an answer says that the request is wrong: one surface says it with 200 and a code. */
const isRefused = (status: number, text: string): boolean =>
  status === 400 || (status === 200 && text.includes('"status_code":2013'))

async function inTurns<Item>(items: readonly Item[], run: (item: Item) => Promise<void>) {
  const left = [...items]
  const worker = async (): Promise<void> => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await run(item)
  }
  await Promise.all(Array.from({ length: 8 }, worker))
}

void t.test('no odd value of any parameter is a 5xx, and a NUL is 400 everywhere', async (t) => {
  t.equal(Object.keys(oddTexts).length, 19)
  const cases = routes.flatMap(({ method, path, route }) =>
    (route.parameters ?? [])
      .filter((one) => one.in !== 'header')
      .flatMap(({ name, in: place }) =>
        Object.entries(oddTexts).map(([what, odd]) => ({
          method,
          path,
          route,
          name,
          place,
          what,
          odd,
        })),
      ),
  )
  const faults: string[] = []
  await inTurns(cases, async ({ method, path, route, name, place, what, odd }) => {
    const body = method === 'GET' || method === 'DELETE' ? undefined : (bodies[path] ?? {})
    const target = urlOf(path, place, name, odd)
    const answer = await ask(method, target, tokenOf(route), body && JSON.stringify(body))
    const where = `${method} ${path} ${name} ${what}: ${answer.status} ${answer.text.slice(0, 200)}`
    if (answer.status >= 500) faults.push(where)
    else if (withNul.has(what) && !isRefused(answer.status, answer.text)) faults.push(where)
  })
  t.same(faults, [], `${faults.length} of ${cases.length}`)
  t.comment(`${cases.length} requests`)
  t.ok(cases.length > 2_000, `${cases.length} requests`)
})

/** Parameters of readings that take any text, or are judged by what they name. */
const free: ReadonlySet<string> = new Set(
  `GroupId after against alt as_of at code cursor day end_time end_user expires file_id filter.model filter.task_ids from group_by group_id
  asset_id issued_by limit model native_id page page_num page_size platform_id project_name q request_id route signature sku
  asset_id issued_by limit model native_id page pageSize pageToken page_num page_size platform_id project_name request_id route signature sku
  since source_id start_time tag task_id tenant_id to token_id tz user_id`.split(/\s+/),
)

void t.test('400 that names the values for any other value of a filter', async (t) => {
  let filters = 0
  for (const { path, route } of routes.filter(({ method }) => method === 'GET'))
    for (const { name, in: place, schema } of route.parameters ?? []) {
      if (place !== 'query' || free.has(name)) continue
      filters += 1
      const where = `${path} ${name}`
      if (!t.type(schema.enum, Array, `${where} says which values it takes`)) continue
      const answer = await ask('GET', urlOf(path, 'query', name, 'nonsense'), tokenOf(route))
      t.ok(isRefused(answer.status, answer.text), `${where}: ${answer.status} ${answer.text}`)
      for (const value of schema.enum ?? []) t.match(answer.text, value, where)
    }
  t.ok(filters > 20, `${filters} filters`)
  for (const mode of videoCModes)
    t.ok(
      openFamilies(families, familyDeps).surfaces.some(
        ({ endpoints }) => `provC.${mode}` in endpoints,
      ),
      mode,
    )
})

void t.test('no odd value of any member of a body is a 5xx', async (t) => {
  const cases = routes.flatMap(({ method, path, route }) =>
    Object.keys(route.requestBody?.content['application/json']?.schema.properties ?? {}).flatMap(
      (name) =>
        Object.entries(oddValues).map(([what, odd]) => ({ method, path, route, name, what, odd })),
    ),
  )
  const faults: string[] = []
  await inTurns(cases, async ({ method, path, route, name, what, odd }) => {
    const body = JSON.stringify({ ...bodies[path], [name]: '@odd' }).replace('"@odd"', () => odd)
    const answer = await ask(method, urlOf(path, '', '', ''), tokenOf(route), body)
    if (answer.status >= 500)
      faults.push(
        `${method} ${path} ${name} ${what}: ${answer.status} ${answer.text.slice(0, 200)}`,
      )
  })
  t.same(faults, [], `${faults.length} of ${cases.length}`)
  t.comment(`${cases.length} requests`)
  t.ok(cases.length > 3_000, `${cases.length} requests`)
  await stack.caughtUp()
})
