import t from 'tap'
import { createAbsorbedCosts } from '../../../../src/app/spending/throttle/absorbed-costs.ts'

const user = (name: string) => ({ user: `user ${name}`, tenant: 'tenant_1' })
const HOUR_MS = 3_600_000
const pico = (units: number): bigint => BigInt(units) * 10n ** 12n

t.test('a user whose failed calls cost the bound is refused until it has flowed off', (t) => {
  let nowMs = 1_000
  const absorbed = createAbsorbedCosts({ nowMs: () => nowMs }, 10)
  absorbed.add(user('a'), '9.5')
  absorbed.check(user('a'))
  absorbed.add(user('a'), '1.5')
  t.throws(() => absorbed.check(user('a')), {
    code: 'rate_limited',
    details: { whose: 'user', limitedBy: 'absorbed_cost', limit: 10 },
  })
  absorbed.check(user('b'))
  nowMs += HOUR_MS / 5
  absorbed.check(user('a'))
  t.end()
})

t.test('the users of a tenant together have four times the bound of one', (t) => {
  const absorbed = createAbsorbedCosts({ nowMs: () => 1_000 }, 10)
  for (const name of ['a', 'b', 'c', 'd', 'e']) absorbed.add(user(name), '8')
  t.throws(() => absorbed.check(user('f')), {
    code: 'rate_limited',
    details: { whose: 'tenant', limit: 40 },
  })
  absorbed.check({ user: 'user f', tenant: 'tenant_2' })
  t.end()
})

t.test('calls reserve their holds while they run, in the proportion of the bound in use', (t) => {
  const absorbed = createAbsorbedCosts({ nowMs: () => 1_000 }, 10)
  const begun = (units: number) => absorbed.reserve(user('a'), pico(units))
  const many = Array.from({ length: 44 }, () => begun(2))
  t.throws(() => begun(2), { code: 'rate_limited' }, 'all of them would cost nine times the bound')
  for (const one of many) one.release('failed')
  absorbed.add(user('a'), '5')
  const running = [begun(2), begun(2), begun(2), begun(2)]
  t.throws(() => begun(2), { code: 'rate_limited' })
  for (const one of running) {
    one.release('failed')
    one.release('failed')
  }
  const only = begun(1_000)
  t.throws(() => begun(1), { code: 'rate_limited' }, 'a large one runs alone')
  only.release('failed')
  t.end()
})

t.test('calls begun at once cost ten times the bound at most, whatever failed before', (t) => {
  for (const before of [0, 0.4, 1, 2.5, 5, 9.9]) {
    const absorbed = createAbsorbedCosts({ nowMs: () => 1_000 }, 10)
    absorbed.add(user('a'), String(before))
    let cost = before
    for (let n = 0; n < 200; n += 1)
      try {
        absorbed.reserve(user('a'), pico(1))
        cost += 1
      } catch {
        break
      }
    t.ok(cost <= 100, `${before}: ${cost}`)
    t.ok(cost >= 10, `${before}: ${cost}`)
  }
  t.end()
})
