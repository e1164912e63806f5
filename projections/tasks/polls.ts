import type { Queryable } from '../engine/queryable.ts'
import type { PollKind } from './fold.ts'

/** A task that has to be asked for upstream, leased to the caller. */
export interface DuePoll {
  readonly platformId: string
  readonly tenantId: string
  readonly family: string
  readonly channelId: string
  readonly nativeId: string | null
  readonly kind: PollKind
  readonly requestedAtMs: number
  readonly expiresAtMs: number
  /** How often it was asked for since it is of this kind. */
  readonly attempts: number
  /** When the first look began that proves, if a later one agrees, that upstream lacks it. */
  readonly absentAtMs: number | undefined
  /** When upstream last answered for it, as far as that is written down. */
  readonly observedAtMs: number | undefined
  /** When the lease ends. */
  readonly leasedUntilMs: number
}

interface PollRecord {
  readonly platform_id: string
  readonly tenant_id: string
  readonly family: string
  readonly channel_id: string
  readonly native_id: string | null
  readonly kind: PollKind
  readonly requested_at_ms: string
  readonly expires_at_ms: string
  readonly attempts: number
  readonly absent_at_ms: string | null
  readonly observed_at_ms: string | null
}

/** Which of the tasks that are due are leased. */
export interface LeaseWish {
  readonly nowMs: number
  readonly limit: number
  /** None of these families. */
  readonly besides?: readonly string[]
  /** None of these channels. */
  readonly besidesChannels?: readonly string[]
}

/**
 * Leases up to `limit` tasks that are due, the longest due first. Leasing makes a task due again at
 * the end of the lease, so one whose owner dies is taken by somebody else then.
 */
export async function leaseDuePolls(
  db: Queryable,
  lease: LeaseWish & {
    readonly owner: string
    readonly leaseMs: number
    readonly kind?: PollKind
  },
): Promise<readonly DuePoll[]> {
  return leaseRows(db, lease, {
    // Without a name: planned for the table as it is, which grows and shrinks by its whole size.
    due: `select platform_id from tasks.polls
          where ($5::text is null or kind = $5) and due_at_ms <= $2
            and family <> all($6::text[]) and channel_id <> all($7::text[])
          order by due_at_ms limit $4
          for update skip locked`,
    values: [lease.kind ?? null, lease.besides ?? [], lease.besidesChannels ?? []],
  })
}

/** How many further candidates are looked at for each that is leased: another replica may lock some of them. */
const CANDIDATES = 4

/**
 * The same of tasks that wait for a worker of ours, tenant by tenant in turn: first those of the tenant of
 * which the fewest are leased, by all replicas together. A tenant's own go in the order in which they are due.
 */
export async function leaseInTurn(
  db: Queryable,
  lease: Parameters<typeof leaseDuePolls>[1],
): Promise<readonly DuePoll[]> {
  return leaseRows(db, lease, {
    due: `select p.platform_id
          from (select w.platform_id,
                       coalesce(u.leased, 0) + row_number() over (
                         partition by w.tenant_id order by w.due_at_ms, w.platform_id) as turn
                from tasks.polls w
                left join (select tenant_id, count(*) as leased from tasks.polls
                           where kind in ('make', 'finish') and lease_owner is not null
                           group by tenant_id) u on u.tenant_id = w.tenant_id
                where w.kind = $5 and w.due_at_ms <= $2 and w.family <> all($6::text[])
                order by turn, w.due_at_ms limit $7::bigint) c
          join tasks.polls p on p.platform_id = c.platform_id
          where p.kind = $5 and p.due_at_ms <= $2
          order by c.turn, p.due_at_ms limit $4
          for update of p skip locked`,
    values: [lease.kind ?? 'make', lease.besides ?? [], CANDIDATES * lease.limit],
  })
}

/** `due`: the statement that finds and locks them; its own values begin at `$5`. */
async function leaseRows(
  db: Queryable,
  { owner, nowMs, leaseMs, limit }: Parameters<typeof leaseDuePolls>[1],
  { due, values }: { readonly due: string; readonly values: readonly unknown[] },
): Promise<readonly DuePoll[]> {
  const { rows } = await db.query<PollRecord>({
    text: `with due as (${due})
           update tasks.polls p
           set due_at_ms = $2::bigint + $3::bigint, lease_owner = $1, attempts = p.attempts + 1
           from due where p.platform_id = due.platform_id
           returning p.platform_id, p.tenant_id, p.family, p.channel_id, p.native_id, p.kind,
                     p.requested_at_ms, p.expires_at_ms, p.attempts, p.absent_at_ms,
                     p.observed_at_ms`,
    values: [owner, nowMs, leaseMs, limit, ...values],
  })
  return rows.map((row) => ({
    platformId: row.platform_id,
    tenantId: row.tenant_id,
    family: row.family,
    channelId: row.channel_id,
    nativeId: row.native_id,
    kind: row.kind,
    requestedAtMs: Number(row.requested_at_ms),
    expiresAtMs: Number(row.expires_at_ms),
    attempts: row.attempts,
    absentAtMs: row.absent_at_ms === null ? undefined : Number(row.absent_at_ms),
    observedAtMs: row.observed_at_ms === null ? undefined : Number(row.observed_at_ms),
    leasedUntilMs: nowMs + leaseMs,
  }))
}

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
