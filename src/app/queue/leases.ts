import type { Pool } from 'pg'
import type { RoundOutcome } from './policy-loop.ts'
import {
  endJobs,
  type LeaseTerms,
  recallOwn,
  reschedule,
  type Rescheduled,
  stillLeased,
  type WorkTable,
} from './tables.ts'

/** What a statement that failed left leased is due again after this: a round that fails again must not spin. */
const RECALL_MS = 2_000

/** The time by which jobs are due, and how many are leased at most. */
export type LeaseQuery = Pick<LeaseTerms, 'nowMs' | 'limit'>

/**
 * The jobs of one lane that this process has leased. A statement that fails may have leased jobs that the
 * process does not know of, or may have left leased what it does not work on any more. Both are found by
 * comparing the rows with what is known here, before anything else is leased: no job waits for the end
 * of its lease because of a failed statement.
 */
export interface Leases<Item, Query extends LeaseQuery, Note extends string> {
  /** Leases what is due, one statement after the other. @throws what Postgres does */
  readonly take: (query: Query) => Promise<readonly Item[]>
  /** Says when these are due next. @throws what Postgres does; they are leased still */
  readonly giveBack: (items: readonly Rescheduled<Note>[]) => Promise<void>
  /** Nothing is left to do for these. @throws what Postgres does; they are leased still */
  readonly end: (ids: readonly string[]) => Promise<void>
  /** Those of these that are still leased to us; the others are forgotten. @throws what Postgres does */
  readonly confirm: (items: readonly Item[]) => Promise<readonly Item[]>
  /** These have ended, or are leased to another: nothing is left to give back. */
  readonly forget: (ids: Iterable<string>) => void
  /** These are not worked on any more, and their rows still say that they are leased. */
  readonly abandon: (ids: Iterable<string>) => void
  readonly has: (id: string) => boolean
  readonly ids: () => Iterable<string>
  readonly idOf: (item: Item) => string
}

export interface LeaseSettings<Item, Query extends LeaseQuery, Note extends string> {
  readonly table: WorkTable<Note>
  readonly owner: string
  readonly lane: string
  readonly leaseMs: number
  readonly lease: (
    db: Pool,
    lease: Query & LeaseTerms & { readonly lane: string },
  ) => Promise<readonly Item[]>
  readonly idOf: (item: Item) => string
  /** Jobs that may be of this lane and are leased to this process by other means. */
  readonly alsoKnown?: () => Iterable<string>
}

export function createLeases<Item, Query extends LeaseQuery, Note extends string>(
  pool: Pool,
  settings: LeaseSettings<Item, Query, Note>,
): Leases<Item, Query, Note> {
  const { table, owner, lane, leaseMs, lease, idOf, alsoKnown = () => [] } = settings
  const known = new Set<string>()
  /** How often a row was left that may say something else than `known`, and how many of those are mended. */
  let doubts = 0
  let mended = 0
  const recall = async (nowMs: number): Promise<void> => {
    const seen = doubts
    if (seen === mended) return
    const besidesIds = [...known, ...alsoKnown()]
    await recallOwn(pool, table, { owner, lane, besidesIds, dueAtMs: nowMs + RECALL_MS })
    mended = seen
  }
  const leaseNow = async (query: Query): Promise<readonly Item[]> => {
    await recall(query.nowMs)
    try {
      const due = await lease(pool, { ...query, owner, leaseMs, lane })
      for (const item of due) known.add(idOf(item))
      return due
    } catch (error) {
      doubts += 1
      throw error
    }
  }
  let last: Promise<unknown> = Promise.resolve()
  const forget = (ids: Iterable<string>): void => {
    for (const id of ids) known.delete(id)
  }
  return {
    take: (query) => {
      // A recall while another lease is not answered yet would free what that one has leased.
      const taken = last.then(() => leaseNow(query))
      last = taken.catch(() => undefined)
      return taken
    },
    giveBack: async (items) => {
      await reschedule(pool, table, owner, items)
      forget(items.map(({ id }) => id))
    },
    end: async (ids) => {
      await endJobs(pool, table, { owner, lane }, ids)
      forget(ids)
    },
    confirm: async (items) => {
      const leased = await stillLeased(pool, table, { owner, lane }, items.map(idOf))
      forget(items.map(idOf).filter((id) => !leased.has(id)))
      return items.filter((item) => leased.has(idOf(item)))
    },
    forget,
    abandon: (ids) => {
      for (const id of ids) if (known.delete(id)) doubts += 1
    },
    has: (id) => known.has(id),
    ids: () => known,
    idOf,
  }
}

/** What is to be done in rounds over whatever of a lane is due. */
export interface LeasedJob<Item, Query extends LeaseQuery, Note extends string> {
  readonly leases: Leases<Item, Query, Note>
  readonly query: () => Query
  /** Says which are due again and which are over. It names neither of those that have ended, or that it left undone. */
  readonly work: (
    items: readonly Item[],
    signal: AbortSignal,
  ) => Promise<{
    readonly again: readonly Rescheduled<Note>[]
    readonly over?: readonly string[]
  }>
  /** When one is due again after work that failed as a whole. */
  readonly putOff: (item: Item) => Rescheduled<Note>
}

/** One round of a job after the other: each waits for the work on all that it has leased. */
export function createRound<Item, Query extends LeaseQuery, Note extends string>({
  leases,
  query,
  work,
  putOff,
}: LeasedJob<Item, Query, Note>): (signal: AbortSignal) => Promise<RoundOutcome> {
  return async (signal) => {
    const asked = query()
    const due = await leases.take(asked)
    if (due.length === 0) return 'idle'
    const ids = due.map(leases.idOf)
    try {
      const { again, over = [] } = await work(due, signal).catch(async (error: unknown) => {
        await leases.giveBack(due.map(putOff))
        throw error
      })
      await leases.giveBack(again)
      await leases.end(over)
      // What was left undone is freed as this process stops.
      leases.forget(ids)
    } catch (error) {
      leases.abandon(ids)
      throw error
    }
    return due.length === asked.limit ? 'more' : 'some'
  }
}
