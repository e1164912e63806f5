import type { Queryable } from '../../../projections/engine/queryable.ts'
import { type Currency, formatAmount } from '../../kernel/money.ts'

/**
 * Reports that replicas exchange about their calls in flight (`ops.text_spending`); admissions of
 * tasks read them too. Only the database's clock measures a report's age.
 */

/** A replica that reported nothing for this long is dead: its calls settle nothing more. */
export const SILENT_REPLICA_MS = 30_000
/** A dead replica's report is deleted after this, at the earliest. */
const FORGET_AFTER_MS = 120_000
/** A spool that no process opens for this long counts as lost, with the settlements in it. */
const LOST_SPOOL_AFTER_MS = 7 * 86_400_000
const SWEEP_LIMIT = 5_000

/** Holds and settlements against one balance, or against one budget in one of its periods. */
export interface Spending {
  /** For a budget, its name, which is no tenant's id. */
  readonly tenantId: string
  readonly currency: Currency
  /** Holds of calls in flight. */
  readonly heldPico: bigint
  /** Settled, and not known to be in the ledger. */
  readonly settledPico: bigint
  /** Position of the last settlement; undefined when the position of one is unknown. */
  readonly position: bigint | undefined
  /** The spool where settlements without a position may wait; undefined when there is none. */
  readonly spool: string | undefined
}

/** Whether a row's replica reported recently; also right after the database's clock was set. */
export const isFreshSql = (toldAt: string, silentMs: string): string =>
  `abs(extract(epoch from clock_timestamp() - ${toldAt})) < ${silentMs}::float8 / 1000`

/** Writes a replica's report; an earlier turn never overwrites a later one. */
export async function tellSpending(
  db: Queryable,
  teller: { readonly replica: string; readonly turn: number },
  spending: readonly Spending[],
): Promise<void> {
  if (spending.length === 0) return
  await db.query({
    name: 'call-spending-tell',
    text: `insert into ops.text_spending as s
             (tenant_id, currency, replica, held, settled, position, spool, turn, told_at)
           select tenant_id, currency, $1, held, settled, position, spool, $2, clock_timestamp()
           from unnest($3::text[], $4::text[], $5::numeric[], $6::numeric[], $7::bigint[], $8::text[])
             as t (tenant_id, currency, held, settled, position, spool)
           -- Always in one order: two tellings at once must not wait for each other crosswise.
           order by tenant_id, currency
           on conflict (tenant_id, currency, replica) do update
           set held = excluded.held, settled = excluded.settled, position = excluded.position,
               spool = excluded.spool, closed = null,
               turn = excluded.turn, told_at = excluded.told_at
           where s.turn < excluded.turn`,
    values: [
      teller.replica,
      teller.turn,
      spending.map(({ tenantId }) => tenantId),
      spending.map(({ currency }) => currency),
      spending.map(({ heldPico }) => formatAmount(heldPico)),
      spending.map(({ settledPico }) => formatAmount(settledPico)),
      spending.map(({ position }) => position ?? null),
      spending.map(({ spool }) => spool ?? null),
    ],
  })
}

/** The log now has all settlements of this spool: their reports count until the ledger has them. */
export async function spoolEmptied(db: Queryable, spool: string): Promise<void> {
  await db.query('update ops.text_spending set spool = null, closed = null where spool = $1', [
    spool,
  ])
}

/**
 * Notes for silent replicas where the log ends now: the log has everything they settled, also what
 * they did not report, except what waits in a spool. Handles a bounded number at a time.
 */
export async function closeSilentReplicas(
  db: Queryable,
  logEnd: () => Promise<bigint | undefined>,
): Promise<void> {
  const { rows } = await db.query<
    Readonly<Record<'tenant_id' | 'currency' | 'replica' | 'turn', string>>
  >(
    `select tenant_id, currency, replica, turn from ops.text_spending
     where closed is null and not (${isFreshSql('told_at', '$1')}) limit $2`,
    [SILENT_REPLICA_MS, SWEEP_LIMIT],
  )
  if (rows.length === 0) return
  // Read the log's end only after the replicas are known to be silent.
  const end = (await logEnd()) ?? 0n
  await db.query(
    `update ops.text_spending s set closed = $1
     from unnest($2::text[], $3::text[], $4::text[], $5::bigint[])
       as t (tenant_id, currency, replica, turn)
     -- One that tells again meanwhile is not closed.
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
export async function purgeCallSpending(db: Queryable, ledgerPosition: bigint): Promise<void> {
  await db.query(
    `delete from ops.text_spending where (tenant_id, currency, replica) in (
       select tenant_id, currency, replica from ops.text_spending
       where not (${isFreshSql('told_at', '$1')})
         and (closed <= $2 and (settled = 0 or position <= $2 or spool is null)
              or not (${isFreshSql('told_at', '$4')}))
       -- One that is told of at this moment is left alone.
       limit $3 for update skip locked)`,
    [FORGET_AFTER_MS, ledgerPosition, SWEEP_LIMIT, LOST_SPOOL_AFTER_MS],
  )
}
