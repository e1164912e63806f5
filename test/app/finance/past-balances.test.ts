import * as fc from 'fast-check'
import t from 'tap'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import { movementsOf } from '../../../src/app/finance/movements.ts'
import { pastBalancesOf } from '../../../src/app/finance/past-balances.ts'
import { currencies, type Currency, formatAmount, parseAmount } from '../../../src/kernel/money.ts'
import { TimeZone } from '../../../src/kernel/time-zone.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'
import { applied, testPool } from '../../projections/support/database.ts'
import { recordCall, Recorder } from '../../projections/support/history.ts'

/** Balances of the past, and accounts as a bank shows them, against the events themselves. */

const CALLS = 240
const FROM_MS = Date.parse('2026-09-20T00:00:00Z')
const LENGTH_MS = 90 * 86_400_000
const zones = ['UTC', 'Asia/Kolkata', 'America/St_Johns', 'Europe/Berlin', 'Pacific/Kiritimati']
const tenants = ['tenant_0', 'tenant_1']

const timeOf = (n: number): string =>
  new Date(FROM_MS + ((n * 104_729 * 61_000) % LENGTH_MS)).toISOString()

/** A call, a grant or a correction of either, at a time that does not follow the order of the log. */
function eventOf(recorder: Recorder, n: number): RecordedEvent {
  const tenantId = `tenant_${n % 2}`
  const account = `account-${tenantId}`
  if (n % 6 === 4)
    return recorder.record(account, {
      type: 'CreditGranted',
      data: {
        tenantId,
        grantId: `grant_${n}`,
        currency: n % 4 === 0 ? 'CNY' : 'USD',
        amount: `${n}.5`,
        reason: 'bought',
        ...(n % 5 === 0 && { credit: 'promotional' as const, reference: `INV-${n}` }),
        grantedAt: timeOf(n),
      },
    })
  if (n % 6 === 5) {
    const isLine = n % 4 === 1
    return recorder.record(account, {
      type: 'AdjustmentPosted',
      data: {
        tenantId,
        adjustmentId: `adj_${n}`,
        currency: 'USD',
        amount: isLine ? `0.000000000${n % 90}1` : `-0.${n}`,
        corrects: isLine
          ? { kind: 'line', lineId: `call_${n - 4}:1` }
          : { kind: 'grant', grantId: 'grant_10' },
        reason: 'broken',
        postedAt: timeOf(n),
      },
    })
  }
  const call = recordCall(recorder, n, tenantId)
  if (call.type !== 'CallSettled') throw new Error('a call settles')
  return { ...call, data: { ...call.data, settledAt: timeOf(n) } }
}

interface Moved {
  readonly tenantId: string
  readonly currency: Currency
  readonly atMs: number
  readonly position: bigint
  readonly granted: bigint
  readonly adjusted: bigint
  readonly refunded: bigint
  readonly settled: bigint
}

/** The money that an event moved. */
function movedBy({ type, data, position }: RecordedEvent): Moved {
  const none = { position, granted: 0n, adjusted: 0n, refunded: 0n, settled: 0n }
  if (type === 'CreditGranted') {
    const { tenantId, currency, amount, grantedAt } = data
    const granted = parseAmount(amount)
    return { ...none, tenantId, currency, atMs: Date.parse(grantedAt), granted }
  }
  if (type === 'AdjustmentPosted') {
    const { tenantId, currency, amount, corrects, postedAt } = data
    const adjusted = parseAmount(amount)
    const refunded = corrects.kind === 'line' ? adjusted : 0n
    return { ...none, tenantId, currency, atMs: Date.parse(postedAt), adjusted, refunded }
  }
  if (type !== 'CallSettled') throw new Error(`${type} moves no money here`)
  const { tenantId, settlement, settledAt } = data
  const settled = parseAmount(settlement.amount)
  return { ...none, tenantId, currency: settlement.currency, atMs: Date.parse(settledAt), settled }
}

const sumsOf = (all: readonly Moved[]) => ({
  granted: all.reduce((sum, { granted }) => sum + granted, 0n),
  adjusted: all.reduce((sum, { adjusted }) => sum + adjusted, 0n),
  refunded: all.reduce((sum, { refunded }) => sum + refunded, 0n),
  settled: all.reduce((sum, { settled }) => sum + settled, 0n),
})

const pool = await testPool(t)
const recorder = new Recorder()
const events = Array.from({ length: CALLS }, (_, n) => eventOf(recorder, n))
await applied(t, pool, events, [ledgerProjection], 31)
const all = events.map(movedBy)

const moments = fc.integer({ min: FROM_MS - 86_400_000, max: FROM_MS + LENGTH_MS + 86_400_000 })
const positions = fc.integer({ min: 0, max: CALLS - 1 }).map((n) => all[n]?.position ?? 0n)

t.test('a balance is what was booked before a time, as known at a position', async (t) => {
  let compared = 0
  await fc.assert(
    fc.asyncProperty(
      fc.option(moments, { nil: undefined }),
      positions,
      fc.constantFrom(undefined, ...currencies),
      async (toMs, asOf, currency) => {
        const known = all.filter(
          ({ atMs, position }) => position <= asOf && (toMs === undefined || atMs < toMs),
        )
        const found = await pastBalancesOf(pool, [...tenants, 'tenant_none'], {
          currency,
          toMs,
          asOf,
        })
        if (found.has('tenant_none')) return false
        for (const tenantId of tenants)
          for (const each of currencies) {
            const own = known.filter((one) => one.tenantId === tenantId && one.currency === each)
            const account = (found.get(tenantId) ?? []).find((one) => one.currency === each)
            if (own.length === 0 || (currency !== undefined && currency !== each)) {
              if (account !== undefined) return false
              continue
            }
            const sums = sumsOf(own)
            compared += 1
            if (
              account?.grantedPico !== sums.granted ||
              account.adjustedPico !== sums.adjusted ||
              account.refundedPico !== sums.refunded ||
              account.settledPico !== sums.settled
            )
              return false
          }
        return true
      },
    ),
    { numRuns: propertyRuns(60) },
  )
  t.ok(compared > 50, `${compared} balances`)
})

t.test('an account opens and closes at its balances, and adds up after every row', async (t) => {
  let rows = 0
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(fc.option(moments, { nil: undefined }), moments),
      positions,
      fc.constantFrom(...tenants),
      fc.constantFrom(...currencies),
      fc.constantFrom(...zones),
      async ([one, other], asOf, tenantId, currency, name) => {
        const fromMs = one === undefined ? undefined : Math.min(one, other)
        const toMs = one === undefined ? other : Math.max(one, other)
        const zone = TimeZone.named(name)
        const covered = { fromMs: fromMs ?? FROM_MS - 86_400_000, toMs }
        const found = zone.daysBetween(covered.fromMs, toMs)
        const periods = found.length === 0 ? undefined : found
        const account = await movementsOf(pool, {
          tenantId,
          currency,
          fromMs,
          toMs,
          asOf,
          zone,
          days: { range: covered, periods },
        })
        if (account === undefined) return false
        const balanceAt = (atMs: number): bigint => {
          const { granted, adjusted, settled } = sumsOf(
            all.filter(
              (each) =>
                each.tenantId === tenantId &&
                each.currency === currency &&
                each.position <= asOf &&
                each.atMs < atMs,
            ),
          )
          return granted + adjusted - settled
        }
        const openingPico = fromMs === undefined ? 0n : balanceAt(fromMs)
        if (account.openingPico !== openingPico || account.closingPico !== balanceAt(toMs))
          return false
        let balancePico = account.openingPico
        let before = ''
        for (const movement of account.movements) {
          balancePico += movement.amountPico
          if (movement.balancePico !== balancePico) return false
          // A day ends with the balance of its end.
          if (before !== '' && movement.date !== before) {
            const startMs = zone.startOf(movement.date)
            const at = movement.balancePico - movement.amountPico
            if (at !== balanceAt(startMs)) return false
          }
          before = movement.date
        }
        rows += account.movements.length
        return true
      },
    ),
    { numRuns: propertyRuns(60) },
  )
  t.ok(rows > 100, `${rows} rows`)
})

t.test('an account with more credits than one answer has is refused whole', async (t) => {
  const long = await testPool(t)
  const grants = new Recorder()
  const many = Array.from({ length: 10_001 }, (_, n) =>
    grants.record('account-tenant_long', {
      type: 'CreditGranted',
      data: {
        tenantId: 'tenant_long',
        grantId: `grant_${n}`,
        currency: 'CNY',
        amount: '0.1',
        reason: 'bought',
        grantedAt: '2026-10-01T00:00:00.000Z',
      },
    }),
  )
  await applied(t, long, many, [ledgerProjection], 500)
  const last = many.at(-1)?.position ?? 0n
  const range = {
    tenantId: 'tenant_long',
    currency: 'CNY',
    fromMs: undefined,
    toMs: undefined,
    zone: TimeZone.named('UTC'),
    days: { range: {}, periods: undefined },
  } as const
  t.equal(await movementsOf(long, { ...range, asOf: last }), undefined)
  const one = await movementsOf(long, { ...range, asOf: last - 1n })
  t.equal(formatAmount(one?.closingPico ?? 0n), '1000')
})
