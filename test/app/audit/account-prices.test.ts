import t from 'tap'
import { audit } from '../../../src/app/audit/audit.ts'
import { allProjections } from '../../../projections/registry.ts'
import { accountStream } from '../../../src/domain/account/events.ts'
import { journalStream } from '../../../src/domain/call/events.ts'
import type { AccountPrice } from '../../../src/domain/pricing/settlement.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { formatAmount, lineAmount } from '../../../src/kernel/money.ts'
import { openTenant, Recorder, START_MS } from '../../projections/support/history.ts'
import { append, kept, publishBook, startAudited, takenIn } from './support/audited.ts'

const tenantId = 'tenant_0'
const OUTPUT = 'gpt-x-output-token'
const MINUTE_MS = 60_000

/** Sets the tenant's prices so many minutes after the start, as the log's clock has it. */
function set(
  recorder: Recorder,
  revision: number,
  minute: number,
  said: { readonly multiplier?: string; readonly output?: string },
): RecordedEvent {
  const { multiplier, output } = said
  const entry = { sku: OUTPUT, currency: 'USD', unit: 'token', per: 1_000_000 } as const
  const recordedAt = new Date(START_MS + minute * MINUTE_MS)
  const event = recorder.record(accountStream(tenantId), {
    type: 'AccountPricesSet',
    data: {
      tenantId,
      revision,
      ...(multiplier === undefined ? {} : { multiplier }),
      prices: output === undefined ? [] : [{ ...entry, price: output }],
      setAt: recordedAt.toISOString(),
    },
  })
  return { ...event, recordedAt }
}

let calls = 0

/** A call begun so many minutes after the start, with one line at this price. */
function settled(
  recorder: Recorder,
  minute: number,
  price: string,
  accountPrice?: AccountPrice,
): RecordedEvent {
  calls += 1
  const startedAt = new Date(START_MS + minute * MINUTE_MS).toISOString()
  const amount = formatAmount(lineAmount(1_000, price, 1_000_000))
  return recorder.record(journalStream('i1', 1), {
    type: 'CallSettled',
    data: {
      callId: `call_${calls}`,
      surface: 'v1.chat',
      tenantId,
      userId: 'user_0',
      tokenId: `tok_${tenantId}`,
      requestId: `req_${calls}`,
      model: 'gpt-x',
      channelId: 'text-usd',
      upstreamModel: 'upstream-x',
      stream: false,
      startedAt,
      outcome: 'completed',
      usage: { output: 1_000 },
      settlement: {
        priceBookVersion: '2026-03-01',
        currency: 'USD',
        amount,
        lines: [
          {
            sku: OUTPUT,
            rule: 'text/chat/output',
            quantity: 1_000,
            unit: 'token',
            price,
            per: 1_000_000,
            amount,
            measurement: 'reported',
            ...(accountPrice === undefined ? {} : { accountPrice }),
          },
        ],
      },
      settledAt: startedAt,
    },
  })
}

const multiplied = (revision: number, multiplier: string, list = '12'): AccountPrice => ({
  kind: 'multiplied',
  revision,
  list,
  multiplier,
})
const own = (revision: number): AccountPrice => ({ kind: 'own', revision })

function begin(recorder: Recorder): readonly RecordedEvent[] {
  return [publishBook(recorder), ...openTenant(recorder, tenantId)]
}

t.test('lines at the prices of the book or of the tenant have no finding', async (t) => {
  const recorder = new Recorder()
  const { pool, log } = await takenIn(t, [
    ...begin(recorder),
    settled(recorder, 0, '12'),
    set(recorder, 1, 10, { multiplier: '0.333333' }),
    // A replica may be late, and the clocks need not agree.
    settled(recorder, 11, '12'),
    settled(recorder, 9, '3.999996', multiplied(1, '0.333333')),
    set(recorder, 2, 20, { multiplier: '0.5', output: '10' }),
    settled(recorder, 21, '3.999996', multiplied(1, '0.333333')),
    settled(recorder, 30, '10', own(2)),
    set(recorder, 3, 40, {}),
    settled(recorder, 50, '12'),
  ])
  const report = await audit({ pool, log, models: allProjections })
  t.same(report.findings, [])
  t.equal(report.lines, 6)
  const { rows } = await pool.query('select account_prices from ledger.lines order by seq')
  t.same(
    rows.map((row: { readonly account_prices: number | null }) => row.account_prices),
    [null, null, 1, 1, 2, null],
  )
})

t.test('a line that neither the book nor the tenant’s prices explain is named', async (t) => {
  const recorder = new Recorder()
  const { pool, log } = await takenIn(t, [
    ...begin(recorder),
    settled(recorder, 0, '10', own(1)),
    set(recorder, 1, 10, { output: '10' }),
    settled(recorder, 20, '10.5', own(1)),
    settled(recorder, 20, '6', multiplied(1, '0.5')),
    settled(recorder, 20, '12'),
    set(recorder, 2, 30, { multiplier: '0.333333' }),
    settled(recorder, 40, '10', own(1)),
    settled(recorder, 40, '3.999995', multiplied(2, '0.333333')),
    settled(recorder, 40, '3.333330', multiplied(2, '0.333333', '10')),
    settled(recorder, 40, '11.5'),
  ])
  const report = await audit({ pool, log, models: allProjections })
  t.same(
    report.findings.map(({ code, message }) => [code, message.replace(/ \(price book.*/, '')]),
    [
      ['account_price_wrong', `${OUTPUT}: there are no account prices 1 of the tenant`],
      [
        'account_price_wrong',
        `account prices 1 of the tenant do not give ${OUTPUT} at 10.5 per 1000000`,
      ],
      [
        'account_price_wrong',
        `account prices 1 of the tenant do not give ${OUTPUT} at 6 per 1000000`,
      ],
      [
        'account_price_outdated',
        `${OUTPUT} is at its list price, and the tenant had own prices long before`,
      ],
      ['account_price_outdated', `${OUTPUT}: others had replaced account prices 1 of the tenant`],
      [
        'account_price_wrong',
        `account prices 2 of the tenant do not give ${OUTPUT} at 3.999995 per 1000000`,
      ],
      [
        'account_price_wrong',
        `account prices 2 of the tenant do not give ${OUTPUT} at 3.333330 per 1000000`,
      ],
      ['price_not_in_book', `${OUTPUT} at 11.5 per 1000000 is not in the price book`],
    ],
  )
})

t.test('an audit that resumes knows the prices set before it began', async (t) => {
  const run = await startAudited(t, (recorder) => [
    ...begin(recorder),
    set(recorder, 1, 0, { multiplier: '0.5' }),
  ])
  const { report: first, state } = await kept(run)
  t.ok(first.ok)
  await append(run.log, [
    settled(run.recorder, 0, '6', multiplied(1, '0.5')),
    settled(run.recorder, 0, '7', multiplied(1, '0.5')),
  ])
  await run.caughtUp()
  const second = await run.audit({ resume: state })
  t.match(second, { events: 2, resumedFrom: first.position })
  t.match(second.findings, [{ code: 'account_price_wrong', message: /do not give .* at 7 per/ }])
})

t.test('the hash of a line covers the price set that it came from', async (t) => {
  const recorder = new Recorder()
  const { pool, log } = await takenIn(t, [
    ...begin(recorder),
    set(recorder, 1, 0, { output: '12' }),
    settled(recorder, 10, '12', own(1)),
  ])
  t.same((await audit({ pool, log, models: allProjections })).findings, [])
  await pool.query('update ledger.lines set account_prices = null')
  t.match((await audit({ pool, log, models: allProjections })).findings, [
    { code: 'row_differs', table: 'ledger.lines', differences: [{ field: 'account_prices' }] },
  ])
})
