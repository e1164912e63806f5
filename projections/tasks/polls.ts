import type { Queryable } from '../engine/queryable.ts'
import type { PollKind } from './fold.ts'

/** Which of these are open still and leased to this owner. */
export async function stillLeased(
  db: Queryable,
  owner: string,
  platformIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (platformIds.length === 0) return new Set()
  const { rows } = await db.query<{
    platform_id: string
    kind: PollKind
    lease_owner: string | null
  }>({
    name: 'tasks.polls.leased',
    // By their ids alone: asked for the kind as well, Postgres may go through all that are of it.
    text: `select platform_id, kind, lease_owner from tasks.polls where platform_id = any($1::text[])`,
    values: [platformIds],
  })
  const leased = rows.filter((row) => row.kind === 'poll' && row.lease_owner === owner)
  return new Set(leased.map((row) => row.platform_id))
}

export interface Reschedule {
  readonly platformId: string
  readonly dueAtMs: number
  /** When upstream was asked, if it answered. */
  readonly observedAtMs?: number
  /** When a look began that upstream had to be shown in and was not; the first one is kept. */
  readonly absentAtMs?: number
}

/**
 * Says when leased tasks are due next. Ones that are no longer leased by this owner, or that ended
 * meanwhile, stay as they are.
 */
export async function reschedulePolls(
  db: Queryable,
  owner: string,
  items: readonly Reschedule[],
): Promise<void> {
  if (items.length === 0) return
  await db.query({
    // A row that is locked is just ending or being moved by a projection: it is left to its lease.
    text: `with mine as (
             select p.platform_id, i.due_at_ms, i.observed_at_ms, i.absent_at_ms
             from unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
               as i (platform_id, due_at_ms, observed_at_ms, absent_at_ms)
             join tasks.polls p on p.platform_id = i.platform_id and p.lease_owner = $1
             for update of p skip locked)
           update tasks.polls p
           set due_at_ms = mine.due_at_ms, lease_owner = null,
               observed_at_ms = coalesce(mine.observed_at_ms, p.observed_at_ms),
               absent_at_ms = coalesce(p.absent_at_ms, mine.absent_at_ms)
           from mine where p.platform_id = mine.platform_id`,
    values: [
      owner,
      items.map(({ platformId }) => platformId),
      items.map(({ dueAtMs }) => Math.round(dueAtMs)),
      items.map(({ observedAtMs }) => observedAtMs ?? null),
      items.map(({ absentAtMs }) => absentAtMs ?? null),
    ],
  })
}

/** Makes tasks of a kind that this owner has leased, besides these, due at a time. */
export async function recallPolls(
  db: Queryable,
  recall: {
    readonly owner: string
    readonly kind: PollKind
    readonly besidesIds: readonly string[]
    readonly dueAtMs: number
  },
): Promise<void> {
  await db.query({
    // As in `reschedulePolls`: a locked row is left to its lease.
    text: `with left_over as (
             select platform_id from tasks.polls
             where kind = $2 and lease_owner = $1 and platform_id <> all($3::text[])
             for update skip locked)
           update tasks.polls p
           set due_at_ms = least(p.due_at_ms, $4::bigint), lease_owner = null
           from left_over where p.platform_id = left_over.platform_id`,
    values: [recall.owner, recall.kind, recall.besidesIds, Math.round(recall.dueAtMs)],
  })
}

/** Ends watches this owner has leased: nothing is looked for under them any more. */
export async function endWatches(
  db: Queryable,
  owner: string,
  platformIds: readonly string[],
): Promise<void> {
  if (platformIds.length === 0) return
  await db.query({
    // As in `reschedulePolls`: a locked row is left to its lease.
    text: `with mine as (
             select platform_id from tasks.polls
             where platform_id = any($2::text[]) and kind = 'watch' and lease_owner = $1
             for update skip locked)
           delete from tasks.polls p using mine where p.platform_id = mine.platform_id`,
    values: [owner, platformIds],
  })
}

/** What became of leases that were to be freed. */
export interface ReleasedPolls {
  readonly released: number
  /** Owners of leases that were not: their rows were locked. */
  readonly heldBy: readonly string[]
}

/** Makes what these owners have leased due now. */
export async function releasePolls(
  db: Queryable,
  owners: readonly string[],
  nowMs: number,
): Promise<ReleasedPolls> {
  const { rows } = await db.query<{ released: number; held_by: string[] }>({
    name: 'tasks.polls.release',
    // Who moves a locked row may leave the lease as it is, and waiting for two could wait for ever.
    text: `with left_over as (
             select platform_id from tasks.polls where lease_owner = any($1::text[])
             for update skip locked),
           released as (
             update tasks.polls p
             set due_at_ms = least(p.due_at_ms, $2::bigint), lease_owner = null
             from left_over where p.platform_id = left_over.platform_id
             returning p.platform_id)
           select (select count(*)::int from released) as released,
                  array(select distinct p.lease_owner from tasks.polls p
                        where p.lease_owner = any($1::text[])
                          and p.platform_id not in (select platform_id from released)) as held_by`,
    values: [owners, Math.round(nowMs)],
  })
  const [row] = rows
  return { released: row?.released ?? 0, heldBy: row?.held_by ?? [] }
}

/** Makes due now what is due further ahead than anything of its kind is ever put off. */
export async function recallStrayPolls(
  db: Queryable,
  nowMs: number,
  farthestMs: Readonly<Record<PollKind, number>>,
): Promise<void> {
  await db.query({
    // As in `reschedulePolls`: a locked row is left to the next time.
    text: `with stray as (
             select p.platform_id from unnest($2::text[], $3::bigint[]) as f (kind, farthest_ms)
             join tasks.polls p on p.kind = f.kind and p.due_at_ms > $1::bigint + f.farthest_ms
             for update of p skip locked)
           update tasks.polls p set due_at_ms = $1, lease_owner = null
           from stray where p.platform_id = stray.platform_id`,
    values: [
      Math.round(nowMs),
      Object.keys(farthestMs),
      Object.values(farthestMs).map((ms) => Math.round(ms)),
    ],
  })
}

/** When upstream answered for a task, in Unix milliseconds. */
export interface Observation {
  readonly platformId: string
  readonly observedAtMs: number
}

/** Notes when upstream answered for tasks, outside the schedule. What ended meanwhile has no row. */
export async function noteObservations(
  db: Queryable,
  observations: readonly Observation[],
): Promise<void> {
  if (observations.length === 0) return
  await db.query({
    name: 'tasks.polls.observed',
    // As in `reschedulePolls`: a locked row is left to the next answer.
    text: `with seen as (
             select p.platform_id, i.observed_at_ms
             from unnest($1::text[], $2::bigint[]) as i (platform_id, observed_at_ms)
             join tasks.polls p on p.platform_id = i.platform_id
             for update of p skip locked)
           update tasks.polls p set observed_at_ms = greatest(p.observed_at_ms, seen.observed_at_ms)
           from seen where p.platform_id = seen.platform_id`,
    values: [
      observations.map(({ platformId }) => platformId),
      observations.map(({ observedAtMs }) => Math.round(observedAtMs)),
    ],
  })
}

/** How many tasks wait for a worker of ours, counted up to `limit`: of all tenants, and of one. */
export async function waitingTasks(
  db: Queryable,
  { tenantId, limit }: { readonly tenantId: string; readonly limit: number },
): Promise<{ readonly all: number; readonly own: number }> {
  const { rows } = await db.query<{ all: number; own: number }>({
    name: 'tasks.polls.waiting',
    text: `select count(*)::int as all, count(*) filter (where tenant_id = $2)::int as own
           from (select tenant_id from tasks.polls where kind = 'make' limit $1) as waiting`,
    values: [limit, tenantId],
  })
  return rows[0] ?? { all: 0, own: 0 }
}

/** How many tasks await polling, by kind, and since when the longest due one waits. */
export async function pollBacklog(
  db: Queryable,
  nowMs: number,
): Promise<readonly { readonly kind: string; readonly open: number; readonly due: number }[]> {
  const { rows } = await db.query<{ kind: string; open: string; due: string }>({
    name: 'tasks.polls.backlog',
    text: `select kind, count(*) as open, count(*) filter (where due_at_ms <= $1) as due
           from tasks.polls group by kind order by kind`,
    values: [nowMs],
  })
  return rows.map((row) => ({ kind: row.kind, open: Number(row.open), due: Number(row.due) }))
}
