import { canonicalTime } from '../../../projections/engine/audited-rows.ts'
import t from 'tap'
import { differencesOf, plain } from '../../../src/app/audit/compare.ts'

t.test('a row that equals the log has no differences, whatever the types', (t) => {
  const expected = {
    position: 2n ** 53n + 1n,
    settled: true,
    quantity: 7,
    at: canonicalTime('2026-03-04T05:06:07.089Z'),
    native_id: undefined,
    data: { a: [1, { b: null }], absent: undefined, text: 'x' },
  }
  const row = {
    position: '9007199254740993',
    settled: 'true',
    quantity: '7',
    at: '2026-03-04T05:06:07.089000Z',
    native_id: null,
    data: { text: 'x', a: [1, { b: null }] },
  }
  t.same(differencesOf(expected, row), [])
  t.end()
})

t.test('a difference shows both values, of JSON by member', (t) => {
  const expected = { position: 2n ** 53n + 1n, data: { a: [1, { b: 'x' }], gone: 1 }, usage: null }
  const row = { position: '9007199254740992', data: { a: [1, { b: 'y' }], new: true }, usage: {} }
  t.same(differencesOf(expected, row), [
    { field: 'position', log: '9007199254740993', stands: '9007199254740992' },
    { field: 'data.a[1].b', log: 'x', stands: 'y' },
    { field: 'data.gone', log: '1', stands: null },
    { field: 'data.new', log: null, stands: 'true' },
    { field: 'usage', log: null, stands: '{}' },
  ])
  t.end()
})

t.test('text is compared in the form that Postgres can store', (t) => {
  t.equal(plain('a\0b\ud800c\u{1f600}'), 'a\ufffdb\ufffdc\u{1f600}')
  const expected = { name: 'a\0', data: { 'k\ud800': 'v\0' } }
  t.same(differencesOf(expected, { name: 'a\ufffd', data: { 'k\ufffd': 'v\ufffd' } }), [])
  t.end()
})

t.test('the differences of a row are bounded in number and length', (t) => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`c${n}`, 'x'.repeat(500)]))
  const found = differencesOf(many, {})
  t.ok(found.length < 20)
  t.ok((found[0]?.log?.length ?? 0) < 300)
  t.end()
})

t.test('a time equals itself in any notation, and is shown as a date', (t) => {
  for (const time of [
    '2026-03-04T05:06:07.089Z',
    '0001-01-01T00:00:00.000Z',
    '2026-12-28T23:59:59.999Z',
    '2026-12-31T23:59:59.999Z',
    '2028-02-29T00:00:00.000Z',
    '2026-01-02T03:04:05Z',
    '2026-01-02T03:04:05.678+02:00',
  ])
    t.equal(canonicalTime(time), new Date(time).toISOString().replace(/Z$/, '000Z'), time)
  for (const none of [
    '2026-13-01T00:00:00.000Z',
    '2026-01-02T23:59:60.000Z',
    '2026-02-29T00:00:00.000Z',
    'soon',
  ])
    t.throws(() => canonicalTime(none), RangeError, none)
  t.end()
})
