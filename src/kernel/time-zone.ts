import { fromTimestamp } from './clock.ts'
import { createLru } from './lru.ts'
import { isDate } from './read-time.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** No month is longer, in any zone. */
const BEYOND_A_MONTH_MS = 32 * DAY_MS
/** No clock on earth is further from UTC than this, either way. */
const MAX_OFFSET_MS = 15 * HOUR_MS
/** Names of the zone database; offsets such as `+05:30` are not accepted. */
const zoneName = /^[A-Za-z][\w+-]*(?:\/[\w+-]+){0,2}$/
/** Names that are kept, in small letters: the zone database has about 600. */
const MAX_KEPT = 1_000
/** Offsets are looked up this far apart: no clock has ever changed twice within six days. */
const STEP_MS = 6 * DAY_MS
/** Offsets are looked up for this long a time together. */
const STEPS_TOGETHER = 60
const BLOCK_MS = STEPS_TOGETHER * STEP_MS
/** Blocks whose offsets a zone keeps: more than those of the longest report. */
const MAX_KEPT_BLOCKS = 16

const kept = createLru<string, TimeZone>(MAX_KEPT)

/** The offset of a zone from UTC since a time. */
interface Offset {
  /** Unix milliseconds, inclusive. */
  readonly fromMs: number
  readonly offsetMs: number
}

/** A calendar day of a zone, of 23, 24 or 25 hours as a rule, or an hour or month of its calendar. */
export interface ZonedPeriod {
  /** `YYYY-MM-DD`; of an hour RFC 3339 with its offset, of a month `YYYY-MM`. */
  readonly name: string
  /** Unix milliseconds, inclusive. */
  readonly fromMs: number
  /** Unix milliseconds, exclusive. */
  readonly toMs: number
}

/** A zone of the IANA database, e.g. `Asia/Kolkata`: when its days begin. */
export class TimeZone {
  readonly #format: Intl.DateTimeFormat
  /** The offsets of each block of time, oldest first, by the number of the block since 1970. */
  readonly #offsets = createLru<number, readonly Offset[]>(MAX_KEPT_BLOCKS)

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

  /**
   * A zone by its name in any case. All names of one zone share one formatter, which takes much
   * memory. @throws RangeError for an unknown name
   */
  static named(name: string): TimeZone {
    const key = name.toLowerCase()
    const known = kept.get(key)
    if (known !== undefined) return known
    const made = new TimeZone(name)
    const canonicalKey = made.#format.resolvedOptions().timeZone.toLowerCase()
    const zone = kept.get(canonicalKey) ?? made
    kept.set(canonicalKey, zone)
    kept.set(key, zone)
    return zone
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
    return this.reaches(fromTimestamp(day))
  }

  /** The calendar month of the zone that holds a time: Unix milliseconds, the end exclusive. */
  monthAt(unixMs: number): { readonly fromMs: number; readonly toMs: number } {
    const fromMs = this.startOf(`${this.dayAt(unixMs).slice(0, 7)}-01`)
    const next = this.dayAt(fromMs + BEYOND_A_MONTH_MS).slice(0, 7)
    return { fromMs, toMs: this.startOf(`${next}-01`) }
  }

  /** Days from the one in which the first time lies to the one before the second, in order. */
  daysBetween(fromMs: number, toMs: number): readonly ZonedPeriod[] {
    const days: ZonedPeriod[] = []
    let wallMs = startOfDay(this.#wallMs(fromMs))
    let beginsMs = this.reaches(wallMs)
    while (beginsMs < toMs) {
      wallMs += DAY_MS
      const endsMs = this.reaches(wallMs, beginsMs + DAY_MS)
      // Some zones skipped a whole calendar day.
      if (endsMs > beginsMs)
        days.push({ name: dayText(wallMs - DAY_MS), fromMs: beginsMs, toMs: endsMs })
      beginsMs = endsMs
    }
    return days
  }

  /** The months of those days, each from its first day among them. */
  monthsBetween(fromMs: number, toMs: number): readonly ZonedPeriod[] {
    const months: ZonedPeriod[] = []
    for (const { name: day, ...bounds } of this.daysBetween(fromMs, toMs)) {
      const name = day.slice(0, 7)
      const last = months.at(-1)
      if (last?.name === name) months[months.length - 1] = { ...last, toMs: bounds.toMs }
      else months.push({ name, ...bounds })
    }
    return months
  }

  /**
   * The hours of those days that touch the range. Each day is cut from its beginning: after a change
   * of the clock by half an hour, hours of that day begin at the half.
   */
  hoursBetween(fromMs: number, toMs: number): readonly ZonedPeriod[] {
    const hours: ZonedPeriod[] = []
    for (const day of this.daysBetween(fromMs, toMs))
      for (let beginsMs = day.fromMs; beginsMs < day.toMs; beginsMs += HOUR_MS) {
        const endsMs = Math.min(beginsMs + HOUR_MS, day.toMs)
        if (endsMs > fromMs && beginsMs < toMs)
          hours.push({ name: this.secondAt(beginsMs), fromMs: beginsMs, toMs: endsMs })
      }
    return hours
  }

  /** A time in the zone with its milliseconds, RFC 3339 with its offset. */
  timestampAt(unixMs: number): string {
    const text = this.secondAt(unixMs)
    const ms = String(unixMs % 1_000).padStart(3, '0')
    return `${text.slice(0, 19)}.${ms}${text.slice(19)}`
  }

  /** A time in the zone without its milliseconds, RFC 3339 with its offset. */
  secondAt(unixMs: number): string {
    const wallMs = this.#wallMs(unixMs)
    const minutes = Math.round((wallMs - unixMs) / 60_000)
    const two = (number: number): string => String(Math.abs(Math.trunc(number))).padStart(2, '0')
    const offset = `${minutes < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`
    return `${new Date(wallMs).toISOString().slice(0, 19)}${offset}`
  }

  /**
   * When local time first reaches a time or passes it, Unix milliseconds; of one that the clock repeats, always the
   * same of both. @param wallMs the local time as if it were UTC, a whole second
   */
  reaches(wallMs: number, likelyMs = wallMs): number {
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

  /** The local time in the zone, as if it were UTC, in whole seconds. */
  #wallMs(unixMs: number): number {
    return Math.floor(unixMs / 1_000) * 1_000 + this.#offsetAt(unixMs)
  }

  #offsetAt(unixMs: number): number {
    const block = Math.floor(unixMs / BLOCK_MS)
    let offsets = this.#offsets.get(block)
    if (offsets === undefined) {
      offsets = this.#readOffsets(block * BLOCK_MS)
      this.#offsets.set(block, offsets)
    }
    return offsets.findLast(({ fromMs }) => fromMs <= unixMs)?.offsetMs ?? 0
  }

  /** The offset at the beginning of a block, and each change within it. */
  #readOffsets(blockMs: number): readonly Offset[] {
    let last = { fromMs: blockMs, offsetMs: this.#readOffset(blockMs) }
    const offsets = [last]
    for (let step = 1; step <= STEPS_TOGETHER; step += 1) {
      const stepMs = blockMs + step * STEP_MS
      const offsetMs = this.#readOffset(stepMs)
      if (offsetMs === last.offsetMs) continue
      last = { fromMs: this.#changeBefore(stepMs, offsetMs), offsetMs }
      offsets.push(last)
    }
    return offsets
  }

  /** When the clock changed to this offset, in the step that ends at a time. */
  #changeBefore(stepMs: number, offsetMs: number): number {
    let [beforeMs, atMs] = [stepMs - STEP_MS, stepMs]
    while (atMs - beforeMs > 1_000) {
      const middleMs = beforeMs + Math.floor((atMs - beforeMs) / 2_000) * 1_000
      if (this.#readOffset(middleMs) === offsetMs) atMs = middleMs
      else beforeMs = middleMs
    }
    return atMs
  }

  /** @param unixMs a whole second */
  #readOffset(unixMs: number): number {
    return this.#readWallMs(unixMs) - unixMs
  }

  #readWallMs(unixMs: number): number {
    const part: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
    for (const { type, value } of this.#format.formatToParts(unixMs)) part[type] = Number(value)
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part
    return Date.UTC(year, month - 1, day, hour, minute, second)
  }
}

function startOfDay(wallMs: number): number {
  return Math.floor(wallMs / DAY_MS) * DAY_MS
}

function dayText(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 10)
}
