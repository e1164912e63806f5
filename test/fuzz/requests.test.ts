import * as fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import t from 'tap'
import { toStorable } from '../../src/kernel/storable-text.ts'
import { tasksPath } from '../api/support/app.ts'
import { atLength } from '../helpers/long-run.ts'
import { propertyRuns } from '../helpers/property-runs.ts'
import { attempt, familyOf, startFuzzed } from './support.ts'
import { character } from '../helpers/characters.ts'

const harness = await startFuzzed()
t.teardown(async () => harness.app.close())
harness.tasks.add('tenant_1', { status: 'succeeded' })
for (let n = 0; n < 5; n += 1) harness.ledger.add()

/** Percent-encodes any text the way a careless client may: sometimes not at all. */
const encoded = fc.oneof(
  fc.string({ unit: character, maxLength: 40 }).map((text) => encodeURIComponent(text)),
  fc.constantFrom(
    '',
    '%',
    '%zz',
    '%00',
    '%ff',
    '%c0%80',
    '%ED%A0%80',
    '%2e%2e%2f',
    '..',
    '%0d%0aX-Injected:1',
    "'%20or%201=1--",
    '%27;drop%20table',
    '1e309',
    '-1',
    '0',
    '99999999999999999999',
    'NaN',
    '[]',
    '{}',
    'a'.repeat(300),
    '%F0%9F%92%A9',
    'cgt-20260304050607-aaaa1',
    'video_01JABCDEFGHJKMNPQRSTVWXY01',
  ),
  fc
    .array(fc.constantFrom(...'abc019-_.~!$&()*+,;=:@%'.split('')), { maxLength: 30 })
    .map((all) => all.join('')),
)

const names = [
  'page_num',
  'page_size',
  'filter.status',
  'filter.model',
  'filter.task_ids',
  'tenant_id',
  'user_id',
  'sku',
  'model',
  'currency',
  'source_id',
  'from',
  'to',
  'cursor',
  'limit',
  'format',
  'group_by',
  '__proto__',
  'constructor',
  'a[b]',
  'a[]',
] as const

const query = fc
  .array(
    fc.tuple(
      fc.oneof({ weight: 6, arbitrary: fc.constantFrom<string>(...names) }, encoded),
      fc.oneof(
        encoded,
        fc.constantFrom('1', '10', 'succeeded', 'csv', 'day', '2026-03-04', 'overseas-video-2-0'),
      ),
      fc.constantFrom('=', '==', ''),
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.map(([name, value, sign]) => `${name}${sign}${value}`).join('&'))

const paths = [
  tasksPath,
  '/provB/v1/query/t2a_async_query_v2',
  '/api/query/v1/ledger/lines',
  '/api/query/v1/ledger/summary',
  '/api/user/tokens',
  '/api/admin/tenants',
  '/v1/videos',
  '/healthz',
  '/readyz',
] as const

/** One whose answer is very large is asked less often. */
const anyPath = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom(...paths) },
  { weight: 1, arbitrary: fc.constant('/openapi.json') },
)

const secretFor = (url: string): string => {
  if (/^\/api\/(?:user|admin)\//.test(url))
    return url.startsWith('/api/user/') ? 'Bearer pat-one' : 'Bearer adm-one'
  return /^\/(?:prov[A-C]|v1)(?:\/|$)/.test(url) ? 'Bearer sk-one' : 'Bearer qak-operator'
}

/** The parameters of a query string, each as it is called decoded and as it stands there. */
function namesIn(search: string): readonly string[] {
  return search.split('&').flatMap((part) => {
    const [name = ''] = part.split('=')
    const spaced = name.replaceAll('+', ' ')
    try {
      const decoded = decodeURIComponent(spaced)
      // A name that no answer can hold is shown without what it cannot.
      return [decoded, toStorable(decoded, decoded.length), spaced, name]
    } catch {
      return [spaced, name]
    }
  })
}

void t.test('any query string on any route: 400 naming a parameter, or 200', async (t) => {
  const runs = propertyRuns(atLength(500, 2_500))
  let refused = 0
  let passed = 0
  await fc.assert(
    fc.asyncProperty(anyPath, query, async (path, search) => {
      const url = `${path}?${search}`
      const answer = await attempt(harness, { url, headers: { authorization: secretFor(url) } })
      // Told in its body, whose shape was looked at.
      if (path.startsWith('/provB')) return
      if (answer.statusCode === 200) passed += 1
      if (answer.statusCode !== 400) return
      refused += 1
      const body = answer.json<{ error: { param?: string; message: string } }>()
      // Operating routes name it in their words alone.
      const param = body.error.param ?? /^([^]+) holds/.exec(body.error.message)?.[1]
      // A parameter without a name cannot be named.
      if (param === undefined && namesIn(search).includes('')) return
      if (param === undefined || !namesIn(search).some((name) => name.startsWith(param)))
        throw new Error(`${url}: ${answer.body}`)
    }),
    { numRuns: runs, seed: 201 },
  )
  t.ok(refused > runs * 0.08, `${refused} refused`)
  t.ok(passed > runs * 0.2, `${passed} passed`)
})

void t.test(
  'any id on any route that takes one: 404, 405 of the path above, or the undecodable 400',
  async (t) => {
    const runs = propertyRuns(atLength(300, 1_500))
    const statuses = new Map<number, number>()
    const route = fc.constantFrom<readonly [InjectOptions['method'], string, string]>(
      ['GET', `${tasksPath}/`, ''],
      ['DELETE', `${tasksPath}/`, ''],
      ['GET', '/provC/ent/v2/tasks/', '/creations'],
      ['POST', '/provC/ent/v2/tasks/', '/cancel'],
      ['GET', '/v1/videos/', ''],
      ['GET', '/v1/videos/', '/content'],
      ['DELETE', '/v1/videos/', ''],
      ['GET', '/api/query/v1/tasks/', '/history'],
      ['DELETE', '/api/user/tokens/', ''],
      ['POST', '/api/admin/tokens/', '/rotate'],
      ['GET', '/api/admin/tenants/', '/users'],
      ['GET', '/provB/v2/query/video_generation/', ''],
    )
    await fc.assert(
      fc.asyncProperty(route, encoded, async ([method = 'GET', before, after], id) => {
        const url = `${before}${id}${after}`
        const answer = await attempt(harness, {
          method,
          url,
          headers: { authorization: secretFor(url) },
        })
        statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1)
      }),
      { numRuns: runs, seed: 202 },
    )
    t.ok((statuses.get(404) ?? 0) > runs * 0.667, JSON.stringify([...statuses]))
    t.ok((statuses.get(200) ?? 0) > 0, 'the one task there is was found')
  },
)

void t.test('any path and method is answered in the family’s shape', async (t) => {
  // Fewer do not reach each kind.
  const runs = Math.max(800, propertyRuns(atLength(800, 2_400)))
  const segment = fc.oneof(
    fc.constantFrom(
      'provA',
      'provC',
      'ent',
      'provB/v1',
      't2a_v2',
      'provB/v2',
      'api',
      'v3',
      'contents',
      'generations',
      'tasks',
      'query',
      'v1',
      'ledger',
      'docs',
      'static',
      '',
      '.',
      '..',
      '%2f',
    ),
    encoded,
  )
  const method = fc.constantFrom<NonNullable<InjectOptions['method']>>(
    'GET',
    'HEAD',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
  )
  const seen = { provA: 0, provAAssets: 0, provB: 0, provBVideo: 0, provC: 0, query: 0, plain: 0 }
  await fc.assert(
    fc.asyncProperty(
      method,
      fc.oneof(
        { weight: 20, arbitrary: fc.array(segment, { maxLength: 7 }) },
        { weight: 1, arbitrary: fc.constantFrom(['provA'], ['provA', '']) },
      ),
      fc.boolean(),
      async (method, parts, authorized) => {
        // What a URL parser folds away is not what the server is asked for.
        const url = `/${parts.join('/')}`.replace(/^\/\/+/, '/')
        if (!URL.canParse(url, 'http://localhost')) return
        const asked = new URL(url, 'http://localhost').pathname
        const request = {
          method,
          url: asked,
          headers: authorized ? { authorization: secretFor(asked) } : {},
        }
        if (method === 'HEAD') {
          const answer = await harness.app.inject(request)
          if (answer.statusCode >= 500) throw new Error(`${method} ${asked}`)
          return
        }
        const answer = await attempt(harness, request)
        if (answer.statusCode >= 400) seen[familyOf(asked)] += 1
      },
    ),
    { numRuns: runs, seed: 203 },
  )
  for (const [family, count] of Object.entries(seen))
    t.ok(count > runs * 0.005, `${count} of ${family}`)
})

void t.test('any headers: never a 5xx', async (t) => {
  const runs = propertyRuns(atLength(300, 1_500))
  const value = fc
    .string({ maxLength: 60 })
    .map((text) => text.replace(/[^\x20-\x7e\u0080-\u00ff]/g, ''))
  const headers = fc.dictionary(
    fc.constantFrom(
      'authorization',
      'accept',
      'accept-encoding',
      'content-encoding',
      'content-type',
      'cookie',
      'expect-ct',
      'forwarded',
      'x-forwarded-for',
      'x-forwarded-host',
      'x-request-id',
      'idempotency-key',
      'if-none-match',
      'origin',
      'range',
      'traceparent',
      'accept-version',
    ),
    fc.oneof(
      value,
      fc.constantFrom('text/csv;q=x', 'text/csv;q=', ';;,,;q=1', 'Bearer sk-one', 'bytes=0-'),
    ),
    { maxKeys: 5 },
  )
  let authorized = 0
  await fc.assert(
    fc.asyncProperty(anyPath, headers, async (url, some) => {
      const answer = await attempt(harness, {
        url,
        headers: { authorization: secretFor(url), ...some },
      })
      if (answer.statusCode === 200) authorized += 1
    }),
    { numRuns: runs, seed: 204 },
  )
  t.ok(authorized > runs * 0.333, `${authorized} answered`)
})
