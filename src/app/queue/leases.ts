import type { Pool } from 'pg'
import type { RoundOutcome } from './policy-loop.ts'
import {
  endJobs,
  type LeaseTerms,
  makeOwnDue,
  reschedule,
  type Rescheduled,
  stillLeased,
  type WorkTable,
} from './tables.ts'

/** A failed statement's leased jobs are due again after this, so failing rounds do not spin. */
const RECALL_MS = 2_000

/** The time by which jobs are due, and the most to lease. */
export type LeaseQuery = Pick<LeaseTerms, 'nowMs' | 'limit'>

/**
 * The jobs of one lane that this process has leased. A failed statement may have leased jobs that
 * the process does not know, or left jobs leased that it does not work on any more. Before the next
 * lease, the process compares the rows with its memory and finds both: no job waits for the end of
 * its lease because of a failed statement. Nor does one wait because its row was locked: pending
 * writes are repeated before the next lease.
 */
export interface Leases<Item, Query extends LeaseQuery, Note extends string> {
  /** Leases due jobs, one statement after the other. @throws errors of Postgres */
  readonly take: (query: Query) => Promise<readonly Item[]>
  /**
   * Sets the times at which these are due next; for locked rows before the next lease. @throws
   * errors of Postgres; the jobs stay leased
   */
  readonly reschedule: (items: readonly Rescheduled<Note>[]) => Promise<void>
  /** Ends finished jobs; locked ones later. @throws errors of Postgres; the jobs stay leased */
  readonly end: (ids: readonly string[]) => Promise<void>
  /**
   * Returns the jobs that this process still leases, and forgets the others. @throws errors of
   * Postgres
   */
  readonly confirm: (items: readonly Item[]) => Promise<readonly Item[]>
  /** These jobs have ended, or another process leases them: they need not be rescheduled. */
  readonly forget: (ids: Iterable<string>) => void
  /** This process does not work on these any more, but their rows still have its lease. */
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
  /** Jobs of this lane that this process may have leased by other means. */
  readonly otherIds?: () => Iterable<string>
}

export function createLeases<Item, Query extends LeaseQuery, Note extends string>(
  pool: Pool,
  settings: LeaseSettings<Item, Query, Note>,
): Leases<Item, Query, Note> {
  const { table, owner, lane, leaseMs, lease, idOf, otherIds = () => [] } = settings
  const known = new Set<string>()
  /**
   * Number of times that a row may have become different from `known`, and number of those that
   * were repaired.
   */
  let doubts = 0
  let mended = 0
  const rows = createRowWriter(pool, settings)
  const recall = async (nowMs: number): Promise<void> => {
    const seen = doubts
    if (seen === mended) return
    const besidesIds = [...known, ...otherIds(), ...rows.lockedIds()]
    const dueAtMs = nowMs + RECALL_MS
    const skipped = await makeOwnDue(pool, table, { owner, lane, besidesIds, dueAtMs })
    if (skipped.length === 0) mended = seen
  }
  const leaseNow = async (query: Query): Promise<readonly Item[]> => {
    await rows.tryAgain()
    await recall(query.nowMs)
    try {
      const due = await lease(pool, { ...query, owner, leaseMs, lane })
      // A job whose lease had ended is leased again: its pending write is outdated.
      rows.forget(due.map(idOf))
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
      // A recall during an unanswered lease would free the jobs of that lease.
      const taken = last.then(() => leaseNow(query))
      last = taken.catch(() => undefined)
      return taken
    },
    reschedule: async (items) => {
      await rows.reschedule(items)
      forget(items.map(({ id }) => id))
    },
    end: (ids) => rows.end(ids).then(() => forget(ids)),
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

/**
 * Writes the due times and ends of jobs, and remembers the writes that locked rows did not accept.
 */
function createRowWriter<Note extends string>(
  pool: Pool,
  {
    table,
    owner,
    lane,
  }: { readonly table: WorkTable<Note>; readonly owner: string; readonly lane: string },
) {
  const again = new Map<string, Rescheduled<Note>>()
  const over = new Set<string>()
  const put = async (items: readonly Rescheduled<Note>[]): Promise<void> => {
    const skipped = new Set(await reschedule(pool, table, owner, items))
    for (const item of items)
      if (skipped.has(item.id)) again.set(item.id, item)
      else again.delete(item.id)
  }
  const end = async (ids: readonly string[]): Promise<void> => {
    const skipped = new Set(await endJobs(pool, table, { owner, lane }, ids))
    for (const id of ids)
      if (skipped.has(id)) over.add(id)
      else over.delete(id)
  }
  return {
    reschedule: put,
    end,
    tryAgain: async (): Promise<void> => {
      await put([...again.values()])
      await end([...over])
    },
    forget: (ids: readonly string[]): void => {
      for (const id of ids) {
        again.delete(id)
        over.delete(id)
      }
    },
    lockedIds: () => [...again.keys(), ...over],
  }
}

/** Work in rounds over the due jobs of a lane. */
export interface LeasedJob<Item, Query extends LeaseQuery, Note extends string> {
  readonly leases: Leases<Item, Query, Note>
  readonly query: () => Query
  /** Returns jobs due again and finished ones, without those ended otherwise or not done. */
  readonly work: (
    items: readonly Item[],
    signal: AbortSignal,
  ) => Promise<{
    readonly again: readonly Rescheduled<Note>[]
    readonly over?: readonly string[]
  }>
  /** Time at which a job is due again after the work failed as a whole. */
  readonly putOff: (item: Item) => Rescheduled<Note>
}

/** Returns the function that runs one round, which waits for all work that it leased. */
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
        await leases.reschedule(due.map(putOff))
        throw error
      })
      await leases.reschedule(again)
      await leases.end(over)
      // This process is stopping, which frees the jobs it did not do.
      leases.forget(ids)
    } catch (error) {
      leases.abandon(ids)
      throw error
    }
    return due.length === asked.limit ? 'more' : 'some'
  }
}
