import t from 'tap'
import { periodAt } from '../../../../src/app/spending/budgets/spent.ts'

const at = (text: string): number => Date.parse(text)

t.test('days and months begin at midnight of the budget’s time zone', async (t) => {
  for (const [kind, zone, now, from, to] of [
    ['day', 'UTC', '2026-03-04T05:06:07Z', '2026-03-04T00:00:00Z', '2026-03-05T00:00:00Z'],
    ['month', 'UTC', '2026-12-31T23:59:59Z', '2026-12-01T00:00:00Z', '2027-01-01T00:00:00Z'],
    ['month', 'UTC', '2028-02-29T12:00:00Z', '2028-02-01T00:00:00Z', '2028-03-01T00:00:00Z'],
    ['day', 'Asia/Kolkata', '2026-03-04T18:29:59Z', '2026-03-03T18:30:00Z', '2026-03-04T18:30:00Z'],
    ['day', 'Asia/Kolkata', '2026-03-04T18:30:00Z', '2026-03-04T18:30:00Z', '2026-03-05T18:30:00Z'],
    // Clocks go forward: a day of 23 hours, a month an hour shorter.
    [
      'day',
      'Europe/Berlin',
      '2026-03-29T12:00:00Z',
      '2026-03-28T23:00:00Z',
      '2026-03-29T22:00:00Z',
    ],
    [
      'month',
      'Europe/Berlin',
      '2026-03-29T12:00:00Z',
      '2026-02-28T23:00:00Z',
      '2026-03-31T22:00:00Z',
    ],
    // And back: 25 hours.
    [
      'day',
      'America/New_York',
      '2026-11-01T12:00:00Z',
      '2026-11-01T04:00:00Z',
      '2026-11-02T05:00:00Z',
    ],
  ] as const)
    t.same(
      periodAt(kind, zone, at(now)),
      { fromMs: at(from), toMs: at(to) },
      `${kind} of ${zone} at ${now}`,
    )
})
