import { fromTimestamp } from '../../kernel/clock.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import {
  countCredits,
  countLines,
  isOfLines,
  listLogs,
  type LogFilter,
  type LogRow,
  usage,
} from '../../../projections/ledger/query.ts'

export type { LogFilter, LogRow }

/** A list at one position of the log: its length, and any part of it. */
export interface Logs {
  readonly total: number
  readonly page: (page: {
    readonly offset: number
    readonly limit: number
  }) => Promise<readonly LogRow[]>
}

const DAY_MS = 86_400_000

type Run = <Found>(read: (db: Queryable) => Promise<Found>) => Promise<Found>

/** The number of lines on each UTC day: from the totals, or counted if the filter leaves few. */
async function linesByDay(run: Run, filter: LogFilter): Promise<ReadonlyMap<string, number>> {
  const { kinds, sourceIds, ...facts } = filter
  if (!kinds.includes('consume')) return new Map()
  if (sourceIds !== undefined || isOfLines(facts)) return run((db) => countLines(db, filter))
  const groups = await run((db) => usage(db, { filter: facts, groupBy: ['day'] }))
  const counts = new Map<string, number>()
  for (const { keys, lines } of groups) {
    const day = keys.day ?? ''
    counts.set(day, (counts.get(day) ?? 0) + lines)
  }
  return counts
}

/**
 * Opens a list: its length is the sum over its days, and a page is searched from the day in which
 * it begins, so that a late page costs no more than a page at the beginning of its day.
 */
export async function openLogs(run: Run, filter: LogFilter): Promise<Logs> {
  const lines = await linesByDay(run, filter)
  const withCredits = filter.kinds.some((kind) => kind !== 'consume')
  const credits = withCredits
    ? await run((db) => countCredits(db, filter))
    : new Map<string, number>()
  const days = [...new Set([...lines.keys(), ...credits.keys()])].toSorted().toReversed()
  const counted = days.map((day) => ({ day, n: (lines.get(day) ?? 0) + (credits.get(day) ?? 0) }))
  const total = counted.reduce((sum, { n }) => sum + n, 0)
  return {
    total,
    page: async ({ offset, limit }) => {
      let before = offset
      const begins = counted.find(({ n }) => {
        if (before < n) return true
        before -= n
        return false
      })
      if (begins === undefined) return []
      const endMs = fromTimestamp(begins.day) + DAY_MS
      const toMs = Math.min(filter.toMs ?? endMs, endMs)
      return run((db) => listLogs(db, { ...filter, toMs }, { offset: before, limit }))
    },
  }
}
