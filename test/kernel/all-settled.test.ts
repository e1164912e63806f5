import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { allSettledOrThrow } from '../../src/kernel/all-settled.ts'

async function failing(afterMs: number, message: string): Promise<never> {
  await sleep(afterMs)
  throw new Error(message)
}

t.test('gives the results in order, of plain values too', async (t) => {
  t.same(await allSettledOrThrow([sleep(5, 'a'), 'b', undefined]), ['a', 'b', undefined])
  t.same(await allSettledOrThrow([]), [])
})

t.test('throws the first failure once the last promise has settled', async (t) => {
  let isOver = false
  const slow = sleep(30).then(() => {
    isOver = true
  })
  await t.rejects(allSettledOrThrow([failing(15, 'second'), failing(1, 'first'), slow]), {
    message: 'first',
  })
  t.ok(isOver)
})
