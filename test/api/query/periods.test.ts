import t from 'tap'
import { periodsOf } from '../../../src/api/query/periods.ts'

const QUARTER_MS = 900_000
const anyTime = { fromMs: undefined, toMs: undefined, tenantId: undefined }
const begins = Date.parse('2026-11-01T10:07:00Z')

for (const [zone, last] of [
  ['UTC', '2026-11-03T23:59:59.999Z'],
  // Its days begin at 18:15 of UTC.
  ['Asia/Kathmandu', '2026-11-03T18:14:59.999Z'],
  ['Asia/Kathmandu', '2026-11-03T18:15:00.000Z'],
] as const)
  t.test(`a report in ${zone} without an end covers the quarter of ${last} whole`, async (t) => {
    const lastMs = Date.parse(last)
    const accounts = {
      usageExtent: async () => Promise.resolve({ fromMs: begins, toMs: lastMs + 1 }),
    }
    for (const key of ['hour', 'day', 'month'] as const) {
      const { range, periods } = await periodsOf(accounts, anyTime, key, zone)
      t.equal(range.fromMs, begins)
      t.equal(range.toMs, Math.floor(lastMs / QUARTER_MS + 1) * QUARTER_MS, 'totals, and no lines')
      const [end] = periods?.slice(-1) ?? []
      t.ok(end && end.fromMs <= lastMs && lastMs < end.toMs, `the last ${key} has usage`)
    }
    const asked = { fromMs: begins, toMs: lastMs - 1, tenantId: undefined }
    const { range } = await periodsOf(accounts, asked, 'day', zone)
    t.equal(range.toMs, asked.toMs, 'an end that was asked for')
  })
