import t from 'tap'
import { addUser, disableToken, issueToken } from '../../src/app/accounts/account-commands.ts'
import { grantCredit } from '../../src/app/accounts/credit.ts'
import { newSecret } from '../../src/kernel/ids.ts'
import { tollgate } from '../cli/support/commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { sharedStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, steadyHeaders, tasksOf } from './support/client.ts'

/** What a customer has is enough to find what it is about; what another tenant has is found by nobody else. */

const stack = await sharedStack(t)
const { url, demo, other, access, caughtUp } = stack
const { tenantId, userId } = demo
const issue = async (
  name: string,
  scope: object,
  user = userId,
  kind: 'query' | 'model' = 'query',
) => issueToken(access, { tenantId, userId: user, kind, name, ...scope })
const second = `${userId}_second`
await addUser(access, { tenantId, userId: second, name: 'Second' })
const operatorToken = await issue('operator', { scope: { level: 'all_tenants' } })
const secondToken = await issue('second', { scope: { level: 'current_user' } }, second)
const ended = await issue('Ended at night', {}, userId, 'model')
await disableToken(access, { tokenId: ended.tokenId, reason: 'test' })

const searchAs =
  (token: string) =>
  (q: string, more = ''): Promise<Answer> =>
    queriesOf(url, token).get(`/search?q=${encodeURIComponent(q)}${more}`)
const own = searchAs(demo.queryToken)
const operator = searchAs(operatorToken.secret)
const secondUser = searchAs(secondToken.secret)
const foreign = searchAs(other.queryToken)

const chat = (model: string): Promise<Answer> =>
  call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
  })
const headerOf = (answer: Answer, name: string): string => String(answer.headers.get(name))
const settled = await chat('text-basic')
const refused = await chat('text-basik')
const tasks = tasksOf(url, demo.modelToken)
const kept = await call(`${url}/v1/responses`, {
  method: 'POST',
  token: demo.modelToken,
  headers: { 'content-type': 'application/json', 'idempotency-key': 'answer 42 of Bob' },
  body: JSON.stringify({ model: 'text-basic', input: 'Hi' }),
})
const key = 'order 4711 of Ann'
const created = await tasks.create({}, { 'idempotency-key': key })
await tasks.reaches(String(created.body.id), 'succeeded')
const { grantId } = await grantCredit(access, {
  tenantId,
  currency: 'USD',
  amount: '2',
  reason: 'x',
  reference: 'PO 2026/4711 of Ann',
})
await eventually('everything is written', async () => {
  await caughtUp()
  const answers = await Promise.all([
    own(headerOf(settled, 'x-call-id')),
    own(headerOf(refused, 'x-request-id')),
    own(headerOf(kept, 'x-call-id')),
  ])
  return answers.every(({ body }) => body.data.items.length > 0)
})
const callId = headerOf(settled, 'x-call-id')
const platformId = headerOf(created, 'x-platform-id')

/** What a customer may have, and what it is about. */
const words: readonly (readonly [text: string, kind: string, id: string])[] = [
  [callId, 'call', callId],
  [callId.slice(0, 21), 'call', callId],
  [String(settled.body.id), 'call', callId],
  [String(kept.body.id), 'call', headerOf(kept, 'x-call-id')],
  ['answer 42 of Bob', 'call', headerOf(kept, 'x-call-id')],
  [callId.slice(5), 'call', callId],
  [headerOf(settled, 'x-request-id'), 'call', callId],
  [`{"error":{"request_id":"${headerOf(settled, 'x-request-id')}"}}`, 'call', callId],
  [headerOf(refused, 'x-request-id'), 'refused_request', headerOf(refused, 'x-request-id')],
  [platformId, 'task', platformId],
  [String(created.body.id), 'task', platformId],
  [key, 'task', platformId],
  [`${callId}:1`, 'line', `${callId}:1`],
  [grantId, 'grant', grantId],
  ['po 2026/4711', 'grant', grantId],
  [ended.tokenId, 'token', ended.tokenId],
  [ended.secret.slice(-4), 'token', ended.tokenId],
  ['ended AT', 'token', ended.tokenId],
  [tenantId, 'tenant', tenantId],
  [second, 'user', second],
]

t.test('every id, its beginning, a key, a name and a pasted error are found', async (t) => {
  for (const [text, kind, id] of words)
    for (const search of [own, operator]) {
      const { status, body } = await search(text)
      t.equal(status, 200, text)
      const found = body.data.items.find((item: { readonly id: string }) => item.id === id)
      t.match(found, { kind, tenant_id: tenantId, state: /^[a-z_]+$/ }, text)
    }
  const [first] = (await own(callId)).body.data.items
  t.match(first, {
    matched: callId,
    user_id: userId,
    state: 'settled',
    summary: /^text-basic, 0\.\d+ USD$/,
    path: `/api/query/v1/lives/${callId}`,
    command: `tollgate replay ${callId}`,
  })
  const answer = await own(`${callId} ${platformId}`, '&limit=1')
  t.match(answer.body.data, { more: true, items: { length: 1 } })
  t.same((await operator(callId, `&tenant_id=${other.tenantId}`)).body.data.items, [])
  t.equal((await foreign(callId, `&tenant_id=${tenantId}`)).status, 403)
})

t.test('names are found in any form of Unicode and in either case', async (t) => {
  const user = { tenantId, userId: 'user_accents', name: 'Zo\u00eb Stra\u00dfe \u0130zmir' }
  await addUser(access, user)
  const scope = { level: 'current_user' } as const
  const token = { tenantId, userId: user.userId, kind: 'query', scope } as const
  const { tokenId } = await issueToken(access, { ...token, name: 'Caf\u00e9 Gro\u00df' })
  await caughtUp()
  const idsOf = async (text: string) => {
    const { items } = (await own(text)).body.data
    return items.map(({ id }: { readonly id: string }) => id)
  }
  for (const text of [
    'Zoe\u0308',
    'ZO\u00cb',
    'strasse',
    'STRA\u1e9eE',
    'izmir',
    '\u0130ZM\u0130R',
  ])
    t.ok((await idsOf(text)).includes(user.userId), text)
  for (const text of ['cafe\u0301', 'CAF\u00c9 GROSS'])
    t.ok((await idsOf(text)).includes(tokenId), text)
  t.same(await idsOf('zoe'), [], 'an accent counts')
})

t.test('a suspended tenant and a suspended user are found as such', async (t) => {
  const put = async (path: string, status: string) => {
    const { status: answered } = await call(`${url}/api/admin/tenants/${other.tenantId}${path}`, {
      method: 'PUT',
      token: demo.adminToken,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ status, reason: 'not paid' }),
    })
    t.equal(answered, 200)
  }
  const stateOf = async (text: string) => {
    await caughtUp()
    const { items } = (await operator(text)).body.data
    return items.find(({ id }: { readonly id: string }) => id === text)?.state
  }
  for (const [path, id] of [
    ['/status', other.tenantId],
    [`/users/${other.userId}/status`, other.userId],
  ] as const) {
    t.equal(await stateOf(id), 'open')
    await put(path, 'suspended')
    t.equal(await stateOf(id), 'suspended')
    await put(path, 'open')
  }
})

t.test('for another tenant and another user each is as if it were missing', async (t) => {
  const missing = (text: string): string =>
    text.replace(/[0-9A-Za-z]{1,6}(?=(?::\d+)?$)/, (end) =>
      end.replaceAll(/[A-Za-z]/g, 'Q').replaceAll(/\d/g, '7'),
    )
  for (const [text, kind, id] of words) {
    for (const search of [foreign, secondUser]) {
      // A tenant is known to all of its users, and the second user to itself.
      if (search === secondUser && (kind === 'tenant' || id === second)) continue
      const [theirs, none] = [await search(text), await search(missing(text))]
      t.same(theirs.body.data.items, [], `${kind} ${text}`)
      const hidden = (answer: Answer): string =>
        answer.text.replaceAll(JSON.stringify(text).slice(1, -1), '').replaceAll(missing(text), '')
      if (!text.includes('{')) t.equal(hidden(theirs), hidden(none), `${kind} ${text}`)
      t.same(steadyHeaders(theirs), steadyHeaders(none))
    }
  }
})

t.test('odd texts find nothing and break nothing; a secret is looked up nowhere', async (t) => {
  for (const text of ['%', '_', '%%%%%%', '______', '\\', 'a\\b', "';--", '😀'.repeat(500)])
    t.match((await own(text)).body, { success: true, data: { items: [] } }, text)
  t.equal((await own('a\u0000b')).status, 400)
  t.match(await own('x'.repeat(4_001)), { status: 400, body: { message: /4,000 characters/ } })
  t.equal((await own('x'.repeat(4_000))).status, 200)
  const many = Array.from({ length: 120 }, (_, n) => `call_01M8BM4QZ6R3T8V5X2Y7W9${1000 + n}`)
  t.match((await own(many.join(' '))).body.data, {
    items: [],
    hints: [/^only the first 20 ids are looked up: 100 more/],
  })
  for (const day of ['2026-02-30', '2026-2-3', 'today', '2026-01-01T00:00:00Z'])
    t.match(await own('x', `&day=${day}`), { status: 400, body: { message: /a day: YYYY-MM-DD/ } })
  t.equal((await own('upstream-4711', '&day=2026-11-27')).status, 200)
  for (const text of [demo.modelToken, `authorization: Bearer ${newSecret('adm-')}`]) {
    const { status, body } = await own(text)
    t.equal(status, 400)
    t.match(body.message, 'this is a token: search for its last four characters, and rotate it')
  }
})

t.test('tollgate find shows the same to an operator', async (t) => {
  const env = {
    EVENTSTORE_URL: stack.eventStoreUrl,
    DATABASE_URL: stack.databaseUrl,
    EVENTSTORE_NAMESPACE: stack.namespace,
    MARKER_SECRET: 'a marker secret of the tests alone',
  }
  const find = (...args: readonly string[]) => tollgate(['find', ...args], env)
  const made = await find(callId)
  t.equal(made.code, 0, made.stderr)
  t.match(made.stdout, /^AT +KIND +ID +TENANT +STATE +SUMMARY +SEE\n/)
  t.match(
    made.stdout,
    new RegExp(`call +${callId} +${tenantId} +settled .*tollgate replay ${callId}`),
  )
  const json = JSON.parse((await find(key, '--tenant', tenantId, '--json')).stdout)
  t.match(json, { items: [{ kind: 'task', id: platformId }], more: false })
  const none = await find(callId, '--tenant', other.tenantId)
  t.match(none, { code: 1, stderr: /was made at [^]*nothing was found/ })
  const secret = await find(demo.modelToken)
  t.match(secret, { code: 2, stderr: /this is a token: search for its last four/ })
  t.notMatch(secret.stderr, demo.modelToken)
  t.match(await find('x', '--limit', '51'), { code: 2, stderr: /from 1 to 50/ })
})
