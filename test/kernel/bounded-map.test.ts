import t from 'tap'
import { BoundedMap } from '../../src/kernel/bounded-map.ts'

t.test('keeps so many, those set last', (t) => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1)
  map.set('b', 2)
  map.set('a', 3)
  map.set('c', 4)
  t.equal(map.get('a'), 3, 'set again, it was no longer the oldest')
  t.equal(map.get('b'), undefined)
  t.equal(map.get('c'), 4)
  t.same(
    [...map],
    [
      ['a', 3],
      ['c', 4],
    ],
    'the oldest first',
  )
  map.delete('c')
  t.equal(map.get('c'), undefined)
  t.end()
})
