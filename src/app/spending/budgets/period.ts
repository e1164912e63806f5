import type { Budget } from '../../../domain/account/budgets.ts'
import { TimeZone } from '../../../kernel/time-zone.ts'

/** A day or a month by the clocks of a zone, unix milliseconds; the end is exclusive. */
export interface Period {
  readonly fromMs: number
  readonly toMs: number
}

/** The day or the month in which a time lies. */
export function periodAt(kind: Budget['period'], timeZone: string, nowMs: number): Period {
  const zone = TimeZone.named(timeZone)
  const today = zone.dayAt(nowMs)
  const [first, next] = kind === 'day' ? [today, dayAfter(today)] : monthOf(today)
  return { fromMs: zone.startOf(first), toMs: zone.startOf(next) }
}

function dayAfter(day: string): string {
  const date = new Date(`${day}T00:00:00Z`)
  date.setUTCDate(date.getUTCDate() + 1)
  return date.toISOString().slice(0, 10)
}

/** Its first day and that of the next one. */
function monthOf(day: string): readonly [string, string] {
  const first = `${day.slice(0, 7)}-01`
  const date = new Date(`${first}T00:00:00Z`)
  date.setUTCMonth(date.getUTCMonth() + 1)
  return [first, date.toISOString().slice(0, 10)]
}
