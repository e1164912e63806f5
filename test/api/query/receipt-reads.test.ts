import { noLineFiles } from '../support/memory-ledger.ts'
import t from 'tap'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import { tasksProjection } from '../../../projections/tasks/projection.ts'
import { timelineProjection } from '../../../projections/timeline/projection.ts'
import { projectionReads } from '../../../src/api/query/projection-reads.ts'
import { catalog } from '../../../src/families/index.ts'
import { applied, testPool } from '../../projections/support/database.ts'
import { openTenant, recordCall, Recorder } from '../../projections/support/history.ts'

const everything = { tenantId: undefined, userIds: undefined }

t.test('no receipt and no life states a net that the ledger may not know yet', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const events = [...openTenant(recorder, 'tenant_1'), recordCall(recorder, 3, 'tenant_1')]
  const known = events.at(-1)?.position ?? 0n
  const refund = recorder.record('account-tenant_1', {
    type: 'AdjustmentPosted',
    data: {
      tenantId: 'tenant_1',
      adjustmentId: 'adj_1',
      currency: 'USD',
      amount: '0.0003',
      corrects: { kind: 'line', lineId: 'call_3:1' },
      code: 'quality',
      reason: 'broken',
      postedAt: '2026-11-02T00:00:00.000Z',
    },
  })
  await applied(
    t,
    pool,
    [...events, refund],
    [ledgerProjection, tasksProjection, timelineProjection],
  )
  let end = refund.position
  const { receipt, life } = projectionReads({
    db: pool,
    logEnd: () => Promise.resolve(end),
    readModels: { requireCurrent: () => Promise.resolve() },
    lineFiles: noLineFiles,
    urlsEndOf: () => Promise.resolve(undefined),
    catalog,
  })
  const now = await receipt('call_3', everything, undefined)
  t.match(now, { adjusted: '0.0003', asOf: String(end) })
  t.same((await life('call_3', everything))?.receipt, now)
  t.match(await receipt('call_3', everything, known), {
    adjusted: '0',
    corrections: [],
    asOf: String(known),
  })
  end += 1n
  await t.rejects(receipt('call_3', everything, undefined), { code: 'read_model_behind' })
  await t.rejects(life('call_3', everything), { code: 'read_model_behind' })
  t.same(await receipt('call_3', everything, end - 1n), now, 'as of a position that the ledger has')
})
