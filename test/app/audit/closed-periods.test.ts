import t from 'tap'
import { allProjections } from '../../../projections/registry.ts'
import { audit } from '../../../src/app/audit/audit.ts'
import type { AuditState } from '../../../src/app/audit/state.ts'
import { type AccountEvent, accountStream } from '../../../src/domain/account/events.ts'
import { issuerStream } from '../../../src/domain/issuer/events.ts'
import { priceBookStream } from '../../../src/domain/pricing/events.ts'
import {
  type PeriodClosed,
  type StatementEvent,
  statementStream,
} from '../../../src/domain/statement/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import type { Currency } from '../../../src/kernel/money.ts'
import { noteSigner } from '../../../src/kernel/signed-note.ts'
import { openTenant, Recorder, recordCall, START_MS } from '../../projections/support/history.ts'
import { ScriptedLog } from '../../projections/support/memory-log.ts'
import { takenIn } from './support/audited.ts'
import { closeOf, recordParties, statementSigner } from './support/closes.ts'

/** Closed months are computed a second time from the rows that the audit has compared. */

const tenantId = 'acme'
const DAY_SECONDS = 86_400
const at = (day: number): string => new Date(START_MS + day * DAY_SECONDS * 1_000).toISOString()
const laterSigner = noteSigner('gateway.example/statements', Buffer.alloc(32, 9))
const person = { tenantId, userId: 'ben', tokenId: 'token_ben' }

const months = {
  '2026-03': { from: '2026-03-01T00:00:00+08:00', to: '2026-04-01T00:00:00+08:00' },
  '2026-04': { from: '2026-04-01T00:00:00+08:00', to: '2026-05-01T00:00:00+08:00' },
} as const

/** A log under construction. */
class Story {
  readonly events: RecordedEvent[] = []
  readonly #recorder = new Recorder()
  #closes = 0

  begin(): void {
    const recorder = this.#recorder
    const prices = { 'gpt-x-input-token': '4.3', 'gpt-x-output-token': '12' }
    const entries = Object.entries(prices).flatMap(([sku, price]) =>
      (['CNY', 'USD'] as const).map((currency) => {
        return { sku, price, currency, unit: 'token', per: 1_000_000 } as const
      }),
    )
    const book = { version: '2026-03-01', effectiveFrom: at(0), publishedAt: at(0), digest: 'd' }
    this.events.push(
      recorder.record(priceBookStream, {
        type: 'PriceBookPublished',
        data: { ...book, entries },
      }),
      ...openTenant(recorder, tenantId),
      ...recordParties(recorder, tenantId),
    )
  }

  account(event: AccountEvent): void {
    this.events.push(this.#recorder.record(accountStream(tenantId), event))
  }

  /** A call of two lines; the number distinguishes those of one day. */
  call(day: number, currency: Currency, number = 0): void {
    const event = recordCall(this.#recorder, day * DAY_SECONDS + number, tenantId)
    if (event.type !== 'CallSettled') throw new Error('no call')
    const settlement = { ...event.data.settlement, currency }
    this.events.push({ ...event, data: { ...event.data, settlement } })
  }

  grant(day: number, currency: Currency, id: string, credit?: 'promotional'): void {
    const terms = { grantId: id, currency, amount: '20.5', reason: 'r "1"', reference: 'INV 1' }
    const data = { tenantId, ...terms, ...(credit ? { credit } : {}), grantedAt: at(day) }
    this.account({ type: 'CreditGranted', data })
  }

  refund(day: number, currency: Currency, lineId: string): void {
    const adjustmentId = `refund_${day}`
    const terms = {
      adjustmentId,
      currency,
      amount: '0.0002',
      reason: 'r',
      code: 'quality',
    } as const
    const corrects = { kind: 'line', lineId } as const
    const data = { tenantId, ...terms, corrects, postedAt: at(day) }
    this.account({ type: 'AdjustmentPosted', data })
  }

  publish(vkey: string): void {
    const data = { vkey, publishedAt: at(61) }
    this.events.push(this.#recorder.record(issuerStream, { type: 'StatementKeyPublished', data }))
  }

  statement(event: StatementEvent): void {
    this.events.push(this.#recorder.record(statementStream(tenantId), event))
  }

  close(
    month: keyof typeof months,
    currency: Currency,
    last?: PeriodClosed,
    attempt = 1,
    change: Partial<PeriodClosed> = {},
  ): PeriodClosed {
    this.#closes += 1
    const statement = `ACME-000${this.#closes}`
    const n = last === undefined ? 1 : last.n + 1
    const position = this.events.at(-1)?.position ?? 0n
    const names = { tenantId, currency, n, attempt, statement, month, ...months[month], position }
    const data = closeOf({ ...names, closedAt: at(60) }, last, this.events, change)
    this.statement({ type: 'PeriodClosed', data })
    return data
  }

  void({ currency, n, attempt, statement }: PeriodClosed): void {
    const names = { tenantId, currency, n, attempt, statement, reason: 'wrong' }
    const times = { proposedAt: at(61), expiresAt: at(62) }
    this.statement({ type: 'VoidProposed', data: { ...names, ...times } })
    this.statement({ type: 'PeriodVoided', data: { ...names, by: person, voidedAt: at(61) } })
  }
}

/** Two months in two currencies; the second one in CNY was voided and closed again. */
function twoMonths(change: Partial<PeriodClosed> = {}): readonly RecordedEvent[] {
  const story = new Story()
  story.begin()
  for (const currency of ['CNY', 'USD'] as const)
    for (const day of [1, 1.5, 20]) story.call(day, currency, currency === 'CNY' ? 1 : 2)
  story.grant(2, 'USD', 'usd')
  story.grant(3, 'USD', 'gift', 'promotional')
  story.refund(4, 'USD', `call_${DAY_SECONDS + 2}:1`)
  // Dated in April, and known before March is closed.
  story.call(28, 'CNY', 3)
  story.grant(28, 'CNY', 'early')
  const march = story.close('2026-03', 'CNY')
  const inDollars = story.close('2026-03', 'USD')
  // Dated in March, and known after it was closed.
  story.call(5, 'CNY', 4)
  story.grant(6, 'CNY', 'late')
  story.call(30, 'CNY', 5)
  story.refund(31, 'CNY', `call_${DAY_SECONDS + 1}:2`)
  story.void(story.close('2026-04', 'CNY', march))
  story.call(32, 'CNY', 6)
  story.call(7, 'CNY', 7)
  story.close('2026-04', 'USD', inDollars)
  story.close('2026-04', 'CNY', march, 2, change)
  story.call(33, 'CNY', 8)
  story.publish(laterSigner.vkey)
  return story.events
}

const events = twoMonths()
const { pool, log } = await takenIn(t, events)
const last = events.findLast(({ type }) => type === 'PeriodClosed')
const closed = last?.data as PeriodClosed
/** Only rows of the ledger: those of other read models name what was changed in an event, too. */
const models = allProjections.filter(({ name }) => name === 'ledger')

/** Members of a close as a hand changes them. */
type Change = { readonly [Name in keyof PeriodClosed]?: PeriodClosed[Name] | undefined }

/** The findings where the last close says something else. */
async function findingsOf(change: Change, resume?: AuditState) {
  const changed = events.map((event) =>
    event === last ? ({ ...event, data: { ...closed, ...change } } as RecordedEvent) : event,
  )
  const { findings } = await audit({ pool, log: new ScriptedLog(changed), models, resume })
  return findings
}

t.test('months that were closed rightly have no finding', async (t) => {
  const { findings } = await audit({ pool, log, models: allProjections })
  t.same(findings, [])
  t.ok(closed.late === 5 && closed.lines === 10, 'late postings are among them')
  t.ok(closed.adjusted.usage !== '0' && closed.sums.length === 2)
})

const more = '12345.5'
const changes: Readonly<Record<string, readonly Change[]>> = {
  period_figures_wrong: [
    { opening: more },
    { granted: { ...closed.granted, paid: more } },
    { granted: { ...closed.granted, promotional: more } },
    { adjusted: { ...closed.adjusted, usage: more } },
    { adjusted: { ...closed.adjusted, grants: more } },
    { expired: '-1' },
    { settled: more },
    { closing: more },
    { lines: 1 },
    { postings: 1 },
    { late: 1 },
    { sums: [] },
    { sums: closed.sums.map((sum) => ({ ...sum, quantity: 1 })) },
    { sums: [...closed.sums, { sku: 'other', unit: null, quantity: null, amount: '0', lines: 0 }] },
    { refunds: [] },
    { to: '2026-04-30T00:00:00+08:00', position: String(BigInt(closed.position) - 60n) },
  ],
  period_root_wrong: [
    { root: Buffer.alloc(32, 1).toString('base64') },
    { timeZone: 'Asia/Tokyo' },
    { to: '2026-05-01T01:00:00+08:00' },
    { accruals: { held: '0', unstated: '0' } },
    { refunds: closed.refunds.map((row) => ({ ...row, statement: 'ACME-0001' })) },
    { profile: 2 },
    { issuer: 2 },
    { position: String(BigInt(closed.position) - 1n) },
  ],
  period_gap: [
    { n: 3 },
    { attempt: 1 },
    { statement: 'ACME-0006' },
    { month: '2026-05' },
    { from: '2026-04-01T01:00:00+08:00' },
    { previous: { n: 1, root: Buffer.alloc(32, 1).toString('base64') } },
    { previous: undefined },
    { position: '99999999' },
    { position: '1' },
    { to: 'never' },
    { tenantId: 'other' },
  ],
}

for (const [code, all] of Object.entries(changes))
  t.test(`another member of a close is ${code}`, async (t) => {
    for (const change of all) {
      const findings = await findingsOf(change)
      t.same(
        findings.map((finding) => finding.code),
        [code],
        JSON.stringify([change, findings.map(({ message }) => message)]),
      )
      t.equal(findings[0]?.position, String(last?.position))
      t.match(findings[0]?.message, /void the statement and close the month again$/)
    }
  })

t.test('a head that no published key signed, or of another tree, is named', async (t) => {
  const { checkpoint } = closed
  const [text = ''] = checkpoint.split('\n\n')
  const another = noteSigner('gateway.example/statements', Buffer.alloc(32, 8))
  const lines = text.split('\n')
  const notes = {
    unsigned: `${text}\n`,
    'another key': another.sign(`${text}\n`),
    'a key that was published later': laterSigner.sign(`${text}\n`),
    'another text': checkpoint.replace('/CNY/', '/USD/'),
    'another tree, signed': statementSigner.sign(`${[lines[0], '3', lines[2]].join('\n')}\n`),
    'another origin, signed': statementSigner.sign(
      `${['other/x', ...lines.slice(1)].join('\n')}\n`,
    ),
  }
  for (const [name, note] of Object.entries(notes)) {
    const codes = (await findingsOf({ checkpoint: note })).map(({ code }) => code)
    t.same(codes, ['period_signature_wrong'], name)
  }
})

t.test('a close that signs other figures than its postings have is one finding', async (t) => {
  const lying = twoMonths({ settled: '0', closing: more })
  const { findings } = await audit({ pool, log: new ScriptedLog(lying), models })
  t.same(
    findings.map(({ code }) => code),
    ['period_figures_wrong'],
  )
})

t.test(
  'a row that was changed by hand is one finding, and the months that have it are none',
  async (t) => {
    const tampered = {
      'ledger.lines': 'amount = amount + 1',
      'ledger.grants': `reason = 'another'`,
      'ledger.adjustments': 'amount = amount + 1',
    }
    for (const [table, set] of Object.entries(tampered)) {
      const { rows } = await pool.query<{ position: string }>(
        `select position from ${table} where currency = 'CNY' order by position desc limit 1`,
      )
      const where = `where position = ${rows[0]?.position}`
      await pool.query(`create table public.kept as select * from ${table} ${where};
                      update ${table} set ${set} where ctid = (select max(ctid) from ${table} ${where})`)
      const { findings } = await audit({ pool, log, models })
      await pool.query(`delete from ${table} ${where}; insert into ${table} select * from public.kept;
                      drop table public.kept`)
      t.same(
        findings.map((finding) => [finding.code, finding.table]),
        [['row_differs', table]],
      )
    }
  },
)

t.test('a statement whose row was changed by hand is one finding, by its name', async (t) => {
  const named = `tenant_id = '${closed.tenantId}' and statement = '${closed.statement}'`
  const member = (from: string, to: string) =>
    `closed = replace(closed::text, '${from}', '${to}')::jsonb`
  for (const set of [
    member(`"closing": "${closed.closing}"`, `"closing": "${more}"`),
    member(closed.root, Buffer.alloc(32, 1).toString('base64')),
    member('/CNY/', '/USD/'),
    `statement = 'ACME-0099'`,
    `state = 'voided'`,
  ]) {
    await pool.query(`create table public.kept as select * from statements.periods where ${named};
                      update statements.periods set ${set} where ${named}`)
    const { findings } = await audit({ pool, log, models: allProjections })
    await pool.query(`delete from statements.periods where position in (select position from public.kept);
                      insert into statements.periods select * from public.kept;
                      drop table public.kept`)
    t.match(
      findings.map(({ code, table, key }) => [code, table, key]),
      [['row_differs', 'statements.periods', new RegExp(closed.tenantId)]],
      set,
    )
    t.equal(findings.length, 1, set)
  }
  t.same((await audit({ pool, log, models: allProjections })).findings, [])
})

t.test('what follows a wrong close is not found a second time', async (t) => {
  const first = events.find(({ type }) => type === 'PeriodClosed')
  const root = Buffer.alloc(32, 1).toString('base64')
  for (const change of [{ root }, { closing: more }, { n: 7 }, { statement: 'ACME-0003' }]) {
    const changed = events.map((event) =>
      event === first ? ({ ...event, data: { ...event.data, ...change } } as RecordedEvent) : event,
    )
    const { findings } = await audit({ pool, log: new ScriptedLog(changed), models })
    t.same(findings.length, 1, JSON.stringify(change))
    t.equal(findings[0]?.position, String(first?.position))
  }
})

t.test('an audit that resumes judges a close by those before it', async (t) => {
  const early = new ScriptedLog(events.slice(0, events.indexOf(last as RecordedEvent)))
  const states: AuditState[] = []
  const onState = (state: AuditState): Promise<void> => Promise.resolve(void states.push(state))
  // The rows are ahead of this log, which is of no matter to its first state.
  await audit({ pool, log: early, models: allProjections, stateIntervalMs: 0, onState }).catch(
    () => undefined,
  )
  const [resume] = states
  t.equal(resume?.position, String(early.events.at(-1)?.position))
  const { findings, onTrust } = await audit({ pool, log, models: allProjections, resume })
  t.same(findings, [])
  t.match(onTrust.join('\n'), `closed months that were voided up to position ${resume?.position}`)
  // The first months are of before, and a grant and an adjustment of theirs are not compared again.
  for (const [table, set, code] of [
    ['ledger.grants', `reason = 'another'`, 'period_root_wrong'],
    ['ledger.adjustments', 'amount = amount + 1', 'period_figures_wrong'],
  ] as const) {
    const where = `where position = (select min(position) from ${table} where currency = 'CNY')`
    await pool.query(`create table public.kept as select * from ${table} ${where};
                      update ${table} set ${set} ${where}`)
    const report = await audit({ pool, log, models, resume })
    await pool.query(`delete from ${table} ${where}; insert into ${table} select * from public.kept;
                      drop table public.kept`)
    t.same(
      report.findings.map((finding) => finding.code),
      [code],
    )
    t.match(report.findings[0]?.message, 'a full audit says which')
  }
  for (const [change, code] of [
    [{ previous: { n: 1, root: closed.root } }, 'period_gap'],
    [{ late: 1 }, 'period_figures_wrong'],
    [{ root: 'AA==' }, 'period_root_wrong'],
    [{ checkpoint: '' }, 'period_signature_wrong'],
  ] as const)
    t.same(
      (await findingsOf(change, resume)).map((finding) => finding.code),
      [code],
    )
})

t.test('a month of more rows than a page has no finding, and a changed root has one', async (t) => {
  const story = new Story()
  story.begin()
  // Several lines have one time, and the grants lie between them.
  for (let n = 0; n < 2_100; n += 1) story.call(2, 'CNY', n)
  for (const day of [1, 2, 3]) story.grant(day, 'CNY', `between_${day}`)
  const { postings } = story.close('2026-03', 'CNY')
  t.ok(postings > 4_000, `${postings} postings`)
  const many = await takenIn(t, story.events)
  t.same((await audit({ ...many, models: allProjections })).findings, [])
  const changed = story.events.map((event) =>
    event.type === 'PeriodClosed' ? { ...event, data: { ...event.data, root: 'AA==' } } : event,
  )
  const { findings } = await audit({ ...many, log: new ScriptedLog(changed), models })
  t.same(
    findings.map(({ code }) => code),
    ['period_root_wrong'],
  )
})
