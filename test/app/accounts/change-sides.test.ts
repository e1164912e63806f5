import t from 'tap'
import { differenceOf } from '../../../src/app/accounts/change-sides.ts'

/** Both sides of a change name what differs, and nothing else. */

t.test('a member that differs is on both sides, and one that is the same on none', (t) => {
  t.same(differenceOf({ lapseHours: 24, same: 1 }, { lapseHours: 48, same: 1 }), {
    from: 'lapse hours 24',
    to: 'lapse hours 48',
  })
  t.same(differenceOf(undefined, { name: 'jobs' }), { from: null, to: 'name jobs' })
  t.same(differenceOf({ name: 'jobs' }, { name: 'jobs' }), { from: null, to: null })
  t.end()
})

t.test('items of a list are compared by what they are about, in any order', (t) => {
  const price = (sku: string, amount: string) => ({ sku, currency: 'USD', price: amount, per: 1 })
  const before = { prices: [price('a', '1'), price('b', '2')] }
  const after = { prices: [price('b', '2.5'), price('a', '1')] }
  t.same(differenceOf(before, after), { from: 'b USD price 2', to: 'b USD price 2.5' })
  const limit = (userId: string, requestsPerMinute: number) => ({
    subject: { kind: 'user', userId },
    requestsPerMinute,
  })
  t.same(differenceOf({ limits: [limit('ann', 6)] }, { limits: [limit('ben', 6)] }), {
    from: 'user ann requests per minute 6',
    to: 'user ben requests per minute 6',
  })
  t.same(differenceOf({ models: ['x', 'y'] }, { models: ['x'] }), {
    from: 'models x y',
    to: 'models x',
  })
  t.end()
})

t.test('a side is no longer than 500 characters, and says how much is left out', (t) => {
  const prices = Array.from({ length: 200 }, (_, n) => ({ sku: `sku-${n}`, price: '1' }))
  const { from, to } = differenceOf({}, { prices })
  t.equal(from, null)
  t.ok((to ?? '').length <= 500)
  t.match(to, / and \d+ more$/)
  const long = differenceOf({}, { name: 'x'.repeat(1_000) })
  t.equal(long.to?.length, 500)
  t.end()
})
