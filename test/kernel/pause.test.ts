import t from 'tap'
import {
  createBackoff,
  pause,
  roomyPause,
  sharedMoment,
  withTimeout,
} from '../../src/kernel/pause.ts'

t.test('pauses double up to the longest, and restart after a success', (t) => {
  const backoff = createBackoff(200, 10_000, () => 0)
  const pauses = Array.from({ length: 8 }, () => backoff.nextMs())
  t.same(pauses, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000])
  backoff.reset()
  t.equal(backoff.nextMs(), 100)
  t.end()
})

t.test('each pause is shortened at random by at most a half', (t) => {
  for (let n = 0; n < 1_000; n += 1) {
    const ms = createBackoff(200, 10_000).nextMs()
    t.ok(ms >= 100 && ms < 200)
  }
  t.equal(createBackoff(200, 10_000, () => 0.5).nextMs(), 150)
  t.end()
})

t.test('a pause ends at once, without an error, when it is aborted', async (t) => {
  const giving = new AbortController()
  const paused = pause(60_000, giving.signal)
  giving.abort()
  await paused
  await pause(60_000, giving.signal)
  t.pass('both came back')
})

t.test('a pause ends with its signal, and a pause of length 0 at once', async (t) => {
  const begunMs = performance.now()
  const controller = new AbortController()
  const long = pause(60_000, controller.signal)
  controller.abort()
  await long
  await pause(60_000, controller.signal)
  await pause(0)
  t.ok(performance.now() - begunMs < 10_000)
})

t.test('a result in time is returned, late work gives the fallback', async (t) => {
  t.equal(await withTimeout(60_000, Promise.resolve(1), () => 2), 1)
  await t.rejects(
    withTimeout(60_000, Promise.reject(new Error('broken')), () => 2),
    /broken/,
  )
  const never = new Promise<number>(() => undefined)
  t.equal(await withTimeout(1, never, () => 2), 2)
  const late = withTimeout(1, never, () => {
    throw new Error('too late')
  })
  await t.rejects(late, /too late/)
})

t.test('roomy pauses share the moments that most of them can end at', (t) => {
  t.equal(sharedMoment(450, 750), 500)
  t.equal(sharedMoment(751, 1_251), 1_000)
  t.equal(sharedMoment(1_001, 1_240), undefined)
  t.equal(sharedMoment(1_500, 2_500), 2_000)
  t.equal(sharedMoment(3_750, 6_250), 4_000, 'not 5,000, which fewer pauses share')
  t.equal(sharedMoment(0, 100), undefined)
  for (let fromMs = 0; fromMs < 5_000; fromMs += 37)
    for (const lengthMs of [0, 10, 300, 2_500]) {
      const at = sharedMoment(fromMs, fromMs + lengthMs)
      t.ok(at === undefined || (at >= fromMs && at <= fromMs + lengthMs))
    }
  t.end()
})

t.test('roomy pauses end in one turn of the event loop, none before its least time', async (t) => {
  const { signal } = new AbortController()
  const begunMs = performance.now()
  const ends: string[] = []
  const pauses = ['first', 'second'].map(async (name) => {
    await roomyPause(100, 600, signal)
    if (ends.length === 0) setImmediate(() => ends.push('next turn'))
    ends.push(name)
  })
  await Promise.all(pauses)
  t.same(ends, ['first', 'second'])
  t.ok(performance.now() - begunMs >= 99)
})

t.test('a roomy pause ends at once with its signal, and leaves the others', async (t) => {
  const giving = new AbortController()
  let isOver = false
  const stay = new AbortController()
  const other = roomyPause(60_000, 600_000, stay.signal).then(() => (isOver = true))
  const paused = roomyPause(60_000, 600_000, giving.signal)
  giving.abort()
  await paused
  await roomyPause(60_000, 600_000, giving.signal)
  t.equal(isOver, false)
  stay.abort()
  await other
})
