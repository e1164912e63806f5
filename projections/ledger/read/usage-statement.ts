import type { ZonedPeriod } from '../../../src/kernel/time-zone.ts'
import type { Work } from '../../../src/kernel/turns.ts'
import {
  conjunction,
  factConditions,
  isOfLines,
  laterConditions,
  type LedgerFilter,
  lineConditions,
  Parameters,
  sqlTime,
  tagSql,
} from './filter.ts'
import { unsummedSql } from '../sums.ts'
import { type Move, movesOf, type MovesByTable } from './moves.ts'
import { coverOf, cutAt, hullOf, type Span, UTC_DAY_MS } from './spans.ts'

/** Keys of time: of the zone whose periods are given. */
export const timeKeys = ['hour', 'day', 'month'] as const
type TimeKey = (typeof timeKeys)[number]
type FactKey = 'model' | 'token' | 'user' | 'sku' | 'surface' | 'tenant' | 'end_user'

/** Keys that usage can be grouped by, at most one of them of time; a tag by its name. */
export type UsageKey = TimeKey | FactKey | `tag:${string}`

export interface UsageQuery {
  readonly filter: LedgerFilter
  readonly groupBy: readonly UsageKey[]
  /**
   * The hours, days or months of the range, in order and without gaps: the first holds its beginning
   * and the last its end, and the range has both. Undefined: days of UTC.
   */
  readonly periods?: readonly ZonedPeriod[] | undefined
  /** Whether refunds that were posted in the range are counted too. */
  readonly withRefunds?: boolean
  /** No more are read; undefined: all. */
  readonly limit?: number
}

const columns: Readonly<Record<FactKey, string>> = {
  model: 'model',
  token: 'token_id',
  user: 'user_id',
  sku: 'sku',
  surface: 'surface',
  tenant: 'tenant_id',
  end_user: 'end_user',
}

const beginnings = { hours: 'hour', quarters: 'quarter' } as const

/** Each group has the sums of these. */
export const figures = ['requests', 'lines', 'quantity', 'amount', 'refunded'] as const

/** Rows of one part of the statement, and the period and figures by which they count. */
interface Part {
  readonly from: string
  readonly period: string
  /** SQL of each figure that is not zero. */
  readonly numbers: Readonly<Partial<Record<(typeof figures)[number], string>>>
}

/** A request is counted by the first line of its result. */
const firstLines = `(line_id like '%:1')::integer`
const ofLine = { requests: firstLines, lines: '1', quantity: 'quantity', amount: 'amount' }
const ofLaterLine = {
  requests: `-${firstLines}`,
  lines: '-1',
  quantity: '-quantity',
  amount: '-amount',
}
const summedFigures = ['requests', 'lines', 'quantity', 'amount'] as const
const ofTotal = Object.fromEntries(summedFigures.map((name) => [name, name]))
const ofMove = Object.fromEntries(summedFigures.map((name) => [name, `sign * ${name}`]))

/** Refunds as rows with the facts of the lines they are of, at the time they were posted. */
const refundsSql = `
  select a.tenant_id, a.currency, a.position, a.posted_at as settled_at, a.amount as refunded,
         l.user_id, l.token_id, l.model, l.sku, l.unit, l.surface, l.source_id, l.request_id,
         l.tags, l.end_user
  from ledger.adjustments a join ledger.lines l on l.line_id = a.line_id`

/** The parts of one statement that add up to the usage. */
export class UsageStatement {
  readonly parameters = new Parameters()
  readonly #query: UsageQuery
  readonly #periods: readonly ZonedPeriod[] | 'utc' | 'none'
  readonly #bounds: string = ''
  /** The columns by which rows are grouped besides their period, and what they are of a row. */
  readonly #facts: readonly (readonly [name: string, sql: string])[]

  constructor(query: UsageQuery) {
    this.#query = query
    const { groupBy } = query
    this.#facts = [
      ...groupBy.flatMap((key, n) => this.#factOf(key, n)),
      ['currency', 'currency'],
      ['unit', 'unit'],
    ]
    this.#periods = groupBy.some(isTimeKey) ? (query.periods ?? 'utc') : 'none'
    if (typeof this.#periods === 'string') return
    const starts = this.#periods.map(({ fromMs }) => fromMs)
    this.#bounds = `${this.parameters.add(timesText(starts))}::timestamptz[]`
  }

  #factOf(key: UsageKey, n: number): readonly (readonly [name: string, sql: string])[] {
    if (isTimeKey(key)) return []
    if (isTag(key)) return [[columnOf(key, n), 'tags']]
    return [[columns[key], columns[key]]]
  }

  *parts(): Work<readonly Part[]> {
    const { filter, groupBy } = this.#query
    const refunds = this.#query.withRefunds === true ? [this.#refunds()] : []
    if (isOfLines(filter) || groupBy.some(isKeyOfLines)) return [this.#lines({}), ...refunds]
    const named = typeof this.#periods === 'string' ? [] : this.#periods
    const largest = groupBy.includes('hour') ? 'hour' : 'day'
    const range = coverOf({ fromMs: filter.fromMs, toMs: filter.toMs }, largest)
    // An hour counts as the period of its beginning.
    const cover = cutAt(
      range,
      named.map(({ fromMs }) => fromMs),
    )
    const days = cover.days === undefined ? [] : [cover.days]
    // Ten years have some thousand moves.
    const moves = cover.days === undefined ? undefined : yield* movesOf(cover.days, named)
    const summed = [...cover.quarters, ...cover.hours, ...days]
    return [
      ...cover.lines.map((span) => this.#lines(span)),
      ...hullOf(summed).map((span) => this.#unsummed(span)),
      ...cover.quarters.map((span) => this.#totals('quarters', span)),
      ...cover.hours.map((span) => this.#totals('hours', span)),
      ...days.map((span) => this.#utcDays(span)),
      ...(moves === undefined ? [] : this.#moved(moves)),
      ...summed.flatMap((span) => this.#later(span)),
      ...refunds,
    ]
  }

  /**
   * The number of the period of a time, as SQL: periods are grouped by numbers, which cost less than
   * names.
   */
  #periodOf(time: string): string {
    if (this.#periods === 'none') return 'null::integer'
    return this.#periods === 'utc'
      ? `(${time} at time zone 'UTC')::date - date '1970-01-01'`
      : `width_bucket(${time}, ${this.#bounds})`
  }

  /** A period by its number. */
  nameOf(period: number): string {
    return typeof this.#periods === 'string'
      ? new Date(period * UTC_DAY_MS).toISOString().slice(0, 10)
      : (this.#periods[period - 1]?.name ?? '')
  }

  #lines(span: Partial<Span>): Part {
    const conditions = lineConditions({ ...this.#query.filter, ...span }, this.parameters)
    const from = `ledger.lines where ${conjunction(conditions)}`
    return { from, period: this.#periodOf('settled_at'), numbers: ofLine }
  }

  /** Lines that the sums by time do not have yet, in the time for which sums are read. */
  #unsummed(span: Span): Part {
    const { filter } = this.#query
    const tenant = filter.tenantId === undefined ? undefined : this.parameters.add(filter.tenantId)
    const asked = { ...filter, ...span, asOf: undefined }
    const from = `(${unsummedSql(tenant)}) u
      where ${conjunction(lineConditions(asked, this.parameters))}`
    return { from, period: this.#periodOf('settled_at'), numbers: ofLine }
  }

  /** Corrections of lines: they count when they were posted. */
  #refunds(): Part {
    const conditions = lineConditions(this.#query.filter, this.parameters)
    const from = `(${refundsSql}) r where ${conjunction(conditions)}`
    return { from, period: this.#periodOf('settled_at'), numbers: { refunded: 'refunded' } }
  }

  /** Usage in the totals that came after the requested position, to be subtracted. */
  #later(span: Span): readonly Part[] {
    const { filter } = this.#query
    const { asOf } = filter
    if (asOf === undefined) return []
    const conditions = laterConditions({ ...filter, ...span, asOf }, this.parameters)
    const from = `ledger.lines where ${conjunction(conditions)}`
    return [{ from, period: this.#periodOf('settled_at'), numbers: ofLaterLine }]
  }

  #totals(table: 'hours' | 'quarters', { fromMs, toMs }: Span): Part {
    const column = beginnings[table]
    const conditions = [
      ...factConditions(this.#query.filter, this.parameters),
      ...(fromMs === undefined ? [] : [`${column} >= ${sqlTime(fromMs, this.parameters)}`]),
      ...(toMs === undefined ? [] : [`${column} < ${sqlTime(toMs, this.parameters)}`]),
    ]
    const from = `ledger.summed_${table} where ${conjunction(conditions)}`
    return { from, period: this.#periodOf(column), numbers: ofTotal }
  }

  /** Whole days of UTC, each in the period of its noon; `#moved` mends that. */
  #utcDays({ fromMs, toMs }: Span): Part {
    const date = (ms: number): string =>
      `${this.parameters.add(new Date(ms).toISOString().slice(0, 10))}::date`
    const conditions = [
      ...factConditions(this.#query.filter, this.parameters),
      ...(fromMs === undefined ? [] : [`day >= ${date(fromMs)}`]),
      ...(toMs === undefined ? [] : [`day < ${date(toMs)}`]),
    ]
    const from = `ledger.summed_days where ${conjunction(conditions)}`
    const noon = `(day + time '12:00') at time zone 'UTC'`
    return { from, period: this.#periodOf(noon), numbers: ofTotal }
  }

  /**
   * Hours and quarters of another period than the noon of their UTC day: taken off that one and put
   * to their own. So only they are read, never all of a range.
   */
  #moved(moves: MovesByTable): readonly Part[] {
    const rows = (['hours', 'quarters'] as const).flatMap((table) =>
      this.#movedIn(table, moves[table]),
    )
    if (rows.length === 0) return []
    const facts = this.facts().join(', ')
    const sums = summedFigures.map((name) => `sum(${name}) as ${name}`).join(', ')
    const from = `(
      select into_period, out_of_period, ${facts}, ${sums}
      from (${rows.join(' union all ')}) q group by into_period, out_of_period, ${facts}) m
      cross join (values (1), (-1)) as way (sign)`
    const period = 'case when sign = 1 then into_period else out_of_period end'
    return [{ from, period, numbers: ofMove }]
  }

  /** The rows of a table of totals that moves cover, as a query. */
  #movedIn(table: 'hours' | 'quarters', moves: readonly Move[]): readonly string[] {
    if (moves.length === 0) return []
    const { parameters } = this
    const times = (all: readonly number[]): string =>
      `${parameters.add(timesText(all))}::timestamptz[]`
    const numbers = (all: readonly number[]): string =>
      `${parameters.add(`{${all.join(',')}}`)}::integer[]`
    const ranges = `unnest(${times(moves.map(({ fromMs }) => fromMs))}, ${times(moves.map(({ toMs }) => toMs))},
                           ${numbers(moves.map(({ into }) => into))}, ${numbers(moves.map(({ outOf }) => outOf))})
                      as r (begins, ends, into_period, out_of_period)`
    const conditions = conjunction([
      `${beginnings[table]} >= r.begins and ${beginnings[table]} < r.ends`,
      ...factConditions(this.#query.filter, parameters),
    ])
    const wanted = [...this.facts(), ...summedFigures].join(', ')
    return [
      `select into_period, out_of_period, ${wanted} from ${ranges} cross join lateral
         (select ${wanted} from ledger.summed_${table} where ${conditions}) t`,
    ]
  }

  /** A part as a query of the facts and all figures. */
  select({ from, period, numbers }: Part): string {
    const facts = this.#facts.map(([name, sql]) => `${sql} as ${name}`).join(', ')
    const summed = figures.map((name) => `${numbers[name] ?? '0'} as ${name}`).join(', ')
    return `select ${period} as period, ${facts}, ${summed} from ${from}`
  }

  /** The value of a key in grouped rows. Tags are read once a group: for each row it costs more than all else. */
  valueOf(key: UsageKey, n: number): string {
    const column = columnOf(key, n)
    return isTag(key) ? tagSql(this.parameters.add(key.slice(TAG.length)), column) : column
  }

  /** Columns by which rows are grouped in addition to their period. */
  facts(): readonly string[] {
    return this.#facts.map(([name]) => name)
  }
}

const TAG = 'tag:'
const isTag = (key: UsageKey): key is `tag:${string}` => key.startsWith(TAG)
/** Totals have no labels of requests. */
const isKeyOfLines = (key: UsageKey): boolean => isTag(key) || key === 'end_user'
const isTimeKey = (key: UsageKey): key is TimeKey => timeKeys.some((each) => each === key)

/** The column of the nth key in the statement. A tag's name is any text, and longer than names of columns. */
export function columnOf(key: UsageKey, n: number): string {
  if (isTimeKey(key)) return 'period'
  return isTag(key) ? `tag_${n}` : columns[key]
}

/** No usage is earlier; Postgres writes times before it in another form. */
const YEAR_ONE_MS = -62_135_596_800_000

/** Times as a literal of a Postgres array: the driver formats dates one by one, ten times as slowly. */
function timesText(timesMs: readonly number[]): string {
  const texts = timesMs.map((ms) => new Date(Math.max(ms, YEAR_ONE_MS)).toISOString())
  return `{${texts.join(',')}}`
}
