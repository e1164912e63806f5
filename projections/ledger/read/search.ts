import type { Currency } from '../../../src/kernel/money.ts'
import type { Queryable } from '../../engine/queryable.ts'
import { beginsSql, MAX_IDS_READ, scopeSql, type SearchScope } from '../../engine/search.ts'

/** Lines and credits by their ids, for support. */

/** A movement of money that was found by its id. */
export interface FoundPosting {
  readonly kind: 'line' | 'grant' | 'adjustment'
  readonly id: string
  readonly tenantId: string
  /** Null: it belongs to no user. */
  readonly userId: string | null
  /** Unix milliseconds. */
  readonly atMs: number
  readonly currency: Currency
  /** Exact decimal. */
  readonly amount: string
  /** The SKU of a line, the kind of a credit, the reason of an adjustment in a word. */
  readonly what: string | null
}

type PostingRecord = Omit<FoundPosting, 'atMs'> & { readonly at: Date }

const columns = `kind, id, tenant_id as "tenantId", user_id as "userId", at, currency,
  trim_scale(amount)::text as amount, what`

/** The line of an id, in the scope. */
export async function linesById(
  db: Queryable,
  lineId: string,
  scope: SearchScope,
): Promise<readonly FoundPosting[]> {
  const values: unknown[] = [lineId]
  const { rows } = await db.query<PostingRecord>(
    `select ${columns} from (
       select 'line' as kind, line_id as id, tenant_id, user_id, settled_at as at, currency, amount,
              sku as what
       from ledger.lines where line_id = $1) as found
     where ${scopeSql(scope, (value) => `$${values.push(value)}`)}`,
    values,
  )
  return rows.map(toPosting)
}

/** Grants and adjustments whose ids begin so, in the scope. */
export async function creditsByPrefix(
  db: Queryable,
  prefix: string,
  scope: SearchScope,
  limit: number,
): Promise<readonly FoundPosting[]> {
  const values: unknown[] = []
  const add = (value: unknown): string => `$${values.push(value)}`
  const { rows } = await db.query<PostingRecord>(
    `with grants as materialized (
       select * from (
         select 'grant' as kind, grant_id as id, tenant_id, null as user_id, granted_at as at, currency,
                amount, credit as what
         from ledger.grants) as g
       where ${beginsSql('id', prefix, add)} and ${scopeSql(scope, add)}
       order by id limit ${MAX_IDS_READ}),
     adjustments as materialized (
       select * from (
         select 'adjustment', a.adjustment_id as id, a.tenant_id, l.user_id, a.posted_at as at, a.currency,
                a.amount, a.code
         from ledger.adjustments a left join ledger.lines l on l.line_id = a.line_id) as a
       where ${beginsSql('id', prefix, add)} and ${scopeSql(scope, add)}
       order by id limit ${MAX_IDS_READ})
     select ${columns} from (select * from grants union all select * from adjustments) as found
     order by at desc, id limit ${add(limit)}`,
    values,
  )
  return rows.map(toPosting)
}

/**
 * Grants whose reference begins so in any letter case, in the scope, the newest first: grants are few, and are read
 * without an index.
 */
export async function grantsByReference(
  db: Queryable,
  beginning: string,
  scope: SearchScope,
  limit: number,
): Promise<readonly FoundPosting[]> {
  const values: unknown[] = []
  const add = (value: unknown): string => `$${values.push(value)}`
  const { rows } = await db.query<PostingRecord>(
    `select ${columns} from (
       select 'grant' as kind, grant_id as id, tenant_id, null as user_id, granted_at as at, currency,
              amount, concat(credit, ', reference ', reference) as what
       from ledger.grants where starts_with(lower(reference), lower(${add(beginning)}))) as found
     where ${scopeSql(scope, add)} order by at desc, id limit ${add(limit)}`,
    values,
  )
  return rows.map(toPosting)
}

function toPosting({ at, ...row }: PostingRecord): FoundPosting {
  return { ...row, atMs: at.getTime() }
}
