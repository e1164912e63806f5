import { fromTimestamp } from './clock.ts'
import { createLru } from './lru.ts'
import { isDate } from './read-time.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** No clock on earth is further from UTC than this, either way. */
const MAX_OFFSET_MS = 15 * HOUR_MS
/** Names of the zone database; offsets such as `+05:30` are not accepted. */
const zoneName = /^[A-Za-z][\w+-]*(?:\/[\w+-]+){0,2}$/
/** Formatters that are kept: there are about 600 names, and each may be written in any case. */
const MAX_KEPT = 1_000

const kept = createLru<string, TimeZone>(MAX_KEPT)

/** One calendar day in a zone: usually 23, 24 or 25 hours. */
interface ZonedDay {
  /** `YYYY-MM-DD`. */
  readonly day: string
  /** Unix milliseconds, inclusive. */
  readonly fromMs: number
  /** Unix milliseconds, exclusive. */
  readonly toMs: number
}

/** A zone of the IANA database, e.g. `Asia/Kolkata`: when its days begin. */
export class TimeZone {
  readonly #format: Intl.DateTimeFormat

  /** @throws RangeError where there is no such zone */
  constructor(name: string) {
    if (!zoneName.test(name)) throw new RangeError(`no such time zone: ${name}`)
    this.#format = new Intl.DateTimeFormat('en-US-u-hc-h23', {
      timeZone: name,
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  }

  /** A zone by a name that was read before, cached: those of older settings too. @throws RangeError for an unknown name */
  static named(name: string): TimeZone {
    const known = kept.get(name)
    if (known !== undefined) return known
    const made = new TimeZone(name)
    kept.set(name, made)
    return made
  }

  /** The calendar day in the zone at a time, `YYYY-MM-DD`. */
  dayAt(unixMs: number): string {
    return dayText(this.#wallMs(unixMs))
  }

  /**
   * When a day, `YYYY-MM-DD`, begins in the zone, Unix milliseconds. @throws RangeError for an
   * impossible day
   */
  startOf(day: string): number {
    if (!isDate(day)) throw new RangeError(`not a day: ${day}`)
    return this.#reaches(fromTimestamp(day))
  }

  /** Days from the one in which the first time lies to the one before the second, in order. */
  daysBetween(fromMs: number, toMs: number): readonly ZonedDay[] {
    const days: ZonedDay[] = []
    let wallMs = startOfDay(this.#wallMs(fromMs))
    let beginsMs = this.#reaches(wallMs)
    while (beginsMs < toMs) {
      wallMs += DAY_MS
      const endsMs = this.#reaches(wallMs, beginsMs + DAY_MS)
      // Some zones skipped a whole calendar day.
      if (endsMs > beginsMs)
        days.push({ day: dayText(wallMs - DAY_MS), fromMs: beginsMs, toMs: endsMs })
      beginsMs = endsMs
    }
    return days
  }

  /** The local time in the zone, as if it were UTC. */
  #wallMs(unixMs: number): number {
    const part: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
    for (const { type, value } of this.#format.formatToParts(unixMs)) part[type] = Number(value)
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part
    return Date.UTC(year, month - 1, day, hour, minute, second)
  }

  /** When local time first reaches this midnight or passes it. */
  #reaches(wallMs: number, likelyMs = wallMs): number {
    if (this.#wallMs(likelyMs) === wallMs && this.#wallMs(likelyMs - 1_000) < wallMs)
      return likelyMs
    let beforeMs = wallMs - MAX_OFFSET_MS
    let atMs = wallMs + MAX_OFFSET_MS
    while (atMs - beforeMs > 1_000) {
      const middleMs = beforeMs + Math.floor((atMs - beforeMs) / 2_000) * 1_000
      if (this.#wallMs(middleMs) < wallMs) beforeMs = middleMs
      else atMs = middleMs
    }
    return atMs
  }
}

function startOfDay(wallMs: number): number {
  return Math.floor(wallMs / DAY_MS) * DAY_MS
}

function dayText(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 10)
}
