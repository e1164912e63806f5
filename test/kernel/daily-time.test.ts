import * as fc from 'fast-check'
import t from 'tap'
import { type DailyTime, lastDailyTime, readDailyTime } from '../../src/kernel/daily-time.ts'

const DAY_MS = 86_400_000

function daily(text: string): DailyTime {
  const read = readDailyTime(text)
  if (typeof read === 'string') throw new Error(read)
  return read
}

/** The last time before a time, both in UTC. */
const last = (text: string, at: string): string =>
  new Date(lastDailyTime(daily(text), Date.parse(at))).toISOString()

t.test('the last time is of today once it has come, and of yesterday before', (t) => {
  t.equal(last('03:30', '2026-11-30T03:30:00Z'), '2026-11-30T03:30:00.000Z')
  t.equal(last('03:30', '2026-11-30T03:29:59Z'), '2026-11-29T03:30:00.000Z')
  t.equal(last('23:59 Asia/Kolkata', '2026-11-30T00:00:00Z'), '2026-11-29T18:29:00.000Z')
  t.equal(last('00:00 America/New_York', '2026-11-30T04:59:00Z'), '2026-11-29T05:00:00.000Z')
  t.end()
})

t.test('a time that the clock skips is when the clock has passed it', (t) => {
  t.equal(last('02:30 Europe/Berlin', '2026-03-29T00:59:59Z'), '2026-03-28T01:30:00.000Z')
  t.equal(last('02:30 Europe/Berlin', '2026-03-29T01:00:00Z'), '2026-03-29T01:00:00.000Z')
  t.end()
})

t.test('a time that the clock repeats is there once', (t) => {
  const found = new Set<string>()
  const fromMs = Date.parse('2026-10-24T12:00Z')
  for (let n = 0; n < 36 * 4; n += 1)
    found.add(last('02:30 Europe/Berlin', new Date(fromMs + n * 900_000).toISOString()))
  t.equal(found.size, 2, [...found].join(' '))
  t.end()
})

t.test('it never goes back, and is at most a day and some hours old', (t) => {
  const texts = ['03:30', '02:30 Europe/Berlin', '00:00 Africa/Cairo', '12:00 Pacific/Apia']
  fc.assert(
    fc.property(
      fc.constantFrom(...texts),
      fc.integer({ min: Date.parse('2011-06-01T00:00Z'), max: Date.parse('2030-01-01T00:00Z') }),
      fc.integer({ min: 0, max: 3 * DAY_MS }),
      (text, atMs, laterMs) => {
        const [one, other] = [atMs, atMs + laterMs].map((ms) => lastDailyTime(daily(text), ms))
        return (
          one !== undefined &&
          other !== undefined &&
          one <= other &&
          one <= atMs &&
          atMs - one < 2 * DAY_MS
        )
      },
    ),
  )
  t.end()
})
