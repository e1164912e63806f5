import t from 'tap'
import {
  listPeriods,
  periodOf,
  periodsOfMonth,
  publishedKeys,
  standingPeriods,
} from '../../../projections/statements/query.ts'
import { statementsProjection } from '../../../projections/statements/projection.ts'
import { issuerStream } from '../../../src/domain/issuer/events.ts'
import {
  type PeriodClosed,
  type StatementEvent,
  statementStream,
} from '../../../src/domain/statement/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { decodeFixture, eventFixtures } from '../../helpers/event-fixtures.ts'
import { applied, testPool } from '../support/database.ts'
import { Recorder } from '../support/history.ts'

const fixture = eventFixtures.find(({ type }) => type === 'PeriodClosed')
const whole = fixture && (decodeFixture(fixture).data as PeriodClosed)

type Name = Pick<PeriodClosed, 'tenantId' | 'currency' | 'n' | 'attempt' | 'statement'>
const name = (tenantId: string, n: number, attempt: number, more: Partial<Name> = {}): Name => ({
  tenantId,
  currency: 'CNY',
  n,
  attempt,
  statement: `ACME-000${n + attempt - 1}`,
  ...more,
})
const closed = (of: Name): StatementEvent => ({
  type: 'PeriodClosed',
  data: { ...(whole as PeriodClosed), ...of, month: `2026-0${of.n}` },
})
const reason = 'a wrong refund'
const by = { tenantId: 'ops', userId: 'bob', tokenId: 'token_bob' }
const times = { proposedAt: '2026-03-05T00:00:00.000Z', expiresAt: '2026-03-08T00:00:00.000Z' }
const proposed = (of: Name): StatementEvent => ({
  type: 'VoidProposed',
  data: { ...of, reason, ...times },
})
const voided = (of: Name): StatementEvent => ({
  type: 'PeriodVoided',
  data: { ...of, reason, by, voidedAt: '2026-03-05T01:00:00.000Z' },
})
const rejected = (of: Name): StatementEvent => ({
  type: 'VoidRejected',
  data: { ...of, by, reason: 'no', rejectedAt: '2026-03-05T01:00:00.000Z' },
})

const acme = (n: number, attempt = 1) => name('acme', n, attempt)
const history = (recorder: Recorder): readonly RecordedEvent[] => {
  const events: readonly StatementEvent[] = [
    closed(acme(1)),
    closed(acme(2)),
    proposed(acme(2)),
    voided(acme(2)),
    closed(acme(2, 2)),
    proposed(acme(2, 2)),
    rejected(acme(2, 2)),
    proposed(acme(2, 2)),
    closed(name('acme', 2, 1, { currency: 'USD', statement: 'ACME-0009' })),
    closed(name('zeta', 2, 1)),
    closed(name('beta', 1, 1)),
    proposed(name('beta', 1, 1)),
    voided(name('beta', 1, 1)),
  ]
  return [
    ...['first', 'second'].map((vkey) =>
      recorder.record(issuerStream, {
        type: 'StatementKeyPublished',
        data: { vkey, publishedAt: times.proposedAt },
      }),
    ),
    ...events.map((event) => recorder.record(statementStream(event.data.tenantId), event)),
  ]
}

t.test('closes by month, by tenant, and one by one', async (t) => {
  const pool = await testPool(t)
  await applied(t, pool, history(new Recorder()), [statementsProjection], 3)
  const names = (rows: readonly { tenantId: string; periodId: string; state: string }[]) =>
    rows.map(({ tenantId, periodId, state }) => `${tenantId} ${periodId} ${state}`)

  t.same(names(await periodsOfMonth(pool, { month: '2026-02' })), [
    'acme CNY/2/2 void_proposed',
    'acme USD/2/1 closed',
    'zeta CNY/2/1 closed',
  ])
  t.same(names(await periodsOfMonth(pool, { month: '2026-02', tenantIds: ['zeta'] })), [
    'zeta CNY/2/1 closed',
  ])
  t.same(names(await periodsOfMonth(pool, { month: '2026-01' })), ['acme CNY/1/1 closed'])
  const ofAcme = { tenantId: 'acme', currency: 'CNY' } as const
  t.same(names(await listPeriods(pool, ofAcme)), [
    'acme CNY/1/1 closed',
    'acme CNY/2/1 voided',
    'acme CNY/2/2 void_proposed',
  ])
  t.same(names(await standingPeriods(pool, ofAcme)), [
    'acme CNY/1/1 closed',
    'acme CNY/2/2 void_proposed',
  ])
  t.equal(await periodOf(pool, { ...ofAcme, month: '2026-03' }), undefined)
  const standing = await periodOf(pool, { ...ofAcme, month: '2026-02' })
  const { sums, refunds, ...head } = { ...(whole as PeriodClosed), ...acme(2, 2), month: '2026-02' }
  t.strictSame(standing, {
    tenantId: 'acme',
    periodId: 'CNY/2/2',
    state: 'void_proposed',
    closed: head,
    sums,
    refunds,
    voidProposal: { by: null, reason, ...times },
    voidEnd: { by, reason: 'no', endedAt: '2026-03-05T01:00:00.000Z' },
  })
  const last = await periodOf(pool, { tenantId: 'beta', currency: 'CNY', month: '2026-01' })
  t.match(last, { state: 'voided', voidEnd: { by, reason, endedAt: '2026-03-05T01:00:00.000Z' } })
  t.same(await publishedKeys(pool), ['first', 'second'])
})
