import t from 'tap'
import { createDrains } from '../../../src/app/calls/drains.ts'

/** Enters a drain and says when it has its place. */
function drainOf(
  drains: ReturnType<typeof createDrains>,
  user: string,
  tenant = `tenant of ${user}`,
) {
  const place = drains.enter({ user, tenant })
  let isReady = false
  void place.ready.then(() => (isReady = true))
  return { ...place, isReady: () => isReady }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

void t.test('a user has its share of the drains, and others get a place', async (t) => {
  const drains = createDrains(3, { perUser: 2, perTenant: 3 })
  const noisy = Array.from({ length: 5 }, () => drainOf(drains, 'noisy'))
  const quiet = drainOf(drains, 'quiet')
  const late = drainOf(drains, 'late')
  await settled()
  const ready = () => [...noisy, quiet, late].map((one) => (one.isReady() ? 1 : 0)).join('')
  t.equal(ready(), '1100010', 'two of the noisy one, and the quiet one')
  noisy[0]?.leave()
  await settled()
  t.equal(ready(), '1110010', 'the place goes to the one that waits longest and may have it')
  noisy[1]?.leave()
  await settled()
  t.equal(ready(), '1110011', 'then to the other user, before the next of the same one')
})

void t.test('a drain that stops waiting holds no place and frees none twice', async (t) => {
  const drains = createDrains(1, { perUser: 1, perTenant: 1 })
  const first = drainOf(drains, 'a')
  const second = drainOf(drains, 'a')
  second.stopWaiting()
  await second.ready
  second.leave()
  const third = drainOf(drains, 'b')
  await settled()
  t.notOk(third.isReady())
  first.leave()
  first.leave()
  await settled()
  t.ok(third.isReady())
  const fourth = drainOf(drains, 'c')
  await settled()
  t.notOk(fourth.isReady())
})

void t.test('the users of one tenant leave places to other tenants', async (t) => {
  const drains = createDrains(4, { perUser: 1, perTenant: 2 })
  const noisy = [1, 2, 3, 4].map((n) => drainOf(drains, `noisy ${n}`, 'noisy'))
  const quiet = drainOf(drains, 'quiet')
  await settled()
  t.same(
    [...noisy, quiet].map((one) => one.isReady()),
    [true, true, false, false, true],
  )
})
