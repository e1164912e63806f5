import t from 'tap'
import { createFreeRequests } from '../../../../src/app/spending/throttle/free-requests.ts'

t.test('a token is refused after its free requests of a minute, others are not', async (t) => {
  let nowMs = 1_000
  const free = createFreeRequests({ nowMs: () => nowMs }, 60, 1)
  for (let request = 0; request < 60; request += 1) {
    t.equal(free.begin('noisy'), undefined)
    free.count('noisy')
  }
  await t.rejects(Promise.resolve(free.begin('noisy')), {
    code: 'rate_limited',
    message: 'This token is at its limit of unbilled requests a minute (60)',
    details: { whose: 'token', limitedBy: 'free_requests', limit: 60, retryAfterMs: 1_000 },
  })
  t.equal(free.begin('quiet'), undefined)
  nowMs += 1_000
  t.equal(free.begin('noisy'), undefined, 'one comes back each second')
})

t.test('a served request returns a free one, so that some refusals never count', async (t) => {
  const free = createFreeRequests({ nowMs: () => 1_000 }, 10, 1)
  for (let request = 0; request < 1_000; request += 1) {
    if (free.begin('busy') !== undefined) t.fail('refused')
    free.count('busy')
    free.served('busy')
  }
  for (let request = 0; request < 100; request += 1) free.served('busy')
  for (let request = 0; request < 10; request += 1) free.count('busy')
  await t.rejects(Promise.resolve(free.begin('busy')), { code: 'rate_limited' }, 'none is saved up')
})
