import * as fc from 'fast-check'
import t from 'tap'
import {
  atOnce,
  createTurnBudget,
  mapped,
  partsInTurns,
  sorted,
  type Work,
} from '../../src/kernel/turns.ts'

/** How often work yields. */
function partsOf(work: Work<unknown>): number {
  let parts = 0
  for (const _ of work) parts += 1
  return parts
}

t.test('a list is mapped and sorted in parts, with the results of the whole', (t) => {
  const byTens = (one: number, other: number) => Math.floor(one / 10) - Math.floor(other / 10)
  const property = fc.property(
    fc.array(fc.nat({ max: 300 }), { maxLength: 2_000, size: 'max' }),
    (numbers) => {
      t.strictSame(atOnce(sorted(numbers, byTens)), numbers.toSorted(byTens))
      t.strictSame(
        atOnce(mapped(numbers, (one) => one + 1)),
        numbers.map((one) => one + 1),
      )
    },
  )
  fc.assert(property, { numRuns: 30 })
  const many = Array.from({ length: 50_000 }, (_, n) => (n * 7_919) % 50_000)
  t.ok(partsOf(mapped(many, String)) >= 50_000 / 500)
  t.ok(partsOf(sorted(many, (one, other) => one - other)) >= 50_000 / 500)
  t.end()
})

void t.test('each part of a list has a turn of the event loop', async (t) => {
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const parts: (readonly number[])[] = []
  for await (const part of partsInTurns([1, 2, 3, 4, 5], 2)) parts.push(part)
  isOver = true
  t.strictSame(parts, [[1, 2], [3, 4], [5]])
  t.ok(turns >= 3, `${turns} turns`)
})

void t.test('work of many streams is spread over turns of the event loop', async (t) => {
  const turns = createTurnBudget(100)
  let turn = 0
  const counting = setInterval(() => undefined, 1)
  const count = (): void => {
    turn += 1
    if (turn < 1_000) setImmediate(count)
  }
  setImmediate(count)
  const doneIn = new Map<number, number>()
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      for (let room = turns.room(); room !== undefined; room = turns.room()) await room
      turns.take(40)
      doneIn.set(turn, (doneIn.get(turn) ?? 0) + 1)
    }),
  )
  clearInterval(counting)
  t.ok(doneIn.size >= 50 / 4, `${doneIn.size} turns`)
  t.ok(Math.max(...doneIn.values()) <= 6, 'no turn has many')
  turn = 1_000
})
