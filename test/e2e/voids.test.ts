import t from 'tap'
import { addUser, issueToken } from '../../src/app/accounts/account-commands.ts'
import { setSetting } from '../../src/app/accounts/settings.ts'
import { createManagedVoids } from '../../src/app/finance/statements/void.ts'
import { periodOf } from '../../projections/statements/query.ts'
import { statementDecider } from '../../src/domain/statement/decider.ts'
import { statementStream } from '../../src/domain/statement/events.ts'
import { executeCommand, readOn } from '../../src/eventlog/log/execute.ts'
import { environmentOf, tollgate } from '../cli/support/commands.ts'
import { closeOf } from '../domain/statement/periods.ts'
import { openTestTenant, startStack } from '../helpers/stack.ts'
import { type Answer, call } from './support/client.ts'

/** A closed month is void once a second user approves it, and then it can be closed again. */

const stack = await startStack({ env: { RATE_LIMIT_RPM: '6000' } })
t.teardown(() => stack.stop())
const { access, url } = stack
const { log, clock } = access
const replica = await stack.replica(['api'])
const env = environmentOf(stack)
const { tenantId: home } = stack.other

const tokenOf = async (userId: string, more: { role?: 'support' | 'finance' } = {}) => {
  const scope = { level: 'all_tenants' } as const
  return issueToken(access, { tenantId: home, userId, kind: 'admin', name: 'a', scope, ...more })
}
for (const userId of ['ann', 'ben', 'cleo'])
  await addUser(access, { tenantId: home, userId, name: userId })
const { secret: ann } = await tokenOf('ann')
const { secret: annAgain } = await tokenOf('ann')
const { secret: ben } = await tokenOf('ben', { role: 'finance' })
const { secret: cleo, tokenId: cleoId } = await tokenOf('cleo')
const { secret: support } = await tokenOf('cleo', { role: 'support' })

/** A tenant with closed months in CNY; `2026-02` is the last one. */
async function closedTenant(name: string, months = 2): Promise<string> {
  const { tenantId } = await openTestTenant(access, name)
  for (let n = 0; n < months; n += 1) await closeNext(tenantId)
  await stack.caughtUp()
  return tenantId
}
async function closeNext(tenantId: string): Promise<void> {
  const stream = statementStream(tenantId)
  const { state } = await readOn(log, stream, statementDecider, undefined)
  const data = { ...closeOf(state), tenantId }
  await executeCommand({
    log,
    stream,
    decider: statementDecider,
    command: { kind: 'close', data, graceHours: 72 },
    commandId: `close/CNY/${data.n}/${data.attempt}`,
    metadata: { correlationId: 'test', tenantId },
  })
}
const ask = (
  token: string,
  tenantId: string,
  action: '' | '/approve' | '/reject',
  body: object = {},
  { month = '2026-02', base = url } = {},
): Promise<Answer> =>
  call(`${base}/api/admin/tenants/${tenantId}/periods/${month}/void${action}`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ currency: 'CNY', ...body }),
  })
const reason = 'a refund was dated wrongly'
const eventsOf = async (tenantId: string) =>
  (await log.readStream(statementStream(tenantId))).map(({ type }) => type)
const refused = (status: number, code: string, message = /./) => ({
  status,
  body: { message, error: { code } },
})

t.test('a month is voided by two users, and closed again under a new number', async (t) => {
  const tenantId = await closedTenant('voided')
  const proposed = await ask(ann, tenantId, '', { reason })
  const persons = (userId: string) => ({ tenant_id: home, user_id: userId })
  t.match(proposed, {
    status: 202,
    body: {
      data: {
        object: 'void',
        tenant_id: tenantId,
        month: '2026-02',
        currency: 'CNY',
        statement: 'ACME-0002',
        state: 'proposed',
        reason,
        proposed_by: persons('ann'),
        ended_by: null,
        ended_at: null,
        rejection: null,
        changed: true,
      },
    },
  })
  t.match(await ask(cleo, tenantId, '', { reason: 'another' }), {
    status: 202,
    body: { data: { reason, proposed_by: persons('ann'), changed: false } },
  })
  t.match(await ask(ann, tenantId, '/approve'), refused(403, 'proposal_own'))
  t.match(await ask(annAgain, tenantId, '/approve'), refused(403, 'proposal_own'))
  t.match(await ask(ben, tenantId, '/approve'), {
    status: 200,
    body: { data: { state: 'voided', ended_by: persons('ben'), changed: true } },
  })
  t.match(await ask(ben, tenantId, '/approve'), {
    status: 200,
    body: { data: { state: 'voided', changed: false } },
  })
  t.match(await ask(cleo, tenantId, '/approve'), refused(404, 'period_not_found'))
  const of = { tenantId, currency: 'CNY', month: '2026-02' } as const
  t.match(await periodOf(stack.gateway.pool, of), {
    state: 'voided',
    closed: { statement: 'ACME-0002' },
    voidProposal: { reason },
    voidEnd: { by: { userId: 'ben' }, reason },
  })
  await closeNext(tenantId)
  await stack.caughtUp()
  t.match(await periodOf(stack.gateway.pool, of), {
    periodId: 'CNY/2/2',
    state: 'closed',
    closed: { statement: 'ACME-0003', previous: { n: 1 } },
  })
  t.match(await ask(ben, tenantId, '/approve'), refused(409, 'void_not_proposed'))
})

t.test('only the last closed month, and only by operators', async (t) => {
  const tenantId = await closedTenant('refused')
  const path = { month: '2026-01' }
  t.match(
    await ask(ann, tenantId, '', { reason }, path),
    refused(409, 'period_not_last', /void 2026-02 first/),
  )
  t.match(
    await ask(ann, tenantId, '', { reason }, { month: '2026-03' }),
    refused(404, 'period_not_found'),
  )
  t.match(
    await ask(ann, tenantId, '', { currency: 'USD', reason }),
    refused(404, 'period_not_found'),
  )
  t.match(await ask(ann, 'tenant_nobody', '', { reason }), refused(404, 'tenant_not_found'))
  t.match(await ask(ben, tenantId, '/approve'), refused(409, 'void_not_proposed'))
  t.match(await ask(ben, tenantId, '/reject', { reason }), refused(409, 'void_not_proposed'))
  t.match(
    await ask(ann, tenantId, '', { reason }, { month: '2026-13' }),
    refused(400, 'invalid_request', /month/),
  )
  for (const [body, param] of [
    [{}, 'reason'],
    [{ reason: '' }, 'reason'],
    [{ reason, currency: 'EUR' }, 'currency'],
    [{ reason, month: '2026-02' }, 'month'],
  ] as const)
    t.match(await ask(ann, tenantId, '', body), {
      status: 400,
      body: { error: { code: 'invalid_request', param } },
    })
  t.match(await ask(support, tenantId, '', { reason }), refused(403, 'role_denied'))
  const { userId } = stack.other
  const { secret: ofTenant } = await issueToken(access, {
    tenantId: home,
    userId,
    kind: 'admin',
    name: 'of the tenant',
    scope: { level: 'all_users' },
  })
  t.match(await ask(ofTenant, home, '', { reason }), refused(403, 'scope_denied'))
  t.same(await eventsOf(tenantId), ['PeriodClosed', 'PeriodClosed'])
})

t.test('a rejected proposal leaves the period, and another one may follow', async (t) => {
  const tenantId = await closedTenant('rejected')
  await ask(ann, tenantId, '', { reason })
  const rejected = { state: 'rejected', rejection: 'the refund is right', reason }
  const no = { reason: 'the refund is right' }
  t.match(await ask(ben, tenantId, '/reject', no), {
    status: 200,
    body: { data: { ...rejected, changed: true } },
  })
  t.match(await ask(ben, tenantId, '/reject', no), {
    status: 200,
    body: { data: { ...rejected, changed: false } },
  })
  t.match(await ask(cleo, tenantId, '/approve'), refused(409, 'void_not_proposed'))
  t.match(await ask(ann, tenantId, '', { reason }), {
    status: 202,
    body: { data: { changed: true } },
  })
})

t.test('a proposal lapses after the hours of the approval settings', async (t) => {
  const tenantId = await closedTenant('lapsed')
  const wanted = { limits: [], lapseHours: 2 }
  await setSetting(access, 'approvals', { tenantId, wanted })
  const managed = createManagedVoids({
    log,
    db: stack.gateway.pool,
    catalog: access.catalog,
    clock: { nowMs: () => clock.nowMs() - 2 * 60 * 60 * 1_000 },
    crashPoint: () => undefined,
  })
  const by = { tenantId: home, userId: 'ann', tokenId: 'token_gone', role: undefined }
  const of = { tenantId, currency: 'CNY', month: '2026-02' } as const
  const { void: earlier } = await managed.propose(
    { kind: 'all' },
    { ...by, requestId: 'req_1' },
    { ...of, reason },
  )
  t.match(await ask(ben, tenantId, '/approve'), refused(409, 'proposal_expired'))
  t.match(await ask(ben, tenantId, '/reject', { reason }), refused(409, 'proposal_expired'))
  const again = await ask(cleo, tenantId, '', { reason: 'still wrong' })
  t.match(again, { status: 202, body: { data: { reason: 'still wrong', changed: true } } })
  t.not(again.body.data.expires_at, earlier.proposal.expiresAt)
  t.match(await ask(ben, tenantId, '/approve'), { status: 200 })
})

t.test('of two approvals at once on two replicas one voids the month', async (t) => {
  const tenantId = await closedTenant('raced')
  await ask(ann, tenantId, '', { reason })
  const answers = await Promise.all([
    ask(ben, tenantId, '/approve'),
    ask(cleo, tenantId, '/approve', {}, { base: replica.url }),
  ])
  t.same(new Set(answers.map(({ status }) => status)), new Set([200, 404]))
  const voided = (await eventsOf(tenantId)).filter((type) => type === 'PeriodVoided')
  t.equal(voided.length, 1)
})

t.test('a token of the proposer, or of one who issued both, does not approve', async (t) => {
  const tenantId = await closedTenant('shared')
  const issued = await call(`${url}/api/admin/tokens`, {
    method: 'POST',
    token: ann,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      tenant_id: home,
      user_id: 'ben',
      kind: 'admin',
      name: 'made by ann',
      scope: { level: 'all_tenants' },
    }),
  })
  await ask(ann, tenantId, '', { reason })
  t.match(
    await ask(issued.body.data.secret, tenantId, '/approve'),
    refused(403, 'proposal_not_independent'),
  )
  t.match(
    await ask((await tokenOf('ben')).secret, tenantId, '/approve'),
    refused(403, 'proposal_not_independent', /after the proposal/),
  )
})

t.test('a shell proposes and rejects, and is killed before or after the append', async (t) => {
  const tenantId = await closedTenant('shell')
  const run = (command: string, text = reason, crashAt = '') =>
    tollgate(
      ['void', command, '--tenant', tenantId, '--currency', 'CNY', '--month', '2026-02'].concat([
        '--reason',
        text,
        '--json',
      ]),
      { ...env, TOLLGATE_CRASH_AT: crashAt },
    )
  t.equal((await run('propose', reason, 'void.before-append')).code, null)
  t.notOk((await eventsOf(tenantId)).includes('VoidProposed'))
  t.equal((await run('propose', reason, 'void.after-append')).code, null)
  t.ok((await eventsOf(tenantId)).includes('VoidProposed'))
  const again = await run('propose')
  t.match(again, { code: 0, stderr: /already proposed[^]*POST \/api\/admin\/tenants/ })
  t.match(JSON.parse(again.stdout), { statement: 'ACME-0002', state: 'proposed' })
  t.equal((await run('reject', 'it is right', 'void.after-append')).code, null)
  t.match(await run('reject', 'it is right'), { code: 0, stderr: /already rejected/ })
  t.same(await eventsOf(tenantId), ['PeriodClosed', 'PeriodClosed', 'VoidProposed', 'VoidRejected'])
  t.equal((await run('propose')).code, 0)
  t.match(await ask(ben, tenantId, '/approve'), {
    status: 200,
    body: { data: { state: 'voided', proposed_by: null } },
  })
  t.match(await run('propose'), { code: 1, stderr: /2026-02 is not closed in CNY/ })
  for (const wrong of [
    ['--month', '2026-2'],
    ['--currency', 'EUR'],
    ['--reason', ' '],
  ])
    t.equal(
      (
        await tollgate(
          [
            'void',
            'propose',
            '--tenant',
            tenantId,
            '--currency',
            'CNY',
            '--month',
            '2026-01',
          ].concat(['--reason', 'r'], wrong),
          env,
        )
      ).code,
      2,
    )
})

t.test('an approval that dies at a step is asked again', async (t) => {
  const tenantId = await closedTenant('killed')
  await ask(ann, tenantId, '', { reason })
  const of = { tenantId, currency: 'CNY', month: '2026-02' } as const
  const by = { tenantId: home, userId: 'cleo', tokenId: cleoId, role: undefined }
  for (const [point, voids] of [
    ['void.before-append', 0],
    ['void.after-append', 1],
  ] as const) {
    const dying = createManagedVoids({
      ...access,
      db: stack.gateway.pool,
      crashPoint: (name) => {
        if (name === point) throw new Error(`died at ${point}`)
      },
    })
    const asked = dying.approve({ kind: 'all' }, { ...by, requestId: 'req_1' }, of)
    await t.rejects(asked, { message: `died at ${point}` })
    const voided = (await eventsOf(tenantId)).filter((type) => type === 'PeriodVoided')
    t.equal(voided.length, voids, point)
  }
  t.match(await ask(cleo, tenantId, '/approve'), {
    status: 200,
    body: { data: { state: 'voided', changed: false } },
  })
})
