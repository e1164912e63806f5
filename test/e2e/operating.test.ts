import { readFileSync } from 'node:fs'
import OpenAI, { toFile } from 'openai'
import t from 'tap'
import { allProjections } from '../../projections/registry.ts'
import { RESULT_LIFE_MS, resultKey } from '../../src/storage/object-key.ts'
import { keepLastAudit } from '../../src/app/audit/last-audit.ts'
import { checkout } from '../helpers/checkout.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack, type TestTenant } from '../helpers/stack.ts'
import { call, queriesOf, tasksOf } from './support/client.ts'

const stack = await startStack({ storeProcess: true, env: { OBJECT_STORAGE: 'local' } })
t.teardown(() => stack.stop())
const tasks = tasksOf(stack.url, stack.demo.modelToken)
const readModels = allProjections.map(({ name }) => name).toSorted()
const filesOf = ({ modelToken }: TestTenant): OpenAI['files'] =>
  new OpenAI({ baseURL: `${stack.url}/v1`, apiKey: modelToken, maxRetries: 0 }).files

t.test('/readyz states the dependencies and the position of each read model', async (t) => {
  await tasks.reaches(await tasks.created(), 'succeeded')
  const ready = await call(`${stack.url}/readyz`)
  t.equal(ready.status, 200)
  t.match(ready.body, {
    ready: true,
    reasons: [],
    dependencies: { event_log: 'up', postgres: 'up' },
  })
  t.same(ready.body.projections.map(({ name }: { name: string }) => name).toSorted(), readModels)
  t.same((await call(`${stack.url}/healthz`)).body, { status: 'ok' })
})

t.test('metrics cover requests, tasks, upstream, the log and every read model', async (t) => {
  const { text, headers } = await call(`${stack.url}/metrics`)
  t.match(headers.get('content-type'), /^text\/plain/)
  for (const name of readModels) {
    t.match(
      text,
      new RegExp(`^tollgate_projection_lag_seconds\\{projection="${name}"\\} [0-9.]+$`, 'm'),
    )
    t.match(text, new RegExp(`^tollgate_projection_position\\{projection="${name}"\\} \\d+$`, 'm'))
    t.match(text, new RegExp(`^tollgate_projection_stopped\\{projection="${name}"\\} 0$`, 'm'))
    t.match(
      text,
      new RegExp(`^tollgate_projection_passed_over_events\\{projection="${name}"\\} 0$`, 'm'),
    )
  }
  t.match(text, /^tollgate_tasks_created_total\{.*outcome="submitted"\} 1$/m)
  t.match(text, /^tollgate_tasks_ended_total\{.*status="succeeded"\} 1$/m)
  t.match(text, /^tollgate_log_healthy 1$/m)
  t.match(text, /^tollgate_http_requests_total\{.*status="200"\} \d+$/m)
  t.notMatch(text, /tenant_|cgt-|video_/, 'no ids: they would never end')
})

/** Names of our metrics in a scrape, and of those that any process has. */
function metricsOf(text: string) {
  const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name)
  const stock = names.filter((name) => /^(?:process|nodejs)_/.test(name))
  return { stock, ours: names.filter((name) => !stock.includes(name)).toSorted() }
}

/** Our metrics in a scrape with the labels of their series; those of a metric that has none yet are not known. */
function labelsOf(text: string): ReadonlyMap<string, string> {
  const series = [...text.matchAll(/^(tollgate_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$/gm)]
  return new Map(
    series.map(([, name = '', labels = '']) => [
      name,
      [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label).join(' '),
    ]),
  )
}

t.test('the documentation lists every metric, process metrics by standard names', async (t) => {
  const { text } = await call(`${stack.url}/metrics`)
  const { stock, ours } = metricsOf(text)
  const page = readFileSync(new URL('docs/surfaces/operating.md', checkout), 'utf8')
  const listed = [...page.matchAll(/^\| `(tollgate_\w+)` +\| ([^|]*)\|/gm)].map(
    ([, name = '', labels = '']) => ({ name, labels: labels.replaceAll(/[`,]/g, '').trim() }),
  )
  t.same(listed.map(({ name }) => name).toSorted(), ours)
  const found = labelsOf(text)
  const differing = listed.filter(({ name, labels }) => (found.get(name) ?? labels) !== labels)
  t.same(differing, [], 'with the labels of its series')
  t.ok(stock.includes('process_cpu_seconds_total'))
  t.ok(stock.includes('nodejs_eventloop_lag_seconds'))
})

t.test('metrics show settled and held amounts, and that the books balance', async (t) => {
  await tasks.created({ prompt: 'x [[sandbox stall-queued]]' })
  await stack.caughtUp()
  const reads = (...lines: readonly RegExp[]) =>
    eventually('the figures', async () => {
      // One scrape may answer for the next ones of the same moment.
      const { text } = await call(`${stack.url}/metrics`)
      return lines.every((line) => line.test(text)) ? text : undefined
    })
  const text = await reads(
    /^tollgate_settled_amount\{currency="CNY",surface="provA.tasks"\} 5\.0094$/m,
    /^tollgate_settled_lines\{currency="CNY",surface="provA.tasks"\} 1$/m,
    /^tollgate_holds_open\{currency="CNY"\} 1$/m,
    /^tollgate_holds_open_amount\{currency="CNY"\} 5\.055078$/m,
    /^tollgate_trial_balance_difference\{currency="CNY"\} 0$/m,
    /^tollgate_trial_balance_difference\{currency="USD"\} 0$/m,
    /^tollgate_silent_spools_amount\{currency="CNY"\} 0$/m,
    /^tollgate_periods_open\{age="3\+"\} 0$/m,
  )
  t.notMatch(text, /^tollgate_audit_/m, 'none was made')
  const { pool } = stack.gateway
  await pool.query(`update ledger.totals set amount = amount + 0.5
                    where kind = 'account' and currency = 'CNY' and part = 'receivable'`)
  await keepLastAudit(pool, { findingsInAll: 3, position: '17' })
  await reads(
    /^tollgate_trial_balance_difference\{currency="CNY"\} 0\.5$/m,
    /^tollgate_audit_age_seconds \d/m,
    /^tollgate_audit_findings 3$/m,
  )
})

t.test('every route is described, and the page that shows it loads completely', async (t) => {
  const described = await call(`${stack.url}/openapi.json`)
  t.equal(described.status, 200)
  const { paths } = described.body as { paths: Record<string, Record<string, { summary: string }>> }
  for (const path of [
    '/provA/api/v3/contents/generations/tasks',
    '/provA/api/v3/contents/generations/tasks/{id}',
    '/api/query/v1/ledger/lines',
    '/api/query/v1/ledger/summary',
    '/api/query/v1/tasks/{id}/history',
    '/healthz',
    '/readyz',
    '/metrics',
  ])
    t.ok(
      Object.values(paths[path] ?? {}).every(({ summary }) => summary !== ''),
      path,
    )
  t.match(paths['/provA/api/v3/contents/generations/tasks']?.['post'], {
    parameters: [{ in: 'header', name: 'idempotency-key' }],
  })
  const page = await call(`${stack.url}/docs/`)
  t.equal(page.status, 200)
  const parts = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, part]) => part ?? '')
  t.ok(parts.length > 3)
  for (const part of parts) {
    const url = new URL(part, `${stack.url}/docs/`)
    t.equal(url.origin, stack.url, 'nothing comes from elsewhere')
    t.equal((await call(url.href)).status, 200, url.pathname)
  }
})

t.test('an object is served at its URL, which is not logged', async (t) => {
  const store = stack.gateway.store!
  const bytes = Buffer.alloc(3_000_000, 'pixels')
  const key = resultKey(Date.now(), 'unguessable', 'image/webp')
  await store.put(key, bytes)
  const url = (await store.publicUrl(key, Date.now() + RESULT_LIFE_MS))!
  t.ok(url.startsWith(`${stack.url}/objects/${stack.namespace.replace('.', '')}/results/`))
  const answer = await fetch(url)
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('content-type'), 'image/webp')
  t.ok(bytes.equals(Buffer.from(await answer.arrayBuffer())))
  const part = await fetch(url, { headers: { range: 'bytes=2999990-' } })
  t.equal(part.status, 206)
  t.equal((await part.text()).length, 10)
  t.equal((await fetch(`${url}x`)).status, 404)
  t.match(stack.logged(), '"route":"/objects/*"')
  t.notMatch(stack.logged(), /unguessable|signature=/)
})

t.test('files of a tenant through the official client, and in its history', async (t) => {
  const [ours, theirs] = [filesOf(stack.demo), filesOf(stack.other)]
  const bytes = Buffer.alloc(5_000_000, 'a boat')
  const file = await toFile(bytes, 'a secret name.png')
  const made = await ours.create({ file, purpose: 'vision' })
  t.same((await ours.list()).data, [made])
  t.ok(bytes.equals(Buffer.from(await (await ours.content(made.id)).arrayBuffer())))
  t.same((await theirs.list()).data, [])
  await t.rejects(theirs.retrieve(made.id), { message: /^404 / })
  await t.rejects(theirs.delete(made.id), { message: /^404 / })
  t.same(await ours.delete(made.id), { id: made.id, object: 'file', deleted: true })
  t.same((await ours.list()).data, [])
  await stack.caughtUp()
  const history = await queriesOf(stack.url, stack.demo.queryToken).history(made.id)
  t.same(
    history.body.data.items.map(({ type }: { type: string }) => type),
    ['FileUploaded', 'FileDeleted'],
  )
  t.notMatch(stack.logged(), 'a secret name', 'what a file is called is nobody’s business')
})

t.test('with the log away creations are refused in their own shape, then accepted', async (t) => {
  await stack.eventStore.kill9()
  const refused = await eventually('refused', async () => {
    const answer = await tasks.create()
    return answer.status === 503 ? answer : undefined
  })
  t.match(refused.body.error, { code: 'service_unavailable', type: 'ServiceUnavailable' })
  const before = stack.sandbox.accepted().length
  t.equal((await tasks.create()).status, 503)
  t.equal(stack.sandbox.accepted().length, before, 'nothing is sent upstream')
  const file = await toFile(Buffer.from('x'), 'x')
  const upload = filesOf(stack.demo).create({ file, purpose: 'vision' })
  await t.rejects(upload, { message: /^503 / })
  const kept = stack.gateway.store!.list('files/')[Symbol.asyncIterator]()
  t.equal((await kept.next()).done, true, 'nothing is kept of what cannot be recorded')
  const ready = await call(`${stack.url}/readyz`)
  t.equal(ready.status, 503)
  t.match(ready.body, { ready: false, dependencies: { event_log: 'down', postgres: 'up' } })
  t.equal((await call(`${stack.url}/healthz`)).status, 200, 'the process lives')
  await stack.eventStore.restart()
  await eventually('ready again', async () =>
    (await call(`${stack.url}/readyz`)).status === 200 ? true : undefined,
  )
  await tasks.reaches(await tasks.created(), 'succeeded')
})

t.test('with the timeline an hour behind, only its own routes are refused', async (t) => {
  const { pool } = stack.gateway
  await stack.caughtUp()
  // What is written next cannot be applied: it stands still, and grows older.
  await pool.query('alter table timeline.events rename to events_elsewhere')
  const id = await tasks.created()
  await eventually('the history stands still', async () => {
    const { rows } = await pool.query('select from engine.checkpoints where stopped is not null')
    return rows.length === 1
  })
  await pool.query(
    `update engine.checkpoints set recorded_at = recorded_at - interval '1 hour' where name = 'timeline'`,
  )
  const finance = queriesOf(stack.url, stack.demo.queryToken)
  await eventually('it is said', async () => (await finance.history(id)).status === 503)
  t.match((await finance.history(id)).body, { error: { code: 'service_unavailable' } })
  const next = await tasks.created()
  for (const created of [id, next]) await tasks.reaches(created, 'succeeded')
  t.equal((await tasks.list()).status, 200)
  await eventually('the line of what was settled meanwhile', async () => {
    const { status, body } = await finance.lines(`model=domestic-video-2-0`)
    t.equal(status, 200)
    const lines = body.data.items as readonly { readonly native_id: string }[]
    return lines.some((line) => line.native_id === next)
  })
  const ready = await eventually('readiness names it', async () => {
    const answer = await call(`${stack.url}/readyz`)
    return answer.body.degraded.length > 0 ? answer : undefined
  })
  t.match(ready, {
    status: 200,
    body: { ready: true, reasons: [], degraded: [/^read models: timeline stands still: event/] },
  })
})
