import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import { TimeZone } from '../../src/kernel/time-zone.ts'

const HOUR_MS = 3_600_000

t.test('days have the length of the local clock', (t) => {
  const lengths = (name: string, from: string, to: string) =>
    TimeZone.named(name)
      .daysBetween(Date.parse(from), Date.parse(to))
      .map(({ name: day, fromMs, toMs }) => [
        day,
        new Date(fromMs).toISOString(),
        (toMs - fromMs) / HOUR_MS,
      ])
  t.same(lengths('Asia/Kolkata', '2026-03-01T00:00Z', '2026-03-02T00:00Z'), [
    ['2026-03-01', '2026-02-28T18:30:00.000Z', 24],
    ['2026-03-02', '2026-03-01T18:30:00.000Z', 24],
  ])
  t.same(lengths('America/New_York', '2026-03-08T05:00Z', '2026-03-09T04:00Z'), [
    ['2026-03-08', '2026-03-08T05:00:00.000Z', 23],
  ])
  t.same(lengths('Europe/Berlin', '2026-10-24T22:00Z', '2026-10-25T23:00Z'), [
    ['2026-10-25', '2026-10-24T22:00:00.000Z', 25],
  ])
  // Midnight itself is left out there.
  t.same(lengths('Africa/Cairo', '2026-04-24T12:00Z', '2026-04-24T13:00Z'), [
    ['2026-04-24', '2026-04-23T22:00:00.000Z', 23],
  ])
  // A day that never was.
  t.same(
    lengths('Pacific/Apia', '2011-12-29T12:00Z', '2011-12-31T12:00Z').map(([day]) => day),
    ['2011-12-29', '2011-12-31', '2012-01-01'],
  )
  t.same(lengths('UTC', '2026-01-01T00:00Z', '2026-01-01T00:00Z'), [])
  t.end()
})

t.test('days follow without a gap, and each holds its own times', (t) => {
  const property = () =>
    fc.assert(
      fc.property(
        fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'UTC'),
        fc.integer({ min: Date.UTC(2015, 0), max: Date.UTC(2035, 0) }),
        fc.integer({ min: 0, max: 400 * HOUR_MS }),
        fc.nat({ max: 1_000_000 }),
        (name, fromMs, lengthMs, part) => {
          const zone = TimeZone.named(name)
          const toMs = fromMs + lengthMs
          const days = zone.daysBetween(fromMs, toMs)
          for (const [n, { toMs: endsMs }] of days.entries())
            if (days[n + 1] !== undefined && days[n + 1]?.fromMs !== endsMs) return false
          if (lengthMs === 0) return days.length <= 1
          const atMs = fromMs + Math.floor((lengthMs * part) / 1_000_001)
          const found = days.filter((day) => day.fromMs <= atMs && atMs < day.toMs)
          const written = new Intl.DateTimeFormat('en-CA', { timeZone: name }).format(atMs)
          return found.length === 1 && found[0]?.name === written && zone.dayAt(atMs) === written
        },
      ),
      { numRuns: 400 },
    )
  t.doesNotThrow(property)
  t.end()
})

t.test('times around changes of a clock are those of the zone database', (t) => {
  const zones = [
    // These clocks changed by half an hour, two hours, 44 minutes and 30 seconds, 4 minutes, and one hour.
    ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
    ['Antarctica/Troll', '2026-03-29T01:00Z'],
    ['Africa/Monrovia', '1972-01-07T00:44:30Z'],
    ['America/New_York', '1883-11-18T17:00Z'],
    ['Europe/Berlin', '2026-10-25T01:00Z'],
    ['UTC', '2026-10-25T01:00Z'],
    // No two changes of a clock are closer together than these two.
    ['America/Boa_Vista', '2000-10-08T04:00Z'],
    ['America/Boa_Vista', '2000-10-15T03:00Z'],
  ] as const
  for (const [name, at] of zones) {
    const zone = TimeZone.named(name)
    const format = new Intl.DateTimeFormat('sv-SE', {
      timeZone: name,
      dateStyle: 'short',
      timeStyle: 'medium',
    })
    for (const aroundMs of [-HOUR_MS, -1_001, -1_000, -1, 0, 1, 999, HOUR_MS / 2, 2 * HOUR_MS]) {
      const atMs = Date.parse(at) + aroundMs
      const written = zone.timestampAt(atMs).slice(0, 19).replace('T', ' ')
      t.equal(written, format.format(atMs), `${name} ${at} ${aroundMs}`)
    }
  }
  t.end()
})

t.test('an unknown zone name is refused', (t) => {
  for (const name of ['', 'Mars/Phobos', '+05:30', 'Asia/Kolkata;', "'", '../UTC'])
    t.throws(() => TimeZone.named(name), RangeError, name)
  t.end()
})

/** Counts the times that a formatter is called while `work` runs. */
function formattings(t: Test, work: () => void): number {
  const calls = t.capture(
    Intl.DateTimeFormat.prototype,
    'formatToParts',
    // oxlint-disable-next-line typescript/unbound-method -- it is called as a method again
    Intl.DateTimeFormat.prototype.formatToParts,
  )
  work()
  calls.restore()
  return calls().length
}

t.test('a formatter is called for changes of the clock, not for each day', (t) => {
  const [fromMs, toMs] = [Date.UTC(2015, 0), Date.UTC(2025, 0)]
  const zone = new TimeZone('Europe/Berlin')
  const first = formattings(t, () => zone.daysBetween(fromMs, toMs))
  t.ok(first > 0 && first < 1_200, `${first} calls for ten years`)
  t.equal(
    formattings(t, () => {
      t.equal(zone.daysBetween(fromMs, toMs).length, 3_654)
      t.equal(zone.monthsBetween(fromMs, toMs).length, 121)
    }),
    0,
    'none for the same years again',
  )
  t.end()
})

t.test('a zone is kept once, in whatever case its name is written', (t) => {
  t.equal(TimeZone.named('europe/BERLIN'), TimeZone.named('Europe/Berlin'))
  t.equal(TimeZone.named('Etc/UTC'), TimeZone.named('utc'))
  t.end()
})
