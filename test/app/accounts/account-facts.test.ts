import t from 'tap'
import {
  ACCOUNT_FACTS_KNOWN_FOR_MS,
  createAccountFacts,
} from '../../../src/app/accounts/account-facts.ts'
import { billing } from '../../../src/domain/account/billing.ts'
import { accountStream, type AccountEvent } from '../../../src/domain/account/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { Recorder } from '../../projections/support/history.ts'

const tenantId = 't1'
const setAt = '2026-01-02T03:04:05.000Z'

/** An event of each setting. */
const sets: readonly ((revision: number) => AccountEvent)[] = [
  (revision) => ({ type: 'AccountPricesSet', data: { tenantId, revision, prices: [], setAt } }),
  (revision) => ({
    type: 'BudgetsSet',
    data: { tenantId, revision, timeZone: 'UTC', budgets: [], setAt },
  }),
  (revision) => ({ type: 'LimitsSet', data: { tenantId, revision, limits: [], setAt } }),
  (revision) => ({
    type: 'BalanceAlertsSet',
    data: { tenantId, revision, thresholds: [], secretVersion: 1, setAt },
  }),
  (revision) => ({
    type: 'ReportingSet',
    data: { tenantId, revision, tagKeys: [], endUser: false, setAt },
  }),
  (revision) => ({
    type: 'BillingProfileSet',
    data: { ...billing.none, tenantId, revision, numberPrefix: 'T', setAt },
  }),
  (revision) => ({
    type: 'ApprovalsSet',
    data: { tenantId, revision, limits: [], lapseHours: 72, setAt },
  }),
  (revision) => ({
    type: 'TenantStatusSet',
    data: { tenantId, revision, status: 'suspended', reason: 'r', suspendedUsers: [], setAt },
  }),
  (revision) => ({ type: 'TenantNamed', data: { tenantId, revision, name: 'N', setAt } }),
]
const names = [
  'prices',
  'budgets',
  'limits',
  'balanceAlerts',
  'reporting',
  'billing',
  'approvals',
  'status',
  'name',
] as const
const each = (revision: number | undefined) => names.map(() => revision)

/** The account of one tenant in a log whose reads are counted and can be held. */
function scene() {
  let nowMs = 1_000
  const recorder = new Recorder()
  const account: RecordedEvent[] = []
  const state = { reads: 0, hold: Promise.resolve() }
  const record = (event: AccountEvent): RecordedEvent => {
    const recorded = recorder.record(accountStream(tenantId), event)
    account.push(recorded)
    return recorded
  }
  record({ type: 'TenantOpened', data: { tenantId, name: 'T', openedAt: setAt } })
  const facts = createAccountFacts(
    {
      log: {
        readStream: async (_stream, { from = 0n } = {}) => {
          state.reads += 1
          const found = account.slice(Number(from))
          await state.hold
          return found
        },
      },
    },
    { nowMs: () => nowMs },
  )
  const revisions = async () => {
    const settings = await facts.of(tenantId)
    return names.map((name) => settings[name]?.revision)
  }
  /** Holds the reads that begin until the function that it returns is called. */
  const hold = (): (() => void) => {
    let release = (): void => undefined
    state.hold = new Promise<void>((resolve) => (release = resolve))
    return release
  }
  const pass = (ms: number): void => void (nowMs += ms)
  const expire = (): void => pass(ACCOUNT_FACTS_KNOWN_FOR_MS)
  return { facts, record, revisions, state, hold, expire, pass }
}

t.test('one read loads every setting, and a cached account is not read again', async (t) => {
  const { record, revisions, state } = scene()
  for (const set of sets) record(set(1))
  t.same(await Promise.all([revisions(), revisions()]), [each(1), each(1)])
  t.same(await revisions(), each(1))
  t.equal(state.reads, 1)
})

for (const [index, set] of sets.entries())
  t.test(`an event that sets ${names[index]} during a read is not lost`, async (t) => {
    const { facts, record, revisions, hold, expire } = scene()
    const expected = names.map((_, at) => (at === index ? 1 : undefined))
    const first = hold()
    const asked = revisions()
    facts.noticed(record(set(1)))
    first()
    t.same(await asked, expected, 'of a tenant that was never read')
    t.same(await revisions(), expected)
    expire()
    const second = hold()
    const again = revisions()
    facts.noticed(record(set(2)))
    second()
    const changed = names.map((_, at) => (at === index ? 2 : undefined))
    t.same(await again, changed, 'of a tenant that is read again')
    expire()
    t.same(await revisions(), changed)
  })

t.test('an event of one setting hides no earlier event of another setting', async (t) => {
  const { facts, record, revisions, expire } = scene()
  await revisions()
  // The subscription missed all but the last.
  const events = sets.map((set) => record(set(1)))
  const last = events.at(-1)
  if (last === undefined) return t.fail('nothing was recorded')
  facts.noticed(last)
  t.same(await revisions(), [...each(undefined).slice(1), 1])
  expire()
  t.same(await revisions(), each(1))
})

t.test('an event that arrives late restores no old setting', async (t) => {
  const { facts, record, revisions } = scene()
  const old = sets.map((set) => record(set(1)))
  for (const set of sets) record(set(2))
  t.same(await revisions(), each(2))
  for (const event of old) facts.noticed(event)
  t.same(await revisions(), each(2))
  t.equal(facts.known(tenantId).limits?.revision, 2)
  t.same(facts.known('another'), {})
})

t.test('no request waits while an account that is still valid is read again', async (t) => {
  const { record, revisions, state, hold, pass } = scene()
  await revisions()
  for (const set of sets) record(set(1))
  pass(ACCOUNT_FACTS_KNOWN_FOR_MS - 1)
  const release = hold()
  t.same(await revisions(), each(undefined), 'the read is held')
  t.equal(state.reads, 2)
  await revisions()
  t.equal(state.reads, 2, 'one read at a time')
  pass(1)
  const waiting = revisions()
  release()
  t.same(await waiting, each(1), 'an account past its time is waited for')
})

t.test(
  'an account is not read again while the log has no event that was not noticed',
  async (t) => {
    const { facts, record, revisions, state, expire, pass } = scene()
    await revisions()
    for (let n = 0; n < 10; n += 1) {
      expire()
      facts.current(0)
      await revisions()
    }
    t.equal(state.reads, 1)
    facts.noticed(record(sets[2]!(1)))
    t.equal((await facts.of(tenantId)).limits?.revision, 1)
    pass(ACCOUNT_FACTS_KNOWN_FOR_MS - 1)
    facts.current(ACCOUNT_FACTS_KNOWN_FOR_MS)
    await revisions()
    t.equal(state.reads, 2, 'the answer is of a time that is too long ago')
  },
)

t.test('after an event that cannot be decoded an account is read again', async (t) => {
  const { facts, record, revisions, state, expire, pass } = scene()
  await revisions()
  pass(1)
  facts.unknown()
  record(sets[2]!(1))
  expire()
  facts.current(0)
  t.equal((await facts.of(tenantId)).limits?.revision, 1)
  t.equal(state.reads, 2)
  pass(ACCOUNT_FACTS_KNOWN_FOR_MS)
  facts.current(0)
  await revisions()
  t.equal(state.reads, 2, 'what was read after it stays valid again')
})

t.test('an account of which one event was noticed is read', async (t) => {
  const { facts, record, revisions, state } = scene()
  for (const set of sets) record(set(1))
  facts.noticed(record(sets[2]!(2)))
  facts.current(0)
  t.same(
    await revisions(),
    names.map((name) => (name === 'limits' ? 2 : 1)),
  )
  t.equal(state.reads, 1)
})
