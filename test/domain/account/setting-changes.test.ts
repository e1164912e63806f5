import t from 'tap'
import { accountDecider, type AccountCommand } from '../../../src/domain/account/decider.ts'
import type { AccountEvent } from '../../../src/domain/account/events.ts'
import type { Person } from '../../../src/domain/account/postings.ts'
import type { WantedAccountPrices } from '../../../src/domain/account/prices.ts'
import type { PriceEntry } from '../../../src/domain/pricing/events.ts'
import { priceBookFromPublished } from '../../../src/domain/pricing/price-book.ts'

/** Changes of settings that give a tenant more than one person may: they wait for a second one. */

const tenantId = 'tenant_1'
const HOUR_MS = 60 * 60 * 1_000
const at = (hours: number): string =>
  new Date(Date.parse('2026-01-02T00:00:00.000Z') + hours * HOUR_MS).toISOString()
const person = (userId: string): Person => ({ tenantId, userId, tokenId: `token_${userId}` })
const [ann, ben] = [person('ann'), person('ben')]
const entry = (sku: string, price: string, more: Partial<PriceEntry> = {}): PriceEntry => ({
  sku,
  currency: 'USD',
  unit: 'token',
  per: 1_000_000,
  price,
  ...more,
})
const book = (version: string, ...entries: readonly PriceEntry[]) =>
  priceBookFromPublished({ version, entries })
const now = book(
  '2026-01',
  entry('a', '10'),
  entry('b', '20'),
  entry('c', '5', { currency: 'CNY' }),
)
const later = book('2026-02', entry('a', '40'))
const books = [now]

const open: AccountCommand = { kind: 'open', tenantId, name: 'Demo', at: at(0) }
const approvals = (
  limits: Readonly<Partial<Record<'USD' | 'CNY', string>>>,
  by: Person | 'shell' = ann,
): AccountCommand => ({
  kind: 'set-setting',
  tenantId,
  setting: 'approvals',
  wanted: {
    limits: (['USD', 'CNY'] as const).flatMap((currency) => {
      const above = limits[currency]
      return above === undefined ? [] : [{ currency, above }]
    }),
    lapseHours: 72,
  },
  by: by === 'shell' ? undefined : by,
  at: at(1),
})
const prices = (
  wanted: Partial<WantedAccountPrices>,
  more: { readonly by?: Person; readonly at?: string; readonly basis?: number } = {},
): AccountCommand => ({
  kind: 'set-setting',
  tenantId,
  setting: 'prices',
  wanted: { prices: [], books, ...wanted },
  by: ann,
  at: at(1),
  ...more,
})
const approve = (proposalId: string, by = ben, hours = 2): AccountCommand => ({
  kind: 'approve',
  tenantId,
  proposalId,
  by,
  origins: { approver: { users: [by], secretMadeAt: at(0) } },
  at: at(hours),
})

function after(...commands: readonly (AccountCommand | AccountEvent)[]) {
  const state = commands.reduce(
    (known, one) =>
      'kind' in one
        ? accountDecider.decide(one, known).reduce(accountDecider.evolve, known)
        : accountDecider.evolve(known, one),
    accountDecider.initial,
  )
  const when = (command: AccountCommand) => accountDecider.decide(command, state)
  return {
    state,
    when,
    types: (command: AccountCommand) => when(command).map(({ type }) => type),
    ids: [...state.proposals.keys()],
  }
}
const limited = (...more: readonly (AccountCommand | AccountEvent)[]) =>
  after(open, approvals({ USD: '100' }), ...more)
const SET = ['AccountPricesSet']
const WAITS = ['PostingProposed']

t.test('without approvals one person sets any price', async (t) => {
  t.same(after(open).types(prices({ multiplier: '0', prices: [entry('a', '0')] })), SET)
})

t.test('what makes anything cheaper for the tenant waits, and all else is set', async (t) => {
  for (const [wanted, types, why] of [
    [{ multiplier: '0' }, WAITS, 'a multiplier'],
    [{ multiplier: '0.999999' }, WAITS, 'a multiplier below one'],
    [{ multiplier: '1' }, SET, 'a multiplier of one'],
    [{ multiplier: '1.5' }, SET, 'a dearer multiplier'],
    [{ prices: [entry('a', '0')] }, WAITS, 'a free SKU'],
    [{ prices: [entry('a', '9.999999')] }, WAITS, 'an own price below the list'],
    [{ prices: [entry('a', '10')] }, SET, 'an own price as the list has it'],
    [{ prices: [entry('a', '11')] }, SET, 'an own price above the list'],
    [{ prices: [entry('a', '0.01', { per: 1_000 })] }, SET, 'the same for fewer units'],
    [{ prices: [entry('a', '0.009', { per: 1_000 })] }, WAITS, 'less for fewer units'],
    [{ prices: [entry('a', '10', { unit: 'call' })] }, WAITS, 'another unit'],
    [{ prices: [entry('new', '1000')] }, WAITS, 'a SKU that had no price'],
    [{ prices: [entry('a', '11')], books: [now, later] }, WAITS, 'below a list to come'],
    [{ prices: [entry('a', '11')], books: [] }, WAITS, 'without a list to compare with'],
    [{ multiplier: '2', prices: [entry('b', '20')] }, SET, 'both dearer or equal'],
    [{ prices: [entry('c', '0', { currency: 'CNY' })] }, SET, 'a currency without a limit'],
  ] as const)
    t.same(limited().types(prices(wanted)), types, why)
  const dear = limited(prices({ multiplier: '2', prices: [entry('a', '30')] }))
  t.same(dear.types(prices({ multiplier: '2' })), WAITS, 'an own price above the list is removed')
  t.same(dear.types(prices({ prices: [entry('a', '30')] })), WAITS, 'the multiplier is removed')
  t.same(dear.types(prices({ multiplier: '2', prices: [entry('a', '29')] })), WAITS)
  t.same(dear.types(prices({ multiplier: '3', prices: [entry('a', '30')] })), SET)
  t.same(dear.types(prices({ multiplier: '2', prices: [entry('a', '31')] })), SET)
})

t.test('the proposal has both sides, and its approval sets what was proposed', async (t) => {
  const command = prices({ multiplier: '0.5', prices: [entry('a', '1.0')] })
  const proposed = limited(prices({ multiplier: '2' }), command)
  const [id = ''] = proposed.ids
  const after_ = { multiplier: '0.5', prices: [entry('a', '1')], comparedWith: ['2026-01'] }
  t.strictSame(proposed.state.proposals.get(id)?.proposed, {
    tenantId,
    proposalId: id,
    posting: {
      kind: 'prices',
      basis: 1,
      before: { multiplier: '2', prices: [], comparedWith: ['2026-01'] },
      after: after_,
    },
    by: ann,
    proposedAt: at(1),
    expiresAt: at(73),
  })
  t.match(id, /^proposal_[0-9a-f]{32}$/)
  t.equal(proposed.state.settings.prices?.multiplier, '2', 'it gives nothing yet')
  t.throws(() => proposed.when(approve(id, ann)), { code: 'proposal_own' })
  t.strictSame(proposed.when(approve(id)), [
    { type: 'PostingApproved', data: { tenantId, proposalId: id, by: ben, approvedAt: at(2) } },
    {
      type: 'AccountPricesSet',
      data: { ...after_, tenantId, revision: 2, by: ann, setAt: at(2) },
    },
  ])
  const root = { tenantId, userId: 'root' }
  const shared = { ...approve(id), origins: { approver: of(ben), proposer: of(ann) } }
  function of(one: Person) {
    return { users: [one, root], secretMadeAt: at(0) }
  }
  t.throws(() => proposed.when(shared), { code: 'proposal_not_independent' })
})

t.test('the same change again is the same proposal, until it ends', async (t) => {
  const command = prices({ multiplier: '0.5' })
  const proposed = limited(command)
  const [id = ''] = proposed.ids
  t.strictSame(proposed.when(command), [])
  t.strictSame(proposed.when(prices({ multiplier: '0.5' }, { by: ben })), [])
  t.same(proposed.types(prices({ multiplier: '0.6' })), WAITS, 'another change')
  const reject = { kind: 'reject', tenantId, proposalId: id, by: ben, reason: 'no', at: at(2) }
  const again = limited(command, reject as AccountCommand, command)
  t.equal(again.ids.length, 2, 'it may be proposed again after a rejection')
  t.same(limited(command).types({ ...command, at: at(74) }), WAITS, 'and after a lapse')
  t.strictSame(limited(command, approve(id)).when(command), [], 'it is set')
})

t.test('409 proposal_outdated where the setting changed in between', async (t) => {
  const proposed = limited(prices({ multiplier: '0.5' }), prices({ multiplier: '1.5' }))
  const [id = ''] = proposed.ids
  t.throws(() => proposed.when(approve(id)), {
    code: 'proposal_outdated',
    message: /to revision 1, and the proposal changes revision 0: reject it/,
  })
  t.throws(() => proposed.when(prices({ multiplier: '0.5' }, { basis: 0 })), {
    code: 'setting_changed',
  })
})

t.test('a higher limit of approvals waits, and a lower one is set', async (t) => {
  for (const [limits, type, why] of [
    [{ USD: '50' }, 'ApprovalsSet', 'lower'],
    [{ USD: '100', CNY: '1' }, 'ApprovalsSet', 'one more currency'],
    [{ USD: '100.01' }, 'PostingProposed', 'higher'],
    [{}, 'PostingProposed', 'none'],
    [{ CNY: '1' }, 'PostingProposed', 'none of one currency'],
  ] as const)
    for (const by of [ann, 'shell'] as const)
      t.same(limited().types(approvals(limits, by)), [type], why)
  const proposed = limited(approvals({}, 'shell'))
  const [id = ''] = proposed.ids
  t.match(proposed.state.proposals.get(id)?.proposed, {
    posting: {
      kind: 'approvals',
      basis: 1,
      before: { limits: [{ currency: 'USD', above: '100' }] },
      after: { limits: [], lapseHours: 72 },
    },
  })
  t.match(proposed.when(approve(id)), [
    { type: 'PostingApproved' },
    { type: 'ApprovalsSet', data: { revision: 2, limits: [], by: null } },
  ])
  const open_ = limited(approvals({}), approve(limited(approvals({})).ids[0] ?? ''))
  t.same(open_.types(prices({ multiplier: '0' })), SET, 'one person may again')
})
