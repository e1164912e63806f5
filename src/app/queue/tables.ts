import type { Queryable } from '../../../projections/engine/queryable.ts'

/**
 * Each statement skips locked rows: another transaction is moving or ending them, or notes an answer
 * in them, and waiting for it could deadlock. What changes leased rows returns those that it skipped,
 * for another try.
 */

/**
 * A table with a row for each job: `due_at_ms`, `attempts` and `lease_owner` beside the job itself.
 * The names are written into statements.
 */
export interface WorkTable<Note extends string = string> {
  /** Name with its schema. */
  readonly name: string
  /** Primary key, a text. */
  readonly id: string
  /** The column with a job's lane: each round of a process leases one lane. */
  readonly lane: string
  /** Time columns that a reschedule may set: either the `first` or the `last` value stays. */
  readonly notes: Readonly<Record<Note, 'first' | 'last'>>
}

/** The owner of a lease, and how long it lasts. */
export interface LeaseTerms {
  readonly owner: string
  readonly nowMs: number
  readonly leaseMs: number
  readonly limit: number
}

/** Time at which a leased job is due next. */
export interface Rescheduled<Note extends string = string> {
  readonly id: string
  readonly dueAtMs: number
  /** Set when the count starts again. */
  readonly attempts?: number
  /** Unix milliseconds. */
  readonly notes?: Readonly<Partial<Record<Note, number | undefined>>>
}

/**
 * Leases the jobs that a statement finds and locks. Its own values begin at `$5`; `$2` is the time
 * and `$4` the limit.
 *
 * @param columns the columns to return of each job, of the table `p`
 */
export async function leaseRows<Row extends object>(
  db: Queryable,
  { name, id }: WorkTable,
  { owner, nowMs, leaseMs, limit }: LeaseTerms,
  due: { readonly text: string; readonly values: readonly unknown[] },
  columns: string,
): Promise<readonly Row[]> {
  const { rows } = await db.query<Row>({
    // Unnamed, so that it is planned for the table's present size, which varies widely.
    text: `with due as (${due.text})
           update ${name} p
           set due_at_ms = $2::bigint + $3::bigint, lease_owner = $1, attempts = p.attempts + 1
           from due where p.${id} = due.${id}
           returning ${columns}`,
    values: [owner, Math.round(nowMs), leaseMs, limit, ...due.values],
  })
  return rows
}

/** Finds the jobs of a lane, among these, that exist and are leased to this owner. */
export async function stillLeased(
  db: Queryable,
  { name, id, lane: laneColumn }: WorkTable,
  { owner, lane }: { readonly owner: string; readonly lane: string },
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const { rows } = await db.query<{ id: string; lane: string; lease_owner: string | null }>({
    name: `${name}.leased`,
    // Rows are selected by their ids alone: with a condition on the lane, Postgres may scan the
    // whole lane.
    text: `select ${id} as id, ${laneColumn} as lane, lease_owner from ${name}
           where ${id} = any($1::text[])`,
    values: [ids],
  })
  const leased = rows.filter((row) => row.lane === lane && row.lease_owner === owner)
  return new Set(leased.map((row) => row.id))
}

/**
 * Sets when jobs are due next; those that this owner does not lease any more stay unchanged. Returns
 * the ids of those that it leases still, as their rows were locked.
 */
export async function reschedule<Note extends string>(
  db: Queryable,
  { name, id, notes }: WorkTable<Note>,
  owner: string,
  items: readonly Rescheduled<Note>[],
): Promise<readonly string[]> {
  if (items.length === 0) return []
  const columns = Object.keys(notes) as Note[]
  const given = ['id', 'due_at_ms', 'attempts', ...columns]
  const arrays = columns.map((_, n) => `, $${n + 5}::bigint[]`)
  const sets = columns.map((column) => {
    const [one, other] = notes[column] === 'first' ? ['p', 'mine'] : ['mine', 'p']
    return `, ${column} = coalesce(${one}.${column}, ${other}.${column})`
  })
  const { rows } = await db.query<Skipped>({
    text: `with mine as (
             select i.* from unnest($2::text[], $3::bigint[], $4::int[]${arrays.join('')})
               as i (${given.join(', ')})
             join ${name} p on p.${id} = i.id and p.lease_owner = $1
             for update of p skip locked),
           done as (
             update ${name} p
             set due_at_ms = mine.due_at_ms, lease_owner = null,
                 attempts = coalesce(mine.attempts, p.attempts)${sets.join('')}
             from mine where p.${id} = mine.id
             returning p.${id})
           select p.${id} as skipped from ${name} p
           where p.${id} = any($2::text[]) and p.lease_owner = $1 ${isNotDone(id)}`,
    values: [
      owner,
      items.map((item) => item.id),
      items.map((item) => Math.round(item.dueAtMs)),
      items.map((item) => item.attempts ?? null),
      ...columns.map((column) => items.map((item) => item.notes?.[column] ?? null)),
    ],
  })
  return rows.map(({ skipped }) => skipped)
}

interface Skipped {
  readonly skipped: string
}

/** A statement sees the rows as they were before it: those that it has just changed are taken out. */
const isNotDone = (id: string): string => `and p.${id} not in (select ${id} from done)`

/** Ends finished jobs of a lane that this owner has leased; returns the ids of those that were locked. */
export async function endJobs(
  db: Queryable,
  { name, id, lane: laneColumn }: WorkTable,
  { owner, lane }: { readonly owner: string; readonly lane: string },
  ids: readonly string[],
): Promise<readonly string[]> {
  if (ids.length === 0) return []
  const { rows } = await db.query<Skipped>({
    text: `with mine as (
             select ${id} from ${name}
             where ${id} = any($3::text[]) and ${laneColumn} = $2 and lease_owner = $1
             for update skip locked),
           done as (delete from ${name} p using mine where p.${id} = mine.${id} returning p.${id})
           select p.${id} as skipped from ${name} p
           where p.${id} = any($3::text[]) and p.${laneColumn} = $2 and p.lease_owner = $1
             ${isNotDone(id)}`,
    values: [owner, lane, ids],
  })
  return rows.map(({ skipped }) => skipped)
}

/** Makes all other leased jobs of this owner in a lane due at a time; returns those that were locked. */
export async function makeOwnDue(
  db: Queryable,
  { name, id, lane: laneColumn }: WorkTable,
  recall: {
    readonly owner: string
    readonly lane: string
    readonly besidesIds: readonly string[]
    readonly dueAtMs: number
  },
): Promise<readonly string[]> {
  const { rows } = await db.query<Skipped>({
    text: `with left_over as (
             select ${id} from ${name}
             where ${laneColumn} = $2 and lease_owner = $1 and ${id} <> all($3::text[])
             for update skip locked),
           done as (
             update ${name} p
             set due_at_ms = least(p.due_at_ms, $4::bigint), lease_owner = null
             from left_over where p.${id} = left_over.${id}
             returning p.${id})
           select p.${id} as skipped from ${name} p
           where p.${laneColumn} = $2 and p.lease_owner = $1 and p.${id} <> all($3::text[])
             ${isNotDone(id)}`,
    values: [recall.owner, recall.lane, recall.besidesIds, Math.round(recall.dueAtMs)],
  })
  return rows.map(({ skipped }) => skipped)
}

/** Number of freed leases, and the owners that have more of them, in locked rows. */
interface FreedLeases {
  readonly released: number
  readonly heldBy: readonly string[]
}

/** Makes the leased jobs of these owners due now. */
export async function freeLeases(
  db: Queryable,
  { name, id }: WorkTable,
  owners: readonly string[],
  nowMs: number,
): Promise<FreedLeases> {
  const { rows } = await db.query<{ released: number; held_by: string[] }>({
    name: `${name}.release`,
    text: `with left_over as (
             select ${id} from ${name} where lease_owner = any($1::text[])
             for update skip locked),
           released as (
             update ${name} p
             set due_at_ms = least(p.due_at_ms, $2::bigint), lease_owner = null
             from left_over where p.${id} = left_over.${id}
             returning p.${id})
           select (select count(*)::int from released) as released,
                  array(select distinct p.lease_owner from ${name} p
                        where p.lease_owner = any($1::text[])
                          and p.${id} not in (select ${id} from released)) as held_by`,
    values: [owners, Math.round(nowMs)],
  })
  const [row] = rows
  return { released: row?.released ?? 0, heldBy: row?.held_by ?? [] }
}

/** Maximum time until a job of a lane is due, in milliseconds. */
export interface DueHorizon {
  readonly leaseMs: number
  /** The longest pause between two leases. */
  readonly waitMs: number
}

/** More than the difference between the processes' clocks, and than a statement's wait to begin. */
const SKEW_MS = 60_000

/** The jobs `p` that are due further ahead than their lane allows; its parameters are `strayValues`. */
const strayFrom = ({ name, lane }: WorkTable): string =>
  `from unnest($2::text[], $3::bigint[]) as f (lane, farthest_ms)
   join ${name} p on p.${lane} = f.lane and p.due_at_ms > $1::bigint + f.farthest_ms`

/** Has a row where there is a job to make due. */
export const strayJobsSql = (table: WorkTable): string => `select ${strayFrom(table)}`

export function strayValues(
  nowMs: number,
  ahead: Readonly<Record<string, DueHorizon>>,
): readonly [number, readonly string[], readonly number[]] {
  const farthest = ({ leaseMs, waitMs }: DueHorizon): number =>
    Math.round(leaseMs + Math.max(waitMs, SKEW_MS))
  return [Math.round(nowMs), Object.keys(ahead), Object.values(ahead).map(farthest)]
}

/**
 * Makes jobs due now that are due further ahead than their lane allows, because a clock was set
 * back since. It skips jobs that another process has just leased: its clock may be ahead of this
 * process's, or the lease may be later than the time of this statement.
 */
export async function makeStrayDue(
  db: Queryable,
  table: WorkTable,
  nowMs: number,
  ahead: Readonly<Record<string, DueHorizon>>,
): Promise<void> {
  const { name, id } = table
  await db.query({
    name: `${name}.stray`,
    text: `with stray as (
             select p.${id} ${strayFrom(table)}
             for update of p skip locked)
           update ${name} p set due_at_ms = $1, lease_owner = null
           from stray where p.${id} = stray.${id}`,
    values: [...strayValues(nowMs, ahead)],
  })
}
