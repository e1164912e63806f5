import type { AccountEventData } from '../../src/domain/account/events.ts'
import { searchForm } from '../../src/kernel/characters.ts'
import type { Queryable } from '../engine/queryable.ts'
import { scopeSql, type SearchScope } from '../engine/search.ts'

/** Tenants, users and tokens by what support knows of them. */

type StatusTerms = AccountEventData<'TenantStatusSet'>

/** A tenant or a user. */
export interface SearchedOwner {
  readonly kind: 'tenant' | 'user'
  readonly tenantId: string
  /** Null: a tenant. */
  readonly userId: string | null
  readonly name: string
  /** The status of a tenant; a user is `open` or `suspended`. */
  readonly state: StatusTerms['status']
  /** Unix milliseconds. */
  readonly atMs: number
}

export interface SearchedToken {
  readonly tokenId: string
  readonly tenantId: string
  readonly userId: string
  readonly name: string
  readonly lastFour: string
  /** Unix milliseconds. */
  readonly issuedAtMs: number
  readonly disabledAtMs: number | undefined
  readonly expiresAtMs: number | undefined
}

/** A pattern for names that have this text anywhere, and one for ids that begin so. */
function patternsOf(text: string): readonly [name: string, id: string] {
  const escaped = (part: string): string => part.replaceAll(/[\\%_]/g, String.raw`\$&`)
  return [`%${escaped(searchForm(text))}%`, `${escaped(text)}%`]
}

/** A table with its names as searches compare them; one of an earlier version has no such column. */
const named = (table: 'tenants' | 'users' | 'tokens'): string =>
  `(values (null::text)) as none (search_name)
   cross join lateral (select *, coalesce(search_name, lower(name)) as compared from access.${table})`

/** Tenants and users of this name, or whose id begins so, as `searchForm` compares names. */
export async function ownersNamed(
  db: Queryable,
  text: string,
  scope: SearchScope,
  limit: number,
): Promise<readonly SearchedOwner[]> {
  const values: unknown[] = [...patternsOf(text)]
  const add = (value: unknown): string => `$${values.push(value)}`
  // A tenant is shown to each of its tokens.
  const { tenantId } = scope
  const { rows } = await db.query<Omit<SearchedOwner, 'atMs'> & { readonly at: Date }>(
    `select kind, tenant_id as "tenantId", user_id as "userId", name, at, state from (
       select 'tenant' as kind, tenant_id, null as user_id, name, opened_at as at,
         coalesce(to_jsonb(t) ->> 'status', 'open') as state from ${named('tenants')} t
       where (compared like $1 or tenant_id ilike $2) and ${scopeSql({ tenantId }, add)}
       union all
       select 'user', tenant_id, user_id, name, added_at,
         case when exists (select from access.tenants t,
             jsonb_to_recordset(coalesce(to_jsonb(t) -> 'suspended_users', '[]')) as s("userId" text)
           where t.tenant_id = u.tenant_id and s."userId" = u.user_id)
         then 'suspended' else 'open' end from ${named('users')} u
       where (compared like $1 or user_id ilike $2) and ${scopeSql(scope, add)}) as found
     order by at, "tenantId", "userId" nulls first limit ${add(limit)}`,
    values,
  )
  return rows.map(({ at, ...row }) => ({ ...row, atMs: at.getTime() }))
}

interface TokenRecord {
  readonly token_id: string
  readonly tenant_id: string
  readonly user_id: string
  readonly name: string
  readonly last_four: string
  readonly issued_at: Date
  readonly disabled_at: Date | null
  readonly expires_at: Date | null
}

/** Tokens by the end of their secret, by their ids, or by a text in their name; ended ones too. */
export async function searchTokens(
  db: Queryable,
  by:
    | { readonly lastFour: string }
    | { readonly ids: readonly string[] }
    | { readonly name: string },
  scope: SearchScope,
  limit: number,
): Promise<readonly SearchedToken[]> {
  const values: unknown[] = []
  const add = (value: unknown): string => `$${values.push(value)}`
  const condition =
    'lastFour' in by
      ? `last_four = ${add(by.lastFour)}`
      : 'ids' in by
        ? `token_id = any(${add(by.ids)}::text[])`
        : `compared like ${add(patternsOf(by.name)[0])}`
  const { rows } = await db.query<TokenRecord>(
    `select token_id, tenant_id, user_id, name, last_four, issued_at, disabled_at, expires_at
     from ${named('tokens')} t where ${condition} and ${scopeSql(scope, add)}
     order by issued_at desc, token_id limit ${add(limit)}`,
    values,
  )
  return rows.map((row) => ({
    tokenId: row.token_id,
    tenantId: row.tenant_id,
    userId: row.user_id,
    name: row.name,
    lastFour: row.last_four,
    issuedAtMs: row.issued_at.getTime(),
    disabledAtMs: row.disabled_at?.getTime(),
    expiresAtMs: row.expires_at?.getTime(),
  }))
}
