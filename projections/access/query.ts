import { reader, type StoredRow } from '../engine/column.ts'
import type { AccountEvent } from '../../src/domain/account/events.ts'
import type { Queryable } from '../engine/queryable.ts'
import { tenants, users } from './owners.ts'
import { tokens } from './projection.ts'

export {
  hasTenant,
  hasUser,
  tokensOfSubject,
  type SubjectToken,
  tenantNames,
  tokenLabels,
  tokenOwners,
  tokensOfPerson,
  tokenUsers,
  userKey,
  userNames,
} from './names.ts'
export { ownersNamed, searchTokens, type SearchedOwner, type SearchedToken } from './search.ts'

const { position: _position, search_name: _name, ...shownOfTokens } = tokens.table.record.columns

/** A stored token; the secret itself is not stored. */
export type TokenRow = StoredRow<typeof shownOfTokens, undefined>

const toToken = reader(shownOfTokens, undefined)

/** A token found by one of its secrets. */
export interface FoundToken extends TokenRow {
  readonly secretHash: string
  /** Time at which this secret ends because it was rotated; undefined for the current one. */
  readonly secretValidUntilMs: number | undefined
  /** False in tables of an earlier version, in which no token has a role. */
  readonly isRoleKnown: boolean
}

/**
 * Some columns are read in a way that also works on tables of earlier versions, which do not have
 * them: every token must keep working while they are rebuilt.
 */
const tokenColumns = `t.token_id, t.tenant_id, t.user_id, t.kind, t.name, t.scope, t.models,
  to_jsonb(t) ->> 'role' as role, to_jsonb(t) -> 'limits' as limits, to_jsonb(t) -> 'addresses' as addresses,
  to_jsonb(t) ->> 'issued_by' as issued_by, to_jsonb(t) ->> 'subject' as subject,
  to_jsonb(t) ->> 'claim' as claim, t.expires_at, t.issued_at, t.rotated_at, t.last_four,
  t.disabled_at, t.disabled_reason`

/** The token of a secret, given its SHA-256 in lower-case hex; also expired and disabled ones. */
export async function findTokenByHash(
  db: Queryable,
  secretHash: string,
): Promise<FoundToken | undefined> {
  const { rows } = await db.query<{
    secret_hash: string
    valid_until: Date | null
    roles: boolean
  }>({
    name: 'access.token.hash',
    text: `select ${tokenColumns}, s.secret_hash, s.valid_until, to_jsonb(t) ? 'role' as roles
           from access.secrets s join access.tokens t on t.token_id = s.token_id
           where s.secret_hash = $1`,
    values: [secretHash],
  })
  const [row] = rows
  return (
    row && {
      ...toToken(row),
      secretHash: row.secret_hash,
      secretValidUntilMs: row.valid_until?.getTime(),
      isRoleKnown: row.roles,
    }
  )
}

/** A token by its id. */
export async function findToken(db: Queryable, tokenId: string): Promise<TokenRow | undefined> {
  const { rows } = await db.query<Readonly<Record<string, unknown>>>({
    name: 'access.token.id',
    text: `select ${tokenColumns} from access.tokens t where t.token_id = $1`,
    values: [tokenId],
  })
  return rows[0] && toToken(rows[0])
}

/**
 * Tokens of a tenant, or of all without one, of each or one of its users, in the order of issue, a page
 * after the id of one of them. After any other id there are none, whether or not it exists (P8).
 */
export async function listTokens(
  db: Queryable,
  page: {
    readonly tenantId?: string | undefined
    readonly userId?: string | undefined
    /** The token that issued them. */
    readonly issuedBy?: string | undefined
    readonly after?: string | undefined
    readonly limit: number
  },
): Promise<readonly TokenRow[]> {
  const { tenantId = null, userId = null, issuedBy = null, after = null, limit } = page
  const { rows } = await db.query<Readonly<Record<string, unknown>>>({
    name: 'access.tokens',
    text: `select ${tokenColumns} from access.tokens t
           where ($1::text is null or t.tenant_id = $1)
             and ($2::text is null
                  or (t.issued_at, t.token_id) >
                     (select a.issued_at, a.token_id from access.tokens a
                      where a.token_id = $2 and ($1::text is null or a.tenant_id = $1)
                        and ($4::text is null or a.user_id = $4)))
             and ($4::text is null or t.user_id = $4)
             and ($5::text is null or to_jsonb(t) ->> 'issued_by' = $5)
           order by t.issued_at, t.token_id limit $3`,
    values: [tenantId, after, limit, userId, issuedBy],
  })
  return rows.map(toToken)
}

/**
 * Tokens that are not disabled and that a token issued, itself or through those it issued, in the
 * order of issue. Tables of earlier versions have no column of issuers, and no token is found in them.
 */
export async function listIssued(
  db: Queryable,
  { tokenId, limit }: { readonly tokenId: string; readonly limit: number },
): Promise<readonly TokenRow[]> {
  const issuers = `(values (null::text)) as none (issued_by)
    cross join lateral (select token_id, issued_by from access.tokens) as t`
  const { rows } = await db.query<Readonly<Record<string, unknown>>>({
    name: 'access.tokens.issued',
    text: `with recursive issued as (
             select t.token_id from ${issuers} where t.issued_by = $1
             union
             select t.token_id from ${issuers} join issued i on t.issued_by = i.token_id)
           select ${tokenColumns} from issued join access.tokens t using (token_id)
           where t.disabled_at is null order by t.issued_at, t.token_id limit $2`,
    values: [tokenId, limit],
  })
  return rows.map(toToken)
}

/** Finds the tokens among these that belong to the tenant. */
export async function tokensOfTenant(
  db: Queryable,
  tenantId: string,
  tokenIds: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await db.query<{ token_id: string }>({
    name: 'access.tokens.of',
    text: 'select token_id from access.tokens where tenant_id = $1 and token_id = any($2::text[])',
    values: [tenantId, tokenIds],
  })
  return rows.map(({ token_id: tokenId }) => tokenId)
}

/** Tokens of a user that are not disabled. */
export async function countTokens(
  db: Queryable,
  { tenantId, userId }: { readonly tenantId: string; readonly userId: string },
): Promise<number> {
  const { rows } = await db.query<{ count: string }>({
    name: 'access.tokens.count',
    text: `select count(*) as count from access.tokens
           where tenant_id = $1 and user_id = $2 and disabled_at is null`,
    values: [tenantId, userId],
  })
  return Number(rows[0]?.count ?? 0)
}

const { tenant_id, name, opened_at, status } = tenants.table.record.columns
const shownOfTenants = { tenant_id, name, opened_at, status }

export type TenantRow = StoredRow<typeof shownOfTenants>

const toTenant = reader(shownOfTenants, null)

/** Tenants in the order of their ids, a page after one. */
export async function listTenants(
  db: Queryable,
  page: { readonly after?: string | undefined; readonly limit: number },
): Promise<readonly TenantRow[]> {
  const { rows } = await db.query<Readonly<Record<string, unknown>>>({
    name: 'access.tenants',
    text: `select tenant_id, name, opened_at, coalesce(to_jsonb(t) ->> 'status', 'open') as status
           from access.tenants t where ($1::text is null or tenant_id > $1) order by tenant_id limit $2`,
    values: [page.after ?? null, page.limit],
  })
  return rows.map(toTenant)
}

const { position: __position, search_name: __name, ...shownOfUsers } = users.table.record.columns

export interface UserRow extends StoredRow<typeof shownOfUsers> {
  /** The reason of its suspension; null: it is not suspended. */
  readonly suspendedReason: string | null
}

const toUser = reader(shownOfUsers, null)

/** Users of a tenant in the order of their ids, a page after one. */
export async function listUsers(
  db: Queryable,
  page: {
    readonly tenantId: string
    readonly after?: string | undefined
    readonly limit: number
  },
): Promise<readonly UserRow[]> {
  const { rows } = await db.query<Readonly<Record<string, unknown>> & { reason: string | null }>({
    name: 'access.users',
    text: `select u.tenant_id, u.user_id, u.name, u.added_at, s.reason
           from access.users u left join access.tenants t using (tenant_id)
           left join lateral jsonb_to_recordset(coalesce(to_jsonb(t) -> 'suspended_users', '[]'))
             as s ("userId" text, reason text) on s."userId" = u.user_id
           where u.tenant_id = $1 and ($2::text is null or u.user_id > $2)
           order by u.user_id limit $3`,
    values: [page.tenantId, page.after ?? null, page.limit],
  })
  return rows.map((row) => ({ ...toUser(row), suspendedReason: row.reason }))
}

/** A tenant's webhook URL, and which of its secrets signs the messages. */
export interface Webhook {
  readonly url: string
  readonly secretVersion: number
}

/** Finds the webhooks of those among these tenants that have one. */
export async function webhooksOf(
  db: Queryable,
  tenantIds: readonly string[],
): Promise<ReadonlyMap<string, Webhook>> {
  const { rows } = await db.query<{ tenant_id: string; url: string; version: number }>({
    name: 'access.webhooks',
    text: `select tenant_id, webhook_url as url, webhook_secret_version as version
           from access.tenants where tenant_id = any($1::text[]) and webhook_url is not null`,
    values: [tenantIds],
  })
  return new Map(
    rows.map(({ tenant_id, url, version }) => [tenant_id, { url, secretVersion: version }]),
  )
}

/** Whether a webhook is named by the tenant that an SQL expression names. */
export const hasWebhookSql = (tenant: string): string =>
  `exists (select from access.tenants w where w.tenant_id = ${tenant} and w.webhook_url is not null)`

/** A query for thresholds of low balances; its columns are `tenant_id`, `currency`, `below`. */
export const thresholdsSql = `
  select t.tenant_id, x.currency, x.below from access.tenants t
  cross join lateral jsonb_to_recordset(t.balance_thresholds) as x (currency text, below numeric)
  where t.balance_thresholds <> '[]'`

/** Whether any tenant has a threshold. */
export async function hasThresholds(db: Queryable): Promise<boolean> {
  const { rows } = await db.query({
    name: 'access.thresholds.any',
    text: `select from access.tenants where balance_thresholds <> '[]' limit 1`,
  })
  return rows.length > 0
}

/** A stored account: the events that still apply, in the order of its stream. */
export interface StoredAccount {
  readonly events: readonly AccountEvent[]
  /** The revision of the last event that was applied. */
  readonly revision: bigint
}

/** A tenant's account, of these types of events alone where they are given; undefined without any event. */
export async function storedAccount(
  db: Queryable,
  tenantId: string,
  types?: readonly AccountEvent['type'][],
): Promise<StoredAccount | undefined> {
  const { rows } = await db.query<{ events: readonly AccountEvent[]; revision: string | null }>({
    name: 'access.account',
    text: `select max(revision) as revision,
             coalesce(json_agg(json_build_object('type', type, 'data', data) order by revision)
               filter (where $2::text[] is null or type = any($2)), '[]') as events
           from access.accounts where tenant_id = $1`,
    values: [tenantId, types ?? null],
  })
  const [row] = rows
  if (row === undefined || row.revision === null) return undefined
  return { events: row.events, revision: BigInt(row.revision) }
}
