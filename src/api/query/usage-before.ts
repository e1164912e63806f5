import type { UsageGroup, UsageKey } from '../../../projections/ledger/query.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import type { TimeZone } from '../../kernel/time-zone.ts'
import { mapped, type Work } from '../../kernel/turns.ts'
import { RequestError } from '../kit/request-error.ts'
import { isTimeKey } from './periods.ts'
import type { TimeRange } from './time-range.ts'

/** Usage compared with the time before. */

/** A time with both ends, Unix milliseconds, the end exclusive. */
interface ClosedRange {
  readonly fromMs: number
  readonly toMs: number
}

const DAY_MS = 86_400_000

/** The columns of a comparison. */
export const comparedColumns = ['net_before', 'change'] as const

/** What a group of usage had in the time before. */
export interface Compared {
  /** Exact decimal: the amount less the refunds of the time before. */
  readonly net_before: string
  /** Exact decimal: `net` less `net_before`. */
  readonly change: string
}

/**
 * The time before a range: as many months where it has whole months of the zone, the same part of the month before
 * where it is the first part of one, else as many days, or as long a time.
 */
export function rangeBefore({ fromMs, toMs }: ClosedRange, zone: TimeZone): ClosedRange {
  const month = zone.monthAt(fromMs)
  if (month.fromMs === fromMs) {
    if (toMs < month.toMs) {
      const before = zone.monthAt(fromMs - 1)
      return { fromMs: before.fromMs, toMs: Math.min(before.fromMs + toMs - fromMs, fromMs) }
    }
    if (zone.monthAt(toMs).fromMs === toMs) {
      let beginsMs = fromMs
      for (let atMs = fromMs; atMs < toMs; atMs = zone.monthAt(atMs).toMs)
        beginsMs = zone.monthAt(beginsMs - 1).fromMs
      return { fromMs: beginsMs, toMs: fromMs }
    }
  }
  const isDay = (atMs: number) => zone.startOf(zone.dayAt(atMs)) === atMs
  if (!isDay(fromMs) || !isDay(toMs)) return { fromMs: fromMs - (toMs - fromMs), toMs: fromMs }
  const days = zone.daysBetween(fromMs, toMs).length
  const first = toTimestamp(fromTimestamp(zone.dayAt(fromMs)) - days * DAY_MS).slice(0, 10)
  return { fromMs: zone.startOf(first), toMs: fromMs }
}

/** The time before what was asked for. @throws RequestError where there is none, or where groups are times */
export function rangeBeforeOf(
  { fromMs, toMs }: TimeRange,
  groupBy: readonly UsageKey[],
  zone: TimeZone,
  nowMs: number,
): ClosedRange {
  const time = groupBy.find(isTimeKey)
  if (time !== undefined)
    throw new RequestError(
      'parameter_invalid',
      `before compares sums of the whole time: group by other keys than ${time}`,
      'before',
    )
  if (fromMs === undefined)
    throw new RequestError('parameter_invalid', 'before needs a time with a beginning', 'before')
  return rangeBefore({ fromMs, toMs: Math.max(toMs ?? nowMs, fromMs) }, zone)
}

const keyOf = ({ keys, currency }: UsageGroup, groupBy: readonly UsageKey[]): string =>
  JSON.stringify([...groupBy.map((key) => keys[key] ?? null), currency])

const nothing = { quantity: '0', amount: '0', refunded: '0', net: '0', requests: 0, lines: 0 }

/** Groups with what each had in the time before, and behind them those that had something only then. */
export function* compared(
  found: readonly UsageGroup[],
  before: readonly UsageGroup[],
  groupBy: readonly UsageKey[],
): Work<readonly (UsageGroup & Compared)[]> {
  const left = new Map(yield* mapped(before, (group) => [keyOf(group, groupBy), group] as const))
  const withBefore = (group: UsageGroup, netBefore: string) => ({
    ...group,
    net_before: netBefore,
    change: formatAmount(parseAmount(group.net) - parseAmount(netBefore)),
  })
  const now = yield* mapped(found, (group) => {
    const key = keyOf(group, groupBy)
    const netBefore = left.get(key)?.net ?? '0'
    left.delete(key)
    return withBefore(group, netBefore)
  })
  const ended = yield* mapped([...left.values()], (group) =>
    withBefore({ ...group, ...nothing }, group.net),
  )
  return [...now, ...ended]
}
