import t from 'tap'
import type { CloseInput, Statements } from '../../../../src/app/finance/statements/types.ts'
import { DomainError } from '../../../../src/kernel/errors.ts'
import { shell, startClosingWorld } from './support/closing-world.ts'

const world = await startClosingWorld(t)
const { statements, clock } = world
const CNY = 'CNY'

async function opened(tenantId: string) {
  clock.set('2026-01-10T00:00:00Z')
  await world.tenant(tenantId)
  await world.grant(tenantId, CNY, '100')
  await world.settle()
}

/** The codes and links of what blocks a close. */
async function blockedBy(of: Statements, input: CloseInput) {
  try {
    await of.close(input, shell)
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'period_blocked') throw error
    const { blockers } = error.details as { blockers: readonly { code: string; href: string }[] }
    return blockers.map(({ code, href }) => [code, href])
  }
  return []
}

t.test('all blockers are named at once, each with the place that ends it', async (t) => {
  const tenantId = 'tenant_blocked'
  clock.set('2026-01-10T00:00:00Z')
  await world.tenantWithoutBilling(tenantId)
  await world.grant(tenantId, CNY, '100')
  clock.set('2026-02-01T12:00:00Z')
  await world.propose(tenantId, CNY, '5')
  await world.settle()
  await world.pool.query(
    `insert into ops.text_spending (tenant_id, currency, replica, held, settled, spool, turn, told_at)
     values ($1, $2, 'replica_1', 0, 1.5, 'spool_1', 1, now())`,
    [tenantId, CNY],
  )
  await world.pool.query(
    `update ops.last_audit set findings = 3, ended_at = now() - interval '30 h'`,
  )
  clock.set('2026-02-02T00:00:00Z')
  const unnamed = world.statementsWith({ issuerName: undefined })
  const february = { tenantId, currency: CNY, month: '2026-02' } as const
  t.same(await blockedBy(unnamed, february), [
    ['spool_waiting', '/console/operations'],
    ['proposals_open', '/console/proposals'],
    ['audit_found', 'tollgate audit'],
    ['audit_old', 'tollgate audit'],
    ['grace_running', `tollgate billing show --tenant ${tenantId}`],
    ['profile_missing', `tollgate billing set --tenant ${tenantId}`],
    ['issuer_missing', 'tollgate issuer set'],
    ['previous_open', 'tollgate close --month 2026-01'],
  ])
  const { blockers, period } = await unnamed.preview({ ...february, month: '2026-01' })
  t.equal(blockers.length, 7, 'a preview has them too, and figures')
  t.match(period, { closing: '100', accruals: { held: '0', unstated: '1.5' } })
  await world.audited()
})

t.test('a ledger that is behind, and books that differ, block', async (t) => {
  const tenantId = 'tenant_books'
  await opened(tenantId)
  clock.set('2026-02-05T00:00:00Z')
  const january = { tenantId, currency: CNY, month: '2026-01' } as const
  const { log } = world
  const ahead = {
    ...log,
    endPosition: async () => ((await log.endPosition()) ?? 0n) + 1_000_000n,
  }
  t.match(await blockedBy(world.statementsWith({ log: ahead }), january), [['ledger_behind']])
  const damaged = `kind = 'account' and currency = 'CNY' and part = 'credit'`
  await world.pool.query(`update ledger.totals set amount = amount + 1 where ${damaged}`)
  t.same(await blockedBy(statements, january), [['books_differ', 'tollgate audit']])
  await world.pool.query(`update ledger.totals set amount = amount - 1 where ${damaged}`)
  t.same(await blockedBy(statements, january), [])
})

t.test('despite passes what the audit says, with a reason that the event has', async (t) => {
  const tenantId = 'tenant_despite'
  await opened(tenantId)
  clock.set('2026-02-05T00:00:00Z')
  const january = { tenantId, currency: CNY, month: '2026-01' } as const
  await world.audited(2)
  t.match(await blockedBy(statements, january), [['audit_found']])
  t.match(await blockedBy(statements, { ...january, despite: ['audit_old'], reason: 'late' }), [
    ['audit_found'],
  ])
  for (const reason of [undefined, ' '])
    await t.rejects(statements.close({ ...january, despite: ['audit_found'], reason }, shell), {
      code: 'invalid_request',
      details: { param: 'reason' },
    })
  const despite = ['grace_running' as 'audit_old']
  await t.rejects(statements.close({ ...january, despite, reason: 'now' }, shell), {
    code: 'invalid_request',
    details: { param: 'despite' },
  })
  const passed = { despite: ['audit_found'], reason: 'known and of another tenant' } as const
  const by = { tenantId: 'operator', userId: 'ann', tokenId: 'token_ann' }
  const { period } = await statements.close({ ...january, ...passed }, { ...shell, by })
  t.same(period.despite, { codes: ['audit_found'], reason: passed.reason })
  t.same(period.by, by)
  await world.audited()
  clock.set('2026-03-05T00:00:00Z')
  const february = { ...january, month: '2026-02', ...passed }
  t.notOk((await statements.close(february, shell)).period.despite, 'nothing was passed')
  clock.set('2026-04-05T00:00:00Z')
  await world.pool.query(
    `update ops.last_audit set findings = 3, ended_at = now() - interval '30 h'`,
  )
  const march = { ...february, month: '2026-03' }
  t.match(await blockedBy(statements, march), [['audit_old']], 'the other one stands')
  const both = await statements.close({ ...march, despite: ['audit_old', 'audit_found'] }, shell)
  t.same(both.period.despite, { codes: ['audit_found', 'audit_old'], reason: passed.reason })
  await world.audited()
})

t.test('a month before the first or one that is closed is not previewed', async (t) => {
  const tenantId = 'tenant_order'
  await opened(tenantId)
  clock.set('2026-02-05T00:00:00Z')
  const january = { tenantId, currency: CNY, month: '2026-01' } as const
  await t.rejects(statements.close({ ...january, month: '2025-12' }, shell), {
    code: 'period_not_next',
  })
  await t.rejects(statements.close({ ...january, tenantId: 'tenant_none' }, shell), {
    code: 'tenant_not_found',
  })
  const preview = await statements.preview(january)
  t.same(preview.blockers, [])
  await world.billing(tenantId, { legalName: 'Another name' })
  const { period } = await statements.close(january, shell)
  t.equal(period.profile, preview.period.profile + 1, 'a later profile is that of the close')
  await t.rejects(statements.preview(january), { code: 'period_not_next' })
})

t.test('a board has every account of a month, by a fixed number of statements', async (t) => {
  clock.set('2026-01-10T00:00:00Z')
  const tenantIds = ['tenant_a', 'tenant_b', 'tenant_c']
  for (const tenantId of tenantIds) await opened(tenantId)
  await world.grant('tenant_b', 'USD', '5')
  clock.set('2026-02-04T12:00:00Z')
  await world.propose('tenant_c', CNY, '5')
  await world.settle()
  clock.set('2026-02-05T00:00:00Z')
  await statements.close({ tenantId: 'tenant_a', currency: CNY, month: '2026-01' }, shell)
  await world.settle()
  let statementsSent = 0
  const db = {
    query: (...args: Parameters<typeof world.pool.query>) => {
      statementsSent += 1
      return world.pool.query(...args)
    },
  } as unknown as typeof world.pool
  const board = (of: Statements, ids: readonly string[] | undefined) =>
    of.board({ month: '2026-01', tenantIds: ids })
  const rows = await board(world.statementsWith({ db }), tenantIds)
  t.same(
    rows.map(({ tenantId, currency, ...row }) => [
      tenantId,
      currency,
      row.status === 'closed' ? row.period.statement : row.blockers.map(({ code }) => code),
    ]),
    [
      ['tenant_a', 'CNY', 'ACME-0001'],
      ['tenant_b', 'CNY', []],
      ['tenant_b', 'USD', []],
      ['tenant_c', 'CNY', ['proposals_open']],
    ],
  )
  t.ok(statementsSent < 15, `${statementsSent} statements`)
  const ofThree = statementsSent
  statementsSent = 0
  const all = await board(world.statementsWith({ db }), undefined)
  t.ok(all.length > rows.length)
  t.ok(statementsSent <= ofThree, 'no statement for each account')
  t.same(await statements.board({ month: '2025-12', tenantIds }), [], 'no account is that old')

  const months = await statements.months({ tenantId: 'tenant_a', currency: CNY })
  t.match(months, [{ status: 'closed' }, { status: 'open', month: '2026-02' }])

  const ready = all.filter((row) => row.status === 'open' && row.blockers.length === 0).length
  const [first, second] = await Promise.all([
    statements.closeAll({ month: '2026-01' }, shell),
    statements.closeAll({ month: '2026-01' }, shell),
  ])
  t.equal(first.closing, ready)
  t.equal(second, first, 'the same again joins the first')
  for (const outcome of await first.done) t.ok('period' in outcome, outcome.tenantId)
  await world.settle()
  const again = await statements.closeAll({ month: '2026-01' }, shell)
  t.match(again, { closing: 0, blocked: first.blocked })
})
