import type { Queryable } from '../../../projections/engine/queryable.ts'
import { type Currency, formatAmount, parseAmount } from '../../kernel/money.ts'

/**
 * Reports of replicas: holds and settlements (`ops.text_spending`), which admissions of tasks read
 * too, and running calls (`ops.calls_under_way`). There are two tables because a settlement
 * survives its replica and a crash of Postgres, and a running call survives neither; and because
 * replicas of the previous release read and write these two. Only the database's clock measures a
 * report's age.
 */

/** A replica without a report for this long is dead: its calls settle nothing more. */
export const SILENT_REPLICA_MS = 30_000
/** A replica without a report for this long has no running calls any more. */
const SILENT_CALLS_MS = 10_000
/** A dead replica's report is deleted after this, at the earliest. */
const FORGET_AFTER_MS = 120_000
const SWEEP_LIMIT = 5_000

/** The counted unit: pico of a currency, or running calls. */
export type Unit = Currency | 'calls'

/** The use of one name by one replica: a tenant, a budget in one of its periods, or a limit. */
export interface Reported {
  readonly name: string
  readonly unit: Unit
  /** Holds of running calls. */
  readonly held: bigint
  /** Settled, and not known to be in the ledger. */
  readonly settled: bigint
  /** Position of the last settlement; undefined when the position of one is unknown. */
  readonly position: bigint | undefined
  /** The spool in which settlements without a position may wait; undefined when there is none. */
  readonly spool: string | undefined
}

/**
 * The reporting replica; of two reports of one replica the one with the higher turn is the later.
 */
export interface Reporter {
  readonly replica: string
  readonly turn: number
}

/** Whether a row's replica reported recently; also right after the database's clock was set. */
export const isFreshSql = (reportedAt: string, silentMs: string): string =>
  `abs(extract(epoch from clock_timestamp() - ${reportedAt})) < ${silentMs}::float8 / 1000`

/** Writes holds and settlements of a replica; an earlier turn never overwrites a later one. */
export async function reportSpending(
  db: Queryable,
  { replica, turn }: Reporter,
  reported: readonly Reported[],
): Promise<void> {
  await db.query({
    name: 'spending-report',
    text: `insert into ops.text_spending as s
             (tenant_id, currency, replica, held, settled, position, spool, turn, told_at)
           select tenant_id, currency, $1, held, settled, position, spool, $2, clock_timestamp()
           from unnest($3::text[], $4::text[], $5::numeric[], $6::numeric[], $7::bigint[], $8::text[])
             as t (tenant_id, currency, held, settled, position, spool)
           -- Always in one order: two reports at once must not wait for each other crosswise.
           order by tenant_id, currency
           on conflict (tenant_id, currency, replica) do update
           set held = excluded.held, settled = excluded.settled, position = excluded.position,
               spool = excluded.spool, closed = null,
               turn = excluded.turn, told_at = excluded.told_at
           where s.turn < excluded.turn`,
    values: [
      replica,
      turn,
      reported.map(({ name }) => name),
      reported.map(({ unit }) => unit),
      reported.map(({ held }) => formatAmount(held)),
      reported.map(({ settled }) => formatAmount(settled)),
      reported.map(({ position }) => position ?? null),
      reported.map(({ spool }) => spool ?? null),
    ],
  })
}

/** The report of another replica for one name and currency. */
interface ReportedElsewhere {
  readonly currency: Currency
  readonly heldPico: bigint
  readonly settledPico: bigint
  /** Position of the last settlement; undefined when the position of one is unknown. */
  readonly position: bigint | undefined
  /** Settlements may wait in a spool. */
  readonly isSpooled: boolean
  /** Set once the replica died: up to here the log has all it settled, except spooled ones. */
  readonly closed: bigint | undefined
}

/** Reads holds and settlements that the other replicas reported, by name. */
export async function readSpendingElsewhere(
  db: Queryable,
  names: readonly string[],
  exceptReplica: string,
): Promise<ReadonlyMap<string, readonly ReportedElsewhere[]>> {
  const { rows } = await db.query<{
    name: string
    currency: Currency
    held: string
    settled: string
    position: string | null
    is_spooled: boolean
    closed: string | null
  }>({
    name: 'spending-elsewhere',
    text: `select tenant_id as name, currency, held::text, settled::text, position,
                  spool is not null as is_spooled,
                  case when ${isFreshSql('told_at', '$3')} then null else closed end as closed
           from ops.text_spending where tenant_id = any($1::text[]) and replica <> $2`,
    values: [names, exceptReplica, SILENT_REPLICA_MS],
  })
  const reported = new Map<string, ReportedElsewhere[]>()
  for (const { name, currency, held, settled, position, closed, is_spooled: isSpooled } of rows) {
    const of = reported.get(name) ?? []
    of.push({
      currency,
      heldPico: parseAmount(held),
      settledPico: parseAmount(settled),
      position: position === null ? undefined : BigInt(position),
      isSpooled,
      closed: closed === null ? undefined : BigInt(closed),
    })
    reported.set(name, of)
  }
  return reported
}

/**
 * Whether calls of a tenant hold money at a replica that reported recently, or settlements of it wait in a spool. A call
 * is reported about a second after it began.
 */
export async function doCallsHold(db: Queryable, tenantId: string): Promise<boolean> {
  const { rows } = await db.query({
    name: 'spending-holds',
    text: `select from ops.text_spending
           where tenant_id = $1 and ((held > 0 and ${isFreshSql('told_at', '$2')})
             or (settled > 0 and spool is not null)) limit 1`,
    values: [tenantId, SILENT_REPLICA_MS],
  })
  return rows.length > 0
}

/** Writes a replica's calls in flight. It has no turn: one loop writes all reports of a replica. */
export async function reportCalls(
  db: Queryable,
  { replica }: Reporter,
  reported: readonly Reported[],
): Promise<void> {
  await db.query({
    name: 'calls-report',
    text: `insert into ops.calls_under_way as c (holder, replica, calls, told_at)
           select holder, $1, calls, clock_timestamp()
           from unnest($2::text[], $3::integer[]) as t (holder, calls) order by holder
           on conflict (holder, replica) do update
           set calls = excluded.calls, told_at = excluded.told_at`,
    values: [replica, reported.map(({ name }) => name), reported.map(({ held }) => Number(held))],
  })
}

/** Reads the number of calls that the other replicas have in flight, by name. */
export async function readCallsElsewhere(
  db: Queryable,
  names: readonly string[],
  exceptReplica: string,
): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await db.query<{ holder: string; calls: string }>({
    name: 'calls-elsewhere',
    text: `select holder, sum(calls) as calls from ops.calls_under_way
           where holder = any($1::text[]) and replica <> $2 and ${isFreshSql('told_at', '$3')}
           group by holder`,
    values: [names, exceptReplica, SILENT_CALLS_MS],
  })
  return new Map(rows.map(({ holder, calls }) => [holder, BigInt(calls)]))
}

/** The log now has all settlements of this spool: their reports count until the ledger has them. */
export async function spoolEmptied(db: Queryable, spool: string): Promise<void> {
  await db.query('update ops.text_spending set spool = null, closed = null where spool = $1', [
    spool,
  ])
}

/**
 * Records the current end of the log for silent replicas: the log has all of their settlements,
 * also unreported ones, except those that wait in a spool. An end that lies beyond it was that of a
 * log which went back since. Handles a bounded number per call.
 */
export async function closeSilentReplicas(
  db: Queryable,
  ledgerPosition: bigint,
  logEnd: () => Promise<bigint | undefined>,
): Promise<void> {
  const { rows } = await db.query<
    Readonly<Record<'tenant_id' | 'currency' | 'replica' | 'turn', string>>
  >({
    name: 'spending-silent',
    text: `select tenant_id, currency, replica, turn from ops.text_spending
           where (closed is null or closed > $3) and not (${isFreshSql('told_at', '$1')}) limit $2`,
    values: [SILENT_REPLICA_MS, SWEEP_LIMIT, ledgerPosition],
  })
  if (rows.length === 0) return
  // Read the log's end only after the replicas are known to be silent.
  const end = (await logEnd()) ?? 0n
  await db.query(
    `update ops.text_spending s set closed = least(s.closed, $1)
     from unnest($2::text[], $3::text[], $4::text[], $5::bigint[])
       as t (tenant_id, currency, replica, turn)
     -- One that reports again meanwhile is not closed.
     where s.tenant_id = t.tenant_id and s.currency = t.currency and s.replica = t.replica
       and s.turn = t.turn`,
    [
      end,
      rows.map((row) => row.tenant_id),
      rows.map((row) => row.currency),
      rows.map((row) => row.replica),
      rows.map((row) => row.turn),
    ],
  )
}

/** Deletes reports of dead replicas that the ledger has, a bounded number at a time. */
export async function purgeSpending(db: Queryable, ledgerPosition: bigint): Promise<void> {
  await db.query({
    name: 'spending-purge',
    text: `delete from ops.text_spending where (tenant_id, currency, replica) in (
             select tenant_id, currency, replica from ops.text_spending
             where not (${isFreshSql('told_at', '$1')})
               and closed <= $2 and (settled = 0 or position <= $2 or spool is null)
             -- One that reports at this moment is left alone.
             limit $3 for update skip locked)`,
    values: [FORGET_AFTER_MS, ledgerPosition, SWEEP_LIMIT],
  })
}

/** Has a row where there is one to purge. */
export const silentCallsSql = `select from ops.calls_under_way
  where not (${isFreshSql('told_at', String(SILENT_CALLS_MS))})`

/** Has a row while a replica is silent that has settlements or holds. */
export const silentSpendingSql = `select from ops.text_spending
  where not (${isFreshSql('told_at', String(SILENT_REPLICA_MS))})`

/** Deletes calls in flight of dead replicas, a bounded number at a time. */
export async function purgeCalls(db: Queryable): Promise<void> {
  await db.query({
    name: 'calls-purge',
    text: `delete from ops.calls_under_way where (holder, replica) in (
             select holder, replica from ops.calls_under_way
             where not (${isFreshSql('told_at', '$1')}) limit $2)`,
    values: [SILENT_CALLS_MS, SWEEP_LIMIT],
  })
}
