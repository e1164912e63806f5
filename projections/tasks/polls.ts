import type { Queryable } from '../engine/queryable.ts'
import { awaitsUsageSql } from './tables.ts'

/** Time at which upstream answered for a task, in Unix milliseconds. */
export interface Observation {
  readonly platformId: string
  readonly observedAtMs: number
}

/**
 * Notes when upstream answered for tasks, outside the schedule. A task that ended meanwhile has no
 * row.
 */
export async function noteObservations(
  db: Queryable,
  observations: readonly Observation[],
): Promise<void> {
  if (observations.length === 0) return
  await db.query({
    name: 'tasks.polls.observed',
    // A locked row is just ending or being moved: it is left to the next answer.
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

/**
 * Number of tasks that wait for a gateway worker, counted up to `limit`: of all tenants, and of
 * one.
 */
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

/** Number of tasks that await polling, by kind, and since when the longest due one waits. */
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

/** The earliest times of tasks that a worker has to ask for; undefined without such a task. */
export interface EarliestPolls {
  /** Since when a task is due that no worker has taken up, Unix milliseconds. */
  readonly dueMs: number | undefined
  /** Since when it is unknown whether the provider accepted a task, Unix milliseconds. */
  readonly uncertainMs: number | undefined
}

/** Reads the earliest times by the ends of an index, however many tasks are open. */
export async function earliestPolls(db: Queryable): Promise<EarliestPolls> {
  const { rows } = await db.query<Readonly<Record<'due' | 'uncertain', string | null>>>({
    name: 'tasks.polls.earliest',
    text: `select least((select min(due_at_ms) from tasks.polls where kind = 'poll'),
                        (select min(due_at_ms) from tasks.polls where kind = 'reconcile')) as due,
                  (select min(requested_at_ms) from tasks.polls where kind = 'reconcile') as uncertain`,
  })
  const msOf = (text: string | null | undefined) => (text == null ? undefined : Number(text))
  return { dueMs: msOf(rows[0]?.due), uncertainMs: msOf(rows[0]?.uncertain) }
}

/** Tasks that the provider has made without saying what was used. */
interface AwaitingUsage {
  readonly open: number
  /** The first time at which one of them is given up, Unix milliseconds; undefined without any. */
  readonly deadlineMs: number | undefined
}

/** Counts the open tasks whose result is made and whose usage is not known. */
export async function awaitingUsage(
  db: Queryable,
  /** How long tasks of a family are asked for after their request. */
  waitsMs: Readonly<Record<string, number>>,
): Promise<AwaitingUsage> {
  const { rows } = await db.query<{ open: string; deadline_ms: string | null }>({
    name: 'tasks.awaiting-usage',
    text: `select count(*) as open,
             min(greatest(requested_at_ms + coalesce(wait_ms, 0), expires_at_ms)) as deadline_ms
           from tasks.tasks left join unnest($1::text[], $2::bigint[]) as w (family, wait_ms)
             using (family)
           where ${awaitsUsageSql}`,
    values: [Object.keys(waitsMs), Object.values(waitsMs)],
  })
  const { open = '0', deadline_ms: deadlineMs = null } = rows[0] ?? {}
  return { open: Number(open), deadlineMs: deadlineMs === null ? undefined : Number(deadlineMs) }
}

/** How far the polling of a task has come. */
interface PollProgress {
  /** How often it was asked for since it was submitted. */
  readonly polls: number
  /** Time of the last answer, Unix milliseconds; null before. */
  readonly observedAtMs: number | null
}

/** Finds how far a task is polled; undefined for one that is polled no more. */
export async function pollProgress(
  db: Queryable,
  platformId: string,
): Promise<PollProgress | undefined> {
  const { rows } = await db.query<{ polls: number; observed_at_ms: string | null }>({
    name: 'tasks.polls.progress',
    text: 'select attempts as polls, observed_at_ms from tasks.polls where platform_id = $1',
    values: [platformId],
  })
  const [row] = rows
  return (
    row && {
      polls: row.polls,
      observedAtMs: row.observed_at_ms === null ? null : Number(row.observed_at_ms),
    }
  )
}

/**
 * Makes a task due at once that waits to be asked for, if no worker has it. Returns whether it is.
 */
export async function askAgain(db: Queryable, platformId: string, nowMs: number): Promise<boolean> {
  const { rows } = await db.query({
    name: 'tasks.polls.ask',
    // A locked row is just being leased, moved or ended.
    text: `with free as (
             select platform_id from tasks.polls
             where platform_id = $1 and kind in ('poll', 'reconcile') and lease_owner is null
             for update skip locked)
           update tasks.polls p set due_at_ms = least(p.due_at_ms, $2::bigint)
           from free where p.platform_id = free.platform_id returning p.platform_id`,
    values: [platformId, Math.round(nowMs)],
  })
  return rows.length > 0
}
