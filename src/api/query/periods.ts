import { timeKeys, type UsageKey } from '../../../projections/ledger/query.ts'
import type { TimeZone, ZonedPeriod } from '../../kernel/time-zone.ts'
import { RequestError } from '../kit/request-error.ts'
import type { AccountReads } from './account-reads.ts'
import type { LedgerFilter } from './reads.ts'
import { readZone, type TimeRange } from './time-range.ts'

/** Hours, days or months of one answer: ten years of days. */
const MAX_PERIODS = 3_660
const HOUR_MS = 3_600_000
/** The shortest totals that the ledger keeps; every zone's periods end with one. */
const QUARTER_MS = 900_000
const longestMs = { hour: HOUR_MS, day: 24 * HOUR_MS, month: 24 * HOUR_MS }

type TimeKey = (typeof timeKeys)[number]

export function isTimeKey(key: UsageKey): key is TimeKey {
  return timeKeys.some((each) => each === key)
}

function periodsIn(zone: TimeZone, key: TimeKey, fromMs: number, toMs: number) {
  if (key === 'hour') return zone.hoursBetween(fromMs, toMs)
  return key === 'day' ? zone.daysBetween(fromMs, toMs) : zone.monthsBetween(fromMs, toMs)
}

/**
 * The periods of a zone that a report is grouped by, and the range that they cover. They need both
 * ends: one that was not requested is that of the existing usage. Days of UTC need none.
 */
export async function periodsOf(
  accounts: Pick<AccountReads, 'usageExtent'>,
  filter: Pick<LedgerFilter, 'fromMs' | 'toMs' | 'tenantId'>,
  key: TimeKey | undefined,
  tz: string | undefined,
): Promise<{ readonly range: TimeRange; readonly periods: readonly ZonedPeriod[] | undefined }> {
  const asked = { fromMs: filter.fromMs, toMs: filter.toMs }
  const zone = readZone(tz)
  if (key === undefined || (key === 'day' && tz === undefined))
    return { range: asked, periods: undefined }
  const ends =
    asked.fromMs === undefined || asked.toMs === undefined
      ? await accounts.usageExtent(filter.tenantId)
      : undefined
  // Nothing is later than the last usage, so its quarter of an hour counts whole: the lines of a busy
  // one take a second to sum.
  const last = ends?.toMs && Math.ceil(ends.toMs / QUARTER_MS) * QUARTER_MS
  const [begins, end] = [asked.fromMs ?? ends?.fromMs, asked.toMs ?? last]
  // There are no settlements at all.
  if (begins === undefined || end === undefined) return { range: asked, periods: undefined }
  const fromMs = begins
  const toMs = Math.max(end, fromMs)
  if (toMs - fromMs > MAX_PERIODS * longestMs[key])
    throw new RequestError(
      'parameter_invalid',
      key === 'hour'
        ? `more than ${MAX_PERIODS} hours: narrow the range`
        : `more than ${MAX_PERIODS} days: narrow the range`,
      'group_by',
    )
  const found = periodsIn(zone, key, fromMs, toMs)
  // An empty range has no usage and no periods.
  return { range: { fromMs, toMs }, periods: found.length === 0 ? undefined : found }
}
