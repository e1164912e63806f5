import { readZone } from '../../api/query/time-range.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import type { ZonedPeriod } from '../../kernel/time-zone.ts'
import { linesHref } from '../kit/href.ts'

/** The dimensions of a summary, and the addresses of the lines behind each of its sums. */

/** The dimensions, each with the member of an answer, and of the lines' query, that has its value. */
const members = {
  day: 'day',
  month: 'month',
  hour: 'hour',
  model: 'model',
  sku: 'sku',
  tenant: 'tenant_id',
  user: 'user_id',
  token: 'token_id',
  surface: 'surface',
  end_user: 'end_user',
} as const
type NamedDimension = keyof typeof members
/** A dimension by its name, or a tag by its key. */
export type Dimension = NamedDimension | `tag:${string}`
/** The dimensions that have names. */
export const dimensions = Object.keys(members) as readonly NamedDimension[]

const TAG = 'tag:'
/** Whether a text names a tag. */
export const isTag = (name: string): name is `tag:${string}` => name.startsWith(TAG)

/** The member of an answer that has the value of a dimension. */
export const memberOf = (dimension: Dimension): string =>
  isTag(dimension) ? dimension : members[dimension]

/** The words of dimensions whose names are none. */
export const dimensionWords = { sku: 'SKU', end_user: 'end user' } as const

/** The word of a dimension on a page. */
export function wordOf(dimension: Dimension): string {
  if (dimension === 'sku' || dimension === 'end_user') return dimensionWords[dimension]
  return isTag(dimension) ? dimension.slice(TAG.length) : dimension
}

/** Unix milliseconds of the whole range; its end is when it was read where none was asked for. */
export interface Bounds {
  readonly fromMs: number
  readonly toMs: number
}

/** The conditions of a summary, as its address has them. */
interface Conditions {
  readonly tz?: string
  readonly by?: Dimension
  readonly and?: Dimension
  readonly sort?: string
  readonly top?: string
  readonly compare?: string
  readonly tag?: string
  readonly time_preset?: string
  readonly start_time?: string
  readonly end_time?: string
}

/** A sum is of these lines. */
export interface Summed {
  readonly bounds: Bounds
  /** Position of the log that the sums are as of. */
  readonly asOf: string
}

/** The members of a query that name a time. */
const absolute = ({ fromMs, toMs }: Bounds) => ({
  from: toTimestamp(fromMs),
  to: toTimestamp(toMs),
})

/** Conditions of the summary with its time and its position, which name the same lines for ever. */
export function conditionsOf(asked: Conditions, { bounds, asOf }: Summed) {
  const {
    by: _by,
    and: _and,
    sort: _sort,
    top: _top,
    compare: _compare,
    time_preset: _preset,
    start_time: _from,
    end_time: _to,
    ...rest
  } = asked
  return { ...rest, ...absolute(bounds), as_of: asOf }
}

/** The hour, day or month of a zone by its name in an answer: the bounds of the whole of it. */
export function periodOf(
  tz: string | undefined,
  dimension: Dimension,
  name: string,
): Pick<ZonedPeriod, 'fromMs' | 'toMs'> {
  const zone = readZone(tz)
  if (dimension === 'month') return zone.monthAt(zone.startOf(`${name}-01`))
  const startMs = dimension === 'hour' ? fromTimestamp(name) : zone.startOf(name)
  const [period] =
    dimension === 'hour'
      ? zone.hoursBetween(startMs, startMs + 1)
      : zone.daysBetween(startMs, startMs + 1)
  return period ?? { fromMs: startMs, toMs: startMs }
}

const isTime = (dimension: Dimension): boolean => /^(?:hour|day|month)$/.test(dimension)

/** The lines of a value of each dimension, by the time and the conditions of the summary. */
export function linesOf(
  asked: Conditions,
  summed: Summed,
  values: Readonly<Partial<Record<Dimension, string>>>,
  currency: string,
): string {
  let { fromMs, toMs } = summed.bounds
  const further: Record<string, string> = { currency }
  for (const dimension of [...dimensions, ...Object.keys(values).filter(isTag)]) {
    const value = values[dimension]
    if (value === undefined) continue
    if (isTag(dimension)) further['tag'] = `${dimension.slice(TAG.length)}:${value}`
    else if (!isTime(dimension)) further[members[dimension]] = value
    else {
      const period = periodOf(asked.tz, dimension, value)
      fromMs = Math.max(fromMs, period.fromMs)
      toMs = Math.min(toMs, period.toMs)
    }
  }
  const conditions = conditionsOf(asked, summed)
  return linesHref({ ...conditions, ...absolute({ fromMs, toMs }), ...further })
}
