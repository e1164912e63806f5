import t from 'tap'
import { listKeyOf, toCursor } from '../../src/api/kit/routes/queries.ts'
import { grantCredit } from '../../src/app/accounts/credit.ts'
import { setSetting } from '../../src/app/accounts/settings.ts'
import { sharedStack } from '../helpers/stack.ts'
import { type Answer, call, steadyHeaders, taskBody, TASKS } from './support/client.ts'

const { access, demo, other, url, caughtUp } = await sharedStack(t)

const json = { 'content-type': 'application/json' }
const post = async (token: string, path: string, body: object): Promise<Answer> => {
  const answer = await call(`${url}${path}`, {
    method: 'POST',
    token,
    headers: json,
    body: JSON.stringify(body),
  })
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`)
  return answer
}
const admin = async ({ tenantId, userId, adminToken }: typeof demo) => {
  const scope = { level: 'all_users' }
  const token = { tenant_id: tenantId, user_id: userId, kind: 'admin', name: 'x', scope }
  return (await post(adminToken, '/api/admin/tokens', token)).body.data as {
    readonly id: string
    readonly secret: string
  }
}

/** What another tenant has: a settled line, a task, a token. */
async function recordsOf(tenant: typeof other) {
  const messages = [{ role: 'user', content: 'Hello' }]
  await post(tenant.modelToken, '/v1/chat/completions', { model: 'text-basic', messages })
  const task = await post(tenant.modelToken, TASKS, taskBody())
  await caughtUp()
  const lines = await call(`${url}/api/query/v1/ledger/lines`, { token: tenant.queryToken })
  return {
    line: lines.body.data.items[0].line_id as string,
    position: lines.body.data.items[0].position as string,
    task: task.body.id as string,
    token: (await admin(tenant)).id,
  }
}

const theirs = await recordsOf(other)
/** A grant of the other tenant that waits for a second user. */
async function proposed(): Promise<string> {
  const { tenantId } = other
  const wanted = { limits: [{ currency: 'USD', above: '1' }], lapseHours: 1 } as const
  await setSetting(access, 'approvals', { tenantId, wanted })
  const terms = { currency: 'USD', amount: '2', reason: 'test' } as const
  return (await grantCredit(access, { tenantId, ...terms })).proposal?.proposalId ?? ''
}
const ours = await admin(demo)
/** Writes cursors as a stranger can who has read the source: those of a list without parameters. */
const cursorOf =
  (...of: readonly unknown[]) =>
  (id: string): string =>
    `cursor=${toCursor(id, listKeyOf(of, {}))}`
const { tenantId, userId } = demo
/** Cursors of the lists of the query API and of administration, as this tenant has them. */
const asked = (name: string) => cursorOf(name, { tenantId })
const managed = (name: string, scope: object = { kind: 'tenant', tenantId }, ...path: string[]) =>
  cursorOf(name, scope, ...path)
const after = (id: string): string => `after=${id}`
/** The same id with other last digits: there is none. */
const missing = (id: string): string => id.replace(/[0-9A-Za-z]{1,6}(?=(?::\d+)?$)/, '111111')

/** Every list that goes on after an id: as this tenant asks for it, and an id of the other one. */
const lists: Readonly<
  Record<string, readonly [token: string, id: string, place: (id: string) => string]>
> = {
  '/api/admin/price-books': [
    demo.adminToken,
    theirs.token,
    managed('price books', { kind: 'all' }),
  ],
  '/api/admin/proposals': [ours.secret, await proposed(), managed('proposals')],
  '/api/admin/tenants': [ours.secret, other.tenantId, managed('tenants')],
  '/api/admin/tenants/{tenant_id}/users': [
    ours.secret,
    other.userId,
    managed('users', { kind: 'tenant', tenantId }, tenantId),
  ],
  '/api/admin/tokens': [ours.secret, theirs.token, managed('tokens')],
  '/api/query/v1/adjustments': [demo.queryToken, theirs.position, asked('adjustments')],
  '/api/query/v1/asset-groups': [demo.queryToken, `group-${'0'.repeat(26)}`, asked('groups')],
  '/api/query/v1/assets': [demo.queryToken, `asset-${'0'.repeat(26)}`, asked('assets')],
  '/api/query/v1/balance': [demo.queryToken, other.tenantId, asked('balance')],
  '/api/query/v1/changes': [demo.queryToken, `1795632601000.${theirs.position}`, asked('changes')],
  '/api/query/v1/failures': [
    demo.queryToken,
    `1795632601000.${theirs.position}`,
    asked('failures'),
  ],
  '/api/query/v1/grants': [demo.queryToken, theirs.position, asked('grants')],
  '/api/query/v1/ledger/lines': [demo.queryToken, theirs.line, asked('lines')],
  '/api/query/v1/lives': [demo.queryToken, `1795632601000.${theirs.position}`, asked('lives')],
  '/api/query/v1/repeats': [demo.queryToken, theirs.position, asked('repeats')],
  '/api/query/v1/refusals': [demo.queryToken, '1795632600000.1', asked('refusals')],
  '/api/user/tokens': [
    demo.profileToken,
    theirs.token,
    managed('tokens', { kind: 'user', tenantId, userId }),
  ],
  // Without object storage there are no files: those of others are tried in test/app/files.
  '/v1/files': [demo.modelToken, `file-${'0'.repeat(26)}`, after],
  '/v1/videos': [demo.modelToken, theirs.task, after],
  // Models belong to no tenant.
  '/v1beta/models': [
    demo.modelToken,
    theirs.token,
    (id) => `pageToken=${toCursor(id, listKeyOf(['native models', null], {}))}`,
  ],
}

await t.test('every list with a cursor is covered by this test', async (t) => {
  const { paths } = (await call(`${url}/openapi.json`)).body as {
    paths: Record<string, { get?: { parameters?: { name: string; schema: { enum?: [] } }[] } }>
  }
  const found = Object.entries(paths).flatMap(([path, { get }]) =>
    get?.parameters?.some(
      ({ name, schema }) =>
        schema.enum === undefined && /^(?:cursor|after|before|marker|page_?token)$/i.test(name),
    ) === true
      ? [path]
      : [],
  )
  t.same(new Set(found), new Set(Object.keys(lists)))
})

await t.test('another tenant’s cursor is answered as an unknown cursor', async (t) => {
  for (const [path, [token, id, place]] of Object.entries(lists)) {
    const ask = (at: string): Promise<Answer> =>
      call(`${url}${path.replace('{tenant_id}', demo.tenantId)}?${place(at)}`, { token })
    const none = missing(id)
    t.not(none, id, path)
    const [foreign, nothing] = [await ask(id), await ask(none)]
    t.equal(foreign.status, nothing.status, path)
    const steady = ({ text }: Answer): string =>
      text.replaceAll(/"(?:updated_at":\d+|as_of":"\d+")/g, '')
    t.equal(steady(foreign), steady(nothing), path)
    t.same(steadyHeaders(foreign), steadyHeaders(nothing), path)
  }
})

/** A parameter of the lists that have one, besides those of pages. */
const narrower: Readonly<Record<string, string>> = {
  '/api/admin/proposals': 'state=proposed',
  '/api/admin/tokens': `user_id=${userId}`,
  '/api/query/v1/adjustments': 'model=text-basic',
  '/api/query/v1/asset-groups': 'project_name=p',
  '/api/query/v1/assets': 'project_name=p',
  '/api/query/v1/balance': 'currency=USD',
  '/api/query/v1/changes': 'time_preset=30d',
  '/api/query/v1/failures': 'tz=Asia/Tokyo',
  '/api/query/v1/grants': 'currency=USD',
  '/api/query/v1/ledger/lines': 'from=2026-01-01',
  '/api/query/v1/lives': 'type=call',
  '/api/query/v1/refusals': 'time_preset=24h',
  '/api/query/v1/repeats': 'tz=Asia/Tokyo',
}

await t.test(
  '400 for a cursor of another list, or of the list with other parameters',
  async (t) => {
    for (const [path, [token, id, place]] of Object.entries(lists)) {
      if (place === after) continue
      const ask = (query: string): Promise<Answer> =>
        call(`${url}${path.replace('{tenant_id}', demo.tenantId)}?${query}`, { token })
      const name = path.startsWith('/v1beta') ? 'pageToken' : 'cursor'
      const refused = async (query: string): Promise<void> => {
        const answer = await ask(query)
        t.equal(answer.status, 400, query)
        t.match(answer.text, /must be a next_?[cC]ursor|must be a nextPageToken/, query)
      }
      await refused(cursorOf('another list')(id).replace('cursor', name))
      const parameter = narrower[path]
      if (parameter === undefined) continue
      t.equal((await ask(parameter)).status, 200, parameter)
      await refused(`${parameter}&${place(id)}`)
    }
  },
)

await t.test('a line of another user of the tenant is an unknown cursor too', async (t) => {
  const own = await recordsOf(demo)
  const { adminToken } = demo
  const second = { name: 'Second', user_id: `${userId}_second` }
  await post(adminToken, `/api/admin/tenants/${tenantId}/users`, second)
  const query = { tenant_id: tenantId, user_id: second.user_id, kind: 'query', name: 'x' }
  const { secret } = (await post(adminToken, '/api/admin/tokens', query)).body.data
  const ask = (token: string, id: string, place = asked('lines')): Promise<Answer> =>
    call(`${url}/api/query/v1/ledger/lines?${place(id)}`, { token })
  t.equal((await ask(demo.queryToken, own.line)).status, 200, 'within its scope it is one')
  t.equal((await ask(secret, own.line)).status, 400, 'the list of a tenant is not that of a user')
  const ofUser = cursorOf('lines', { tenantId, userIds: [second.user_id] })
  for (const id of [own.line, missing(own.line), theirs.line]) {
    const answer = await ask(secret, id, ofUser)
    t.equal(answer.status, 400, id)
    t.match(answer.body.error, { code: 'invalid_request', param: 'cursor' })
  }
})
