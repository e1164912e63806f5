import { type Quantity, toQuantity } from '../../../src/kernel/money.ts'
import type { Queryable } from '../../engine/queryable.ts'
import { creditsSql } from './credits.ts'
import { conjunction, type LedgerFilter, lineConditions, Parameters } from './filter.ts'

/** Movements of a tenant's money, as one list: usage, grants and adjustments. */
export const logKinds = ['consume', 'refund', 'topup', 'adjust'] as const
export type LogKind = (typeof logKinds)[number]

export interface LogFilter extends LedgerFilter {
  readonly kinds: readonly LogKind[]
  /** Platform ids of tasks, ids of calls. */
  readonly sourceIds?: readonly string[] | undefined
}

/**
 * One settled line, grant or adjustment; members that do not apply to a grant or an adjustment are
 * null.
 */
export interface LogRow {
  readonly kind: LogKind
  /** Id of the line, the grant or the adjustment. */
  readonly id: string
  readonly atMs: number
  readonly position: string
  readonly tenantId: string
  readonly userId: string | null
  readonly tokenId: string | null
  readonly model: string | null
  readonly surface: string | null
  readonly sourceId: string | null
  readonly nativeId: string | null
  readonly requestId: string | null
  readonly sku: string | null
  readonly quantity: Quantity | null
  readonly unit: string | null
  readonly currency: string
  /** Exact decimal: the charge or the credit; negative for an adjustment that took credit back. */
  readonly amount: string
  /** Why credit was given or taken, in words and as one of a few. */
  readonly reason: string | null
  readonly code: string | null
  /** `paid` or `promotional`, of a grant. */
  readonly credit: string | null
}

/** Credits by the kind that they have in the list. */
const creditLogsSql = `
  select case when c.kind = 'grant' then 'topup'
              when c.line_id is not null and c.amount > 0 then 'refund' else 'adjust' end as log_kind,
         c.*
  from (${creditsSql}) c`

/** Conditions both on lines and on credits. */
function conditionsOf(
  { sourceIds, ...others }: LogFilter,
  parameters: Parameters,
): readonly string[] {
  return [
    ...lineConditions(others, parameters),
    ...(sourceIds === undefined ? [] : [`source_id = any(${parameters.add(sourceIds)}::text[])`]),
  ]
}

function creditConditions(filter: LogFilter, parameters: Parameters): string {
  const kinds = filter.kinds.filter((kind) => kind !== 'consume')
  return conjunction([
    `log_kind = any(${parameters.add(kinds)}::text[])`,
    ...conditionsOf(filter, parameters),
  ])
}

/** Number of grants and adjustments on each UTC day, `YYYY-MM-DD`. */
export async function countCredits(
  db: Queryable,
  filter: LogFilter,
): Promise<ReadonlyMap<string, number>> {
  const parameters = new Parameters()
  const { rows } = await db.query<{ day: string; n: string }>(
    `select to_char(settled_at at time zone 'UTC', 'YYYY-MM-DD') as day, count(*) as n
     from (${creditLogsSql}) c where ${creditConditions(filter, parameters)} group by 1`,
    parameters.values,
  )
  return new Map(rows.map(({ day, n }) => [day, Number(n)]))
}

/** Number of lines on each UTC day, counted one by one: for filters that leave few lines. */
export async function countLines(
  db: Queryable,
  filter: LogFilter,
): Promise<ReadonlyMap<string, number>> {
  const parameters = new Parameters()
  const conditions = conjunction(conditionsOf(filter, parameters))
  const { rows } = await db.query<{ day: string; n: string }>(
    `select to_char(settled_at at time zone 'UTC', 'YYYY-MM-DD') as day, count(*) as n
     from ledger.lines where ${conditions} group by 1`,
    parameters.values,
  )
  return new Map(rows.map(({ day, n }) => [day, Number(n)]))
}

type LogRecord = Omit<LogRow, 'atMs' | 'quantity'> & {
  readonly at: Date
  readonly quantity: string | null
}

/**
 * A page of the list, newest first. Earlier rows are skipped by a few columns only, in its order.
 */
export async function listLogs(
  db: Queryable,
  filter: LogFilter,
  page: { readonly offset: number; readonly limit: number },
): Promise<readonly LogRow[]> {
  const parameters = new Parameters()
  const most = parameters.add(page.offset + page.limit)
  const lines = (): string => `
    (select 'consume' as kind, settled_at as at, position, seq from ledger.lines
     where ${conjunction(conditionsOf(filter, parameters))}
     order by settled_at desc, seq desc limit ${most})`
  const credits = (): string => `
    (select log_kind as kind, settled_at as at, position, 0 as seq from (${creditLogsSql}) c
     where ${creditConditions(filter, parameters)}
     order by settled_at desc, position desc limit ${most})`
  const wanted = [
    ...(filter.kinds.includes('consume') ? [lines()] : []),
    ...(filter.kinds.some((kind) => kind !== 'consume') ? [credits()] : []),
  ]
  if (wanted.length === 0) return []
  const { rows } = await db.query<LogRecord>(
    `with page as (
       select * from (${wanted.join(' union all ')}) p
       order by at desc, position desc, seq desc
       offset ${parameters.add(page.offset)} limit ${parameters.add(page.limit)})
     select p.kind, p.at, p.position, coalesce(l.line_id, c.id) as id,
            coalesce(l.tenant_id, c.tenant_id) as "tenantId",
            coalesce(l.user_id, c.user_id) as "userId",
            coalesce(l.token_id, c.token_id) as "tokenId", coalesce(l.model, c.model) as model,
            coalesce(l.surface, c.surface) as surface,
            coalesce(l.source_id, c.source_id) as "sourceId",
            coalesce(l.native_id, c.native_id) as "nativeId",
            coalesce(l.request_id, c.request_id) as "requestId", coalesce(l.sku, c.sku) as sku,
            l.quantity, l.unit, coalesce(l.currency, c.currency) as currency,
            trim_scale(coalesce(l.amount, c.amount))::text as amount, c.reason, c.code, c.credit
     from page p
     left join ledger.lines l on p.kind = 'consume' and l.seq = p.seq
     left join lateral (select * from (${creditsSql}) one
                        where p.kind <> 'consume' and one.position = p.position) c on true
     order by p.at desc, p.position desc, p.seq desc`,
    parameters.values,
  )
  return rows.map(({ at, quantity, ...row }) => ({
    ...row,
    atMs: at.getTime(),
    quantity: quantity === null ? null : toQuantity(quantity),
  }))
}
