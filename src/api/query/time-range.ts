import { type Static, Type } from 'typebox'
import { unreachable } from '../../kernel/assert.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { isDate, readTime, TIME_WORDS } from '../../kernel/read-time.ts'
import { readZone as readNamedZone } from '../../kernel/read-zone.ts'
import type { TimeZone } from '../../kernel/time-zone.ts'
import { boundOf, TimeBound } from '../kit/routes/queries.ts'
import { RequestError } from '../kit/request-error.ts'

/** The time ranges of lists and totals: presets, and days of a zone. */

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The Unix seconds of the years 0000 to 9999. */
const LATEST_S = 253_370_764_800

const presets = [
  '1h',
  '24h',
  'today',
  'yesterday',
  '7d',
  '30d',
  'this_month',
  'last_month',
  'custom',
] as const
type Preset = (typeof presets)[number]

/** A time of a custom range, as `customBound` reads it. */
const CustomTime = Type.String({
  maxLength: 40,
  documented: {
    anyOf: [
      { type: 'integer', minimum: 0, maximum: LATEST_S },
      { type: 'string', format: 'date-time' },
      { type: 'string', format: 'date' },
    ],
    description:
      'Unix seconds, or RFC 3339 with an offset, or a date: a day of the zone; only with `time_preset=custom`.',
  },
})

const Time = (end: string) =>
  TimeBound(
    `${end}: RFC 3339 with an offset, such as 2026-01-02T03:04:05Z, or a date: a day of the zone.`,
  )

export const timeRangeMembers = {
  from: Type.Optional(Time('The beginning, inclusive')),
  to: Type.Optional(Time('The end, exclusive')),
  time_preset: Type.Optional(
    Type.Enum([...presets], { description: 'A range of `tz` instead of `from` and `to`.' }),
  ),
  start_time: Type.Optional(CustomTime),
  end_time: Type.Optional(CustomTime),
  tz: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'IANA time zone, such as `Asia/Shanghai`, whose days apply; UTC by default.',
      examples: ['Asia/Kolkata'],
    }),
  ),
} as const

const TimeRangeSchema = Type.Object(timeRangeMembers)

/** Unix milliseconds, from inclusive and to exclusive; undefined is without an end. */
export interface TimeRange {
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
}

/** The zone with this name; the default is UTC. @throws RequestError where there is none */
export function readZone(name: string | undefined): TimeZone {
  const read = readNamedZone(name ?? 'UTC')
  if ('fault' in read) throw invalid('tz', `tz ${read.fault}`)
  return read.zone
}

/** Reads a time, or the beginning of a day of the zone, in Unix milliseconds. @throws RequestError */
export function readBound(
  text: string | undefined,
  param: string,
  zone: TimeZone,
): number | undefined {
  const unixMs = boundOf(text, param)
  if (unixMs === undefined || text === undefined || !isDate(text)) return unixMs
  return zone.startOf(toTimestamp(unixMs).slice(0, text.length))
}

/** The requested range by a preset, or by `from` and `to`; without these all times. @throws RequestError */
export function readTimeRange(query: Static<typeof TimeRangeSchema>, nowMs: number): TimeRange {
  const { from, to } = query
  const preset = rangeOfPreset(query, nowMs)
  if (from === undefined && to === undefined) return preset
  if (query.time_preset !== undefined)
    throw invalid('time_preset', 'time_preset cannot be combined with from or to')
  const zone = readZone(query.tz)
  const [fromMs, toMs] = [readBound(from, 'from', zone), readBound(to, 'to', zone)]
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs)
    throw invalid('from', 'from must not be later than to')
  return { fromMs, toMs }
}

function rangeOfPreset(query: Static<typeof TimeRangeSchema>, nowMs: number): TimeRange {
  const { time_preset: preset, start_time: start, end_time: end } = query
  const zone = readZone(query.tz)
  if (preset !== 'custom')
    for (const name of ['start_time', 'end_time'] as const)
      if (query[name] !== undefined)
        throw invalid(name, `${name} is allowed only with time_preset=custom`)
  if (preset === undefined) return { fromMs: undefined, toMs: undefined }
  if (preset !== 'custom') return rangeOf(preset, zone, nowMs)
  const fromMs = customBound(start, 'start_time', zone)
  const toMs = customBound(end, 'end_time', zone)
  if (fromMs > toMs) throw invalid('start_time', 'start_time must not be later than end_time')
  return { fromMs, toMs }
}

const UNIX_SECONDS = /^(?:0|[1-9]\d{0,14})$/

/** Unix seconds, or a time as `from` and `to` take it, in Unix milliseconds. @throws RequestError */
function customBound(text: string | undefined, param: string, zone: TimeZone): number {
  if (text === undefined) throw invalid(param, `time_preset=custom needs ${param}`)
  if (UNIX_SECONDS.test(text) && Number(text) <= LATEST_S) return Number(text) * 1_000
  // In a query string a bare `+` of an offset arrives as a space.
  const isTime = readTime(text.replace(' ', '+')) !== undefined
  const unixMs = isTime ? readBound(text, param, zone) : undefined
  if (unixMs === undefined)
    throw invalid(param, `${param} must be Unix seconds up to ${LATEST_S}, or ${TIME_WORDS}`)
  return unixMs
}

function invalid(param: string, message: string): RequestError {
  return new RequestError('parameter_invalid', message, param)
}

function rangeOf(preset: Exclude<Preset, 'custom'>, zone: TimeZone, nowMs: number): TimeRange {
  // Settlements during the query count too: a range up to now has no end.
  const last = (lengthMs: number): TimeRange => ({ fromMs: nowMs - lengthMs, toMs: undefined })
  switch (preset) {
    case '1h':
      return last(HOUR_MS)
    case '24h':
      return last(DAY_MS)
    case '7d':
      return last(7 * DAY_MS)
    case '30d':
      return last(30 * DAY_MS)
    case 'today':
    case 'yesterday': {
      const todayMs = zone.startOf(zone.dayAt(nowMs))
      if (preset === 'today') return { fromMs: todayMs, toMs: undefined }
      return { fromMs: zone.startOf(zone.dayAt(todayMs - 1)), toMs: todayMs }
    }
    case 'this_month':
    case 'last_month': {
      const { fromMs } = zone.monthAt(nowMs)
      return preset === 'this_month' ? { fromMs, toMs: undefined } : zone.monthAt(fromMs - 1)
    }
    default:
      return unreachable(preset)
  }
}

/** The longest time of lists that read the events of all requests in it. */
const MAX_RECENT_MS = 31 * DAY_MS

/** The asked time, or the last 24 hours; at most 31 days. @throws RequestError */
export function readRecentRange(
  query: Parameters<typeof readTimeRange>[0],
  nowMs: number,
): { readonly fromMs: number; readonly toMs: number } {
  const asked = readTimeRange(query, nowMs)
  const toMs = asked.toMs ?? nowMs + 1
  const fromMs = asked.fromMs ?? toMs - DAY_MS
  if (toMs - fromMs > MAX_RECENT_MS)
    throw new RequestError('query_too_long', 'more than 31 days: narrow the range')
  return { fromMs, toMs }
}

/** A range in answers: Unix seconds, whole or not; null without an end. */
export function shownRange({ fromMs, toMs }: TimeRange) {
  const seconds = (ms: number | undefined): number | null => (ms === undefined ? null : ms / 1_000)
  return { start_time: seconds(fromMs), end_time: seconds(toMs) }
}

export const ShownRangeMembers = {
  start_time: Type.Union([Type.Number(), Type.Null()], {
    description: 'Unix seconds, inclusive; null: from the beginning.',
  }),
  end_time: Type.Union([Type.Number(), Type.Null()], {
    description: 'Unix seconds, exclusive; null: up to now.',
  }),
} as const
