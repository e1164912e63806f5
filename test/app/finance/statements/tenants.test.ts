import t from 'tap'
import type { ClosedPeriod } from '../../../../src/app/finance/statements/types.ts'
import { buildTree } from '../../../../src/app/finance/statements/tree.ts'
import { shell, startClosingWorld } from './support/closing-world.ts'
import { createHandedOut } from './support/handed-out.ts'
import { postingsText } from './support/postings-text.ts'

/** Months of tenants that end or change while they are closed. */

const world = await startClosingWorld(t)
const { statements, clock } = world
const handedOut = createHandedOut(t, world)
const CNY = 'CNY'

async function opened(tenantId: string) {
  clock.set('2026-01-10T00:00:00Z')
  await world.tenant(tenantId, { legalName: 'First' })
  await world.grant(tenantId, CNY, '100')
  clock.set('2026-02-05T00:00:00Z')
  return { tenantId, currency: CNY, month: '2026-01' } as const
}

async function filesOf(period: ClosedPeriod) {
  await world.settle()
  const leaves = (await postingsText(statements, period)).split('\n').slice(0, -1)
  const files = await handedOut.filesOf(period, leaves)
  const { customer } = JSON.parse(String(files.statement)) as {
    readonly customer: { readonly legal_name: string }
  }
  return { files, customer: customer.legal_name }
}

t.test('the last months of a tenant that was closed for good are closed', async (t) => {
  const january = await opened('tenant_ended')
  const { tenantId } = january
  const call = (at: string) => world.call({ tenantId, currency: CNY, atMs: Date.parse(at) })
  await call('2026-01-20T00:00:00Z')
  await call('2026-02-03T00:00:00Z')
  await world.setStatus(tenantId, 'suspended')
  await world.setStatus(tenantId, 'closed')
  const [line = ''] = await call('2026-02-04T00:00:00Z')
  await world.settle()
  await world.refund(tenantId, CNY, line, '0.0001')
  clock.set('2026-04-05T00:00:00Z')
  const periods: ClosedPeriod[] = []
  for await (const period of statements.closeUntil({ ...january, until: '2026-03' }, shell))
    periods.push(period)
  t.match(periods, [
    { month: '2026-01', lines: 1, closing: '99.9995' },
    { month: '2026-02', lines: 2, adjusted: { usage: '0.0001' }, closing: '99.9986' },
    { month: '2026-03', lines: 0, closing: '99.9986' },
  ])
  for (const period of periods)
    t.same(handedOut.verdicts((await filesOf(period)).files), [undefined, true], period.month)
  await world.settle()
  const rows = await statements.board({ month: '2026-03', tenantIds: [tenantId] })
  t.match(rows, [{ status: 'closed' }], 'the board has it as well')
})

t.test('a close shows the billing details of its revision, whatever is set later', async (t) => {
  const january = await opened('tenant_renamed')
  const { tenantId } = january
  const preview = await statements.preview(january)
  await world.billing(tenantId, { legalName: 'Second' })
  // Others change the details while the tree is built.
  const { period } = await world
    .statementsWith({
      buildTree: async (job) => {
        await world.billing(tenantId, { legalName: 'Third' })
        return buildTree(world.pool, job)
      },
    })
    .close(january, shell)
  t.equal(period.profile, preview.period.profile + 1)
  const first = await filesOf(period)
  t.equal(first.customer, 'Second')
  t.same(handedOut.verdicts(first.files), [undefined, true])

  clock.set('2026-03-05T00:00:00Z')
  const next = await statements.close({ ...january, month: '2026-02' }, shell)
  t.equal((await filesOf(next.period)).customer, 'Third')
  t.same(await filesOf(period), first, 'the earlier statement is the same, byte for byte')
})
