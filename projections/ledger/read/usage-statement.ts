import {
  conjunction,
  factConditions,
  laterConditions,
  type LedgerFilter,
  lineConditions,
  Parameters,
  sqlTime,
} from './filter.ts'
import { coverOf, cutAt, type Span, UTC_DAY_MS } from './spans.ts'

/** Keys that usage can be grouped by; a day is of the zone whose days are given. */
export type UsageKey = 'day' | 'model' | 'token' | 'user' | 'sku' | 'surface' | 'tenant'

/** A day by its name, as unix milliseconds; the last is exclusive. */
export interface NamedDay {
  readonly day: string
  readonly fromMs: number
  readonly toMs: number
}

export interface UsageQuery {
  readonly filter: LedgerFilter
  readonly groupBy: readonly UsageKey[]
  /**
   * The days of the range, in order and without gaps: the first holds its beginning and the last its
   * end, and the range has both. Undefined: days of UTC.
   */
  readonly days?: readonly NamedDay[] | undefined
  /** No more are read; undefined: all. */
  readonly limit?: number
}

export const columns: Readonly<Record<Exclude<UsageKey, 'day'>, string>> = {
  model: 'model',
  token: 'token_id',
  user: 'user_id',
  sku: 'sku',
  surface: 'surface',
  tenant: 'tenant_id',
}

const beginnings = { hours: 'hour', quarters: 'quarter' } as const

/** Rows of one part of the statement, and the numbers and day by which they count. */
interface Part {
  readonly from: string
  readonly day: string
  readonly numbers: readonly [lines: string, quantity: string, amount: string]
}

const ofLine = ['1', 'quantity', 'amount'] as const
const ofTotal = ['lines', 'quantity', 'amount'] as const

/** The parts of one statement that add up to the usage. */
export class UsageStatement {
  readonly parameters = new Parameters()
  readonly #query: UsageQuery
  readonly #days: readonly NamedDay[] | 'utc' | 'none'
  readonly #bounds: string = ''

  constructor(query: UsageQuery) {
    this.#query = query
    this.#days = query.groupBy.includes('day') ? (query.days ?? 'utc') : 'none'
    if (typeof this.#days === 'string') return
    const starts = this.#days.map(({ fromMs }) => new Date(fromMs))
    this.#bounds = `${this.parameters.add(starts)}::timestamptz[]`
  }

  parts(): readonly Part[] {
    const { filter } = this.#query
    if (filter.sourceId !== undefined) return [this.#lines({})]
    const named = typeof this.#days === 'string' ? [] : this.#days
    const range = coverOf({ fromMs: filter.fromMs, toMs: filter.toMs })
    // An hour counts as the day of its beginning.
    const cover = cutAt(
      range,
      named.map(({ fromMs }) => fromMs),
    )
    const days = cover.days === undefined ? [] : [cover.days]
    return [
      ...cover.lines.map((span) => this.#lines(span)),
      ...cover.quarters.map((span) => this.#totals('quarters', span)),
      ...cover.hours.map((span) => this.#totals('hours', span)),
      ...days.flatMap((span) => [this.#utcDays(span), ...this.#moved(span)]),
      ...[...cover.quarters, ...cover.hours, ...days].flatMap((span) => this.#later(span)),
    ]
  }

  /**
   * The number of the day of a time, as SQL: days are grouped by numbers, which cost less than
   * names.
   */
  #dayOf(time: string): string {
    if (this.#days === 'none') return 'null::integer'
    return this.#days === 'utc'
      ? `(${time} at time zone 'UTC')::date - date '1970-01-01'`
      : `width_bucket(${time}, ${this.#bounds})`
  }

  /** A day by its number. */
  nameOf(day: number): string {
    return typeof this.#days === 'string'
      ? new Date(day * UTC_DAY_MS).toISOString().slice(0, 10)
      : (this.#days[day - 1]?.day ?? '')
  }

  #lines(span: Partial<Span>): Part {
    const conditions = lineConditions({ ...this.#query.filter, ...span }, this.parameters)
    const from = `ledger.lines where ${conjunction(conditions)}`
    return { from, day: this.#dayOf('settled_at'), numbers: ofLine }
  }

  /** Usage in the totals that came after the requested position, to be subtracted. */
  #later(span: Span): readonly Part[] {
    const { filter } = this.#query
    const { asOf } = filter
    if (asOf === undefined) return []
    const conditions = laterConditions({ ...filter, ...span, asOf }, this.parameters)
    const from = `ledger.lines where ${conjunction(conditions)}`
    return [
      { from, day: this.#dayOf('settled_at'), numbers: ['-1', '-quantity', '-amount'] as const },
    ]
  }

  #totals(table: 'hours' | 'quarters', { fromMs, toMs }: Span): Part {
    const column = beginnings[table]
    const conditions = [
      ...factConditions(this.#query.filter, this.parameters),
      ...(fromMs === undefined ? [] : [`${column} >= ${sqlTime(fromMs, this.parameters)}`]),
      ...(toMs === undefined ? [] : [`${column} < ${sqlTime(toMs, this.parameters)}`]),
    ]
    const from = `ledger.${table} where ${conjunction(conditions)}`
    return { from, day: this.#dayOf(column), numbers: ofTotal }
  }

  /** Whole days of UTC, each as the day it is at noon; `#moved` mends that. */
  #utcDays({ fromMs, toMs }: Span): Part {
    const date = (ms: number): string =>
      `${this.parameters.add(new Date(ms).toISOString().slice(0, 10))}::date`
    const conditions = [
      ...factConditions(this.#query.filter, this.parameters),
      ...(fromMs === undefined ? [] : [`day >= ${date(fromMs)}`]),
      ...(toMs === undefined ? [] : [`day < ${date(toMs)}`]),
    ]
    const from = `ledger.days where ${conjunction(conditions)}`
    return { from, day: this.#dayOf(`(day + time '12:00') at time zone 'UTC'`), numbers: ofTotal }
  }

  /**
   * Hours and quarters that are of another day than the noon of their UTC day: taken off that day and
   * put to their own. So only they are read, never all of a range.
   */
  #moved(days: Span): readonly Part[] {
    const moves = typeof this.#days === 'string' ? [] : movesOf(days, this.#days)
    const rows = (['hours', 'quarters'] as const).flatMap((table) => this.#movedIn(table, moves))
    if (rows.length === 0) return []
    const facts = this.facts().join(', ')
    const from = `(
      select into_day, out_of_day, ${facts}, sum(lines) as lines, sum(quantity) as quantity,
             sum(amount) as amount
      from (${rows.join(' union all ')}) q group by into_day, out_of_day, ${facts}) m
      cross join (values (1), (-1)) as way (sign)`
    const day = 'case when sign = 1 then into_day else out_of_day end'
    return [{ from, day, numbers: ['sign * lines', 'sign * quantity', 'sign * amount'] }]
  }

  /** The rows of a table of totals that moves cover, as a query. */
  #movedIn(table: 'hours' | 'quarters', all: readonly Move[]): readonly string[] {
    const moves = all.flatMap(({ into, outOf, ...move }) =>
      coverOf(move)[table].map((span) => ({ ...span, into, outOf })),
    )
    if (moves.length === 0) return []
    const { parameters } = this
    const times = (msOf: (move: Span) => number | undefined): string =>
      `${parameters.add(moves.map((move) => new Date(msOf(move) ?? 0)))}::timestamptz[]`
    const numbers = (of: (move: Pick<Move, 'into' | 'outOf'>) => number): string =>
      `${parameters.add(moves.map(of))}::integer[]`
    const ranges = `unnest(${times(({ fromMs }) => fromMs)}, ${times(({ toMs }) => toMs)},
                           ${numbers(({ into }) => into)}, ${numbers(({ outOf }) => outOf)})
                      as r (begins, ends, into_day, out_of_day)`
    const conditions = conjunction([
      `${beginnings[table]} >= r.begins and ${beginnings[table]} < r.ends`,
      ...factConditions(this.#query.filter, parameters),
    ])
    const wanted = [...this.facts(), 'lines', 'quantity', 'amount'].join(', ')
    return [
      `select into_day, out_of_day, ${wanted} from ${ranges} cross join lateral
         (select ${wanted} from ledger.${table} where ${conditions}) t`,
    ]
  }

  /** Columns by which rows are grouped in addition to their day. */
  facts(): readonly string[] {
    const keys = this.#query.groupBy.flatMap((key) => (key === 'day' ? [] : [columns[key]]))
    return [...keys, 'currency', 'unit']
  }
}

interface Move {
  readonly fromMs: number
  readonly toMs: number
  /** Numbers of days, from 1. */
  readonly into: number
  readonly outOf: number
}

/** The number of the day a time is in, from 1. */
function dayIn(days: readonly NamedDay[], unixMs: number): number {
  return days.findIndex(({ fromMs, toMs }) => fromMs <= unixMs && unixMs < toMs) + 1
}

/** Parts of whole UTC days that belong to another of the days than their noon does. */
function movesOf({ fromMs, toMs }: Span, days: readonly NamedDay[]): readonly Move[] {
  if (fromMs === undefined || toMs === undefined) return []
  const moves: Move[] = []
  for (const [index, each] of days.entries()) {
    const into = index + 1
    let beginsMs = Math.max(each.fromMs, fromMs)
    const endsMs = Math.min(each.toMs, toMs)
    while (beginsMs < endsMs) {
      const utcDayMs = Math.floor(beginsMs / UTC_DAY_MS) * UTC_DAY_MS
      const stopMs = Math.min(endsMs, utcDayMs + UTC_DAY_MS)
      const outOf = dayIn(days, utcDayMs + UTC_DAY_MS / 2)
      if (outOf !== into) moves.push({ fromMs: beginsMs, toMs: stopMs, into, outOf })
      beginsMs = stopMs
    }
  }
  return moves
}
