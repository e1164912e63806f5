import { Value } from '@sinclair/typebox/value'
import t from 'tap'
import type { Person } from '../../../src/domain/account/postings.ts'
import type { ApprovalOrigins } from '../../../src/domain/account/independence.ts'
import { statementDecider, type StatementCommand } from '../../../src/domain/statement/decider.ts'
import {
  MAX_SUMS,
  type PeriodClosed,
  statementEvents,
} from '../../../src/domain/statement/events.ts'
import { nextPeriod, type StatementsState } from '../../../src/domain/statement/periods.ts'
import { closedMonths, closeOf, FIRST, statementsWith } from './periods.ts'

const { initial } = statementDecider
const decide = (command: StatementCommand, state: StatementsState) =>
  statementDecider.decide(command, state)
const closing = (data: PeriodClosed, graceHours = 72) =>
  ({ kind: 'close', data, graceHours }) as const

t.test('a close is its event, and the same month again is none', async (t) => {
  const data = closeOf(initial)
  t.same(decide(closing(data), initial), [{ type: 'PeriodClosed', data }])
  const state = closedMonths(1)
  t.same(decide(closing({ ...data, root: 'of another closer' }), state), [])
})

t.test('what does not follow the last period is refused by its code', async (t) => {
  const state = closedMonths(2)
  const refused = (more: Partial<PeriodClosed>, code: string, message: RegExp, graceHours = 72) =>
    t.throws(() => decide(closing(closeOf(state, more), graceHours), state), { code, message })
  refused({ month: '2026-05' }, 'period_not_next', /^2026-03 comes next in CNY/)
  refused({ attempt: 2 }, 'period_not_next', /in the meantime: close again/)
  refused({ statement: 'ACME-0002' }, 'period_not_next', /close again/)
  refused({ from: '2026-03-01T00:00:00+00:00' }, 'period_not_next', /close again/)
  refused({ previous: { n: 2, root: 'another' } }, 'period_not_next', /close again/)
  refused(
    { closedAt: '2026-04-03T15:59:59.999Z' },
    'period_not_over',
    /from 2026-04-03T16:00:00.000Z on/,
  )
  refused(
    { closedAt: '2026-04-20T00:00:00.000Z' },
    'period_not_over',
    /2026-04-30T16:00:00.000Z/,
    720,
  )
  refused({ to: '2026-02-28T16:00:00Z' }, 'period_position', /begins at .* and ends at/)
  refused({ position: '99' }, 'period_position', /ledger is at 99, and 2026-02 was closed at 100/)
  refused({ opening: '1', closing: '1' }, 'period_sum', /begins with 1 CNY.*ended with 0/)
  refused({ closing: '0.000000000001' }, 'period_sum', /adds up to 0 CNY.*is 0.000000000001/)
  t.equal(decide(closing(closeOf(state)), state).length, 1)
})

t.test('every figure is part of the closing balance', async (t) => {
  const figures = {
    granted: { paid: '100', promotional: '20' },
    adjusted: { usage: '2.5', grants: '-5' },
    expired: '-1.25',
    settled: '-0.000000000001',
    closing: '116.249999999999',
  }
  t.equal(decide(closing(closeOf(initial, figures)), initial).length, 1)
  t.throws(() => decide(closing(closeOf(initial, { ...figures, expired: '0' })), initial), {
    code: 'period_sum',
  })
})

t.test('numbers count the closes of both currencies and the voided ones', async (t) => {
  let state = closedMonths(2)
  state = statementsWith(state, closing(closeOf(state, {}, 'USD')))
  state = statementsWith(state, propose())
  state = statementsWith(state, approve())
  const again = nextPeriod(state, 'CNY', 'NEW', FIRST)
  t.match(again, { n: 2, attempt: 2, statement: 'NEW-0004', month: '2026-02' })
  t.same(again.previous, { n: 1, root: 'root 1' })
  t.match(nextPeriod(state, 'USD', 'ACME', FIRST), { n: 2, attempt: 1, statement: 'ACME-0004' })
  const many = { ...state, closes: 9_999 }
  t.equal(nextPeriod(many, 'CNY', 'A', FIRST).statement, 'A-10000')
})

t.test('a statement is of a thousand rows at most', async (t) => {
  const row = { sku: 's', unit: 'token', quantity: 1, amount: '1', lines: 1 }
  const sums = Array.from({ length: MAX_SUMS }, () => row)
  t.ok(Value.Check(statementEvents.PeriodClosed, closeOf(initial, { sums })))
  t.notOk(Value.Check(statementEvents.PeriodClosed, closeOf(initial, { sums: [...sums, row] })))
})

const ann: Person = { tenantId: 'ops', userId: 'ann', tokenId: 'token_ann' }
const bob: Person = { tenantId: 'ops', userId: 'bob', tokenId: 'token_bob' }
const PROPOSED_AT = '2026-06-01T00:00:00.000Z'
const hoursLater = (hours: number): string =>
  new Date(Date.parse(PROPOSED_AT) + hours * 3_600_000).toISOString()
const originOf = ({ tenantId, userId }: Person, secretMadeAt = '2026-01-01T00:00:00.000Z') => ({
  users: [{ tenantId, userId }],
  secretMadeAt,
})
const origins: ApprovalOrigins = { approver: originOf(bob), proposer: originOf(ann) }
const of = { currency: 'CNY', month: '2026-02' } as const

function propose(more: { month?: string; by?: Person | undefined; at?: string } = {}) {
  const asked = { reason: 'a wrong refund', by: ann, lapseHours: 72, at: PROPOSED_AT }
  return { kind: 'propose-void', ...of, ...asked, ...more } as const
}
function approve(
  more: { by?: Person; origins?: ApprovalOrigins; proposedAt?: string; at?: string } = {},
) {
  return { kind: 'approve-void', ...of, by: bob, origins, at: hoursLater(1), ...more } as const
}
function reject(more: { by?: Person | undefined; reason?: string; at?: string } = {}) {
  const asked = { by: bob, reason: 'it is right', at: hoursLater(1) }
  return { kind: 'reject-void', ...of, ...asked, ...more } as const
}
const NAME = { tenantId: 'tenant_1', currency: 'CNY', n: 2, attempt: 1, statement: 'ACME-0002' }

t.test('a void is proposed once, and voids the period when another user approves', async (t) => {
  const state = closedMonths(2)
  const reason = 'a wrong refund'
  const proposedAt = PROPOSED_AT
  t.same(decide(propose(), state), [
    {
      type: 'VoidProposed',
      data: { ...NAME, reason, by: ann, proposedAt, expiresAt: hoursLater(72) },
    },
  ])
  const proposed = statementsWith(state, propose())
  t.same(decide(propose({ by: bob }), proposed), [], 'the first proposal is decided')
  t.same(decide(approve(), proposed), [
    {
      type: 'PeriodVoided',
      data: { ...NAME, reason, proposedBy: ann, by: bob, voidedAt: hoursLater(1) },
    },
  ])
  const voided = statementsWith(proposed, approve())
  t.same(decide(approve(), voided), [], 'a repetition by the same user')
  t.throws(() => decide(approve({ by: { ...ann, userId: 'carl' } }), voided), {
    code: 'period_not_found',
  })
  t.throws(() => decide(propose(), voided), { code: 'period_not_found' })
})

t.test('a shell proposes, and its proposal has no person', async (t) => {
  const state = statementsWith(closedMonths(2), propose({ by: undefined }))
  const [event] = decide(approve({ origins: { approver: originOf(bob) } }), state)
  t.notOk(event && 'proposedBy' in event.data)
  t.equal(event?.type, 'PeriodVoided')
})

t.test('only the last period is voided, and only by a second person in time', async (t) => {
  const state = statementsWith(closedMonths(2), propose())
  t.throws(() => decide(propose({ month: '2026-01' }), state), {
    code: 'period_not_last',
    message: /void 2026-02 first/,
  })
  t.throws(() => decide(propose({ month: '2026-03' }), state), { code: 'period_not_found' })
  t.throws(() => decide(approve(), closedMonths(2)), { code: 'void_not_proposed' })
  t.throws(() => decide(approve({ by: { ...ann, tokenId: 'token_2' } }), state), {
    code: 'proposal_own',
  })
  t.throws(() => decide(approve({ at: hoursLater(72) }), state), { code: 'proposal_expired' })
  t.throws(() => decide(reject({ at: hoursLater(72) }), state), { code: 'proposal_expired' })
  const late = { approver: originOf(bob, hoursLater(0.5)), proposer: originOf(ann) }
  t.throws(() => decide(approve({ origins: late }), state), { code: 'proposal_not_independent' })
  const both = { tenantId: 'ops', userId: 'root' }
  const shared = {
    approver: { ...originOf(bob), users: [bob, both] },
    proposer: { ...originOf(ann), users: [ann, both] },
  }
  t.throws(() => decide(approve({ origins: shared }), state), { code: 'proposal_not_independent' })
  const further = statementsWith(state, closing(closeOf(state)))
  t.throws(() => decide(approve(), further), { code: 'period_not_last' })
})

t.test('an approval is of the proposal whose proposer was looked up', async (t) => {
  const again = propose({ at: hoursLater(72), by: { ...ann, userId: 'carl' } })
  const state = statementsWith(statementsWith(closedMonths(2), propose()), again)
  const at = hoursLater(73)
  t.throws(() => decide(approve({ at, proposedAt: PROPOSED_AT }), state), {
    code: 'void_not_proposed',
    message: /another one was made/,
  })
  t.equal(decide(approve({ at, proposedAt: hoursLater(72) }), state).length, 1)
})

t.test('after a lapse or a rejection it can be proposed again', async (t) => {
  const state = statementsWith(closedMonths(2), propose())
  t.equal(decide(propose({ at: hoursLater(72) }), state).length, 1, 'the first has lapsed')
  const rejected = statementsWith(state, reject())
  t.same(decide(reject(), rejected), [], 'a repetition')
  t.throws(() => decide(reject({ reason: 'another' }), rejected), { code: 'void_not_proposed' })
  t.throws(() => decide(approve(), rejected), { code: 'void_not_proposed' })
  t.match(decide(propose({ at: hoursLater(2) }), rejected), [{ type: 'VoidProposed' }])
})
