import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createGate } from '../../../src/eventlog/log/append.ts'
import { range } from '../support/sample-events.ts'

void t.test('concurrency is bounded by the places, first come first served', async (t) => {
  const gate = createGate(2, 10)
  const order: number[] = []
  let inside = 0
  let most = 0
  await Promise.all(
    range(8).map(async (index) => {
      const leave = await gate.enter(5_000)
      order.push(index)
      inside += 1
      most = Math.max(most, inside)
      await sleep(5)
      inside -= 1
      leave()
    }),
  )
  t.equal(most, 2)
  t.same(order, range(8))
})

void t.test('log_unavailable when the queue is full or the wait too long', async (t) => {
  const gate = createGate(1, 1)
  const leave = await gate.enter(5_000)
  const waiting = gate.enter(50)
  await t.rejects(gate.enter(5_000), { code: 'log_unavailable' })
  await t.rejects(waiting, { code: 'log_unavailable' })
  const patient = gate.enter(5_000)
  leave()
  ;(await patient)()
  ;(await gate.enter(0))()
})
