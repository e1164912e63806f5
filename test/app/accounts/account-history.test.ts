import t from 'tap'
import { readAccountHistory, termsAt } from '../../../src/app/accounts/account-history.ts'
import { billing, type BillingTerms } from '../../../src/domain/account/billing.ts'
import { accountStream, type AccountEvent } from '../../../src/domain/account/events.ts'
import { Recorder } from '../../projections/support/history.ts'

const tenantId = 'acme'
const setAt = '2026-01-02T03:04:05.000Z'
const recorder = new Recorder()
const record = (event: AccountEvent) => recorder.record(accountStream(tenantId), event)
const profiled = (revision: number, terms: BillingTerms, legalName = 'L') =>
  record({
    type: 'BillingProfileSet',
    data: { ...billing.none, tenantId, revision, legalName, terms, setAt },
  })

const events = [
  record({ type: 'TenantOpened', data: { tenantId, name: 'Acme', openedAt: setAt } }),
  record({ type: 'UserAdded', data: { tenantId, userId: 'ann', name: 'Ann', addedAt: setAt } }),
  profiled(1, 'prepaid'),
  profiled(2, 'postpaid'),
  profiled(3, 'postpaid', 'another'),
  record({
    type: 'UserRenamed',
    data: { tenantId, userId: 'ann', name: 'Anne', renamedAt: setAt },
  }),
  record({ type: 'TenantNamed', data: { tenantId, revision: 1, name: 'Acme Film', setAt } }),
  profiled(4, 'prepaid'),
]
const log = {
  readStream: (stream: string, { from = 0n, limit = events.length } = {}) =>
    Promise.resolve(
      stream === accountStream(tenantId)
        ? events.filter(({ revision }) => revision >= from).slice(0, limit)
        : [],
    ),
}
const positionOf = (n: number): bigint => events[n]?.position ?? 0n
const historyAt = (n: number) => readAccountHistory({ log }, tenantId, positionOf(n))

t.test('an account has the names and terms of the position, whatever was set later', async (t) => {
  const named = async (n: number) => {
    const { name, userNames } = await historyAt(n)
    return [name, userNames.get('ann')]
  }
  t.same(await named(0), ['Acme', undefined])
  t.same(await named(4), ['Acme', 'Ann'])
  t.same(await named(7), ['Acme Film', 'Anne'])
  const changes = [
    { position: positionOf(3), at: setAt, terms: 'postpaid' },
    { position: positionOf(7), at: setAt, terms: 'prepaid' },
  ]
  t.same((await historyAt(2)).termsChanges, [], 'the first profile changed no terms')
  t.same((await historyAt(6)).termsChanges, changes.slice(0, 1))
  t.same((await historyAt(7)).termsChanges, changes)
})

t.test('terms apply from the position of their change', async (t) => {
  const history = await historyAt(7)
  const terms = events.map((_, n) => termsAt(history, positionOf(n)))
  t.same(terms, [...Array(3).fill('prepaid'), ...Array(4).fill('postpaid'), 'prepaid'])
})

t.test('a tenant that was not there has no name and is prepaid', async (t) => {
  const history = await readAccountHistory({ log }, 'missing', 9n)
  t.same(history, { name: undefined, userNames: new Map(), termsChanges: [] })
  t.equal(termsAt(history, 9n), 'prepaid')
})
