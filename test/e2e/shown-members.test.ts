import t from 'tap'
import { addUser, issueToken } from '../../src/app/accounts/account-commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { sharedStack } from '../helpers/stack.ts'
import { environmentOf, tollgate } from '../cli/support/commands.ts'
import { call, queriesOf, tasksOf } from './support/client.ts'

/** What answers of support show to each scope: the members that only operators see are these. */

const stack = await sharedStack(t)
const { url, demo, access } = stack
const tasks = tasksOf(url, demo.modelToken)
const created = await tasks.create()
const platformId = String(created.headers.get('x-platform-id'))
await tasks.reaches(String(created.body.id), 'succeeded')
const failed = await call(`${url}/v1/chat/completions`, {
  method: 'POST',
  token: demo.modelToken,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    model: 'text-basic',
    messages: [{ role: 'user', content: 'x [[sandbox fail=server_error]]' }],
  }),
})
const failedId = String(failed.headers.get('x-call-id'))
const posted = await tollgate(
  [
    'credit',
    'adjust',
    '1',
    '--tenant',
    demo.tenantId,
    '--currency',
    'CNY',
    '--line',
    `${platformId}:1`,
    '--reason',
    'broken',
    '--actor',
    'Ada L.',
  ],
  environmentOf(stack),
)
if (posted.code !== 0) throw new Error(posted.stderr)
await stack.caughtUp()

const paths = [
  `/lives/${platformId}?at=1&against=2`,
  `/lives/${failedId}`,
  `/lives/${platformId}/ticket`,
  `/receipts/${platformId}`,
  `/search?q=${platformId}`,
  `/failures?tenant_id=${demo.tenantId}`,
  `/refusals?tenant_id=${demo.tenantId}`,
  `/tasks/${platformId}/history`,
]

/** Members that have a value, as paths such as `steps[].actor`. */
function membersOf(value: unknown, path = ''): readonly string[] {
  if (value === null || value === undefined) return []
  if (Array.isArray(value)) return value.flatMap((one) => membersOf(one, `${path}[]`))
  if (typeof value !== 'object') return [path]
  return Object.entries(value).flatMap(([name, one]) =>
    membersOf(one, path === '' ? name : `${path}.${name}`),
  )
}

async function shownTo(token: string): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const shown = new Map<string, ReadonlySet<string>>()
  for (const path of paths) {
    const { status, body, text } = await queriesOf(url, token).get(path)
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
    shown.set(path, new Set(membersOf(body.data)))
  }
  return shown
}

const query = async (level: 'current_user' | 'all_users' | 'all_tenants', userId = demo.userId) => {
  const issued = await issueToken(access, {
    tenantId: demo.tenantId,
    userId,
    kind: 'query',
    name: level,
    scope: { level },
  })
  return issued.secret
}

/** Members that name accounts upstream, or who posted money. */
const ofOperators: Readonly<Record<string, readonly string[]>> = {
  lives: ['receipt.corrections[].actor', 'steps[].actor'],
  ticket: ['steps[].actor'],
  receipts: ['corrections[].actor'],
  failures: ['items[].channel_id'],
  history: [
    'items[].data.channelId',
    'items[].data.channelIds[]',
    'items[].data.marker',
    'items[].data.upstreamModel',
  ],
}
const kindOf = (path: string): string =>
  path.includes('/ticket')
    ? 'ticket'
    : path.includes('history')
      ? 'history'
      : (/\w+/.exec(path)?.[0] ?? '')

t.test(
  'operators see these members more than a tenant, and a tenant the same as its user',
  async (t) => {
    await eventually('the failure is listed', async () => {
      const { body } = await queriesOf(url, demo.queryToken).get('/failures')
      return body.data.items.length > 0
    })
    await eventually('the refusal is counted', async () => {
      const { body } = await queriesOf(url, demo.queryToken).get('/refusals')
      return body.data.items.length > 0
    })
    const [own, tenant, operator] = await Promise.all([
      query('current_user').then(shownTo),
      query('all_users').then(shownTo),
      query('all_tenants').then(shownTo),
    ])
    for (const path of paths) {
      const seen = tenant.get(path) ?? new Set()
      t.ok(seen.size > 5, `${path}: ${seen.size} members`)
      t.same(own.get(path), seen, `${path}: of a user`)
      const more = [...(operator.get(path) ?? [])].filter((name) => !seen.has(name))
      const allowed = ofOperators[kindOf(path)] ?? []
      t.same(
        more.filter((name) => !allowed.includes(name)),
        [],
        `${path}: ${more.join(', ')}`,
      )
      t.same(
        [...seen].filter((name) => !operator.get(path)?.has(name)),
        [],
        `${path}: operators see all that a tenant sees`,
      )
    }
    t.same(
      ['lives', 'ticket', 'receipts', 'failures', 'history'].filter((kind) =>
        paths.every(
          (path) => kindOf(path) !== kind || operator.get(path)?.size === tenant.get(path)?.size,
        ),
      ),
      [],
      'each has a member of operators',
    )
  },
)

t.test('a user sees nothing of another user', async (t) => {
  await addUser(access, { tenantId: demo.tenantId, userId: 'user_apart', name: 'Apart' })
  const reports = queriesOf(url, await query('current_user', 'user_apart'))
  for (const path of paths) {
    const { status, body } = await reports.get(path)
    if (status === 200) t.same(body.data.items, [], path)
    else t.equal(status, 404, path)
  }
})
