import t from 'tap'
import { rangeBefore } from '../../../src/api/query/usage-before.ts'
import { TimeZone } from '../../../src/kernel/time-zone.ts'

/** The time before a range is of the same kind: months, the same part of a month, days, or as long. */

const text = (zone: string, from: string, to: string): readonly string[] => {
  const range = { fromMs: Date.parse(from), toMs: Date.parse(to) }
  const { fromMs, toMs } = rangeBefore(range, TimeZone.named(zone))
  return [fromMs, toMs].map((ms) => new Date(ms).toISOString().replace('.000', ''))
}

t.test('the time before a range is of the same kind', (t) => {
  const tries = [
    // Whole months of Berlin, of which one has the change of the clocks.
    [
      'Europe/Berlin',
      '2026-10-31T23:00:00Z',
      '2026-11-30T23:00:00Z',
      '2026-09-30T22:00:00Z',
      '2026-10-31T23:00:00Z',
    ],
    [
      'UTC',
      '2026-03-01T00:00:00Z',
      '2026-06-01T00:00:00Z',
      '2025-12-01T00:00:00Z',
      '2026-03-01T00:00:00Z',
    ],
    // A part of a month, and a part that the month before is too short for.
    [
      'UTC',
      '2026-11-01T00:00:00Z',
      '2026-11-11T06:00:00Z',
      '2026-10-01T00:00:00Z',
      '2026-10-11T06:00:00Z',
    ],
    [
      'UTC',
      '2026-03-01T00:00:00Z',
      '2026-03-30T06:00:00Z',
      '2026-02-01T00:00:00Z',
      '2026-03-01T00:00:00Z',
    ],
    // Days, of which one has 25 hours, and hours.
    [
      'Europe/Berlin',
      '2026-10-25T23:00:00Z',
      '2026-10-27T23:00:00Z',
      '2026-10-23T22:00:00Z',
      '2026-10-25T23:00:00Z',
    ],
    [
      'UTC',
      '2026-11-11T10:00:00Z',
      '2026-11-11T13:00:00Z',
      '2026-11-11T07:00:00Z',
      '2026-11-11T10:00:00Z',
    ],
    [
      'UTC',
      '2026-11-11T10:00:00Z',
      '2026-11-11T10:00:00Z',
      '2026-11-11T10:00:00Z',
      '2026-11-11T10:00:00Z',
    ],
  ] as const
  for (const [zone, from, to, ...before] of tries)
    t.same(text(zone, from, to), before, `${from} ${to}`)
  t.end()
})
