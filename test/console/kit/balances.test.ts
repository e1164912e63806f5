import t from 'tap'
import { partsOf } from '../../../src/console/kit/balances.tsx'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'

const account = {
  currency: 'USD',
  granted: '100.000000000000',
  adjusted: '-3.500000000000',
  settled: '7.250000000000',
  held: '1.000000000001',
  credit_limit: '20.000000000000',
  available: '108.249999999999',
  balance: '89.250000000000',
  reserved: '1.000000000001',
  used_total: '7.250000000000',
  adjusted_usage: '1.500000000000',
  adjusted_grants: '-5.000000000000',
  held_tasks: 1,
  held_since: '2026-11-30T00:00:00.000Z',
}

const sumOf = (one: Parameters<typeof partsOf>[0]): string =>
  formatAmount(
    partsOf(one).reduce(
      (sum, { sign, amount }) =>
        sign === '+' ? sum + parseAmount(amount) : sum - parseAmount(amount),
      0n,
    ),
  )

t.test('the parts of a balance add up to it with their signs, without those that are zero', (t) => {
  t.equal(sumOf(account), '108.249999999999')
  t.same(
    partsOf(account).map(({ name, sign }) => `${sign} ${name}`),
    ['+ granted', '− corrected grants', '+ credit limit', '− settled', '+ refunded', '− held'],
  )
  const past = { ...account, held: null, reserved: null, credit_limit: null, available: null }
  t.equal(sumOf(past), '89.25', 'one of the past is the balance')
  const zero = '0.000000000000'
  const fresh = { ...account, settled: zero, held: zero, credit_limit: zero, adjusted_usage: zero }
  t.equal(partsOf({ ...fresh, adjusted_grants: zero }).length, 1)
  t.end()
})
