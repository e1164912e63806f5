import * as fc from 'fast-check'
import t from 'tap'
import { isDate, readCompactTime, readHttpDate, readTime } from '../../src/kernel/read-time.ts'

t.test('a time is a date or RFC 3339, and is read as its moment', async (t) => {
  const noonMs = Date.UTC(2026, 1, 28, 12)
  for (const text of [
    '2026-02-28T12:00:00Z',
    '2026-02-28t12:00:00.000z',
    '2026-02-28T12:00:00.000000001Z',
    '2026-02-28T12:00:00-00:00',
    '2026-03-01T02:00:00+14:00',
    '2026-02-27T22:00:00-14:00',
  ])
    t.equal(readTime(text), noonMs, text)
  t.equal(readTime('1970-01-01'), 0)
  t.equal(readTime('2024-02-29'), Date.UTC(2024, 1, 29))
  t.equal(readTime('9999-12-31T23:59:59.999Z'), Date.UTC(10_000, 0) - 1)
})

t.test('ambiguous times are refused', async (t) => {
  for (const text of [
    '',
    '2026',
    '2026-02',
    '2026-02-29',
    '2026-02-30',
    '2026-02-30T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01',
    '2026-00-10',
    '2026-01-00',
    '2026-01-01T24:00:00Z',
    '2026-01-01T23:60:00Z',
    '2026-01-01T23:59:60Z',
    '2026-01-01T12:00Z',
    '2026-01-01T12:00:00',
    '2026-01-01 12:00:00Z',
    '2026-01-01T12:00:00+1400',
    '2026-01-01T12:00:00+14:01',
    '2026-01-01T12:00:00+16:00',
    '0000-01-01T00:00:00Z',
    '1969-12-31T23:59:59Z',
    '1970-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '+010000-01-01T00:00:00Z',
    '2026-01-01T12:00:00.Z',
    '2026-01-01T12:00:00.1234567890Z',
    ' 2026-01-01',
    '2026-01-01\n',
    '２０２６-01-01',
    '1 Jan 2026',
    '1767225600000',
  ])
    t.equal(readTime(text), undefined, text)
})

t.test('every moment from 1970 to 9999 is read back, and every text is one moment', async (t) => {
  const moment = fc.date({
    min: new Date(0),
    max: new Date(Date.UTC(10_000, 0) - 1),
    noInvalidDate: true,
  })
  fc.assert(fc.property(moment, (date) => readTime(date.toISOString()) === date.getTime()))
  const part = fc.integer({ min: 0, max: 70 }).map((n) => String(n).padStart(2, '0'))
  const text = fc
    .tuple(fc.integer({ min: 0, max: 9_999 }), part, part, part, part, part)
    .map(([y, mo, d, h, mi, s]) => `${String(y).padStart(4, '0')}-${mo}-${d}T${h}:${mi}:${s}Z`)
  fc.assert(
    fc.property(text, (written) => {
      const unixMs = readTime(written)
      return (
        unixMs === undefined || new Date(unixMs).toISOString() === written.replace('Z', '.000Z')
      )
    }),
    { numRuns: 5_000 },
  )
  t.pass()
})

t.test('dates, compact times and times of HTTP headers', async (t) => {
  t.equal(isDate('2026-02-28'), true)
  for (const text of ['2026-02-30', '2026-02-28T00:00:00Z', '2026-2-28'])
    t.equal(isDate(text), false, text)
  t.equal(readCompactTime('20260228T120000Z'), Date.UTC(2026, 1, 28, 12))
  t.equal(readCompactTime('20260230T120000Z'), undefined)
  t.equal(readHttpDate('Sun, 06 Nov 1994 08:49:37 GMT'), Date.UTC(1994, 10, 6, 8, 49, 37))
  for (const text of ['Mon, 06 Nov 1994 08:49:37 GMT', 'Mon, 30 Feb 2026 00:00:00 GMT', '2026'])
    t.equal(readHttpDate(text), undefined, text)
})
