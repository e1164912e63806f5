import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { until } from '../helpers/eventually.ts'
import { sharedStack } from '../helpers/stack.ts'
import { type Answer, call } from './support/client.ts'

const { access, other, url, caughtUp, gateway } = await sharedStack(t)

const SOON = '2090-01-01T00:00:00.000Z'
const HERE = ['127.0.0.0/8', '::1']
const who = { tenant_id: other.tenantId, user_id: other.userId }

/** One surface as one token uses it. */
function clientOf(surface: 'admin' | 'user', token: string) {
  const ask = (method: string, path: string, body?: unknown): Promise<Answer> => {
    const json = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    return call(`${url}/api/${surface}${path}`, {
      method,
      token,
      ...(body === undefined ? {} : json),
    })
  }
  const done = async (method: string, path: string, body?: unknown) => {
    const answer = await ask(method, path, body)
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.body.data
  }
  return { ask, done }
}

const operator = clientOf('admin', other.adminToken)

/** A bounded token of each kind that issues others. */
const issuers = [
  { surface: 'admin', kind: 'admin', scope: { level: 'all_tenants' } },
  { surface: 'admin', kind: 'admin', scope: { level: 'all_users' } },
  { surface: 'user', kind: 'profile', scope: undefined },
] as const

async function issuerOf({ surface, ...kind }: (typeof issuers)[number]) {
  const bounds = { addresses: HERE, expires_at: SOON }
  const token = { ...who, ...kind, name: 'bounded', ...bounds }
  const { id, secret } = await operator.done('POST', '/tokens', token)
  const owner = surface === 'admin' ? who : {}
  const model = { ...owner, kind: 'model', name: 'issued' }
  return { id: id as string, model, ...clientOf(surface, secret) }
}

for (const kind of issuers)
  await t.test(`a bounded ${kind.kind} token issues no wider: ${kind.scope?.level}`, async (t) => {
    const issuer = await issuerOf(kind)
    const inherited = await issuer.done('POST', '/tokens', issuer.model)
    t.match(inherited, { addresses: HERE, expires_at: SOON, issued_by: issuer.id })
    const narrow = { addresses: ['127.0.0.1'], expires_at: '2089-01-01T00:00:00.000Z' }
    t.match(await issuer.done('POST', '/tokens', { ...issuer.model, ...narrow }), narrow)

    const refused = (answer: Answer, param: string, what: string): void => {
      t.equal(answer.status, 403, what)
      t.match(answer.body, { error: { code: 'scope_denied', param } }, what)
    }
    const wider = [
      ['addresses', null],
      ['addresses', ['0.0.0.0/0']],
      ['addresses', ['127.0.0.1', '203.0.113.7']],
      ['expires_at', null],
      ['expires_at', '2090-01-01T00:00:01Z'],
    ] as const
    const otherToken = await operator.done('POST', '/tokens', {
      ...who,
      kind: 'model',
      name: 'of the operator',
      ...narrow,
    })
    for (const [param, value] of wider) {
      const bound = { [param]: value }
      const what = JSON.stringify(bound)
      refused(await issuer.ask('POST', '/tokens', { ...issuer.model, ...bound }), param, what)
      for (const { id } of [inherited, otherToken, issuer])
        refused(await issuer.ask('PATCH', `/tokens/${id}`, bound), param, `change: ${what}`)
    }
    t.equal((await issuer.ask('POST', `/tokens/${otherToken.id}/rotate`, {})).status, 200)
    for (const [param, part] of [
      ['addresses', { expires_at: SOON }],
      ['expires_at', { addresses: HERE }],
    ] as const) {
      const wide = { ...who, kind: 'model', name: 'wider', ...part }
      const { id } = await operator.done('POST', '/tokens', wide)
      refused(await issuer.ask('POST', `/tokens/${id}/rotate`, {}), param, 'its secret')
      t.equal((await issuer.done('PATCH', `/tokens/${id}`, { name: 'renamed' })).name, 'renamed')
    }
    const itself = await issuer.ask('POST', `/tokens/${issuer.id}/rotate`, {})
    t.equal(itself.status, 200, 'a token may rotate itself')
  })

await t.test('an unbounded operator token issues unbounded tokens, as their issuer', async (t) => {
  const open = await operator.done('POST', '/tokens', { ...who, kind: 'model', name: 'open' })
  t.match(open, { addresses: null, expires_at: null, models: null })
  t.match(open.issued_by, /^token_/)
  const asked = { ...who, kind: 'model', name: 'open', addresses: null, expires_at: null }
  t.equal((await operator.ask('POST', '/tokens', asked)).status, 200)
  const bare = await issueToken(access, {
    tenantId: other.tenantId,
    userId: other.userId,
    kind: 'model',
    name: 'by a command',
  })
  t.equal((await operator.done('GET', `/tokens/${bare.tokenId}`)).issued_by, null)
})

await t.test('the tokens that a token issued are disabled with it on request', async (t) => {
  const issuer = await issuerOf(issuers[1])
  const admin = { ...issuer.model, kind: 'admin', scope: { level: 'all_users' } }
  const second = await issuer.done('POST', '/tokens', admin)
  const leaves = []
  for (const issuing of [issuer, clientOf('admin', second.secret)])
    leaves.push(await issuing.done('POST', '/tokens', issuer.model))
  const byIssuer = await operator.done('GET', `/tokens?issued_by=${issuer.id}`)
  t.same(
    byIssuer.items.map(({ id }: { id: string }) => id),
    [second.id, leaves[0].id],
    'a list of what it issued',
  )
  const works = async (secret: string) =>
    (await call(`${url}/v1/models`, { token: secret })).status === 200
  const alone = await operator.ask('DELETE', `/tokens/${issuer.id}`)
  t.same(alone.body.data.issued, { disabled: 0, active: 3 })
  t.match(alone.body.message, /3 tokens that it issued still work/)
  for (const { secret } of leaves) t.ok(await works(secret))
  t.equal((await issuer.ask('GET', '/tokens')).status, 401)

  const all = await operator.ask('DELETE', `/tokens/${issuer.id}?issued=true`)
  t.same(all.body.data.issued, { disabled: 3, active: 0 })
  t.equal(all.body.message, '')
  // The process hears of it from the log, like every other.
  for (const { secret } of leaves) await until(async () => !(await works(secret)))
  const repeated = await operator.done('DELETE', `/tokens/${issuer.id}?issued=true`)
  t.same(repeated.issued, { disabled: 0, active: 0 }, 'again it changes nothing')
  t.equal((await operator.ask('DELETE', `/tokens/${issuer.id}?issued=yes`)).status, 400)

  await caughtUp()
  const { rows } = await gateway.pool.query<{ issuer: string }>(
    `select data->>'issuedBy' as issuer from timeline.events
     where type = 'TokenIssued' and source_id = $1`,
    [second.id],
  )
  t.same(rows, [{ issuer: issuer.id }], 'the event says who issued it')
})
