import type { Currency } from '../../../src/kernel/money.ts'
import type { Queryable } from '../../engine/queryable.ts'
import { conjunction, type LedgerFilter, lineConditions, Parameters } from './filter.ts'

/** Grants and adjustments: one by one, and summed. */

export const creditKinds = ['grant', 'adjustment'] as const
type CreditKind = (typeof creditKinds)[number]

/**
 * Credits as rows with the facts of the line they are about; a grant belongs to no user or token.
 * Their time is named as that of lines is, so that they take the same filters.
 */
export const creditsSql = `
  select 'grant' as kind, g.position, g.granted_at as settled_at, g.grant_id as id, g.tenant_id,
         null as line_id, null as grant_id, null as user_id, null as token_id, null as model,
         null as surface, null as source_id, null as native_id, null as request_id, null as sku,
         null as tags, null as end_user, g.currency, g.amount, g.credit, g.reference,
         null as code, g.reason, g.actor
  from ledger.grants g
  union all
  select 'adjustment', a.position, a.posted_at, a.adjustment_id, a.tenant_id, a.line_id, a.grant_id,
         l.user_id, l.token_id, l.model, l.surface, l.source_id, l.native_id, l.request_id, l.sku,
         l.tags, l.end_user, a.currency, a.amount, null, null, a.code, a.reason, a.actor
  from ledger.adjustments a left join ledger.lines l on l.line_id = a.line_id`

/** A grant or an adjustment; members that do not apply are null. */
export interface CreditRow {
  readonly kind: CreditKind
  /** Id of the grant or the adjustment. */
  readonly id: string
  readonly position: string
  readonly postedAtMs: number
  readonly tenantId: string
  readonly currency: Currency
  /** Exact decimal: positive gave to the tenant. */
  readonly amount: string
  /** The adjusted line or grant. */
  readonly lineId: string | null
  readonly grantId: string | null
  readonly userId: string | null
  readonly model: string | null
  readonly sku: string | null
  /** `paid` or `promotional`. */
  readonly credit: string | null
  readonly reference: string | null
  readonly code: string | null
  readonly reason: string
  readonly actor: string | null
}

/** The order of a list, and the position of the log behind which it begins. */
interface CreditPage {
  readonly order: 'newest' | 'oldest'
  readonly after: bigint | undefined
  readonly limit: number
}

/** Grants, adjustments or both in the order in which they were posted. */
export async function listCredits(
  db: Queryable,
  filter: LedgerFilter & { readonly kinds: readonly CreditKind[] },
  { order, after, limit }: CreditPage,
): Promise<readonly CreditRow[]> {
  const parameters = new Parameters()
  const behind = order === 'newest' ? '<' : '>'
  const conditions = [
    ...lineConditions(filter, parameters),
    `kind = any(${parameters.add(filter.kinds)}::text[])`,
    ...(after === undefined ? [] : [`position ${behind} ${parameters.add(after)}::bigint`]),
  ]
  const { rows } = await db.query<Omit<CreditRow, 'postedAtMs'> & { settled_at: Date }>(
    `select kind, id, position, settled_at, tenant_id as "tenantId", currency,
            trim_scale(amount)::text as amount, line_id as "lineId", grant_id as "grantId",
            user_id as "userId", model, sku, credit, reference, code, reason, actor
     from (${creditsSql}) c where ${conjunction(conditions)}
     order by position ${order === 'newest' ? 'desc' : ''} limit ${parameters.add(limit)}`,
    parameters.values,
  )
  return rows.map(({ settled_at: postedAt, ...row }) => ({
    ...row,
    postedAtMs: postedAt.getTime(),
  }))
}

/** Sums of what a tenant was given in one currency. */
export interface CreditTotal {
  readonly tenantId: string
  readonly currency: Currency
  /** Exact decimals: grants, those of promotional credit among them, all adjustments, and those of lines. */
  readonly granted: string
  readonly promotional: string
  readonly adjusted: string
  readonly refunded: string
  /** Number of grants and adjustments. */
  readonly postings: number
}

/** Sums of grants and adjustments by tenant and currency. */
export async function sumCredits(
  db: Queryable,
  filter: LedgerFilter,
): Promise<readonly CreditTotal[]> {
  const parameters = new Parameters()
  const sum = (condition: string): string =>
    `trim_scale(coalesce(sum(amount) filter (where ${condition}), 0))::text`
  const { rows } = await db.query<Omit<CreditTotal, 'postings'> & { readonly postings: string }>(
    `select tenant_id as "tenantId", currency, ${sum(`kind = 'grant'`)} as granted,
            ${sum(`credit = 'promotional'`)} as promotional, count(*)::text as postings,
            ${sum(`kind = 'adjustment'`)} as adjusted, ${sum('line_id is not null')} as refunded
     from (${creditsSql}) c where ${conjunction(lineConditions(filter, parameters))}
     group by tenant_id, currency`,
    parameters.values,
  )
  return rows.map(({ postings, ...total }) => ({ ...total, postings: Number(postings) }))
}

/** Sums of grants of one kind of credit, or of adjustments of one code, in one currency. */
export interface CodeTotal {
  readonly kind: CreditKind
  /** `paid` or `promotional`, or the code of adjustments; null: they have none. */
  readonly code: string | null
  readonly currency: Currency
  /** Exact decimal: positive gave to tenants. */
  readonly amount: string
  readonly postings: number
}

/** Sums of grants and adjustments by their code and currency, the largest first within a currency. */
export async function sumCreditsByCode(
  db: Queryable,
  filter: LedgerFilter,
): Promise<readonly CodeTotal[]> {
  const parameters = new Parameters()
  const { rows } = await db.query<CodeTotal>(
    `select kind, code_or_credit as code, currency, trim_scale(sum(amount))::text as amount,
            count(*)::int as postings
     from (select *, case when kind = 'grant' then coalesce(credit, 'paid') else code end
             as code_or_credit from (${creditsSql}) one) c
     where ${conjunction(lineConditions(filter, parameters))}
     group by kind, code_or_credit, currency
     order by kind, currency, abs(sum(amount)) desc, code_or_credit`,
    parameters.values,
  )
  return rows
}
