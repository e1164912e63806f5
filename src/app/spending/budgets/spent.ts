import { fromTimestamp } from '../../../kernel/clock.ts'
import { readCheckpoint } from '../../../../projections/engine/checkpoint.ts'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { heldByOwner, usage } from '../../../../projections/ledger/query.ts'
import type { Budget, BudgetSubject } from '../../../domain/account/budgets.ts'
import { type Currency, parseAmount } from '../../../kernel/money.ts'
import { TimeZone } from '../../../kernel/time-zone.ts'
import type { Gauge, Reading } from '../gauge.ts'
import { readSpendingElsewhere } from '../replica-reports.ts'

/**
 * Amount that one user's tokens spent or hold; an amount without a known owner counts for every
 * user.
 */
interface Part {
  readonly currency: Currency
  readonly userId: string | undefined
  readonly tokenId: string | undefined
  readonly amountPico: bigint
}

/** Amounts that a tenant spent in a period and holds for open tasks, by spender. */
export class Spent {
  /** The ledger has the events up to here. */
  readonly position: bigint
  readonly #parts: readonly Part[]

  constructor(position: bigint, parts: readonly Part[]) {
    this.position = position
    this.#parts = parts
  }

  /** In pico, by currency. */
  of(subject: BudgetSubject): ReadonlyMap<Currency, bigint> {
    const sums = new Map<Currency, bigint>()
    for (const { currency, userId, tokenId, amountPico } of this.#parts) {
      const counts =
        subject.kind === 'tenant' ||
        (subject.kind === 'user'
          ? userId === undefined || userId === subject.userId
          : tokenId === undefined || tokenId === subject.tokenId)
      if (counts) sums.set(currency, (sums.get(currency) ?? 0n) + amountPico)
    }
    return sums
  }
}

/** Reads each tenant and period once, for all budgets. */
function spentReader(db: Queryable): (tenantId: string, period: Period) => Promise<Spent> {
  const read = new Map<string, Promise<Spent>>()
  return (tenantId, period) => {
    const name = `${tenantId}\n${period.fromMs}\n${period.toMs}`
    const begun = read.get(name) ?? readSpent(db, tenantId, period)
    read.set(name, begun)
    return begun
  }
}

/**
 * Reads a tenant's spending in a period from the ledger, and the holds of its tasks. The reads run
 * one after the other, so that an amount that moves meanwhile is counted twice rather than not at
 * all: first the position, then holds, then settlements.
 */
export async function readSpent(db: Queryable, tenantId: string, period: Period): Promise<Spent> {
  const position = (await readCheckpoint(db, 'ledger'))?.position ?? -1n
  const held = await heldByOwner(db, tenantId)
  const groups = await usage(db, {
    filter: { tenantId, ...period },
    groupBy: ['user', 'token'],
  })
  const settled = groups.map(({ keys, currency, amount }) => ({
    currency: currency as Currency,
    userId: keys.user,
    tokenId: keys.token,
    amountPico: parseAmount(amount),
  }))
  return new Spent(position, [
    ...settled,
    ...held.map(({ amount, ...owner }) => ({ ...owner, amountPico: parseAmount(amount) })),
  ])
}

/** A subject of budgets in one period. */
export interface BudgetPeriod {
  readonly tenantId: string
  readonly subject: BudgetSubject
  readonly period: Period
}

/**
 * Reads the spending in each period, as negative amounts: settlements, holds of open tasks, and
 * calls that the other replicas reported.
 */
export async function readSpentElsewhere(
  db: Queryable,
  gauges: readonly Gauge<BudgetPeriod>[],
  exceptReplica: string,
): Promise<ReadonlyMap<string, Reading>> {
  const spentIn = spentReader(db)
  // Reports are read before the ledger: a settlement that has left the reports by then is in the
  // ledger.
  const reported = await readSpendingElsewhere(
    db,
    gauges.map(({ name }) => name),
    exceptReplica,
  )
  const readings = gauges.map(async ({ name, about }) => {
    const ledger = await spentIn(about.tenantId, about.period)
    const { position } = ledger
    const available = new Map<Currency, bigint>()
    const take = (currency: Currency, amountPico: bigint): void =>
      void available.set(currency, (available.get(currency) ?? 0n) - amountPico)
    for (const [currency, amountPico] of ledger.of(about.subject)) take(currency, amountPico)
    for (const each of reported.get(name) ?? []) {
      const isClosed = each.closed !== undefined && each.closed <= position
      const isIn =
        (each.position !== undefined && each.position <= position) || (isClosed && !each.isSpooled)
      take(each.currency, (isClosed ? 0n : each.heldPico) + (isIn ? 0n : each.settledPico))
    }
    return [name, { available, position }] as const
  })
  return new Map(await Promise.all(readings))
}

/** A day or a month in a time zone, unix milliseconds; the end is exclusive. */
export interface Period {
  readonly fromMs: number
  readonly toMs: number
}

/** The day or the month that includes a time. */
export function periodAt(kind: Budget['period'], timeZone: string, nowMs: number): Period {
  const zone = TimeZone.named(timeZone)
  const today = zone.dayAt(nowMs)
  const [first, next] = kind === 'day' ? [today, dayAfter(today)] : monthOf(today)
  return { fromMs: zone.startOf(first), toMs: zone.startOf(next) }
}

function dayAfter(day: string): string {
  const date = new Date(fromTimestamp(day))
  date.setUTCDate(date.getUTCDate() + 1)
  return date.toISOString().slice(0, 10)
}

/** The first day of a month and of the next one. */
function monthOf(day: string): readonly [string, string] {
  const first = `${day.slice(0, 7)}-01`
  const date = new Date(fromTimestamp(first))
  date.setUTCMonth(date.getUTCMonth() + 1)
  return [first, date.toISOString().slice(0, 10)]
}
