import pino from 'pino'
import t, { type Test } from 'tap'
import { families } from '../../src/families/index.ts'
import { openFamilies } from '../../src/families/module.ts'
import { videoCModes } from '../../src/families/video-c/rules/models.ts'
import { familyDeps, startApp, tokensByScheme } from '../api/support/app.ts'
import { call } from '../e2e/support/client.ts'
import { withSchemasInPlace } from '../helpers/description.ts'
import { atLength } from '../helpers/long-run.ts'
import { propertyRuns } from '../helpers/property-runs.ts'
import { startStack } from '../helpers/stack.ts'
import {
  oddMembers,
  oddParameters,
  type OddRequest,
  type Real,
  routesOf,
  schemeOf,
  urlOf,
} from './odd-requests.ts'
import { oddTexts } from './odd-values.ts'

/**
 * Odd values for every parameter and member that `/openapi.json` describes: none is a 5xx. What a schema or a rule
 * refuses is asked over parts in memory, for no store sees it; what these let through is asked over real stores.
 */

/** Odd values of each parameter or member that are asked in `npm test`. */
const VALUES = 6
/** Of so many that are asked, one at least is not refused unseen. */
const MOST_REFUSED = 100

const stack = await startStack({
  env: {
    QUERY_RATE_LIMIT_RPM: '1000000',
    OBJECT_STORAGE: 'local',
    PUBLIC_BASE_URL: 'https://gateway.example.com',
  },
})
t.teardown(() => stack.stop())
const { demo, url } = stack
const memory = await startApp({ logger: pino({ level: 'silent' }) })
t.teardown(() => memory.app.close())

const routes = routesOf(withSchemasInPlace((await call(`${url}/openapi.json`)).body))
const tokens: Readonly<Record<string, string>> = {
  modelToken: demo.modelToken,
  queryToken: demo.queryToken,
  profileToken: demo.profileToken,
  adminToken: demo.adminToken,
}

const ask = (method: string, path: string, scheme: string, body?: string) =>
  call(`${url}${path}`, {
    method,
    ...(tokens[scheme] === undefined ? {} : { token: tokens[scheme] }),
    ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
  })
const [{ version }] = (await ask('GET', '/api/admin/price-books', 'adminToken')).body.data.items
const task = await ask(
  'POST',
  '/v1/videos',
  'modelToken',
  '{"model":"domestic-video-2-0","prompt":"a boat"}',
)
t.equal(task.status, 200, task.text)

const real: Real = {
  tenant_id: demo.tenantId,
  version,
  id: task.body.id,
  against: version,
  sku: 'web-search-call',
  currency: 'CNY',
  q: task.body.id,
  task_id: task.body.id,
  file_id: '1',
  model: 'text-basic',
  month: '2026-01',
  from: '2026-01-01T00:00:00Z',
  Action: 'ListAssets',
  Version: '2024-01-01',
}
/** Whether an answer says that the request is wrong: one surface says it with 200 and a code. */
const isRefused = (status: number, text: string): boolean =>
  status === 400 || (status === 200 && text.includes('"status_code":2013'))

/** That surface says so too of what it has looked for. */
const isLookedFor = (text: string): boolean => /not found|does not exist/.test(text)

/** Asks over parts in memory: whether it is refused before anything is looked for. */
async function isRefusedUnseen({ method, target, route, body }: OddRequest): Promise<boolean> {
  const token = tokensByScheme[schemeOf(route)]
  const answer = await memory.app.inject({
    method: method as 'GET',
    url: target,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { payload: body }),
  })
  return isRefused(answer.statusCode, answer.body) && !isLookedFor(answer.body)
}

async function inTurns<Item>(items: readonly Item[], run: (item: Item) => Promise<void>) {
  const left = [...items]
  const worker = async (): Promise<void> => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await run(item)
  }
  await Promise.all(Array.from({ length: 8 }, worker))
}

/**
 * So many requests of each parameter or member, and each with a NUL; each member begins with another odd value than
 * the one before it.
 */
function chosenOf(requests: readonly OddRequest[]): readonly OddRequest[] {
  const most = propertyRuns(atLength(VALUES, requests.length))
  const byMember = new Map<string, OddRequest[]>()
  for (const request of requests.filter(({ hasNul }) => !hasNul))
    byMember.set(request.member, [...(byMember.get(request.member) ?? []), request])
  const chosen = [...byMember.values()].flatMap((all, turn) => {
    const from = (turn * most) % all.length
    return [...all.slice(from), ...all.slice(0, from)].slice(0, most)
  })
  return [...requests.filter(({ hasNul }) => hasNul), ...chosen]
}

/** Asks over parts in memory, and over real stores what is not refused there. What failed. */
async function faultsOf(t: Test, requests: readonly OddRequest[]): Promise<readonly string[]> {
  const chosen = chosenOf(requests)
  const passed: OddRequest[] = []
  for (const request of chosen) if (!(await isRefusedUnseen(request))) passed.push(request)
  const faults: string[] = []
  await inTurns(passed, async ({ method, target, route, body, where, hasNul }) => {
    const { status, text } = await ask(method, target, schemeOf(route), body)
    if (status >= 500 || (hasNul && !isRefused(status, text)))
      faults.push(`${where}: ${status} ${text.slice(0, 200)}`)
  })
  t.comment(`${requests.length} requests, ${chosen.length} asked, ${passed.length} over stores`)
  t.ok(passed.length > chosen.length / MOST_REFUSED, 'enough reach the stores')
  return faults
}

void t.test('no odd value of any parameter is a 5xx, and a NUL is 400 everywhere', async (t) => {
  t.equal(Object.keys(oddTexts).length, 19)
  const requests = oddParameters(routes, real)
  t.same(await faultsOf(t, requests), [])
  t.ok(requests.length > 2_000, `${requests.length} requests`)
})

/** Parameters of readings that take any text, or are judged by what they name. */
const free: ReadonlySet<string> = new Set(
  `GroupId after after_id against alt as_of at before_id code credit_note cursor day end_time end_user expires file_id filter.model filter.task_ids from group_by group_id
  asset_id by channel_id issued_by limit model month native_id number page pageSize pageToken page_num page_size period platform_id project_name q request_id
  route signature sku
  since sort source_id start_time tag task_id tenant_id to token_id top tz user_id`.split(/\s+/),
)

void t.test('400 that names the values for any other value of a filter', async (t) => {
  let filters = 0
  for (const { path, route } of routes.filter(({ method }) => method === 'GET'))
    for (const { name, in: place, schema } of route.parameters ?? []) {
      if (place !== 'query' || free.has(name)) continue
      filters += 1
      const where = `${path} ${name}`
      if (!t.type(schema.enum, Array, `${where} says which values it takes`)) continue
      const answer = await ask('GET', urlOf(real, path, 'query', name, 'nonsense'), schemeOf(route))
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
  const requests = oddMembers(routes, real)
  t.same(await faultsOf(t, requests), [])
  t.ok(requests.length > 3_000, `${requests.length} requests`)
  await stack.caughtUp()
})
