import type { Queryable } from '../../../projections/engine/queryable.ts'
import { type Currency, formatAmount } from '../../kernel/money.ts'

/**
 * What replicas tell each other of the calls they have in flight (`ops.text_spending`), and
 * admissions of tasks read. Only the database's clock says how old a telling is.
 */

/** A replica that told nothing for this long has died, and its calls with it: they settle nothing more. */
export const SILENT_REPLICA_MS = 30_000
/** What a dead replica told is dropped after this, at the earliest. */
const FORGET_AFTER_MS = 120_000
/** A spool that nobody opens for this long is lost, and what waits there with it. */
const LOST_SPOOL_AFTER_MS = 7 * 86_400_000
const SWEEP_LIMIT = 5_000

/** What is spoken for of one balance, or of one budget in one of its periods. */
export interface Spending {
  /** Of a budget its name, which no tenant has. */
  readonly tenantId: string
  readonly currency: Currency
  /** Holds of calls in flight. */
  readonly heldPico: bigint
  /** Settled, and not known to be in the ledger. */
  readonly settledPico: bigint
  /** Of the last settlement; undefined where one of them has no known place in the log. */
  readonly position: bigint | undefined
  /** Where those without a place may wait; undefined where none does. */
  readonly spool: string | undefined
}

/** Whether the replica of a row told of it lately; also where the database's clock was set. */
export const isFreshSql = (toldAt: string, silentMs: string): string =>
  `abs(extract(epoch from clock_timestamp() - ${toldAt})) < ${silentMs}::float8 / 1000`

/** Says what a replica has spoken for; a later turn is never overwritten by an earlier one. */
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

/** What was in a spool is in the log now: what was told of it counts until the ledger has it. */
export async function spoolEmptied(db: Queryable, spool: string): Promise<void> {
  await db.query('update ops.text_spending set spool = null, closed = null where spool = $1', [
    spool,
  ])
}

/**
 * Notes for replicas that fell silent how far the log reaches now: it has all that they settled, but for
 * what waits in a spool, also what they did not come to tell. A bounded number at a time.
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
  // Asked for once they are known to be silent.
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

/** Drops what dead replicas left and the ledger has, a bounded number at a time. */
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
