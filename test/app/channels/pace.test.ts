import t from 'tap'
import { createPace } from '../../../src/app/channels/pace.ts'
import { systemClock } from '../../../src/kernel/clock.ts'

const forever = new AbortController().signal

t.test('concurrency is bounded, and every waiting call gets its turn', async (t) => {
  const pace = createPace({ concurrent: 2, perSecond: 1_000 }, systemClock)
  let running = 0
  let most = 0
  const order: number[] = []
  await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      pace.run(forever, async () => {
        running += 1
        most = Math.max(most, running)
        await new Promise((resolve) => setTimeout(resolve, 5))
        running -= 1
        order.push(index)
      }),
    ),
  )
  t.equal(most, 2)
  t.equal(order.length, 10)
})

t.test('calls are spaced after the burst', async (t) => {
  const pace = createPace({ concurrent: 100, perSecond: 50, burst: 2 }, systemClock)
  const startedMs = performance.now()
  await Promise.all(Array.from({ length: 7 }, () => pace.run(forever, async () => undefined)))
  t.ok(performance.now() - startedMs >= 5 * 20 - 10, 'five of seven had to wait their turn')
})

t.test('tryRun runs at once or refuses', async (t) => {
  let nowMs = 0
  const pace = createPace({ concurrent: 1, perSecond: 10 }, { nowMs: () => nowMs })
  const first = pace.tryRun(async () => 'done')
  t.equal(
    pace.tryRun(async () => 'busy'),
    undefined,
    'the place is taken',
  )
  t.equal(await first, 'done')
  t.equal(
    pace.tryRun(async () => 'early'),
    undefined,
    'too soon after the last',
  )
  nowMs += 100
  t.equal(await pace.tryRun(async () => 'later'), 'later')
})

t.test('a failed call frees its place', async (t) => {
  const pace = createPace({ concurrent: 1, perSecond: 1_000 }, systemClock)
  await t.rejects(
    pace.run(forever, () => Promise.reject(new Error('no'))),
    /no/,
  )
  t.equal(await pace.run(forever, async () => 'next'), 'next')
})

t.test('a waiting caller that is stopped leaves its turn to the next', async (t) => {
  const pace = createPace({ concurrent: 1, perSecond: 1_000 }, systemClock)
  const stop = new AbortController()
  let release: () => void = () => undefined
  const first = pace.run(forever, () => new Promise<void>((resolve) => (release = resolve)))
  const second = pace.run(stop.signal, async () => 'second')
  const third = pace.run(forever, async () => 'third')
  stop.abort()
  await t.rejects(second)
  release()
  await first
  t.equal(await third, 'third')
})
