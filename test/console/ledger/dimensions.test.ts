import t from 'tap'
import { linesOf, periodOf } from '../../../src/console/ledger/dimensions.ts'

const HOUR_MS = 3_600_000

t.test('a day on which the clocks change has 23 or 25 hours', (t) => {
  const hours = (tz: string, day: string): number => {
    const { fromMs, toMs } = periodOf(tz, 'day', day)
    return (toMs - fromMs) / HOUR_MS
  }
  t.equal(hours('Europe/Berlin', '2026-10-25'), 25)
  t.equal(hours('Europe/Berlin', '2026-03-29'), 23)
  t.equal(hours('Asia/Kolkata', '2026-10-25'), 24)
  t.equal(hours('Australia/Lord_Howe', '2026-10-04'), 23.5)
  const month = periodOf('Europe/Berlin', 'month', '2026-10')
  t.equal(new Date(month.fromMs).toISOString(), '2026-09-30T22:00:00.000Z')
  t.equal(new Date(month.toMs).toISOString(), '2026-10-31T23:00:00.000Z')
  const hour = periodOf('Europe/Berlin', 'hour', '2026-10-25T02:00:00+01:00')
  t.equal(new Date(hour.fromMs).toISOString(), '2026-10-25T01:00:00.000Z')
  t.equal(hour.toMs - hour.fromMs, HOUR_MS)
  t.end()
})

t.test('lines behind a sum have its time within the range, its values and its position', (t) => {
  const bounds = {
    fromMs: Date.parse('2026-10-25T10:00:00Z'),
    toMs: Date.parse('2026-10-25T12:00:00Z'),
  }
  const asked = { tz: 'Europe/Berlin', time_preset: '24h', by: 'day', and: 'user' } as const
  const href = linesOf(asked, { bounds, asOf: '17' }, { day: '2026-10-25', user: 'ann' }, 'USD')
  t.same(Object.fromEntries(new URL(href, 'http://host').searchParams), {
    tz: 'Europe/Berlin',
    from: '2026-10-25T10:00:00.000Z',
    to: '2026-10-25T12:00:00.000Z',
    as_of: '17',
    currency: 'USD',
    user_id: 'ann',
  })
  t.end()
})
