import type { PeriodClosed } from '../../src/domain/statement/events.ts'
import type { Currency } from '../../src/kernel/money.ts'
import type { Queryable } from '../engine/queryable.ts'
import type { PeriodFacts, PeriodState, VoidEnd, VoidProposal } from './projection.ts'

export type { PeriodFacts, PeriodState, VoidEnd, VoidProposal } from './projection.ts'

/** A close of a month; `closed` is its event without the rows of the statement. */
export interface PeriodRow {
  readonly tenantId: string
  /** `<currency>/<n>/<attempt>`. */
  readonly periodId: string
  readonly state: PeriodState
  readonly closed: PeriodFacts
  /** The last proposal to void it, whether or not it has ended; null: none. */
  readonly voidProposal: VoidProposal | null
  /** How the last proposal ended; null: it has not. */
  readonly voidEnd: VoidEnd | null
}

/** A close with the rows of its statement. */
export interface WholePeriod extends PeriodRow {
  readonly sums: PeriodClosed['sums']
  readonly refunds: PeriodClosed['refunds']
}

const columns = `tenant_id as "tenantId", period_id as "periodId", state, closed,
                 void_proposal as "voidProposal", void_end as "voidEnd"`

/** The periods of a month that stand, of these tenants or of all, by tenant and currency. */
export async function periodsOfMonth(
  db: Queryable,
  {
    month,
    tenantIds,
  }: { readonly month: string; readonly tenantIds?: readonly string[] | undefined },
): Promise<readonly PeriodRow[]> {
  const { rows } = await db.query<PeriodRow>({
    name: 'statements.of_month',
    text: `select ${columns} from statements.periods
           where month = $1 and ($2::text[] is null or tenant_id = any($2)) and state <> 'voided'
           order by tenant_id, currency`,
    values: [month, tenantIds ?? null],
  })
  return rows
}

interface OfCurrency {
  readonly tenantId: string
  readonly currency: Currency
}

/** Every close of a tenant in a currency, the voided ones included, in order. */
export async function listPeriods(
  db: Queryable,
  { tenantId, currency }: OfCurrency,
): Promise<readonly PeriodRow[]> {
  const { rows } = await db.query<PeriodRow>({
    name: 'statements.list',
    text: `select ${columns} from statements.periods
           where tenant_id = $1 and currency = $2
           order by n, (closed ->> 'attempt')::int`,
    values: [tenantId, currency],
  })
  return rows
}

/** The closes of a tenant in a currency that stand, in order. */
export async function standingPeriods(
  db: Queryable,
  of: OfCurrency,
): Promise<readonly PeriodRow[]> {
  return (await listPeriods(db, of)).filter(({ state }) => state !== 'voided')
}

/**
 * The close of a month: the one with this number of a statement, by default the one that stands, or else the last one,
 * which is voided; undefined if there is none.
 */
export async function periodOf(
  db: Queryable,
  {
    tenantId,
    currency,
    month,
    statement,
  }: OfCurrency & { readonly month: string; readonly statement?: string | undefined },
): Promise<WholePeriod | undefined> {
  const { rows } = await db.query<WholePeriod>({
    name: 'statements.one',
    text: `select ${columns}, sums, refunds from statements.periods
           where tenant_id = $1 and currency = $2 and month = $3
             and ($4::text is null or closed ->> 'statement' = $4)
           order by (closed ->> 'attempt')::int desc limit 1`,
    values: [tenantId, currency, month, statement ?? null],
  })
  return rows[0]
}

/** A close of which it is proposed to void it. */
export type WaitingVoid = PeriodRow & { readonly voidProposal: VoidProposal }

/** Voids that wait for an approval at a time, of a tenant or of all without one, oldest first. */
export async function waitingVoids(
  db: Queryable,
  page: { readonly tenantId: string | undefined; readonly nowMs: number; readonly limit: number },
): Promise<readonly WaitingVoid[]> {
  const { rows } = await db.query<WaitingVoid>({
    name: 'statements.waiting_voids',
    text: `select ${columns} from statements.periods
           where state = 'void_proposed' and ($1::text is null or tenant_id = $1)
             and (void_proposal ->> 'expiresAt')::timestamptz > to_timestamp($2::bigint / 1000.0)
           order by void_proposal ->> 'proposedAt', tenant_id, period_id limit $3`,
    values: [page.tenantId ?? null, page.nowMs, page.limit],
  })
  return rows
}

/** Counts the voids that other users proposed and that wait for an approval, of all tenants, up to a bound. */
export async function countVoidsToDecide(
  db: Queryable,
  of: {
    /** The user who would decide them. */
    readonly tenantId: string
    readonly userId: string
    readonly nowMs: number
    readonly atMost: number
  },
): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    name: 'statements.voids_to_decide',
    text: `select count(*)::int as count from (
             select from statements.periods
             where state = 'void_proposed'
               and (void_proposal ->> 'expiresAt')::timestamptz > to_timestamp($3::bigint / 1000.0)
               and (jsonb_typeof(void_proposal -> 'by') is distinct from 'object'
                    or (void_proposal -> 'by' ->> 'tenantId', void_proposal -> 'by' ->> 'userId') <> ($1, $2))
             limit $4) found`,
    values: [of.tenantId, of.userId, of.nowMs, of.atMost],
  })
  return rows[0]?.count ?? 0
}

/** The keys that sign statements, or did, as verifiers take them, in the order of the log. */
export async function publishedKeys(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ readonly vkey: string }>({
    name: 'statements.keys',
    text: 'select vkey from statements.keys order by position',
  })
  return rows.map(({ vkey }) => vkey)
}
