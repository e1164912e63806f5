import t from 'tap'
import { call } from '../e2e/support/client.ts'
import { eventually } from '../helpers/eventually.ts'
import { middayZone } from '../helpers/midday-zone.ts'
import { sharedStack } from '../helpers/stack.ts'
import { environmentOf, tollgate } from './support/commands.ts'

/** Failed and refused requests at a shell. */

const stack = await sharedStack(t)
const { demo, other, url, gateway } = stack
const env = environmentOf(stack)
const failures = (...args: readonly string[]) => tollgate(['failures', ...args], env)
const ours = ['--tenant', demo.tenantId] as const
const chat = async (model: string, content: string): Promise<string> => {
  const answer = await call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  })
  if (answer.status < 400) throw new Error(answer.text)
  return String(answer.headers.get('x-request-id'))
}
const failed = await chat('text-basic', 'Hi [[sandbox http=400]]')
const refused = await chat('text-basik', 'Hi')
const rowsOf = async (text: string): Promise<number> =>
  (await gateway.pool.query(text, [demo.tenantId])).rowCount ?? 0
await eventually('both are recorded', async () => {
  const events = await rowsOf(
    `select from timeline.events where tenant_id = $1 and type = 'CallFailed'`,
  )
  const counts = await rowsOf(
    `select from ops.refusals where tenant_id = $1 and code = 'unknown_model'`,
  )
  return events > 0 && counts > 0
})

t.test('failures are a table, with refusals where they are asked for', async (t) => {
  const made = await failures(...ours, '--today', '--tz', middayZone())
  t.equal(made.code, 0, made.stderr)
  t.match(made.stdout, /^AT +ID +STATUS +CODE +MODEL +TOKEN_LAST_FOUR +REQUEST_ID +MESSAGE\n/)
  t.match(made.stdout, new RegExp(` call_\\w+ +failed .*text-basic .*${failed}`))
  t.notMatch(made.stdout, refused)
  const both = await failures(...ours, '--refused')
  t.match(both.stdout, new RegExp(`${failed}[^]*\n\nHOUR +TOKEN_ID +ROUTE`))
  t.match(both.stdout, new RegExp(`POST /v1/chat/completions +unknown_model +1 .*${refused}`))
  const one = await failures(...ours, '--refused', '--code', 'unknown_model')
  t.match(one.stderr, /no rows/)
  t.match(one.stdout, refused)
})

t.test('another tenant, another time and another token have none', async (t) => {
  for (const args of [
    ['--tenant', other.tenantId],
    [...ours, '--to', '2026-01-01'],
    [...ours, '--code', 'none'],
  ]) {
    const made = await failures(...args)
    t.equal(made.code, 0, made.stderr)
    t.match(made.stderr, /no rows/, args.join(' '))
  }
})

t.test('an option that is not right is refused by its name', async (t) => {
  for (const [args, words] of [
    [[], /--tenant/],
    [['--tenant', 'nothing'], /there is no tenant/],
    [[...ours, '--from', 'yesterday'], /--from must be/],
    [[...ours, '--token', 'none'], /--token: there is no token/],
    [[...ours, '--today', '--from', '2026-01-01'], /--today.*--from/],
  ] as const) {
    const made = await failures(...args)
    t.not(made.code, 0, args.join(' '))
    t.match(made.stderr, words, args.join(' '))
  }
})

t.test('both are reports too', async (t) => {
  for (const name of ['failures', 'refusals']) {
    const made = await tollgate(['report', name, ...ours, '--format', 'csv'], env)
    t.equal(made.code, 0, made.stderr)
    t.match(made.stdout, name === 'failures' ? /^id,kind,status/ : /^hour,tenant_id,user_id/)
  }
})
