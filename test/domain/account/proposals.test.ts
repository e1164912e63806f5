import * as fc from 'fast-check'
import t from 'tap'
import { accountDecider, type AccountCommand } from '../../../src/domain/account/decider.ts'
import type { AccountEvent } from '../../../src/domain/account/events.ts'
import type { TokenOrigin } from '../../../src/domain/account/independence.ts'
import { type Person, postingIdOf } from '../../../src/domain/account/postings.ts'
import { proposalIdOf, statusAt } from '../../../src/domain/account/proposal-state.ts'
import { isSettingChange } from '../../../src/domain/account/setting-changes.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'

type Command<Kind extends AccountCommand['kind']> = Extract<AccountCommand, { kind: Kind }>

const tenantId = 'tenant_1'
const START_MS = Date.parse('2026-01-02T00:00:00.000Z')
const HOUR_MS = 60 * 60 * 1_000
const at = (hours: number): string => new Date(START_MS + hours * HOUR_MS).toISOString()
const person = (userId: string, tokenId = `token_${userId}`): Person => ({
  tenantId,
  userId,
  tokenId,
})
const ann = person('ann')
const ben = person('ben')
const open: AccountCommand = { kind: 'open', tenantId, name: 'Demo', at: at(0) }
const limited = (above: string, lapseHours = 72, hours = 0, by?: Person): AccountCommand => ({
  kind: 'set-setting',
  tenantId,
  setting: 'approvals',
  wanted: { limits: [{ currency: 'USD', above }], lapseHours },
  by,
  at: at(hours),
})
const grant = (id: string, amount: string, more: Partial<Command<'grant'>> = {}) =>
  ({
    kind: 'grant',
    tenantId,
    grantId: id,
    currency: 'USD',
    amount,
    reason: 'invoice 17',
    by: ann,
    at: at(1),
    ...more,
  }) as const
const line = { lineId: 'call_1:1', tenantId, currency: 'USD', amount: '500' } as const
const refund = (id: string, amount: string, more: Partial<Command<'post-adjustment'>> = {}) =>
  ({
    kind: 'post-adjustment',
    tenantId,
    adjustmentId: id,
    currency: 'USD',
    amount,
    correction: { kind: 'line', line },
    reason: 'broken',
    by: ann,
    at: at(1),
    ...more,
  }) as const
const proposalId = (posting: string): string => proposalIdOf(tenantId, posting)
const approve = (posting: string, more: Partial<Command<'approve'>> = {}) =>
  ({
    kind: 'approve',
    tenantId,
    proposalId: proposalId(posting),
    by: ben,
    origins: { approver: { users: [more.by ?? ben], secretMadeAt: at(0) } },
    at: at(2),
    ...more,
  }) as const
const reject = (posting: string, more: Partial<Command<'reject'>> = {}) =>
  ({
    kind: 'reject',
    tenantId,
    proposalId: proposalId(posting),
    by: ben,
    reason: 'not paid',
    at: at(2),
    ...more,
  }) as const

function after(...commands: readonly AccountCommand[]) {
  const state = commands.reduce(
    (state, command) => accountDecider.decide(command, state).reduce(accountDecider.evolve, state),
    accountDecider.initial,
  )
  const when = (command: AccountCommand) => accountDecider.decide(command, state)
  const types = (command: AccountCommand) => when(command).map(({ type }) => type)
  return { state, when, types }
}
const account = (...commands: readonly AccountCommand[]) => after(open, limited('100'), ...commands)

t.test('without a limit in its currency a posting needs no approval', async (t) => {
  t.same(after(open).types(grant('g1', '1000000')), ['CreditGranted'])
  t.same(account().types(grant('g1', '101', { currency: 'CNY' })), ['CreditGranted'])
  t.same(account().types(grant('g1', '100')), ['CreditGranted'], 'the limit itself may be posted')
})

t.test(
  'a posting that may only be proposed waits whatever the limits, and is posted once',
  async (t) => {
    const only = { proposesOnly: true } as const
    for (const command of [grant('g1', '0.01', only), refund('a1', '0.01', only)]) {
      const [posting, type, corrected] =
        command.kind === 'grant'
          ? (['g1', 'CreditGranted', undefined] as const)
          : (['a1', 'AdjustmentPosted', line] as const)
      for (const before of [[open], [open, limited('100')]]) {
        const proposed = after(...before, command)
        t.same(after(...before).types(command), ['PostingProposed'], posting)
        t.equal(proposed.state.postedPico.get('USD'), undefined, 'it moves no money')
        const alone = { ...command, proposesOnly: false }
        for (const again of [command, alone]) t.same(proposed.types(again), [], 'the same proposal')
        const own = approve(posting, { by: ann, line: corrected })
        t.throws(() => proposed.when(own), { code: 'proposal_own' })
        const approval = approve(posting, { line: corrected })
        t.same(proposed.types(approval), ['PostingApproved', type])
        t.same(after(...before, command, approval).types(command), [], 'it is posted')
      }
      const posted = after(open, { ...command, proposesOnly: false })
      t.same(posted.types(command), [], 'a posting that is there is not proposed')
    }
  },
)

t.test('a posting above the limit is proposed, with its person and its key', async (t) => {
  const command = grant('g1', '100.50', { credit: 'promotional', reference: 'INV-1', keyHash: 'k' })
  t.strictSame(account().when(command), [
    {
      type: 'PostingProposed',
      data: {
        tenantId,
        proposalId: proposalId('g1'),
        posting: {
          kind: 'grant',
          grantId: 'g1',
          currency: 'USD',
          amount: '100.5',
          reason: 'invoice 17',
          credit: 'promotional',
          reference: 'INV-1',
        },
        by: ann,
        keyHash: 'k',
        proposedAt: at(1),
        expiresAt: at(73),
      },
    },
  ])
  t.match(proposalId('g1'), /^proposal_[0-9a-f]{32}$/)
  const proposed = account(command)
  t.equal(proposed.state.postedPico.get('USD'), undefined, 'it moves no money')
})

t.test(
  'the sum of a person is of 24 hours, of both kinds, by size, with open proposals',
  async (t) => {
    const half = grant('g1', '60')
    t.same(account(half).types(grant('g2', '40')), ['CreditGranted'])
    t.same(account(half).types(grant('g2', '40.000000000001')), ['PostingProposed'])
    t.same(account(half).types(grant('g2', '60', { by: ben })), ['CreditGranted'], 'another user')
    const otherToken = person('ann', 'token_other')
    t.same(account(half).types(grant('g2', '60', { by: otherToken })), ['PostingProposed'])
    const elsewhere = { ...ann, tenantId: 'tenant_2' }
    t.same(account(half).types(grant('g2', '60', { by: elsewhere })), ['CreditGranted'])
    t.same(account(half).types(refund('a1', '41')), ['PostingProposed'])
    const back = { correction: { kind: 'grant', grantId: 'g1' } } as const
    t.same(account(half).types(refund('a1', '-41', back)), ['PostingProposed'], 'by size')
    t.same(account(half).types(refund('a1', '-40', back)), ['AdjustmentPosted'])
    t.same(account(half).types(grant('g2', '60', { at: at(24.9) })), ['PostingProposed'])
    t.same(account(half).types(grant('g2', '60', { at: at(25) })), ['CreditGranted'])
    const between = account(half, grant('g2', '10', { by: ben, at: at(14) }))
    t.same(between.types(grant('g3', '60', { at: at(20) })), ['PostingProposed'], 'others between')
    const waiting = account(grant('g1', '101'))
    t.same(waiting.types(grant('g2', '1')), ['PostingProposed'], 'an open proposal counts')
    const rejected = account(grant('g1', '101'), reject('g1'))
    t.same(rejected.types(grant('g2', '1')), ['CreditGranted'], 'a rejected one does not')
    const short = after(open, limited('100', 1), grant('g1', '101'))
    t.same(short.types(grant('g2', '1', { at: at(2) })), ['CreditGranted'], 'nor a lapsed one')
    const shells = account(grant('g1', '60', { by: undefined }))
    t.same(shells.types(grant('g2', '60', { by: undefined })), ['PostingProposed'])
  },
)

t.test('the approval and the posting of the proposer are one decision', async (t) => {
  const proposed = account(grant('g1', '101', { keyHash: 'k' }))
  const approved = { tenantId, proposalId: proposalId('g1'), by: ben, approvedAt: at(2) }
  t.strictSame(proposed.when(approve('g1')), [
    { type: 'PostingApproved', data: approved },
    {
      type: 'CreditGranted',
      data: {
        tenantId,
        grantId: 'g1',
        currency: 'USD',
        amount: '101',
        reason: 'invoice 17',
        keyHash: 'k',
        by: ann,
        grantedAt: at(2),
      },
    },
  ])
  const refunded = account(refund('a1', '101', { code: 'quality' }))
  t.match(refunded.when(approve('a1', { line })), [
    { type: 'PostingApproved' },
    { type: 'AdjustmentPosted', data: { adjustmentId: 'a1', code: 'quality', by: ann } },
  ])
  t.match(account(grant('g1', '101', { by: undefined })).when(approve('g1'))[1], {
    data: { grantId: 'g1', by: undefined },
  })
})

t.test('an approval counts once, for the user who gave it', async (t) => {
  const done = account(grant('g1', '101'), approve('g1'))
  t.strictSame(done.when(approve('g1', { at: at(999) })), [])
  t.strictSame(done.when(approve('g1', { by: person('ben', 'token_2') })), [])
  for (const by of [person('cleo'), ann])
    t.throws(() => done.when(approve('g1', { by })), { code: 'proposal_ended' })
  t.throws(() => done.when(reject('g1')), { code: 'proposal_ended' })
  t.equal(done.state.postedPico.get('USD'), parseAmount('101'))
})

t.test('who may not approve, and when', async (t) => {
  const proposed = account(grant('g1', '101'))
  t.throws(() => proposed.when(approve('g2')), { code: 'proposal_not_found' })
  t.throws(() => proposed.when(approve('g1', { by: person('ann', 'token_other') })), {
    code: 'proposal_own',
  })
  t.equal(proposed.when(approve('g1', { at: at(72.999) })).length, 2)
  for (const decide of [approve('g1', { at: at(73) }), reject('g1', { at: at(73) })])
    t.throws(() => proposed.when(decide), { code: 'proposal_expired' })
  const rejected = account(grant('g1', '101'), reject('g1'))
  t.throws(() => rejected.when(approve('g1')), { code: 'proposal_ended' })
  t.strictSame(rejected.when(reject('g1', { at: at(99) })), [], 'a repetition')
  t.throws(() => rejected.when(reject('g1', { reason: 'other' })), { code: 'proposal_ended' })
  t.match(proposed.when(reject('g1', { by: ann })), [{ type: 'PostingRejected' }], 'withdrawn')
  t.strictSame(proposed.when(reject('g1', { by: undefined })), [
    {
      type: 'PostingRejected',
      data: { tenantId, proposalId: proposalId('g1'), reason: 'not paid', rejectedAt: at(2) },
    },
  ])
})

t.test('a credit limit that rises by more than one person may give waits as well', async (t) => {
  const limit = (id: string, to: string, more: Partial<Command<'set-limit'>> = {}) =>
    ({
      kind: 'set-limit',
      tenantId,
      limitId: id,
      currency: 'USD',
      limit: to,
      by: ann,
      at: at(1),
      ...more,
    }) as const
  const waits = [{ type: 'PostingProposed' }]
  const isSet = [{ type: 'CreditLimitSet' }]
  const own = { limitId: 'l1', currency: 'USD' } as const
  const reason = 'they pay monthly'
  const asked = limit('l1', '999', { keyHash: 'k', reason })
  const proposed = account(asked)
  const id = proposalIdOf(tenantId, 'l1', 'limit')
  t.match(proposed.state.proposals.get(id)?.proposed, {
    posting: { kind: 'limit', ...own, amount: '999', limit: '999', before: '0', reason },
    by: ann,
  })
  t.equal(proposed.state.limits.get('USD'), undefined, 'it gives nothing yet')
  t.strictSame(proposed.when(asked), [], 'a repetition')
  t.throws(() => proposed.when(limit('l1', '5')), { code: 'limit_id_taken' })
  const approval = { ...approve(''), proposalId: id }
  t.strictSame(proposed.when(approval)[1], {
    type: 'CreditLimitSet',
    data: {
      tenantId,
      ...own,
      limit: '999',
      reason,
      before: '0',
      keyHash: 'k',
      by: ann,
      setAt: at(2),
    },
  })
  const done = account(asked, approval)
  t.strictSame(done.when(asked), [], 'it is set')
  t.match(done.when(limit('l2', '0')), isSet, 'a lower limit gives nothing')
  t.match(done.when(limit('l2', '1100', { by: ben })), waits, 'the increase counts')
  t.match(done.when(limit('l2', '1099', { by: ben })), isSet)

  const raised = account(limit('l1', '60'))
  t.match(raised.when(limit('l2', '100')), isSet, 'the increases of a day are added up')
  t.match(raised.when(limit('l2', '100.01')), waits)
  t.match(raised.when(limit('l2', '100.01', { by: ben })), isSet)
  t.match(raised.when(limit('l2', '160', { at: at(25) })), isSet, 'a day later')
  t.match(raised.when(grant('g1', '41')), waits, 'with what is granted')
  t.match(account(grant('g1', '60')).when(limit('g1', '41')), waits, 'an id of both')
  const both = account(grant('g1', '101'), limit('g1', '200', { by: ben }))
  t.equal(both.state.proposals.size, 2)
  const old = { type: 'CreditLimitSet', data: { tenantId, ...own, limit: '900', setAt: at(1) } }
  const before = accountDecider.evolve(account().state, old as AccountEvent)
  t.equal(before.recent.size, 0, 'one of before that was a rule counts nothing')
})

t.test('one person does not propose and approve with two tokens', async (t) => {
  const proposed = account(grant('g1', '101', { at: at(1) }))
  const origin = (users: readonly Person[], hours = 0) => ({ users, secretMadeAt: at(hours) })
  const by = (approver: TokenOrigin, proposer: TokenOrigin = origin([ann])) =>
    approve('g1', { origins: { approver, proposer } })
  const refused = (message: RegExp) => ({ code: 'proposal_not_independent', message })
  t.equal(proposed.when(by(origin([ben], 1))).length, 2, 'as old as the proposal')
  t.throws(() => proposed.when(by(origin([ben], 1.001))), refused(/after the proposal/))
  const root = person('root')
  for (const line of [
    [ben, ann],
    [ben, root, ann],
  ])
    t.throws(() => proposed.when(by(origin(line))), refused(/the proposer issued this token/))
  for (const line of [
    [ann, ben],
    [ann, person('cleo'), ben],
  ])
    t.throws(() => proposed.when(by(origin([ben]), origin(line))), refused(/ben of tenant_1 is/))
  const both = [origin([ben, root]), origin([ann, root])] as const
  t.throws(() => proposed.when(by(...both)), refused(/root of tenant_1 is behind/))
  t.equal(proposed.when(by(both[0], origin([ann, person('cleo')]))).length, 2)

  const support = account(grant('g1', '100', { proposesOnly: true }))
  t.equal(support.when(by(...both)).length, 2, 'the approver could post it alone')
  t.throws(() => support.when(by(origin([ben, ann]))), refused(/the proposer issued/))
})

t.test('users behind one issuer have one sum, whatever they propose and approve', async (t) => {
  const issued = (userId: string): Person => ({
    ...person(userId),
    issuers: [{ tenantId, userId: 'root' }],
  })
  const [first, second] = [issued('first'), issued('second')]
  const root = person('root')
  const given = account(grant('g1', '60', { by: first }))
  for (const by of [first, second, root]) {
    t.same(given.types(grant('g2', '40', { by })), ['CreditGranted'], by.userId)
    t.same(given.types(grant('g2', '41', { by })), ['PostingProposed'], by.userId)
  }
  t.same(given.types(grant('g2', '60', { by: person('other') })), ['CreditGranted'])

  const support = { by: first, proposesOnly: true } as const
  const origins = {
    approver: { users: [root], secretMadeAt: at(0) },
    proposer: { users: [first, root], secretMadeAt: at(0) },
  }
  const alone = (id: string) => approve(id, { by: root, origins })
  const waits = account(grant('g1', '60', support))
  t.same(waits.types(alone('g1')), ['PostingApproved', 'CreditGranted'], 'not counted twice')
  const again = account(grant('g1', '60', support), alone('g1'), grant('g2', '41', support))
  t.throws(() => again.when(alone('g2')), { code: 'proposal_not_independent' })
})

t.test('bounds are checked when it is proposed and again when it is approved', async (t) => {
  t.throws(() => account().when(refund('a1', '501')), { code: 'adjustment_out_of_bounds' })
  const between = account(
    refund('a1', '300'),
    refund('a2', '100', { by: ben }),
    refund('a3', '300'),
  )
  t.equal(between.when(approve('a3', { line })).length, 2)
  const taken = account(refund('a1', '300'), refund('a3', '300'), approve('a1', { line }))
  t.throws(() => taken.when(approve('a3', { line })), { code: 'adjustment_out_of_bounds' })
  t.throws(() => between.when(approve('a1')), { code: 'adjustment_source_invalid' })
  t.throws(() => between.when(approve('a1', { line: { ...line, lineId: 'call_1:2' } })), {
    code: 'adjustment_source_invalid',
  })
  const most = '999999999999999'
  const full = account(grant('g1', most), grant('g2', most, { by: ben }), approve('g1'))
  t.throws(() => full.when(approve('g2', { by: person('cleo') })), { code: 'amount_invalid' })
})

t.test('a proposal holds its id and its key', async (t) => {
  const first = grant('g1', '101', { keyHash: 'k' })
  for (const before of [account(first), account(first, approve('g1'))]) {
    t.strictSame(before.when(first), [], 'the same request is the same proposal, then its posting')
    t.strictSame(before.when({ ...first, by: ben }), [], 'also of another person')
    t.throws(() => before.when(grant('g1', '5')), { code: 'posting_id_taken' })
    t.throws(() => before.when(grant('g2', '101', { keyHash: 'k' })), {
      code: 'idempotency_key_reused',
    })
    t.throws(() => before.when(refund('g1', '101')), { code: 'posting_id_taken' })
  }
  const raise = limited('1000', 72, 2)
  const [raised] = [...account(first, raise).state.proposals.keys()].filter(
    (id) => id !== proposalId('g1'),
  )
  const relaxed = account(first, raise, { ...approve(''), proposalId: raised ?? '' })
  t.equal(relaxed.state.settings.approvals?.limits[0]?.above, '1000')
  t.strictSame(relaxed.when(first), [], 'also where the limit is higher by now')
  t.equal(relaxed.when(approve('g1')).length, 2)
})

t.test('the id of a rejected or lapsed proposal is used up, and the message says so', async (t) => {
  const message = /under a new id$/
  const rejected = account(grant('g1', '101'), reject('g1'))
  t.throws(() => rejected.when(grant('g1', '101')), { code: 'proposal_ended', message })
  t.throws(() => rejected.when(grant('g1', '1')), { code: 'proposal_ended', message })
  const lapsed = account(refund('a1', '101'))
  t.throws(() => lapsed.when(refund('a1', '101', { at: at(73) })), {
    code: 'proposal_ended',
    message,
  })
  t.match(lapsed.when(refund('a2', '101', { at: at(73) })), [{ type: 'PostingProposed' }])
})

t.test('the setting is checked, and the same again changes nothing', async (t) => {
  const wanted = (limits: readonly object[], lapseHours = 72) =>
    ({ ...limited('1'), wanted: { limits, lapseHours } }) as AccountCommand
  const usd = { currency: 'USD', above: '100.0' }
  for (const wrong of [
    wanted([{ ...usd, above: '-1' }]),
    wanted([usd, usd]),
    wanted([usd], 0),
    wanted([usd], 721),
    wanted([usd], 1.5),
  ])
    t.throws(() => after(open).when(wrong), { code: 'setting_invalid' })
  t.strictSame(after(open, limited('100')).when(wanted([usd])), [])
  t.match(after(open).when(wanted([{ ...usd, above: '0' }])), [{ type: 'ApprovalsSet' }])
})

/** A history of commands of three users and a shell, and which of them are refused. */
const people = [ann, ben, person('cleo'), person('ann', 'token_other'), undefined]
const amounts = ['1', '40', '60', '100', '100.000000000001', '250']
const MAX_ID = 30
const step = fc.record({
  kind: fc.constantFrom('grant', 'adjust', 'approve', 'approve', 'reject', 'limit'),
  id: fc.integer({ min: 0, max: MAX_ID }),
  by: fc.constantFrom(...people),
  amount: fc.constantFrom(...amounts),
  key: fc.boolean(),
  later: fc.constantFrom(0, 0, 0.1, 1, 5, 13, 24),
})

function commandOf(
  {
    kind,
    id,
    by,
    amount,
    key,
  }: { kind: string; id: number; by: Person | undefined; amount: string; key: boolean },
  hours: number,
  known: readonly string[],
): AccountCommand | undefined {
  const posting = `p${id}`
  // One of the proposals so far, or, with the largest id, one that there is not.
  const target = {
    proposalId: id === MAX_ID ? proposalId(posting) : (known.at(-1 - (id % 4)) ?? ''),
  }
  const keyHash = key ? { keyHash: `key_${id}` } : {}
  switch (kind) {
    case 'grant':
      return grant(posting, amount, { by, at: at(hours), ...keyHash })
    case 'adjust':
      return refund(posting, amount, { by, at: at(hours), ...keyHash })
    case 'approve':
      return by && approve(posting, { by, line, at: at(hours), ...target })
    case 'reject':
      return reject(posting, { by, at: at(hours), ...target })
    default:
      return limited(amount, 1 + (id % 40), hours, by)
  }
}

const who = (by: Person | null | undefined) => by?.userId ?? 'shell'

/** The limit of the last setting of approvals. */
function limitAfter(events: readonly AccountEvent[]): string | undefined {
  const set = events.findLast((event) => event.type === 'ApprovalsSet')
  return set?.type === 'ApprovalsSet' ? set.data.limits[0]?.above : undefined
}

/** Checks a setting of approvals: a higher limit is one that another user approved. */
function explainLimit(before: readonly AccountEvent[], appended: readonly AccountEvent[]): void {
  const [first] = appended
  const [limit, next] = [limitAfter(before), limitAfter([...before, ...appended])]
  if (limit === undefined || next === undefined || parseAmount(next) <= parseAmount(limit)) return
  if (first?.type !== 'PostingApproved') throw new Error(`${next} over ${limit} by one person`)
  const { proposalId: id, by } = first.data
  for (const event of before)
    if (event.type === 'PostingProposed' && event.data.proposalId === id)
      if (who(event.data.by) === who(by)) throw new Error('raised by its own proposer')
}

/** Checks one append against all before it, by the rules and not by the state of the decider. */
function explain(before: readonly AccountEvent[], appended: readonly AccountEvent[]): void {
  explainLimit(before, appended)
  const [first, second] = appended
  const posting = appended.find(
    ({ type }) => type === 'CreditGranted' || type === 'AdjustmentPosted',
  )
  if (posting?.type !== 'CreditGranted' && posting?.type !== 'AdjustmentPosted') return
  const { by, amount } = posting.data
  const timeOf = (event: AccountEvent): number =>
    Date.parse(
      event.type === 'CreditGranted'
        ? event.data.grantedAt
        : event.type === 'AdjustmentPosted'
          ? event.data.postedAt
          : '',
    )
  if (first?.type === 'PostingApproved') {
    const { proposalId: id, by: approver, approvedAt } = first.data
    const proposed = before.find(
      (event) => event.type === 'PostingProposed' && event.data.proposalId === id,
    )
    if (proposed?.type !== 'PostingProposed' || second !== posting) throw new Error('unproposed')
    if (who(proposed.data.by) === who(approver)) throw new Error('approved by its own proposer')
    if (who(proposed.data.by) !== who(by)) throw new Error('posted for another person')
    if (Date.parse(proposed.data.expiresAt) <= Date.parse(approvedAt)) throw new Error('too late')
    return
  }
  const limit = limitAfter(before)
  if (limit === undefined) return
  const nowMs = timeOf(posting)
  const ended = new Set(
    before.flatMap((event) =>
      event.type === 'PostingApproved' || event.type === 'PostingRejected'
        ? [event.data.proposalId]
        : [],
    ),
  )
  const sumPico = before.reduce((sum, event) => {
    const size = (given: string) => {
      const pico = parseAmount(given)
      return pico < 0n ? -pico : pico
    }
    if (event.type === 'CreditGranted' || event.type === 'AdjustmentPosted')
      return who(event.data.by) === who(by) && timeOf(event) > nowMs - 24 * HOUR_MS
        ? sum + size(event.data.amount)
        : sum
    if (event.type !== 'PostingProposed' || ended.has(event.data.proposalId)) return sum
    const { proposedAt, expiresAt, posting: waits } = event.data
    const counts =
      who(event.data.by) === who(by) &&
      Date.parse(proposedAt) > nowMs - 24 * HOUR_MS &&
      Date.parse(expiresAt) > nowMs
    return counts && 'amount' in waits ? sum + size(waits.amount) : sum
  }, parseAmount(amount))
  if (sumPico > parseAmount(limit))
    throw new Error(`${formatAmount(sumPico)} is above ${limit} without a second user`)
}

t.test('for any history nothing above the limit is posted without a second user', async (t) => {
  const seen = new Map<string, number>()
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      const events: AccountEvent[] = []
      let state = accountDecider.initial
      let hours = 0
      const run = (command: AccountCommand): void => {
        let decided: readonly AccountEvent[]
        try {
          decided = accountDecider.decide(command, state)
        } catch (error) {
          if (!isDomainError(error)) throw error
          seen.set(error.code, (seen.get(error.code) ?? 0) + 1)
          return
        }
        explain(events, decided)
        if (accountDecider.decide(command, decided.reduce(accountDecider.evolve, state)).length > 0)
          throw new Error(`${command.kind} again decides again`)
        state = decided.reduce(accountDecider.evolve, state)
        events.push(...decided)
        for (const { type } of decided) seen.set(type, (seen.get(type) ?? 0) + 1)
      }
      run(open)
      run(limited('100', 24))
      for (const one of steps) {
        hours += one.later
        const command = commandOf(one, hours, [...state.proposals.keys()])
        if (command !== undefined) run(command)
      }
      const postings = events.flatMap((event) =>
        event.type === 'CreditGranted'
          ? [event.data.grantId]
          : event.type === 'AdjustmentPosted'
            ? [event.data.adjustmentId]
            : [],
      )
      if (new Set(postings).size !== postings.length) throw new Error('posted twice')
      for (const proposal of state.proposals.values())
        if (statusAt(proposal, START_MS) === 'approved') {
          const { posting } = proposal.proposed
          if (isSettingChange(posting)) continue
          const id = postingIdOf(posting)
          if (!postings.includes(id)) throw new Error('approved without its posting')
        }
    }),
    { numRuns: propertyRuns(300) },
  )
  for (const one of [
    'CreditGranted',
    'AdjustmentPosted',
    'PostingProposed',
    'PostingApproved',
    'PostingRejected',
    'proposal_own',
    'proposal_outdated',
    'proposal_ended',
    'proposal_expired',
    'proposal_not_found',
  ])
    t.ok((seen.get(one) ?? 0) > 0, `${one}: ${seen.get(one) ?? 0}`)
})
