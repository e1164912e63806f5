import t from 'tap'
import { type AccountEvent, accountStream } from '../../../src/domain/account/events.ts'
import { proposalIdOf } from '../../../src/domain/account/proposals.ts'
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
const limited = (revision: number, minute: number, above?: string): AccountEvent => {
  const limits = above === undefined ? [] : [{ currency: 'USD' as const, above }]
  return {
    type: 'ApprovalsSet',
    data: { tenantId, revision, limits, lapseHours: 1, setAt: at(minute) },
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
