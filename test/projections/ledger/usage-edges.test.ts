import t from 'tap'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import { usage, usageExtent } from '../../../projections/ledger/query.ts'
import { TimeZone } from '../../../src/kernel/time-zone.ts'
import { applied, testPool } from '../support/database.ts'
import { openTenant, recordCall, Recorder } from '../support/history.ts'

/** Declared keys may be as long as this, and differ in their last letter alone. */
const key = (last: string) => `${'k'.repeat(63)}${last}`

const tenantId = 'tenant_0'

t.test('usage at its edges', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const [opened, call] = [openTenant(recorder, tenantId), recordCall(recorder, 1, tenantId)]
  if (call.type !== 'CallSettled') throw new Error('a call settles')
  const settledAt = '2026-11-30T12:00:00.000Z'
  const tags = { [key('a')]: 'one', [key('b')]: 'two' }
  const settled = { ...call, data: { ...call.data, settledAt, tags } }
  const refund = recorder.record(`account-${tenantId}`, {
    type: 'AdjustmentPosted',
    data: {
      tenantId,
      adjustmentId: 'adj_late',
      currency: 'USD',
      amount: '0.000000000001',
      corrects: { kind: 'line', lineId: 'call_1:1' },
      reason: 'broken',
      postedAt: '2027-02-03T04:05:06.000Z',
    },
  })
  await applied(t, pool, [...opened, settled, refund], [ledgerProjection])

  await t.test('a refund after all usage is in the range without ends', async (t) => {
    for (const asked of [tenantId, undefined]) {
      const extent = await usageExtent(pool, { tenantId: asked })
      t.same(
        extent,
        {
          fromMs: Date.parse('2026-11-30T00:00:00Z'),
          toMs: Date.parse('2027-02-04T00:00:00Z'),
        },
        asked ?? 'all tenants',
      )
      const { fromMs = 0, toMs = 0 } = extent ?? {}
      const groups = await usage(pool, {
        filter: { tenantId: asked, fromMs, toMs },
        groupBy: ['month'],
        periods: TimeZone.named('Asia/Kathmandu').monthsBetween(fromMs, toMs),
        withRefunds: true,
      })
      t.match(
        groups.map(({ keys, lines, refunded }) => [keys.month, lines > 0, refunded]),
        [
          ['2026-11', true, '0'],
          ['2027-02', false, '0.000000000001'],
        ],
      )
    }
    t.equal(await usageExtent(pool, { tenantId: 'tenant_none' }), undefined)
  })

  await t.test('two tags whose keys differ in the last letter are two keys', async (t) => {
    const groupBy = [`tag:${key('a')}`, `tag:${key('b')}`] as const
    const [group, ...others] = await usage(pool, { filter: {}, groupBy, withRefunds: true })
    t.same(others, [])
    t.match(group, {
      keys: { [groupBy[0]]: 'one', [groupBy[1]]: 'two' },
      refunded: '0.000000000001',
    })
  })
})

t.test('a sum of quantities that no number holds is decimal text', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const opened = openTenant(recorder, tenantId)
  const calls = [1, 2].map((n) => {
    const call = recordCall(recorder, n, tenantId)
    if (call.type !== 'CallSettled') throw new Error('a call settles')
    const { settlement } = call.data
    const lines = settlement.lines.map((line) => {
      return { ...line, quantity: Number.MAX_SAFE_INTEGER, price: '0', amount: '0' }
    })
    const free = { ...settlement, amount: '0', lines }
    return { ...call, data: { ...call.data, settlement: free } }
  })
  await applied(t, pool, [...opened, ...calls], [ledgerProjection])
  const [group] = await usage(pool, { filter: { tenantId }, groupBy: ['sku'] })
  t.match(group, { quantity: '18014398509481982', amount: '0', lines: 2 })
})
