import { catalog } from '../../../../src/families/index.ts'
import t from 'tap'
import { mayExpire } from '../../../../src/app/tasks/watch/expire.ts'
import {
  failedPollMs,
  jittered,
  nextLookMs,
  pollIntervalMs,
  reconcileIntervalMs,
} from '../../../../src/app/tasks/watch/intervals.ts'

t.test('polls of a task slow down, from every second to every fifteen', async (t) => {
  t.equal(pollIntervalMs(0, 1), 1_000)
  t.equal(pollIntervalMs(60_000, 1), 6_000)
  t.equal(pollIntervalMs(3_600_000, 1), 15_000)
  t.equal(pollIntervalMs(0, 0.1), 100)
})

t.test('a failed query waits longer, at least as long as upstream asks', async (t) => {
  t.equal(failedPollMs(0, 1, undefined), 2_000)
  t.equal(failedPollMs(3_600_000, 1, undefined), 30_000)
  t.equal(failedPollMs(0, 0.1, 7_000), 7_000)
})

t.test('the search for a submission slows down and never stops', async (t) => {
  t.same(
    [1, 2, 3, 100].map((attempt) => reconcileIntervalMs(attempt, 1)),
    [5_000, 10_000, 20_000, 300_000],
  )
})

t.test('a poll is never planned past the deadline', async (t) => {
  t.equal(nextLookMs(0, 15_000, 10_000), 10_000)
  t.equal(nextLookMs(0, 5_000, 10_000), 5_000)
  t.equal(nextLookMs(20_000, 5_000, 10_000), 25_000)
})

t.test('jitter stays within a tenth', async (t) => {
  t.equal(
    jittered(1_000, () => 0),
    900,
  )
  t.ok(Math.abs(jittered(1_000, () => 0.5) - 1_000) < 1e-9)
  t.ok(jittered(1_000, () => 0.999) < 1_100)
})

t.test('a task is given up at its deadline only if upstream does not have it', async (t) => {
  const family = 'video-a'
  const longestMs = 73 * 3_600_000
  const task = { family, requestedAtMs: 0, expiresAtMs: 4 * 3_600_000 }
  t.equal(mayExpire({ catalog }, task, 'absent', task.expiresAtMs - 1), false)
  t.equal(mayExpire({ catalog }, task, 'absent', task.expiresAtMs), true)
  t.equal(mayExpire({ catalog }, task, 'open', task.expiresAtMs), false)
  t.equal(mayExpire({ catalog }, task, 'unreachable', task.expiresAtMs), false)
  t.equal(mayExpire({ catalog }, task, 'open', longestMs), true)
  t.equal(mayExpire({ catalog }, task, 'unreachable', longestMs), true)
})
