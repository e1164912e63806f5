import { setImmediate } from 'node:timers/promises'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { KnownEmpty } from './seen-models.ts'
import type { WorkTable } from './tables.ts'

/** Whether a lane may have work that is due at a time. @throws errors of Postgres */
export type LaneLook = (lane: string, nowMs: number) => Promise<boolean>

/** The time at which the earliest job of each lane is due, in Unix milliseconds; a lane without jobs has none. */
type EarliestDue = ReadonlyMap<string, number>

/**
 * Finds when lanes have work. Those that ask in one turn of the event loop, as idle lanes do, share one
 * statement; it is planned once, because to lease, Postgres plans each time.
 */
function createSharedAsk(find: (lanes: readonly string[]) => Promise<EarliestDue>) {
  let next: { readonly lanes: Set<string>; readonly found: Promise<EarliestDue> } | undefined
  const open = () => {
    const lanes = new Set<string>()
    const found = setImmediate().then(() => {
      next = undefined
      return find([...lanes])
    })
    return { lanes, found }
  }
  return async (lane: string): Promise<number | undefined> => {
    const { lanes, found } = (next ??= open())
    lanes.add(lane)
    return (await found).get(lane)
  }
}

/** Looks for due work of many lanes; idle lanes share statements. */
export function createLaneLook(find: (lanes: readonly string[]) => Promise<EarliestDue>): LaneLook {
  const ask = createSharedAsk(find)
  return async (lane, nowMs) => ((await ask(lane)) ?? Number.POSITIVE_INFINITY) <= nowMs
}

/** Read models show expected jobs within this time; a later one is found once an answer is too old. */
const EXPECTED_MS = 2_000

/** A look that does not ask while it knows that nothing is due. */
export interface ForeseeingLook {
  readonly hasDue: LaneLook
  /** Jobs of any lane may appear soon: every look asks for a while. */
  readonly expect: () => void
}

/**
 * Looks for due work of many lanes, and asks only when the earliest job that it knows is due, when jobs are
 * expected, or when its last answer is too old: another process may have made jobs meanwhile.
 *
 * @param foreseenMs the age up to which an answer counts
 * @param monotonic measures the age of answers; due times are compared with the time that a look is given
 * @param empty knows of lanes without jobs until an event adds one
 */
export function createForeseeingLook(
  find: (lanes: readonly string[]) => Promise<EarliestDue>,
  foreseenMs: number,
  monotonic: Clock,
  empty?: KnownEmpty,
): ForeseeingLook {
  const ask = createSharedAsk(find)
  const known = new Map<string, { readonly earliestMs: number; readonly askedMs: number }>()
  let expectedUntilMs = Number.NEGATIVE_INFINITY
  return {
    hasDue: async (lane, nowMs) => {
      const askedMs = monotonic.nowMs()
      if (askedMs >= expectedUntilMs) {
        const last = known.get(lane)
        if (last !== undefined && last.earliestMs > nowMs && askedMs - last.askedMs < foreseenMs)
          return false
        if (empty?.has(lane) === true) return false
      }
      const noteEmpty = empty?.asking()
      const earliestMs = (await ask(lane)) ?? Number.POSITIVE_INFINITY
      known.set(lane, { earliestMs, askedMs })
      noteEmpty?.(lane, earliestMs === Number.POSITIVE_INFINITY)
      return earliestMs <= nowMs
    },
    expect: () => {
      expectedUntilMs = monotonic.nowMs() + EXPECTED_MS
    },
  }
}

/** Finds the earliest due time of each lane of a table. */
export async function earliestDue(
  db: Queryable,
  { name, lane }: WorkTable,
  lanes: readonly string[],
): Promise<EarliestDue> {
  const { rows } = await db.query<{ lane: string; due_at_ms: string }>({
    name: `${name}.due`,
    text: `select asked.lane, first.due_at_ms from unnest($1::text[]) as asked (lane)
           cross join lateral (
             select p.due_at_ms from ${name} p where p.${lane} = asked.lane
             order by p.due_at_ms limit 1) first`,
    values: [lanes],
  })
  return new Map(rows.map((row) => [row.lane, Number(row.due_at_ms)]))
}
