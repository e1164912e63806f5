import type { JSX } from 'preact'
import type { Static, Type } from 'typebox'
import { readTimeRange, type TimeRange, type timeRangeMembers } from '../../api/query/time-range.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { readTime } from '../../kernel/read-time.ts'
import { readZone as readNamedZone } from '../../kernel/read-zone.ts'

/** Lists of a time, page by page. */

/** The members of a query that name its time and its page. */
interface TimeQuery {
  readonly from?: string
  readonly to?: string
  readonly time_preset?: string
  readonly start_time?: string
  readonly end_time?: string
  readonly cursor?: string
}

type RangeQuery = TimeQuery & Static<Type.TObject<typeof timeRangeMembers>>

/** Rows of a page. */
const PAGE = 50

/** A time of day in the zone of the page: without an offset, as people write it. */
const LOCAL_TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)$/

function withOffset(text: unknown, tz: unknown): unknown {
  const [, day = '', time = ''] = LOCAL_TIME.exec(typeof text === 'string' ? text : '') ?? []
  const wallMs = readTime(`${day}T${time.padEnd(8, ':00')}Z`)
  const read = readNamedZone(typeof tz === 'string' ? tz : 'UTC')
  return wallMs === undefined || 'fault' in read ? text : toTimestamp(read.zone.reaches(wallMs))
}

/**
 * The query of a form as its schema has it: empty fields are not given, times of day have an offset, and where
 * the form showed dates (`dated`), a preset was chosen instead of them.
 */
export function sentQuery(sent: object): Readonly<Record<string, unknown>> {
  const given = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== ''))
  const { dated, from, to, ...others } = given
  const { time_preset: preset, ...withoutPreset } = others
  if ((dated !== undefined && preset !== undefined) || (from ?? to) === undefined) return others
  const times = Object.entries({ from, to }).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, withOffset(text, others['tz'])]],
  )
  return { ...withoutPreset, ...Object.fromEntries(times) }
}

/** The latest second that a range may name. */
const LATEST_S = 253_370_764_800

const fromSeconds = (text: string): string =>
  /^\d{1,12}$/.test(text) && Number(text) <= LATEST_S ? toTimestamp(Number(text) * 1_000) : text

/**
 * The query with the usual range where it names no time. A form sends its preset with every field, so
 * that a date that was filled in stands for the preset. A custom range becomes one of dates.
 */
export function withTime<Query extends TimeQuery>(
  asked: Query,
  usual: NonNullable<Query['time_preset']>,
): Query {
  const { time_preset: preset, start_time: start, end_time: end, ...dated } = asked
  if (asked.from !== undefined || asked.to !== undefined) return dated as Query
  if (preset === 'custom' && start !== undefined && end !== undefined)
    return { ...dated, from: fromSeconds(start), to: fromSeconds(end) } as Query
  return preset === undefined ? { ...asked, time_preset: usual } : asked
}

/** A query with its time as bounds and without its page: as an address, it names the same rows for ever. */
export function boundedOf<Query extends TimeQuery>(query: Query, { fromMs, toMs }: TimeRange) {
  const { time_preset: _preset, cursor: _cursor, ...others } = query
  const bound = (unixMs: number | undefined) =>
    unixMs === undefined ? undefined : toTimestamp(unixMs)
  return { ...others, from: bound(fromMs), to: bound(toMs) }
}

/**
 * A page of a list as the links between its pages ask for it, by bounds: a cursor belongs to a query, and that
 * of the next page has no preset. @throws RequestError
 */
export function pageOf<Query extends RangeQuery>(query: Query, nowMs: number) {
  const { from, to, ...others } = boundedOf(query, readTimeRange(query, nowMs))
  return {
    ...others,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
    limit: PAGE,
  }
}

const ALWAYS: TimeRange = { fromMs: undefined, toMs: undefined }

/** Links to the newest page and to the next one; both have absolute times, so that they can be kept. */
export function Pager({
  href,
  query,
  range = ALWAYS,
  next,
  words: [first, further] = ['Newest', 'Older'],
}: {
  /** The address of the page with a query. */
  readonly href: (query: Readonly<Record<string, string | undefined>>) => string
  readonly query: TimeQuery
  /** Undefined: the list is of no time. */
  readonly range?: TimeRange
  /** The cursor of the next page; null: there is none. */
  readonly next: string | null
  /** Names of the first page and the next one. */
  readonly words?: readonly [first: string, further: string]
}): JSX.Element | null {
  if (next === null && query.cursor === undefined) return null
  const bounded: Readonly<Record<string, string | undefined>> = boundedOf(query, range)
  return (
    <p class="pager">
      {query.cursor === undefined ? null : (
        <a class="button" href={href(bounded)}>
          {first}
        </a>
      )}
      {next === null ? null : (
        <a class="button" href={href({ ...bounded, cursor: next })}>
          {further}
        </a>
      )}
    </p>
  )
}
