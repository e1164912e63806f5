import t from 'tap'
import { createTurnBudget } from '../../src/kernel/turns.ts'

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
