import t from 'tap'
import { type AccountEvent, accountStream } from '../../../src/domain/account/events.ts'
import { proposalIdOf } from '../../../src/domain/account/proposal-state.ts'
import type { PriceEntry } from '../../../src/domain/pricing/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { openTenant, type Recorder, START_MS } from '../../projections/support/history.ts'
import { append, kept, publishBook, startAudited } from './support/audited.ts'

/** Each posting is judged by the approvals that were in force at its position. */

const tenantId = 'tenant_0'
const at = (minute: number): string => new Date(START_MS + minute * 60_000).toISOString()
const person = (userId: string) => ({ tenantId, userId, tokenId: `token_${userId}` })
const [ann, ben] = [person('ann'), person('ben')]

const recordIn = (recorder: Recorder) => (event: AccountEvent) =>
  recorder.record(accountStream(tenantId), event)
const limited = (
  revision: number,
  minute: number,
  above?: string,
  by?: typeof ann | null,
): AccountEvent => {
  const limits = above === undefined ? [] : [{ currency: 'USD' as const, above }]
  return {
    type: 'ApprovalsSet',
    data: {
      tenantId,
      revision,
      limits,
      lapseHours: 1,
      setAt: at(minute),
      ...(by === undefined ? {} : { by }),
    },
  }
}
const terms = (grantId: string, amount: string) =>
  ({ grantId, currency: 'USD', amount, reason: 'r' }) as const
const granted = (id: string, amount: string, minute: number, by = ann): AccountEvent => ({
  type: 'CreditGranted',
  data: { tenantId, ...terms(id, amount), by, grantedAt: at(minute) },
})
const limitSet = (id: string, limit: string, minute: number, before?: string): AccountEvent => ({
  type: 'CreditLimitSet',
  data: {
    tenantId,
    currency: 'USD',
    limitId: id,
    limit,
    ...(before === undefined ? {} : { before }),
    by: ann,
    setAt: at(minute),
  },
})
const proposed = (id: string, amount: string, minute: number): AccountEvent => ({
  type: 'PostingProposed',
  data: {
    tenantId,
    proposalId: proposalIdOf(tenantId, id),
    posting: { kind: 'grant', ...terms(id, amount) },
    by: ann,
    proposedAt: at(minute),
    expiresAt: at(minute + 60),
  },
})
const approved = (id: string, minute: number, by = ben): AccountEvent => ({
  type: 'PostingApproved',
  data: { tenantId, proposalId: proposalIdOf(tenantId, id), by, approvedAt: at(minute) },
})

const begin = (recorder: Recorder): readonly RecordedEvent[] => [
  publishBook(recorder),
  ...openTenant(recorder, tenantId),
]

t.test(
  'postings within the approvals of their time have no finding, whatever is set now',
  async (t) => {
    const run = await startAudited(t, (recorder) => [
      ...begin(recorder),
      ...[
        granted('before', '1000', 0),
        limitSet('old', '5000', 0),
        limited(1, 2_000, '100'),
        granted('within', '60', 2_001),
        limitSet('raised', '5040', 2_002, '5000'),
        granted('of_ben', '100', 2_003, ben),
        proposed('large', '500', 2_004),
        approved('large', 2_005),
        granted('large', '500', 2_005),
        limitSet('lowered', '0', 2_006, '5040'),
        limited(2, 2_007),
        granted('after', '900', 2_008),
        limited(3, 2_009, '1'),
      ].map(recordIn(recorder)),
    ])
    t.same((await run.audit({})).findings, [])
  },
)

t.test('what one person did alone is named, also by an audit that resumes', async (t) => {
  const run = await startAudited(t, (recorder) => [
    ...begin(recorder),
    ...[limited(1, 2_000, '100'), granted('within', '60', 2_001)].map(recordIn(recorder)),
  ])
  const { report: first, state } = await kept(run)
  t.ok(first.ok)
  await append(
    run.log,
    [
      granted('sum', '41', 2_002),
      limitSet('raised', '101', 2_003, '0'),
      proposed('open', '500', 2_004),
      granted('open', '500', 2_004),
      proposed('own', '500', 2_005),
      approved('own', 2_005, ann),
      proposed('other', '500', 2_006),
      approved('other', 2_006),
      granted('other', '501', 2_006),
      limited(2, 2_007),
      approved('none', 2_008),
    ].map(recordIn(run.recorder)),
  )
  await run.caughtUp()
  const second = await run.audit({ resume: state })
  const faults = second.findings.filter(({ code }) => code === 'approval_missing')
  t.strictSame(
    faults.map(({ message }) => message),
    [
      '41 USD of sum is more than its person might give alone',
      '101 USD of raised is more than its person might give alone',
      'the proposal of open was not approved',
      `${proposalIdOf(tenantId, 'own')} is approved by the user who proposed it`,
      'other is not what was approved',
      `${proposalIdOf(tenantId, 'none')} is approved and was never proposed`,
    ],
  )
})

const sku = 'gpt-x-input-token'
const own = (price: string) =>
  [{ sku, currency: 'USD', unit: 'token', per: 1_000_000, price }] as PriceEntry[]
const BOOK = '2026-03-01'
const priced = (
  revision: number,
  minute: number,
  price: string,
  more: Partial<Extract<AccountEvent, { type: 'AccountPricesSet' }>['data']> = { by: ann },
): AccountEvent => ({
  type: 'AccountPricesSet',
  data: {
    tenantId,
    revision,
    prices: own(price),
    comparedWith: [BOOK],
    setAt: at(minute),
    ...more,
  },
})
const proposedChange = (
  id: string,
  minute: number,
  basis: number,
  price: string,
): AccountEvent => ({
  type: 'PostingProposed',
  data: {
    tenantId,
    proposalId: proposalIdOf(tenantId, id, 'setting'),
    posting: {
      kind: 'prices',
      basis,
      before: { prices: [] },
      after: { prices: own(price), comparedWith: [BOOK] },
    },
    by: ann,
    proposedAt: at(minute),
    expiresAt: at(minute + 60),
  },
})
const approvedChange = (id: string, minute: number, by = ben): AccountEvent => ({
  type: 'PostingApproved',
  data: {
    tenantId,
    proposalId: proposalIdOf(tenantId, id, 'setting'),
    by,
    approvedAt: at(minute),
  },
})

t.test('prices and approvals are judged by the approvals before them', async (t) => {
  const run = await startAudited(t, (recorder) => [
    ...begin(recorder),
    ...[
      priced(1, 1_999, '0'),
      limited(1, 2_000, '100', ann),
      priced(2, 2_001, '999'),
      proposedChange('cheap', 2_002, 2, '0.5'),
      approvedChange('cheap', 2_003),
      priced(3, 2_003, '0.5'),
      limited(2, 2_004, '50', ann),
    ].map(recordIn(recorder)),
  ])
  t.same((await run.audit({})).findings, [])
  await append(
    run.log,
    [
      priced(4, 2_005, '0.4', {}),
      priced(5, 2_006, '0.3'),
      proposedChange('other', 2_007, 5, '0.2'),
      approvedChange('other', 2_007),
      priced(6, 2_007, '0.1'),
      priced(7, 2_008, '999', { by: null, comparedWith: [] }),
      limited(3, 2_009, '60', ann),
      limited(4, 2_010, undefined, null),
      limited(5, 2_011, '1'),
      priced(8, 2_012, '0'),
    ].map(recordIn(run.recorder)),
  )
  await run.caughtUp()
  const faults = (await run.audit({})).findings.filter(({ code }) => code === 'approval_missing')
  const fault = (of: string) => `${of} give more than one person might alone`
  t.strictSame(
    faults.map(({ message }) => message),
    [
      fault('prices of revision 5'),
      fault('prices of revision 6'),
      fault('approvals of revision 3'),
      fault('approvals of revision 4'),
      fault('prices of revision 8'),
    ],
    'those of before there was a rule are not judged',
  )
})

t.test('an approval by a token of the same issuer is named', async (t) => {
  const root = { tenantId, userId: 'root' }
  const of = (one: typeof ann) => ({ ...one, issuers: [root] })
  const proposedBy = (id: string, by: typeof ann): AccountEvent => {
    const event = proposed(id, '500', 2_001)
    return { ...event, data: { ...event.data, by } } as AccountEvent
  }
  const run = await startAudited(t, (recorder) => [
    ...begin(recorder),
    ...[
      limited(1, 2_000, '100'),
      proposedBy('by_root', of(ann)),
      approved('by_root', 2_002, of(ben)),
      granted('by_root', '500', 2_002, of(ann)),
      proposedBy('issued', person('root')),
      approved('issued', 2_003, of(ben)),
      granted('issued', '500', 2_003, person('root')),
    ].map(recordIn(recorder)),
  ])
  t.same(
    (await run.audit({})).findings.map(({ message }) => message),
    [
      `${proposalIdOf(tenantId, 'by_root')} is approved by a token that one person could have used with the proposer's`,
      `${proposalIdOf(tenantId, 'issued')} is approved by a token that the proposer could have used`,
    ],
  )
})
