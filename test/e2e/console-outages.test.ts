import t from 'tap'
import { disableToken, issueToken } from '../../src/app/accounts/account-commands.ts'
import { standBefore } from '../helpers/pretended-cluster/front.ts'
import { until } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { callOnce } from './support/client.ts'
import { askConsole, signInToConsole } from './support/console.ts'

/** The console of a replica whose stores are away: it says so in words, and callers are served. */

const stack = await startStack()
t.teardown(() => stack.stop())
const { demo } = stack
const postgres = await standBefore(t, stack.databaseUrl)
const log = await standBefore(t, stack.eventStoreUrl)
const { url } = await stack.replica(['api'], {
  databaseUrl: postgres.url,
  eventStoreUrl: log.url,
})
const callId = await callOnce(url, demo.modelToken)
await stack.caughtUp()
const scope = { level: 'all_tenants' } as const
const cookie = await signInToConsole(url, demo.queryToken)
const life = () => askConsole(url, `/console/life/${callId}`, { cookie })
t.match(await life(), { status: 200 })

t.test('without Postgres the page says so, and callers are served', async (t) => {
  await postgres.front.fallSilent('refuse')
  const { status, text, headers } = await life()
  t.equal(status, 503)
  t.match(text, /Temporarily unavailable/)
  t.match(text, /Nothing was changed/)
  t.match(headers.get('content-type'), 'text/html')
  t.equal(headers.get('set-cookie'), null, 'the session is kept')
  t.match(await askConsole(url, '/console/sign-in'), { status: 200 })
  t.match(
    await askConsole(url, '/console/sign-in', { form: { token: demo.queryToken, next: '' } }),
    { status: 503 },
  )
  t.match(await callOnce(url, demo.modelToken), /^call_/)
  await postgres.front.recover()
  t.match(await life(), { status: 200, text: /What happened/ })
})

t.test(
  'without Postgres operators see the state of the process, by a session it knows',
  async (t) => {
    const operations = (of: string, path = '/console/operations') =>
      askConsole(url, path, { cookie: of })
    const known = await signInToConsole(url, demo.adminToken)
    const elsewhere = await signInToConsole(stack.url, demo.adminToken)
    const { tenantId, userId } = demo
    const wanted = { tenantId, userId, kind: 'admin', name: 'night', scope } as const
    const leaving = await issueToken(stack.access, wanted)
    await stack.caughtUp()
    const disabled = await signInToConsole(url, leaving.secret)
    t.match(await operations(disabled), { status: 200 })
    await postgres.front.fallSilent('refuse')
    await until(async () => /postgres is down/.test((await operations(known)).text))
    const { status, text, headers } = await operations(known)
    t.equal(status, 200)
    t.match(text, /This process/)
    t.match(text, /Wrong<\/span> postgres is down.*, for \d.*ECONN.*DATABASE_URL/s)
    t.equal(headers.get('set-cookie'), null)
    const other = await operations(known, '/console')
    t.match(other, { status: 503 }, 'every other page is away')
    t.match(
      other.text,
      '<p class="alert"><a href="/console/operations">Not ready: postgres is down',
    )
    t.match(
      await askConsole(url, '/console/sign-out', { cookie: known, form: {} }),
      { status: 503 },
      'what changes a session waits',
    )
    t.match(await operations(known), { status: 303 }, 'yet this process does not know it any more')
    const unknown = await operations(elsewhere)
    t.match(unknown, { status: 303 })
    t.match(unknown.headers.get('location'), /sign-in\?next=%2Fconsole%2Foperations/)
    t.equal(unknown.headers.get('set-cookie'), null, 'its session may be open')
    const here = await signInToConsole(url, demo.adminToken)
    t.match(await operations(here), { status: 200, text: /postgres is down/ })
    t.match(await operations(await signInToConsole(url, leaving.secret)), { status: 200 })
    await disableToken(stack.access, { tokenId: leaving.tokenId, reason: 'a test' })
    await until(async () => (await operations(disabled)).status !== 200)
    t.match(
      await askConsole(url, '/console/sign-in', { form: { token: leaving.secret, next: '' } }),
      { status: 503 },
      'a token that was disabled is not known any more',
    )
    await postgres.front.recover()
    t.match(await operations(here), { status: 303 }, 'what only the process knew has ended')
    t.match(await operations(elsewhere), { status: 200 })
    t.match(await operations(disabled), { status: 303 })
  },
)

t.test('without the log lives can be read', async (t) => {
  await log.front.fallSilent('refuse')
  const { status, text } = await life()
  await log.front.recover()
  t.equal(status, 200)
  t.match(text, /What happened/)
})

t.test('a read model that stands still is said by its panels, and the others stand', async (t) => {
  const { pool } = stack.gateway
  await stack.caughtUp()
  await pool.query('alter table timeline.events rename to events_elsewhere')
  const newer = await callOnce(stack.url, demo.modelToken)
  await until(async () => {
    const { rows } = await pool.query('select from engine.checkpoints where stopped is not null')
    return rows.length === 1
  })
  await pool.query(
    `update engine.checkpoints set recorded_at = recorded_at - interval '1 hour' where name = 'timeline'`,
  )
  const reader = await signInToConsole(stack.url, demo.queryToken)
  const ask = (path: string) => askConsole(stack.url, `/console${path}`, { cookie: reader })
  const behind = /may be behind the log|cannot answer at the moment/
  const activity = `/tenants/${demo.tenantId}/activity`
  await until(async () => behind.test((await ask(activity)).text))
  for (const [path, stands] of [
    [activity, /<form class="filter"/],
    ['/failed', /Counted by token, route and reason/],
    ['', /Available/],
  ] as const) {
    const { status, text } = await ask(path)
    t.equal(status, 200, path)
    t.match(text, behind, path)
    t.match(text, stands, path)
  }
  await until(async () => (await ask('/ledger/lines')).text.includes(newer))
  t.match(await ask(`/life/${callId}`), { status: 503, text: /Temporarily unavailable/ })
  t.match(await callOnce(stack.url, demo.modelToken), /^call_/)
})
