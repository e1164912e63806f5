import * as fc from 'fast-check'
import t from 'tap'
import {
  MAX_TAIL_BYTES,
  PAGE_BYTES,
  PAGE_EVENTS,
} from '../../../../infra/embedded/eventstore/limits.ts'
import { Tail } from '../../../../infra/embedded/eventstore/tail.ts'

/** Records that begin and end with their position. */
function records(position: number, sizes: readonly number[]): Buffer[] {
  return sizes.map((size, index) => {
    // Hundreds of megabytes in all, of which only both ends are read.
    const record = Buffer.allocUnsafe(Math.max(size, 16))
    record.writeDoubleBE(position + index, 0)
    record.writeDoubleBE(position + index, record.length - 8)
    return record
  })
}

/** @throws Error for a record that is not whole. */
const positionsOf = (page: readonly Buffer[]): number[] =>
  page.map((record) => {
    const position = record.readDoubleBE(0)
    if (record.readDoubleBE(record.length - 8) !== position) throw new Error('a record in parts')
    return position
  })

t.test('a page is a whole part of the log, or undefined', async (t) => {
  const size = fc.oneof(fc.integer({ min: 8, max: 4_000 }), fc.constant(MAX_TAIL_BYTES / 3))
  fc.assert(
    fc.property(
      fc.array(fc.array(size, { minLength: 1, maxLength: 6 }), { maxLength: 30 }),
      fc.integer({ min: 1, max: 100 }),
      fc.integer({ min: 0, max: 40 }),
      (groups, begin, back) => {
        const tail = new Tail()
        let next = begin
        for (const sizes of groups) {
          tail.add(next, records(next, sizes))
          next += sizes.length
        }
        const from = Math.max(1, next - back)
        const page = tail.page(from, next - 1, PAGE_EVENTS)
        if (page === undefined) return
        const wanted = Array.from({ length: page.length }, (_, index) => from + index)
        t.match(positionsOf(page), wanted)
        if (from < next && page.length === 0) throw new Error('a page without progress')
      },
    ),
  )
})

t.test('records older than the bound are read from the database', async (t) => {
  const tail = new Tail()
  t.equal(tail.page(1, 10, 10), undefined, 'nothing is known of a log not written to')
  const each = MAX_TAIL_BYTES / 4
  for (let position = 1; position <= 8; position += 1) tail.add(position, records(position, [each]))
  t.equal(tail.page(4, 8, 10), undefined)
  t.same(positionsOf(tail.page(5, 8, 10) ?? []), [5], 'one record larger than a page alone')
  t.ok(each > PAGE_BYTES)
})

t.test('a page stays as it is while records come after it', async (t) => {
  const tail = new Tail()
  const each = MAX_TAIL_BYTES / 16 - 3
  tail.add(1, records(1, [each]))
  const page = tail.page(1, 1, 1) ?? []
  for (let position = 2; position <= 40; position += 1)
    tail.add(position, records(position, [each]))
  t.same(positionsOf(page), [1])
  for (let position = 25; position <= 40; position += 1)
    t.same(positionsOf(tail.page(position, position, 1) ?? []), [position])
})

t.test('a page keeps to its limit and its end, and is empty past the end', async (t) => {
  const tail = new Tail()
  tail.add(1, records(1, [8, 8, 8, 8]))
  t.same(positionsOf(tail.page(2, 4, 2) ?? []), [2, 3])
  t.same(positionsOf(tail.page(2, 2, 10) ?? []), [2])
  t.same(tail.page(5, 4, 10), [])
})

t.test('after a gap only later records are kept', async (t) => {
  const tail = new Tail()
  tail.add(1, records(1, [8, 8]))
  tail.clear()
  t.equal(tail.page(1, 2, 10), undefined)
  tail.add(7, records(7, [8]))
  t.equal(tail.page(2, 7, 10), undefined)
  t.same(positionsOf(tail.page(7, 7, 10) ?? []), [7])
})
