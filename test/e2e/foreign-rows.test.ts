import { Pool } from 'pg'
import t from 'tap'
import { MAX_IDS_READ } from '../../projections/engine/search.ts'
import { startStack } from '../helpers/stack.ts'
import { until } from '../helpers/eventually.ts'
import { type Answer, call } from './support/client.ts'
import { everySurface } from './support/every-surface.ts'
import { addForeignRows } from './support/foreign-rows.ts'

/**
 * A tenant's answers do not depend on the rows of others: every list, look-up and search is asked for before and after
 * another tenant has more rows than any bound of a read, on both sides of each row of the tenant.
 */

const ROWS = MAX_IDS_READ + 100

const stack = await startStack({
  env: { OBJECT_STORAGE: 'local' },
  hosts: { 'hooks.example.com': ['93.184.216.34'], 'media.example.test': ['93.184.216.34'] },
})
t.teardown(() => stack.stop())
const { url, demo } = stack

const post = (token: string, path: string, body: object | FormData): Promise<Answer> =>
  call(`${url}${path}`, {
    method: 'POST',
    token,
    ...(body instanceof FormData
      ? { body }
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
const get = (token: string, path: string): Promise<Answer> => call(`${url}${path}`, { token })
const dataOf = async (path: string, token = demo.queryToken) => (await get(token, path)).body.data

/** Makes something of every kind that lists show; returns the token of an administrator of the tenant. */
async function makeRows(): Promise<string> {
  for (const { path, body } of await everySurface(stack)) {
    const made = typeof body === 'function' ? body() : body
    await post(demo.modelToken, path, made)
  }
  const cut = [{ role: 'user', content: '[[sandbox http-after-accept=500]]' }]
  await post(demo.modelToken, '/v1/chat/completions', { model: 'text-basic', messages: cut })
  await post(demo.modelToken, '/v1/chat/completions', { model: 'text-basic' })
  const asset = (action: string, body: object): Promise<Answer> =>
    post(demo.modelToken, `/provA/?Action=${action}&Version=2024-01-01`, body)
  await asset('CreateAssetGroup', { model: 'domestic-video-2-0', Name: 'boats' })
  const file = new FormData()
  file.set('purpose', 'user_data')
  file.set('file', new Blob(['hello']), 'boat.txt')
  await post(demo.modelToken, '/v1/files', file)
  const { tenantId, userId, adminToken } = demo
  const admin = { tenant_id: tenantId, user_id: userId, kind: 'admin', name: 'x' }
  const scope = { level: 'all_users' }
  const issued = await post(adminToken, '/api/admin/tokens', { ...admin, scope })
  await stack.caughtUp()
  const { items } = await dataOf('/api/query/v1/ledger/lines')
  const adjustment = {
    line_id: items[0].line_id,
    amount: '0.000001',
    code: 'quality',
    reason: 'x',
  }
  const corrected = await call(`${url}/api/admin/tenants/${tenantId}/adjustments`, {
    method: 'POST',
    token: adminToken,
    headers: { 'content-type': 'application/json', 'idempotency-key': 'one' },
    body: JSON.stringify(adjustment),
  })
  t.equal(corrected.status, 200, corrected.text)
  return issued.body.data.secret as string
}

const tokens: Readonly<Record<string, string>> = {
  modelToken: demo.modelToken,
  profileToken: demo.profileToken,
  queryToken: demo.queryToken,
  adminToken: await makeRows(),
}
const openStatuses = new Set(['queued', 'running', 'in_progress'])
await until(async () => {
  await stack.caughtUp()
  const { items } = await dataOf('/api/query/v1/tasks?page_size=100')
  const { items: refusals } = await dataOf('/api/query/v1/refusals')
  if (refusals.length === 0) return false
  return items.every(({ status }: { status: string }) => !openStatuses.has(status))
})

const idOf = async (path: string): Promise<string> => String((await dataOf(path)).items[0]?.id)
const taskId = await idOf('/api/query/v1/lives?type=task')
const callId = await idOf('/api/query/v1/lives?type=call')
const { items: lines } = await dataOf('/api/query/v1/ledger/lines')
const { items: grants } = await dataOf('/api/query/v1/grants')
/** As long as the rows of others begin like it. */
const beginning = (id: string): string => id.slice(0, -6)

/** Queries of the routes that need one; of a search one for each way in which something is found. */
const queries: Readonly<Record<string, readonly string[]>> = {
  '/api/query/v1/search': [
    beginning(taskId),
    beginning(callId),
    beginning(String(lines[0].request_id)),
    String(grants[0].grant_id).slice(0, 6),
    lines[0].line_id,
    'demo',
  ].map((text) => `q=${encodeURIComponent(text)}`),
  '/api/query/v1/movements': ['currency=USD', 'currency=CNY'],
  '/api/admin/sku-prices': ['sku=text-basic-output-token'],
  '/api/query/v1/periods': ['currency=USD', `month=${new Date().toISOString().slice(0, 7)}`],
}
/** Operators alone read these. */
const ofNoTenant = ['/api/admin/price-books', '/api/admin/sku-prices', '/api/admin/issuer']
/** Routes that read one thing by its id, which they need as a parameter. */
const ofOneThing = [
  '/provB/v1/files/retrieve',
  '/provB/v1/files/retrieve_content',
  '/provB/v1/query/t2a_async_query_v2',
]

interface Operation {
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly { readonly in: string; readonly required?: boolean }[]
}

/** Every list that the description has, as the tenant asks for it, and the look-ups that show what is related. */
async function readsOf(): Promise<readonly (readonly [token: string, path: string])[]> {
  const { paths } = (await get('', '/openapi.json')).body as {
    readonly paths: Readonly<Record<string, { readonly get?: Operation }>>
  }
  const skipped: string[] = []
  const lists = Object.entries(paths).flatMap(([pattern, { get: operation }]) => {
    const path = pattern.replace('{tenant_id}', demo.tenantId)
    const [scheme = ''] = Object.keys(operation?.security?.[0] ?? {})
    const token = ofNoTenant.includes(pattern) ? demo.adminToken : tokens[scheme]
    if (operation === undefined || token === undefined || path.includes('{')) return []
    const asked = queries[pattern]
    if (asked !== undefined) return asked.map((query) => [token, `${path}?${query}`] as const)
    const { parameters = [] } = operation
    if (!parameters.some((one) => one.in === 'query' && one.required === true))
      return [[token, path] as const]
    skipped.push(pattern)
    return []
  })
  t.same(skipped.toSorted(), ofOneThing)
  const { queryToken } = demo
  return [
    ...lists,
    ...[taskId, callId].flatMap((id) => [
      [queryToken, `/api/query/v1/lives/${id}`] as const,
      [queryToken, `/api/query/v1/receipts/${id}`] as const,
      [queryToken, `/api/query/v1/tasks/${id}/history`] as const,
    ]),
  ]
}

const steady = ({ status, text }: Answer): string =>
  `${status} ${text.replaceAll(/"(?:updated_at|as_of|created|last_used_at|start_time|from|to|at)":(?:"[^"]*"|[\d.]+|null)/g, '')}`
const reads = await readsOf()
const answers = async (): Promise<readonly string[]> => {
  const found: string[] = []
  for (const [token, path] of reads) found.push(steady(await get(token, path)))
  return found
}

const pool = new Pool({ connectionString: stack.databaseUrl })
t.teardown(() => pool.end())

t.test(
  'what a tenant reads is the same beside more rows of others than a read looks at',
  async (t) => {
    const before = await answers()
    await addForeignRows(pool, demo.tenantId, ROWS)
    const after = await answers()
    for (const [at, [, path]] of reads.entries()) {
      t.match(before[at], /^200 /, path)
      if (path.includes('/search?')) t.match(before[at], '"items":[{', path)
      t.equal(after[at], before[at], path)
    }
  },
)
