import t from 'tap'
import { createFreeRequests } from '../../../../src/app/spending/throttle/free-requests.ts'
import type { Sharer } from '../../../../src/kernel/sharers.ts'

const [noisy, quiet, busy] = ['noisy', 'quiet', 'busy'].map((user) => ({
  user,
  tenant: 'tenant_1',
})) as [Sharer, Sharer, Sharer]

t.test('a user is refused after its free requests of a minute, others are not', async (t) => {
  let nowMs = 1_000
  const free = createFreeRequests({ nowMs: () => nowMs }, 60, 1)
  for (let request = 0; request < 60; request += 1) {
    t.equal(free.begin(noisy), undefined)
    free.count(noisy)
  }
  await t.rejects(Promise.resolve(free.begin(noisy)), {
    code: 'rate_limited',
    message: 'This user is at its limit of unbilled requests a minute (60)',
    details: { whose: 'user', limitedBy: 'free_requests', limit: 60, retryAfterMs: 1_000 },
  })
  t.equal(free.begin(quiet), undefined)
  nowMs += 1_000
  t.equal(free.begin(noisy), undefined, 'one comes back each second')
})

t.test('a served request returns a free one, so that some refusals never count', async (t) => {
  const free = createFreeRequests({ nowMs: () => 1_000 }, 10, 1)
  for (let request = 0; request < 1_000; request += 1) {
    if (free.begin(busy) !== undefined) t.fail('refused')
    free.count(busy)
    free.served(busy)
  }
  for (let request = 0; request < 100; request += 1) free.served(busy)
  for (let request = 0; request < 10; request += 1) free.count(busy)
  await t.rejects(Promise.resolve(free.begin(busy)), { code: 'rate_limited' }, 'none is saved up')
})

t.test('the users of a tenant together have four times the free requests of one', async (t) => {
  const free = createFreeRequests({ nowMs: () => 1_000 }, 1, 1)
  const as = (user: number) => ({ user: `user_${user}`, tenant: 'tenant_1' })
  for (let user = 0; user < 4; user += 1) {
    t.equal(free.begin(as(user)), undefined)
    free.count(as(user))
  }
  await t.rejects(Promise.resolve(free.begin(as(5))), {
    code: 'rate_limited',
    details: { whose: 'tenant', limit: 4 },
  })
  t.equal(free.begin({ user: 'user_6', tenant: 'tenant_2' }), undefined)
})
