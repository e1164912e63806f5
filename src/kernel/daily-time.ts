import { fromTimestamp } from './clock.ts'
import { readZone } from './read-zone.ts'
import type { TimeZone } from './time-zone.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** A time such as `03:30`, and a zone after it. */
const form = /^([01]\d|2[0-3]):([0-5]\d)(?: +(\S+))?$/

/** A time that each day has once, also a day whose clock skips or repeats it. */
export interface DailyTime {
  readonly minuteOfDay: number
  readonly zone: TimeZone
}

/** Reads `03:30`, which is in UTC, or `03:30 Europe/Berlin`; a text is why it is neither. */
export function readDailyTime(text: string): DailyTime | string {
  const [, hour, minute, name = 'UTC'] = form.exec(text) ?? []
  if (hour === undefined || minute === undefined)
    return 'must be a time of day such as 03:30 in UTC, or 03:30 Europe/Berlin'
  const read = readZone(name)
  if ('fault' in read) return `${name} ${read.fault}`
  return { minuteOfDay: Number(hour) * 60 + Number(minute), zone: read.zone }
}

/** A time in UTC, which needs no reading. */
export function dailyTimeInUtc(hour: number, minute: number): DailyTime {
  const read = readZone('UTC')
  if ('fault' in read) throw new RangeError(read.fault)
  return { minuteOfDay: hour * 60 + minute, zone: read.zone }
}

/** The last of these times that is not after another time; both in Unix milliseconds. */
export function lastDailyTime({ minuteOfDay, zone }: DailyTime, nowMs: number): number {
  for (let dayMs = fromTimestamp(zone.dayAt(nowMs)); ; dayMs -= DAY_MS) {
    const atMs = zone.reaches(dayMs + minuteOfDay * MINUTE_MS)
    if (atMs <= nowMs) return atMs
  }
}
