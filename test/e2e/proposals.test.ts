import t from 'tap'
import { addUser, issueToken } from '../../src/app/accounts/account-commands.ts'
import { setSetting } from '../../src/app/accounts/settings.ts'
import { grantCredit } from '../../src/app/accounts/credit.ts'
import { proposalIdOf } from '../../src/domain/account/proposal-state.ts'
import { eventually } from '../helpers/eventually.ts'
import { openTestTenant, startStack } from '../helpers/stack.ts'
import { type Answer, call } from './support/client.ts'

/** Money above what one person may post alone: it waits for a second user, and moves once. */

const stack = await startStack({ env: { RATE_LIMIT_RPM: '6000' } })
t.teardown(() => stack.stop())
const { access, url } = stack
const replica = await stack.replica(['api'])
const { tenantId: home } = stack.other
const { tenantId, modelToken } = await openTestTenant(access, 'approved')
const HOUR_MS = 60 * 60 * 1_000

const tokenOf = async (userId: string, level: 'all_tenants' | 'all_users', of = home) =>
  issueToken(access, { tenantId: of, userId, kind: 'admin', name: userId, scope: { level } })
const ids = ['ann', 'ben', 'cleo'] as const
for (const userId of ids) await addUser(access, { tenantId: home, userId, name: userId })
const ann = await tokenOf('ann', 'all_tenants')
const annAgain = (await tokenOf('ann', 'all_tenants')).secret
const ben = (await tokenOf('ben', 'all_tenants')).secret
const cleo = (await tokenOf('cleo', 'all_tenants')).secret
const own = (await tokenOf('user_approved', 'all_users', tenantId)).secret
const foreign = (await tokenOf('ann', 'all_users')).secret
await stack.caughtUp()

const ask = (
  token: string,
  method: string,
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
  base = url,
): Promise<Answer> =>
  call(`${base}/api/admin${path}`, {
    method,
    token,
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
const tenant = `/tenants/${tenantId}`
const grant = (grant_id: string, amount: string, token = ann.secret) =>
  ask(token, 'POST', `${tenant}/credit/grants`, {
    currency: 'USD',
    amount,
    reason: 'invoice 17',
    grant_id,
  })
const of = (posting: string): string => `${tenant}/proposals/${proposalIdOf(tenantId, posting)}`
const approve = (posting: string, token: string, base = url) =>
  ask(token, 'POST', `${of(posting)}/approve`, undefined, {}, base)
const reject = (posting: string, token: string, reason = 'not paid') =>
  ask(token, 'POST', `${of(posting)}/reject`, { reason })
const eventsOf = async (type: string) =>
  (await access.log.readStream(`account-${tenantId}`, { limit: 500 })).filter(
    (event) => event.type === type,
  )
const granted = async (grantId: string) =>
  (await eventsOf('CreditGranted')).filter(
    (event) => event.type === 'CreditGranted' && event.data.grantId === grantId,
  )

t.test('an operator sets the limits, and the tenant sees them', async (t) => {
  const setting = { limits: [{ currency: 'USD', above: '100' }], lapse_hours: 48 }
  t.match((await ask(own, 'GET', `${tenant}/approvals`)).body.data, { revision: 0, limits: [] })
  t.match(await ask(own, 'PUT', `${tenant}/approvals`, setting), {
    status: 403,
    body: { error: { code: 'scope_denied' } },
  })
  for (const wrong of [
    { ...setting, lapse_hours: 0 },
    { ...setting, lapse_hours: 721 },
    { ...setting, limits: [{ currency: 'EUR', above: '1' }] },
    { ...setting, limits: [setting.limits[0], setting.limits[0]] },
    { limits: setting.limits },
  ])
    t.equal((await ask(ben, 'PUT', `${tenant}/approvals`, wrong)).status, 400)
  t.match((await ask(ben, 'PUT', `${tenant}/approvals`, setting)).body.data, {
    object: 'approvals',
    revision: 1,
    changed: true,
    ...setting,
  })
  t.match((await ask(own, 'GET', `${tenant}/approvals`)).body.data, { revision: 1, ...setting })
  const late = { ...setting, lapse_hours: 24, expected_revision: 0 }
  t.match(await ask(ben, 'PUT', `${tenant}/approvals`, late), {
    status: 409,
    body: { error: { code: 'approvals_changed' } },
  })
})

t.test('a grant above the limit waits for a second user, and is posted once', async (t) => {
  t.match(await grant('small', '40'), { status: 200, body: { data: { changed: true } } })
  const key = { 'idempotency-key': 'invoice 17' }
  const body = { currency: 'USD', amount: '70', reason: 'invoice 17', reference: 'INV-17' }
  const path = `${tenant}/credit/grants`
  const proposed = await ask(ann.secret, 'POST', path, body, key)
  t.equal(proposed.status, 202, proposed.text)
  const { id, posting } = proposed.body.data
  const person = { tenant_id: home, user_id: 'ann', token_id: ann.tokenId }
  t.match(proposed.body.data, {
    object: 'proposal',
    id: /^proposal_[0-9a-f]{32}$/,
    tenant_id: tenantId,
    state: 'proposed',
    posting: { object: 'credit_grant', amount: '70', credit: 'paid', reference: 'INV-17' },
    proposed_by: person,
    expires_at: /Z$/,
    ended_at: null,
    changed: true,
  })
  const again = await ask(ann.secret, 'POST', path, body, key)
  t.match(again, { status: 202, body: { data: { id, changed: false } } })
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.same(await granted(posting.id), [], 'it moves no money')
  const toDecide = async (token: string) =>
    (await ask(token, 'GET', '/proposals/waiting')).body.data
  t.same(await toDecide(ben), { proposals: 1, voids: 0 }, 'it waits for another user')
  for (const token of [ann.secret, annAgain, own])
    t.same(await toDecide(token), { proposals: 0, voids: 0 }, 'and for none who may not decide it')

  for (const token of [ann.secret, annAgain])
    t.match(await approve(posting.id, token), {
      status: 403,
      body: { error: { code: 'proposal_own' } },
    })
  t.match(await approve(posting.id, own), {
    status: 403,
    body: { error: { code: 'scope_denied' } },
  })
  const done = await approve(posting.id, ben)
  t.match(done, {
    status: 200,
    body: { data: { id, state: 'approved', ended_by: { user_id: 'ben' }, changed: true } },
  })
  t.match((await granted(posting.id))[0], {
    data: { by: { userId: 'ann', tokenId: ann.tokenId }, keyHash: /^[0-9a-f]{64}$/ },
  })
  t.match((await approve(posting.id, ben)).body.data, { state: 'approved', changed: false })
  t.match(await approve(posting.id, cleo), {
    status: 409,
    body: { error: { code: 'proposal_ended' } },
  })
  const retry = await ask(ann.secret, 'POST', path, body, key)
  t.match(retry, {
    status: 200,
    body: { data: { object: 'credit_grant', id: posting.id, changed: false } },
  })
  t.equal((await granted(posting.id)).length, 1)
})

t.test('a credit limit that gives more than one person may waits for a second', async (t) => {
  const path = `${tenant}/credit/limit`
  const set = (limit_id: string, amount: string, token = cleo) =>
    ask(token, 'PUT', path, { currency: 'USD', amount, limit_id, reason: 'paid monthly' })
  const proposed = await set('l1', '999999999')
  const posting = { object: 'credit_limit', id: 'l1', currency: 'USD', amount: '999999999' }
  const before = { limit: '999999999', limit_before: '0', reason: 'paid monthly', code: null }
  t.match(proposed, { status: 202, body: { data: { posting: { ...posting, ...before } } } })
  const usd = async () =>
    (await ask(cleo, 'GET', `${tenant}/credit`)).body.data.accounts.find(
      (account: { readonly currency: string }) => account.currency === 'USD',
    ).credit_limit as string
  t.match(await usd(), /^0/)
  t.match(await set('l1', '999999999'), { status: 202, body: { data: { changed: false } } })
  const one = `${tenant}/proposals/${proposed.body.data.id}`
  t.match(await ask(cleo, 'POST', `${one}/approve`), { status: 403 })
  t.match(await ask(cleo, 'POST', `${one}/reject`, { reason: 'too much' }), { status: 200 })
  t.match(await set('l1', '999999999'), {
    status: 409,
    body: { error: { code: 'proposal_ended' } },
  })
  const next = (await set('l2', '500')).body.data.id
  t.match((await ask(ben, 'POST', `${tenant}/proposals/${next}/approve`)).body.data, {
    state: 'approved',
    changed: true,
  })
  t.match(await usd(), /^500/)
  t.match(await set('l2', '500'), { status: 200, body: { data: { changed: false } } })
  t.match(await set('l3', '0'), { status: 200, body: { data: { changed: true } } })
})

t.test('one person does not approve what it proposed, with whatever token', async (t) => {
  const issue = async (by: string, user_id: string) => {
    const wanted = { tenant_id: home, user_id, kind: 'admin', name: user_id }
    const { body } = await ask(by, 'POST', '/tokens', {
      ...wanted,
      scope: { level: 'all_tenants' },
    })
    return { tokenId: body.data.id as string, secret: body.data.secret as string }
  }
  const byAnn = await issue(ann.secret, 'ben')
  const throughAnn = await issue(byAnn.secret, 'cleo')
  const byCleo = await issue(cleo, 'ben')
  const old = await tokenOf('cleo', 'all_tenants')
  const rotated = await tokenOf('cleo', 'all_tenants')
  const rotate = async (by: string, tokenId: string) =>
    (await ask(by, 'POST', `/tokens/${tokenId}/rotate`)).body.data.secret as string
  const given = await rotate(ann.secret, rotated.tokenId)
  t.match(await grant('alone', '101'), { status: 202 })
  const refused = (message: RegExp) => ({
    status: 403,
    body: { message, error: { code: 'proposal_not_independent' } },
  })
  for (const token of [byAnn.secret, throughAnn.secret, given])
    t.match(await approve('alone', token), refused(/the proposer issued this token/))
  const young = await tokenOf('ben', 'all_tenants')
  t.match(await approve('alone', young.secret), refused(/after the proposal/))
  const renewed = await rotate(cleo, old.tokenId)
  for (const secret of [renewed, old.secret])
    t.match(await approve('alone', secret), refused(/after the proposal/))
  t.match(await grant('mirrored', '101', byAnn.secret), { status: 202 })
  t.match(await approve('mirrored', ann.secret), refused(/ann of .* is behind this token/))
  t.same([...(await granted('alone')), ...(await granted('mirrored'))], [])
  t.match(await approve('alone', byCleo.secret), { status: 200, body: { data: { changed: true } } })
})

t.test('the tokens that one operator issues give together what one person may', async (t) => {
  const { tenantId: joint } = await openTestTenant(access, 'joint')
  const limits = [{ currency: 'USD', above: '100' }]
  await ask(ann.secret, 'PUT', `/tenants/${joint}/approvals`, { limits, lapse_hours: 48 })
  await ask(ann.secret, 'POST', `/tenants/${home}/users`, { user_id: 'invented', name: 'Invented' })
  const issue = async (by: string, user_id: string) => {
    const scope = { level: 'all_tenants' }
    const body = { tenant_id: home, user_id, kind: 'admin', name: user_id, scope }
    return (await ask(by, 'POST', '/tokens', body)).body.data.secret as string
  }
  const invented = await issue(ann.secret, 'invented')
  const throughIt = await issue(invented, 'cleo')
  const give = (grant_id: string, amount: string, token: string) =>
    ask(token, 'POST', `/tenants/${joint}/credit/grants`, {
      currency: 'USD',
      amount,
      reason: 'gift',
      grant_id,
    })
  const decide = (grant_id: string, token: string) => {
    const id = proposalIdOf(joint, grant_id)
    return ask(token, 'POST', `/tenants/${joint}/proposals/${id}/approve`)
  }
  t.match(await give('j1', '60', invented), { status: 200 })
  t.match(await give('j2', '41', ann.secret), { status: 202 }, 'its issuer')
  t.match(await give('j3', '41', throughIt), { status: 202 }, 'what it issued')
  t.match(await give('j4', '60', ben), { status: 200 }, 'another person')
  for (const [id, tokens] of [
    ['j2', [invented, throughIt]],
    ['j3', [ann.secret, invented]],
  ] as const)
    for (const token of tokens)
      t.match(await decide(id, token), {
        status: 403,
        body: { error: { code: 'proposal_not_independent' } },
      })
  t.match(await decide('j3', ben), { status: 200, body: { data: { changed: true } } })
  const events = await access.log.readStream(`account-${joint}`, { limit: 100 })
  const first = events.find(({ data }) => 'grantId' in data && data.grantId === 'j1')
  t.match(first?.data, {
    by: { userId: 'invented', issuers: [{ tenantId: home, userId: 'ann' }] },
  })
})

t.test('prices that make anything cheaper wait for a second user', async (t) => {
  const { tenantId: priced } = await openTestTenant(access, 'priced')
  const path = `/tenants/${priced}`
  const set = (body: object, token = ann.secret) => ask(token, 'PUT', `${path}/prices`, body)
  const limits = [{ currency: 'USD', above: '100' }]
  await ask(ann.secret, 'PUT', `${path}/approvals`, { limits, lapse_hours: 48 })
  const decide = (id: string, token: string) =>
    ask(token, 'POST', `${path}/proposals/${id}/approve`)

  const free = await set({ expected_revision: 0, multiplier: '0' })
  t.match(free, { status: 202, body: { data: { object: 'proposal', changed: true } } }, free.text)
  t.match(free.body.data.posting, {
    object: 'account_prices',
    id: '1',
    currency: null,
    amount: null,
    change: {
      revision: 0,
      multiplier: { before: null, after: '0' },
      prices: [],
      limits: null,
      lapse_hours: null,
    },
  })
  const now = async (query = '') => (await ask(ben, 'GET', `${path}/prices${query}`)).body.data
  t.match(await now(), { revision: 0, multiplier: null, prices: [] }, 'nothing is set yet')
  const again = await set({ expected_revision: 0, multiplier: '0' }, ben)
  t.match(again, { status: 202, body: { data: { id: free.body.data.id, changed: false } } })
  for (const token of [ann.secret, annAgain])
    t.match(await decide(free.body.data.id, token), { body: { error: { code: 'proposal_own' } } })

  const { prices: all } = await now('?all=true')
  const { sku, currency, list } = all.find(
    (one: { currency: string; list: object | null }) => one.currency === 'USD' && one.list,
  )
  const own = (price: string) => [{ sku, currency, ...list, price }]
  const equal = await set({ expected_revision: 0, prices: own(list.price) })
  t.match(equal, { status: 200, body: { data: { revision: 1, changed: true } } }, equal.text)
  t.match(await decide(free.body.data.id, ben), {
    status: 409,
    body: { error: { code: 'proposal_outdated' }, message: /to revision 1/ },
  })
  const dear = await set({ expected_revision: 1, prices: own('99999') })
  t.match(dear, { status: 200, body: { data: { revision: 2 } } })
  t.equal((await set({ expected_revision: 1, prices: own('0') })).status, 409, 'an old revision')
  const cheap = await set({ expected_revision: 2, prices: own('0') })
  t.match(cheap.body.data.posting.change, {
    prices: [
      { sku, currency, before: { ...list, price: '99999' }, after: { ...list, price: '0' } },
    ],
  })
  const cleared = await ask(ann.secret, 'DELETE', `${path}/prices?expected_revision=2`)
  t.match(cleared, { status: 202 }, 'the list is cheaper')
  t.match(cleared.body.data.posting.change.prices, [{ before: { price: '99999' }, after: null }])
  t.match((await ask(ben, 'GET', `${path}/proposals/${cheap.body.data.id}`)).body.data, {
    state: 'proposed',
    posting: cheap.body.data.posting,
  })
  t.match(await decide(cheap.body.data.id, ben), {
    status: 200,
    body: { data: { state: 'approved', changed: true } },
  })
  t.match(await decide(cheap.body.data.id, ben), { body: { data: { changed: false } } })
  t.match(await now(), { revision: 3, prices: [{ sku, tenant: { price: '0' } }] })
  const [last] = (await access.log.readStream(`account-${priced}`, { limit: 100 })).slice(-1)
  t.match(last?.data, { by: { userId: 'ann' }, comparedWith: [String] })
})

t.test('a higher limit of approvals waits for a second user, and a lower one is set', async (t) => {
  const { tenantId: raised } = await openTestTenant(access, 'raised')
  const path = `/tenants/${raised}`
  const set = (above: string | undefined) =>
    ask(ann.secret, 'PUT', `${path}/approvals`, {
      limits: above === undefined ? [] : [{ currency: 'USD', above }],
      lapse_hours: 48,
    })
  t.equal((await set('100')).status, 200)
  const off = await set(undefined)
  t.match(off, { status: 202 }, off.text)
  t.match(off.body.data.posting, {
    object: 'approvals',
    change: {
      revision: 1,
      limits: [{ currency: 'USD', before: '100', after: null }],
      lapse_hours: { before: 48, after: 48 },
      multiplier: null,
      prices: null,
    },
  })
  const decide = (id: string, token: string) =>
    ask(token, 'POST', `${path}/proposals/${id}/approve`)
  const higher = await set('100.5')
  t.equal(higher.status, 202)
  t.match(await decide(higher.body.data.id, annAgain), { status: 403 })
  t.match(await decide(higher.body.data.id, cleo), { status: 200 })
  t.match(await decide(off.body.data.id, cleo), {
    status: 409,
    body: { error: { code: 'proposal_outdated' } },
  })
  t.match((await set('1')).body.data, { object: 'approvals', revision: 3, changed: true })
  const shell = await setSetting(access, 'approvals', {
    tenantId: raised,
    wanted: { limits: [], lapseHours: 48 },
  })
  t.match(shell, { changed: true, proposal: { by: null, state: 'proposed' } }, 'by a shell too')
})

t.test('two approve it at once, on two replicas: there is one posting', async (t) => {
  t.equal((await grant('race', '500', ann.secret)).status, 202)
  const answers = await Promise.all([
    approve('race', ben),
    approve('race', cleo, replica.url),
    approve('race', ben, replica.url),
    approve('race', cleo),
  ])
  t.equal((await granted('race')).length, 1)
  t.equal(answers.filter(({ body }) => body.data?.changed === true).length, 1)
  t.equal(answers.filter(({ status }) => status === 200).length, 2)
  t.equal(answers.filter(({ status }) => status === 409).length, 2)
  for (const { status, body } of answers)
    if (status === 409) t.equal(body.error.code, 'proposal_ended')
})

t.test('one is proposed at the same time on two replicas: it is one proposal', async (t) => {
  const body = { currency: 'USD', amount: '300', reason: 'x', grant_id: 'twice' }
  const answers = await Promise.all(
    [url, replica.url, url].map((base) =>
      ask(ann.secret, 'POST', `${tenant}/credit/grants`, body, {}, base),
    ),
  )
  t.same(
    answers.map(({ status }) => status),
    [202, 202, 202],
  )
  t.equal(answers.filter(({ body }) => body.data.changed === true).length, 1)
  t.equal(new Set(answers.map(({ body }) => body.data.id)).size, 1)
  t.match(await grant('twice', '1'), { status: 409, body: { error: { code: 'grant_exists' } } })
})

t.test('a rejected proposal cannot be approved, and its id is used up', async (t) => {
  t.match((await reject('twice', ben)).body.data, {
    state: 'rejected',
    reason: 'not paid',
    ended_by: { user_id: 'ben' },
    changed: true,
  })
  t.match((await reject('twice', ben)).body.data, { state: 'rejected', changed: false })
  for (const again of [
    await approve('twice', cleo),
    await reject('twice', cleo),
    await grant('twice', '300'),
  ])
    t.match(again, { status: 409, body: { error: { code: 'proposal_ended' } } }, again.text)
  t.match((await grant('twice', '300')).body.message, /under a new id/)
  t.same(await granted('twice'), [])
  t.equal((await grant('withdrawn', '300')).status, 202)
  t.match((await reject('withdrawn', annAgain, 'a slip')).body.data, { state: 'rejected' })
  t.match(await reject('withdrawn', own), {
    status: 403,
    body: { error: { code: 'scope_denied' } },
  })
  t.match(await reject('withdrawn', ben, ''), { status: 400, body: { error: { param: 'reason' } } })
})

t.test('409 proposal_expired once it has lapsed', async (t) => {
  const clock = { nowMs: () => Date.now() - 49 * HOUR_MS }
  const by = { tenantId: home, userId: 'cleo', tokenId: 'token_cleo' }
  const terms = { currency: 'USD', amount: '101', reason: 'late', grantId: 'late' } as const
  const { proposal } = await grantCredit({ ...access, clock }, { tenantId, ...terms, by })
  t.equal(proposal?.proposalId, proposalIdOf(tenantId, 'late'))
  for (const again of [await approve('late', ben), await reject('late', ben)])
    t.match(again, { status: 409, body: { error: { code: 'proposal_expired' } } }, again.text)
  t.match(await grant('late', '101'), { status: 409, body: { error: { code: 'proposal_ended' } } })
  t.match((await ask(ben, 'GET', of('late'))).body.data, { state: 'lapsed', ended_at: null })
})

t.test('a shell may propose, and a user approves it', async (t) => {
  const terms = { currency: 'USD', amount: '101', reason: 'shell', grantId: 'shell' } as const
  const made = await grantCredit(access, { tenantId, ...terms })
  t.match(made.proposal, { by: null, state: 'proposed' })
  t.match((await approve('shell', ann.secret)).body.data, { proposed_by: null, changed: true })
  const [posted] = await granted('shell')
  t.notOk(posted?.type === 'CreditGranted' && posted.data.by)
})

t.test('an adjustment waits too, and its bounds are checked again', async (t) => {
  const limits = [{ currency: 'USD', above: '0.001' }]
  await ask(ben, 'PUT', `${tenant}/approvals`, { limits, lapse_hours: 48 })
  const made = await call(`${url}/v1/images/generations`, {
    method: 'POST',
    token: modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'image-2', prompt: 'a paper boat' }),
  })
  const line_id = `${made.headers.get('x-call-id')}:1`
  const adjust = (adjustment_id: string, amount: string) =>
    ask(cleo, 'POST', `${tenant}/adjustments`, {
      line_id,
      amount,
      code: 'quality',
      reason: 'broken',
      adjustment_id,
    })
  t.match(await adjust('all', '0.011'), {
    status: 202,
    body: { data: { posting: { object: 'adjustment', line_id, code: 'quality', credit: null } } },
  })
  t.match(await adjust('half', '0.005'), { status: 202 })
  t.match(await adjust('more', '0.012'), {
    status: 409,
    body: { error: { code: 'adjustment_out_of_bounds' } },
  })
  t.match(await approve('half', ben), { status: 200 })
  t.match(await adjust('half', '0.005'), {
    status: 200,
    body: { data: { object: 'adjustment', net: '0.006', changed: false } },
  })
  t.match(await approve('all', ben), {
    status: 409,
    body: { error: { code: 'adjustment_out_of_bounds' } },
  })
  t.match((await ask(own, 'GET', of('all'))).body.data, { state: 'proposed' })
})

t.test('proposals are listed by state, of those tenants that the token sees', async (t) => {
  const list = async (token: string, query = '') =>
    (await ask(token, 'GET', `/proposals?tenant_id=${tenantId}${query}`)).body.data
  const all = await list(ben)
  const statesOf = (items: readonly { readonly state: string }[]) =>
    items.map(({ state }) => state).sort()
  t.same(statesOf(all.items), [
    'approved',
    'approved',
    'approved',
    'approved',
    'approved',
    'approved',
    'lapsed',
    'proposed',
    'proposed',
    'rejected',
    'rejected',
    'rejected',
  ])
  for (const state of ['approved', 'lapsed', 'proposed', 'rejected']) {
    const { items } = await list(ben, `&state=${state}`)
    t.same(
      items,
      all.items.filter((item: { readonly state: string }) => item.state === state),
      state,
    )
  }
  for (const item of all.items) {
    const path = `${tenant}/proposals/${item.id}`
    t.same((await ask(ben, 'GET', path)).body.data, item, 'as the log has it')
  }
  const pages = []
  let cursor = ''
  do {
    const page = await list(ben, `&limit=3${cursor}`)
    pages.push(...page.items)
    cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`
  } while (cursor !== '')
  t.same(pages, all.items)
  const ofTenant = await ask(own, 'GET', '/proposals')
  t.equal(ofTenant.body.data.items.length, all.items.length)
  for (const item of ofTenant.body.data.items) t.notMatch(item, { proposed_by: {} })
  t.equal(ofTenant.text.includes(ann.tokenId), false, 'a tenant sees no person of the operator')
  const others = await ask(foreign, 'GET', '/proposals')
  t.same(others.body.data.items, [])
  const notFound = { status: 404, body: { error: { code: 'tenant_not_found' } } }
  t.match(await ask(foreign, 'GET', `/proposals?tenant_id=${tenantId}`), notFound)
  t.match(await ask(foreign, 'GET', of('race')), notFound)
  t.match(await ask(own, 'GET', of('none')), {
    status: 404,
    body: { error: { code: 'proposal_not_found' } },
  })
  t.match(await approve('none', ben), {
    status: 404,
    body: { error: { code: 'proposal_not_found' } },
  })
  t.equal((await ask(ben, 'GET', '/proposals?state=open')).status, 400)
})

t.test('changes say who made them, why, and from what to what', async (t) => {
  const list = async (token: string, query: string) => {
    const answer = await call(`${url}/api/query/v1/changes?${query}`, { token })
    if (answer.status !== 200) throw new Error(answer.text)
    return answer.body.data.items as readonly Readonly<Record<string, unknown>>[]
  }
  const { secret: all } = await issueToken(access, {
    tenantId: home,
    userId: 'ben',
    kind: 'query',
    name: 'reports',
    scope: { level: 'all_tenants' },
  })
  const { secret: inside } = await issueToken(access, {
    tenantId,
    userId: 'user_approved',
    kind: 'query',
    name: 'reports',
    scope: { level: 'all_users' },
  })
  await stack.caughtUp()
  const limits = (requests_per_minute: number, why: { readonly reason?: string } = {}) =>
    ask(ben, 'PUT', `${tenant}/limits`, {
      ...why,
      limits: [{ subject: 'tenant', requests_per_minute, concurrent_calls: 7 }],
    })
  await limits(600)
  await limits(60, { reason: 'a loop of retries, ticket 4712' })
  await stack.caughtUp()
  const of = `tenant_id=${tenantId}`
  const changes = await list(all, of)
  t.match(changes[0], {
    what: 'limits',
    actor_name: 'ben',
    actor_user_id: 'ben',
    actor_tenant_id: home,
    from: 'tenant requests per minute 600',
    to: 'tenant requests per minute 60',
    reason: 'a loop of retries, ticket 4712',
  })
  t.match(changes[1], {
    from: null,
    to: /^tenant requests per minute 600, tenant concurrent calls 7$/,
    reason: null,
  })
  const whats = new Set(changes.map(({ what }) => what))
  for (const what of [
    'approvals',
    'credit granted',
    'proposal made',
    'proposal approved',
    'proposal rejected',
  ])
    t.ok(whats.has(what), what)
  t.match(
    changes.find(({ what }) => what === 'proposal rejected'),
    { reason: 'a slip', id: /^proposal_/ },
  )
  const posted = changes.find(({ id }) => id === 'small')
  t.match(posted, {
    what: 'credit granted',
    to: '40 USD, paid',
    reason: 'invoice 17',
    actor_name: 'ann',
  })

  t.match(
    changes.find(({ id }) => id === 'l3'),
    { what: 'credit limit', from: '500 USD', to: '0 USD', reason: 'paid monthly' },
  )
  const asked = changes.filter(({ what }) => what === 'proposal made')
  t.match(
    asked.find(({ to }) => to === '999999999 USD'),
    { reason: 'paid monthly' },
  )

  const byBen = await list(all, `${of}&by=ben`)
  t.ok(byBen.length > 0)
  t.ok(byBen.every(({ actor_user_id: user }) => user === 'ben'))
  t.same(await list(all, `${of}&by=${ann.tokenId}&to=2026-01-01`), [])
  t.match(await call(`${url}/api/query/v1/changes?by=bem`, { token: all }), {
    status: 400,
    body: { error: { param: 'by' } },
  })
  const page = await call(`${url}/api/query/v1/changes?${of}&limit=2`, { token: all })
  const { next_cursor: cursor } = page.body.data
  const rest = await list(all, `${of}&limit=1000&cursor=${encodeURIComponent(cursor)}`)
  t.same([...page.body.data.items, ...rest], changes, 'pages join up to the list')

  const books = (await list(all, 'limit=1000')).filter(({ type }) => type === 'PriceBookPublished')
  t.ok(books.length > 0, 'price books are of no tenant')
  const own = await list(inside, 'limit=1000')
  t.ok(own.every(({ tenant_id: id }) => id === tenantId))
  t.ok(
    own.every(({ actor }) => actor === null),
    'a tenant does not see which operators acted',
  )
  t.match(await call(`${url}/api/query/v1/changes?by=ben`, { token: inside }), { status: 400 })
  t.match(await call(`${url}/api/query/v1/changes?tenant_id=${home}`, { token: inside }), {
    status: 403,
  })
})

t.test('an approval whose answer is lost counts once, also on another replica', async (t) => {
  const setting = { limits: [{ currency: 'USD', above: '100' }], lapse_hours: 48 }
  t.equal((await ask(ben, 'PUT', `/tenants/${home}/approvals`, setting)).status, 200)
  const raised = await ask(ben, 'PUT', `${tenant}/approvals`, setting)
  t.equal(raised.status, 202, 'a higher limit waits')
  const raise = `${tenant}/proposals/${raised.body.data.id}/approve`
  t.equal((await ask(cleo, 'POST', raise)).status, 200)
  t.equal((await grant('lost', '600')).status, 202)
  const elsewhere = () =>
    ask(ann.secret, 'POST', `/tenants/${home}/credit/grants`, {
      currency: 'USD',
      amount: '600',
      reason: 'invoice 18',
      grant_id: 'lost_too',
    })
  await stack.eventStore.setFault('lose-ack-every:1')
  t.teardown(() => stack.eventStore.setFault(''))
  const [lost, proposal] = await Promise.all([approve('lost', ben), elsewhere()])
  for (const [answer, param] of [
    [lost, 'proposal_id'],
    [proposal, 'grant_id'],
  ] as const)
    t.match(answer, { status: 503, body: { error: { code: 'outcome_unknown', param } } })
  await stack.eventStore.setFault('')
  await eventually('the log is well again', async () =>
    (await call(`${url}/readyz`)).status === 200 ? true : undefined,
  )
  t.match((await approve('lost', ben, replica.url)).body.data, {
    state: 'approved',
    changed: false,
  })
  t.match((await approve('lost', ben)).body.data, { state: 'approved', changed: false })
  t.match((await approve('lost', cleo)).body.error, { code: 'proposal_ended' })
  t.equal((await granted('lost')).length, 1)
  t.match(await elsewhere(), { status: 202, body: { data: { changed: false } } })
  const approvals = await eventsOf('PostingApproved')
  for (const { revision, metadata } of approvals) {
    const after = await access.log.readStream(`account-${tenantId}`, {
      from: revision + 1n,
      limit: 1,
    })
    t.equal(after[0]?.metadata.commandId, metadata.commandId, 'one append with its posting')
  }
})
