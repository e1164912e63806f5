import type { Queryable } from '../../../projections/engine/queryable.ts'
import {
  type CreditRow,
  type LedgerFilter,
  listCredits,
  usage,
  type UsageGroup,
} from '../../../projections/ledger/query.ts'
import { type Currency, parseAmount } from '../../kernel/money.ts'
import type { TimeZone, ZonedPeriod } from '../../kernel/time-zone.ts'
import { pastBalancesOf } from './past-balances.ts'

/** The account of one tenant in one currency, as a bank shows it. */
export interface AccountRange {
  readonly tenantId: string
  readonly currency: Currency
  /** Unix milliseconds, inclusive and exclusive; undefined: without an end. */
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
  readonly asOf: bigint
  readonly zone: TimeZone
  /** The days of the zone, and the range of all usage that they cover, as `usage` takes them. */
  readonly days: {
    readonly range: Pick<LedgerFilter, 'fromMs' | 'toMs'>
    readonly periods: readonly ZonedPeriod[] | undefined
  }
}

/** Credit that was posted, or all usage of a day; amounts are in pico, signed as the tenant sees them. */
export type Movement = {
  /** The day in the zone, `YYYY-MM-DD`. */
  readonly date: string
  readonly amountPico: bigint
  /** The balance after it. */
  readonly balancePico: bigint
} & (
  | { readonly kind: 'credit'; readonly credit: CreditRow }
  | { readonly kind: 'usage'; readonly usage: UsageGroup }
)

export interface Account {
  readonly openingPico: bigint
  readonly closingPico: bigint
  readonly movements: readonly Movement[]
}

/** One answer has no more credits: it has a row for each. */
export const MAX_CREDITS = 10_000

/**
 * Reads an account by days. The usage of a day stands behind the credits of the day, which keep the
 * order of their times. Undefined where the range has more than `MAX_CREDITS` credits.
 */
export async function movementsOf(
  db: Queryable,
  range: AccountRange,
): Promise<Account | undefined> {
  const { tenantId, currency, fromMs, toMs, asOf, zone, days } = range
  const filter = { tenantId, currency, fromMs, toMs, asOf }
  const openingPico =
    fromMs === undefined ? 0n : await balanceAt(db, { tenantId, currency, toMs: fromMs, asOf })
  const credits = await listCredits(
    db,
    { ...filter, kinds: ['grant', 'adjustment'] },
    { order: 'oldest', after: undefined, limit: MAX_CREDITS + 1 },
  )
  if (credits.length > MAX_CREDITS) return undefined
  const groups = await usage(db, {
    filter: { ...filter, ...days.range },
    groupBy: ['day'],
    periods: days.periods,
  })
  const moved = [
    ...credits.map((credit) => ({
      kind: 'credit' as const,
      credit,
      date: zone.dayAt(credit.postedAtMs),
      amountPico: parseAmount(credit.amount),
    })),
    ...groups.map((group) => ({
      kind: 'usage' as const,
      usage: group,
      date: group.keys.day ?? '',
      amountPico: -parseAmount(group.amount),
    })),
  ]
  let balancePico = openingPico
  const movements = moved.toSorted(byTime).map((movement) => {
    balancePico += movement.amountPico
    return { ...movement, balancePico }
  })
  return { openingPico, closingPico: balancePico, movements }
}

/** Usage stands behind those of its day. */
type Timed = Pick<Movement, 'date'> & { readonly credit?: CreditRow }

function byTime(one: Timed, other: Timed): number {
  if (one.date !== other.date) return one.date < other.date ? -1 : 1
  const timeMs = ({ credit }: Timed): number => credit?.postedAtMs ?? Number.POSITIVE_INFINITY
  const [oneMs, otherMs] = [timeMs(one), timeMs(other)]
  return oneMs === otherMs ? 0 : oneMs - otherMs
}

async function balanceAt(
  db: Queryable,
  {
    tenantId,
    currency,
    toMs,
    asOf,
  }: Pick<AccountRange, 'tenantId' | 'currency' | 'toMs' | 'asOf'> & { readonly toMs: number },
): Promise<bigint> {
  const balances = await pastBalancesOf(db, [tenantId], { currency, toMs, asOf })
  const [balance] = balances.get(tenantId) ?? []
  return balance === undefined
    ? 0n
    : balance.grantedPico + balance.adjustedPico - balance.settledPico
}
