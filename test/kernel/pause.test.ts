import t from 'tap'
import { createBackoff, pause, withTimeout } from '../../src/kernel/pause.ts'

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
