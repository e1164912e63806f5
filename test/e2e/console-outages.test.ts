import t from 'tap'
import { standBefore } from '../helpers/pretended-cluster/front.ts'
import { startStack } from '../helpers/stack.ts'
import { call } from './support/client.ts'
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
const chat = () =>
  call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'hi' }] }),
  })
const callId = (await chat()).headers.get('x-call-id') ?? ''
await stack.caughtUp()
const cookie = await signInToConsole(url, demo.queryToken)
const life = () => askConsole(url, `/console/life/${callId}`, { cookie })
t.match(await life(), { status: 200 })

t.test('without Postgres the page says so, and callers are served', async (t) => {
  await postgres.front.fallSilent('refuse')
  const { status, text, headers } = await life()
  t.equal(status, 503)
  t.match(text, /Not available now/)
  t.match(text, /Nothing was changed/)
  t.match(headers.get('content-type'), 'text/html')
  t.equal(headers.get('set-cookie'), null, 'the session is kept')
  t.match(await askConsole(url, '/console/sign-in'), { status: 200 })
  t.match(
    await askConsole(url, '/console/sign-in', { form: { token: demo.queryToken, next: '' } }),
    { status: 503 },
  )
  t.match(await chat(), { status: 200 })
  await postgres.front.recover()
  t.match(await life(), { status: 200, text: /What happened/ })
})

t.test('without the log lives can be read', async (t) => {
  await log.front.fallSilent('refuse')
  const { status, text } = await life()
  await log.front.recover()
  t.equal(status, 200)
  t.match(text, /What happened/)
})
