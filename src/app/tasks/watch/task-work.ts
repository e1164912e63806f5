import type { Queryable } from '../../../../projections/engine/queryable.ts'
import type { PollKind } from '../../../../projections/tasks/query.ts'
import {
  createLeases,
  type LeaseQuery,
  type Leases,
  type LeaseSettings,
} from '../../queue/leases.ts'
import { createForeseeingLook, earliestDue, type ForeseeingLook } from '../../queue/lane-look.ts'
import { createKnownEmpty, type SeenModels } from '../../queue/seen-models.ts'
import { leaseRows, type LeaseTerms, type Rescheduled, type WorkTable } from '../../queue/tables.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { TaskDeps } from '../deps.ts'

/** The workers' queue of tasks: the projection writes a row for each task that needs work. */

type TaskNote = 'observed_at_ms' | 'absent_at_ms'
export type RescheduledPoll = Rescheduled<TaskNote>

export const taskWork: WorkTable<TaskNote> = {
  name: 'tasks.polls',
  id: 'platform_id',
  lane: 'kind',
  notes: {
    /** Time of the query to upstream, if it answered. */
    observed_at_ms: 'last',
    /** Start of a look that must have shown the task and did not. */
    absent_at_ms: 'first',
  },
}

/** A task to poll upstream, leased to the caller. */
export interface DuePoll {
  readonly platformId: string
  readonly tenantId: string
  readonly family: string
  readonly channelId: string
  readonly nativeId: string | null
  readonly kind: PollKind
  readonly requestedAtMs: number
  readonly expiresAtMs: number
  /** Number of polls since its row has this kind. */
  readonly attempts: number
  /** Start of the first look that proves the task absent, if a later one agrees. */
  readonly absentAtMs: number | undefined
  /** Time of upstream's last answer for it, as far as a row has it. */
  readonly observedAtMs: number | undefined
  /** End of the lease. */
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

/** Filter of the due tasks to lease. */
interface PollQuery extends LeaseQuery {
  /** Families to leave out. */
  readonly besides?: readonly string[]
  /** Channels to leave out. */
  readonly besidesChannels?: readonly string[]
}

type PollLease = PollQuery & LeaseTerms & { readonly lane?: string }

/** Leases up to `limit` tasks that are due, the longest due first. */
export function leaseDuePolls(db: Queryable, lease: PollLease): Promise<readonly DuePoll[]> {
  return leasePolls(db, lease, {
    text: `select platform_id from tasks.polls
           where ($5::text is null or kind = $5) and due_at_ms <= $2
             and family <> all($6::text[]) and channel_id <> all($7::text[])
           order by due_at_ms limit $4
           for update skip locked`,
    values: [lease.lane ?? null, lease.besides ?? [], lease.besidesChannels ?? []],
  })
}

/** Further candidates read for each leased task: another replica may have locked some of them. */
const CANDIDATES = 4

/**
 * Leases tasks that wait for gateway workers, tenants in turn: first the tenant with the fewest
 * leases over all replicas. A tenant's own tasks are leased in the order in which they are due.
 */
export function leaseInTurn(db: Queryable, lease: PollLease): Promise<readonly DuePoll[]> {
  return leasePolls(db, lease, {
    text: `select p.platform_id
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
    values: [lease.lane ?? 'make', lease.besides ?? [], CANDIDATES * lease.limit],
  })
}

async function leasePolls(
  db: Queryable,
  lease: LeaseTerms,
  due: { readonly text: string; readonly values: readonly unknown[] },
): Promise<readonly DuePoll[]> {
  const columns = `p.platform_id, p.tenant_id, p.family, p.channel_id, p.native_id, p.kind,
                   p.requested_at_ms, p.expires_at_ms, p.attempts, p.absent_at_ms,
                   p.observed_at_ms`
  const rows = await leaseRows<PollRecord>(db, taskWork, lease, due, columns)
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
    leasedUntilMs: lease.nowMs + lease.leaseMs,
  }))
}

/** How a process looks for due tasks. */
export interface TaskLookSettings {
  /**
   * Milliseconds for which it relies on what it saw of the queue. It expects the tasks that it creates; those of
   * other processes may wait this much longer for it.
   */
  readonly foreseenMs: number
  /** With them it asks nothing while there are no tasks and no event adds one. */
  readonly models?: SeenModels | undefined
}

/** A process that creates tasks itself, as most workers do, relies on what it saw for this long. */
export const FORESEEN_MS = 2_000

/** Looks for due tasks of every kind, for all rounds of a process; by default it asks each time. */
export function createTaskLook(
  db: Queryable,
  monotonic: Clock,
  { foreseenMs = 0, models }: Partial<TaskLookSettings> = {},
): ForeseeingLook {
  const find = (lanes: readonly string[]) => earliestDue(db, taskWork, lanes)
  const empty = models && createKnownEmpty(models, 'tasks', monotonic)
  return createForeseeingLook(find, foreseenMs, monotonic, empty)
}

export type TaskLeases = Leases<DuePoll, PollQuery, TaskNote>

/** The leases of one kind of task work; by default the longest due are leased first. */
export function createTaskLeases(
  { pool, dueTasks }: Pick<TaskDeps, 'pool' | 'dueTasks'>,
  settings: Pick<LeaseSettings<DuePoll, PollQuery, TaskNote>, 'owner' | 'leaseMs' | 'otherIds'> & {
    readonly lane: PollKind
    readonly lease?: typeof leaseDuePolls
  },
): TaskLeases {
  const { lease = leaseDuePolls } = settings
  const leases = createLeases<DuePoll, PollQuery, TaskNote>(pool, {
    ...settings,
    lease: async (db, query) =>
      (await dueTasks.hasDue(query.lane, query.nowMs)) ? lease(db, query) : [],
    table: taskWork,
    idOf: ({ platformId }) => platformId,
  })
  return {
    ...leases,
    reschedule: async (items) => {
      await leases.reschedule(items)
      if (items.length > 0) dueTasks.expect()
    },
  }
}
