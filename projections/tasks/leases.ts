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
 * the end of the lease, so another process takes it when its owner has died.
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
