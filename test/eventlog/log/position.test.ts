import t from 'tap'
import { eventsThrough, isBehind, isPlace, placeOf } from '../../../src/eventlog/log/position.ts'

t.test('a position between two events is behind the first and not behind the second', (t) => {
  const between = { commit: 100n, prepare: 0n }
  t.equal(eventsThrough(between), 99n)
  t.equal(eventsThrough(placeOf(100n)), 100n)
  t.ok(isBehind(placeOf(100n), between))
  t.ok(isBehind(between, placeOf(99n)))
  t.notOk(isBehind(between, between))
  t.end()
})

t.test('2^64-1 is not a position, in either half', (t) => {
  const nowhere = 2n ** 64n - 1n
  t.notOk(isPlace(placeOf(nowhere)))
  t.notOk(isPlace({ commit: nowhere, prepare: 0n }))
  t.ok(isPlace(placeOf(2n ** 63n - 1n)))
  t.end()
})
