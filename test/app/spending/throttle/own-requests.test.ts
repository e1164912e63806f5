import t from 'tap'
import { createOwnRequests } from '../../../../src/app/spending/throttle/free-requests.ts'

const noisy = { user: 'noisy', tenant: 'tenant_1' }

void t.test(
  'a second’s worth of requests begins at once, the next waits, later ones get 429',
  async (t) => {
    let nowMs = 1_000
    // One each 100 ms.
    const turn = createOwnRequests({ nowMs: () => nowMs }, 600, 150)
    for (let n = 0; n < 10; n += 1) t.equal(turn(noisy), undefined, `${n} begins at once`)
    const [eleventh, twelfth] = [turn(noisy), turn(noisy)]
    t.type(eleventh, Promise)
    // 200 ms are longer than it waits.
    await t.rejects(Promise.resolve(twelfth), {
      code: 'rate_limited',
      details: { whose: 'user', limitedBy: 'own_requests', limit: 600 },
    })
    await eleventh
    t.equal(turn({ ...noisy, user: 'quiet' }), undefined, 'another user waits for none of them')
    nowMs += 60_000
    for (let n = 0; n < 10; n += 1)
      t.equal(turn(noisy), undefined, 'no more than a second is saved up')
    t.type(turn(noisy), Promise)
  },
)

void t.test('a limit of one a minute admits one a minute', async (t) => {
  let nowMs = 0
  const turn = createOwnRequests({ nowMs: () => nowMs }, 1, 10)
  t.equal(turn(noisy), undefined)
  await t.rejects(Promise.resolve(turn(noisy)), {
    code: 'rate_limited',
    details: { retryAfterMs: 60_000 },
  })
  nowMs = 60_000
  t.equal(turn(noisy), undefined)
})

void t.test('the users of a tenant together have four times the pace of one', async (t) => {
  const turn = createOwnRequests({ nowMs: () => 0 }, 60, 10)
  const as = (user: number) => turn({ user: `user_${user}`, tenant: 'tenant_1' })
  for (let user = 0; user < 4; user += 1) t.equal(as(user), undefined)
  await t.rejects(Promise.resolve(as(5)), {
    code: 'rate_limited',
    details: { whose: 'tenant', limit: 240 },
  })
})
