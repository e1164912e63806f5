import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { standBefore } from '../helpers/pretended-cluster/front.ts'
import { until } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { call, tasksOf } from './support/client.ts'
import { askConsole, signInToConsole } from './support/console.ts'

/** Operations in the console: what operators see, and what fails alone. */

const stack = await startStack({
  channels: (channels) => channels.map((channel) => ({ ...channel, timeoutMs: 1_000 })),
})
t.teardown(() => stack.stop())
const { url, demo, access } = stack
const operator = await signInToConsole(url, demo.adminToken)
const page = (query = '', cookie = operator) =>
  askConsole(url, `/console/operations${query}`, { cookie })

const part = (text: string, id: string) =>
  new RegExp(`<section[^>]*aria-labelledby="${id}".*?</section>`, 's').exec(text)?.[0] ?? ''

t.test('it says what readiness and metrics say', async (t) => {
  const { status, text } = await page()
  t.equal(status, 200)
  const { body } = await call(`${url}/readyz`)
  for (const { name } of body.projections) t.match(text, `>${name}<`, name)
  for (const name of Object.keys(body.dependencies)) t.match(text, name.replaceAll('_', ' '))
  const metrics = (await call(`${url}/metrics`)).text
  const channels = [...metrics.matchAll(/^tollgate_channel_breaker\{channel="([^"]+)"/gm)]
  t.ok(channels.length > 0)
  for (const [, id = ''] of channels) t.match(text, `>${id}<`, id)
  t.match(text, />process_/, 'a worker is present')
  t.match(text, /No audit has finished yet/)
  for (const command of ['spool list', 'audit']) t.match(text, `tollgate ${command}`, command)
})

t.test('tasks that are unclear lead to their lives', async (t) => {
  const tasks = tasksOf(url, demo.modelToken)
  const made = await tasks.create({ prompt: 'x [[sandbox usage-missing]]' })
  const withoutUsage = String(made.headers.get('x-platform-id'))
  const lost = await tasks.create({ prompt: 'x [[sandbox hang]]' })
  const uncertain = String(lost.headers.get('x-platform-id'))
  await until(async () => part((await page()).text, 'usage').includes(withoutUsage))
  await until(async () => part((await page()).text, 'uncertain').includes(uncertain))
  const { text } = await page('?tz=Asia/Shanghai')
  t.match(part(text, 'uncertain'), `href="/console/life/${uncertain}?tz=Asia%2FShanghai"`)
  t.notMatch(part(text, 'uncertain'), withoutUsage)
  t.match(part(text, 'usage'), `href="/console/life/${withoutUsage}?tz=Asia%2FShanghai"`)
  t.match(await askConsole(url, `/console/life/${uncertain}`, { cookie: operator }), {
    status: 200,
  })
})

t.test(
  'a channel that fails is said on every page, and has a page with its failures',
  async (t) => {
    const overview = async (cookie = operator) =>
      (await askConsole(url, '/console', { cookie })).text
    t.notMatch(await overview(), 'class="alert"')
    t.match(part((await page()).text, 'channels'), 'accepts calls')
    const fail = () =>
      call(`${url}/v1/chat/completions`, {
        method: 'POST',
        token: demo.modelToken,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'text-basic',
          messages: [{ role: 'user', content: 'x [[sandbox http=500]]' }],
        }),
      })
    await until(async () => {
      await fail()
      return (await overview()).includes('is paused after failures')
    })
    const alert = /<p class="alert"><a href="([^"]+)">Channel ([\w-]+) is paused/
    const [, href = '', id = ''] = alert.exec(await overview()) ?? []
    t.equal(href, '/console/operations')
    const { text } = await page()
    t.match(part(text, 'attention'), new RegExp(`Wrong</span> Channel ${id}: `))
    t.match(part(text, 'attention'), /<time datetime=.*, for \d/, 'since when')
    t.match(part(text, 'attention'), `href="/console/operations/channels/${id}"`)
    const channel = await page(`/channels/${id}`)
    t.match(channel, { status: 200 })
    t.match(part(channel.text, 'state'), /text-basic/)
    t.match(part(channel.text, 'state'), /fails since.*ago/s)
    t.match(part(channel.text, 'errors'), /unavailable.*500.*text-basic/s)
    await stack.caughtUp()
    t.match(part((await page(`/channels/${id}`)).text, 'failed'), /href="\/console\/life\/call_/)
    t.notMatch(channel.text, /https?:\/\/127/, 'no address')
    t.match(await page('/channels/none'), { status: 404, text: /There is no channel none/ })
    const reader = await signInToConsole(url, demo.queryToken)
    t.notMatch(await overview(reader), 'class="alert"', 'for those who see operations')
    t.match(await page(`/channels/${id}`, reader), { status: 403 })
    const failures = (query: string, token: string) =>
      call(`${url}/api/query/v1/failures?${query}`, { token })
    t.match(await failures(`channel_id=${id}`, demo.queryToken), { status: 403 })
  },
)

t.test('it is for operators without a role', async (t) => {
  const reader = await signInToConsole(url, demo.queryToken)
  t.match(await page('', reader), { status: 403, text: /admin token of all tenants/ })
  t.notMatch((await askConsole(url, '/console', { cookie: reader })).text, '/console/operations')
  t.match((await askConsole(url, '/console', { cookie: operator })).text, '/console/operations')
  const wanted = { tenantId: demo.tenantId, userId: demo.userId, kind: 'admin', name: 'r' } as const
  const own = await issueToken(access, { ...wanted, scope: { level: 'all_users' } })
  const scope = { level: 'all_tenants' } as const
  const support = await issueToken(access, { ...wanted, scope, role: 'support' })
  await stack.caughtUp()
  for (const { secret } of [own, support])
    t.match(await page('', await signInToConsole(url, secret)), { status: 403 })
  t.match(await page('?tz=Mars/Base'), { status: 400, text: /tz/ })
  t.match(await page('?tz=%00'), { status: 400 })
})

t.test('while the log is away the page says so, and the rest stands', async (t) => {
  const log = await standBefore(t, stack.eventStoreUrl)
  const replica = await stack.replica(['api'], { eventStoreUrl: log.url })
  const cookie = await signInToConsole(replica.url, demo.adminToken)
  await log.front.fallSilent('refuse')
  await until(async () => {
    const { status, text } = await askConsole(replica.url, '/console/operations', { cookie })
    return status === 200 && /event_log is down/.test(text) && />process_/.test(text)
  })
  await log.front.recover()
  t.pass()
})
