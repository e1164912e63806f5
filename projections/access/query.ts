import type { QueryScope, TokenKind, TokenLimits } from '../../src/domain/token/events.ts'
import type { Queryable } from '../engine/queryable.ts'

export { accessTables } from './projection.ts'
export { hasTenant, hasUser } from './has.ts'

/** A token as it is known; the secret itself is nowhere. Times are unix milliseconds. */
export interface TokenRow {
  readonly tokenId: string
  readonly tenantId: string
  readonly userId: string
  readonly kind: TokenKind
  readonly name: string
  readonly scope: QueryScope | undefined
  /** External model names it may use; undefined means all. */
  readonly models: readonly string[] | undefined
  /** Ranges of addresses (CIDR) it may be used from; undefined means from anywhere. */
  readonly addresses: readonly string[] | undefined
  /** What was said for this token; where it says nothing, the operator's defaults are in force. */
  readonly limits: TokenLimits | undefined
  readonly expiresAtMs: number | undefined
  readonly issuedAtMs: number
  readonly rotatedAtMs: number | undefined
  readonly lastFour: string
  readonly disabledAtMs: number | undefined
  readonly disabledReason: string | undefined
}

/** A token found by one of its secrets. */
export interface FoundToken extends TokenRow {
  readonly secretHash: string
  /** When this secret ends because it was rotated; undefined for the present one. */
  readonly secretValidUntilMs: number | undefined
}

interface TokenRecord {
  readonly token_id: string
  readonly tenant_id: string
  readonly user_id: string
  readonly kind: TokenKind
  readonly name: string
  readonly scope: QueryScope | null
  readonly models: readonly string[] | null
  readonly addresses: readonly string[] | null
  readonly limits: TokenLimits | null
  readonly expires_at: Date | null
  readonly issued_at: Date
  readonly rotated_at: Date | null
  readonly last_four: string
  readonly disabled_at: Date | null
  readonly disabled_reason: string | null
}

/**
 * Some are read so that the tables of earlier versions, which have no such column, answer too: while
 * they are rebuilt nobody's token must stop working.
 */
const tokenColumns = `t.token_id, t.tenant_id, t.user_id, t.kind, t.name, t.scope, t.models,
  to_jsonb(t) -> 'limits' as limits, to_jsonb(t) -> 'addresses' as addresses, t.expires_at, t.issued_at, t.rotated_at, t.last_four,
  t.disabled_at, t.disabled_reason`

function toToken(row: TokenRecord): TokenRow {
  return {
    tokenId: row.token_id,
    tenantId: row.tenant_id,
    userId: row.user_id,
    kind: row.kind,
    name: row.name,
    scope: row.scope ?? undefined,
    models: row.models ?? undefined,
    addresses: row.addresses ?? undefined,
    limits: row.limits ?? undefined,
    expiresAtMs: row.expires_at?.getTime(),
    issuedAtMs: row.issued_at.getTime(),
    rotatedAtMs: row.rotated_at?.getTime(),
    lastFour: row.last_four,
    disabledAtMs: row.disabled_at?.getTime(),
    disabledReason: row.disabled_reason ?? undefined,
  }
}

/** The token of a secret, given its SHA-256 in lower-case hex; also expired and disabled ones. */
export async function findTokenByHash(
  db: Queryable,
  secretHash: string,
): Promise<FoundToken | undefined> {
  const { rows } = await db.query<
    TokenRecord & { readonly secret_hash: string; readonly valid_until: Date | null }
  >({
    name: 'access.token.hash',
    text: `select ${tokenColumns}, s.secret_hash, s.valid_until
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
    }
  )
}

/** A token by its id. */
export async function findToken(db: Queryable, tokenId: string): Promise<TokenRow | undefined> {
  const { rows } = await db.query<TokenRecord>({
    name: 'access.token.id',
    text: `select ${tokenColumns} from access.tokens t where t.token_id = $1`,
    values: [tokenId],
  })
  return rows[0] && toToken(rows[0])
}

/** Names of tokens by their ids; one without a row is not in it. */
export async function tokenNames(
  db: Queryable,
  tokenIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.query<{ token_id: string; name: string }>({
    name: 'access.token.names',
    text: 'select token_id, name from access.tokens where token_id = any($1::text[])',
    values: [tokenIds],
  })
  return new Map(rows.map((row) => [row.token_id, row.name]))
}

/**
 * Tokens of a tenant, or of all without one, of each or one of its users, in the order of issue, a page
 * after a token's id.
 */
export async function listTokens(
  db: Queryable,
  page: {
    readonly tenantId?: string | undefined
    readonly userId?: string | undefined
    readonly after?: string | undefined
    readonly limit: number
  },
): Promise<readonly TokenRow[]> {
  const { rows } = await db.query<TokenRecord>({
    name: 'access.tokens',
    text: `select ${tokenColumns} from access.tokens t
           where ($1::text is null or t.tenant_id = $1)
             and ($2::text is null
                  or (t.issued_at, t.token_id) >
                     (select a.issued_at, a.token_id from access.tokens a where a.token_id = $2))
             and ($4::text is null or t.user_id = $4)
           order by t.issued_at, t.token_id limit $3`,
    values: [page.tenantId ?? null, page.after ?? null, page.limit, page.userId ?? null],
  })
  return rows.map(toToken)
}

/** Of these tokens, those that are the tenant's. */
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

export interface TenantRow {
  readonly tenantId: string
  readonly name: string
  readonly openedAtMs: number
}

/** Tenants in the order of their ids, a page after one. */
export async function listTenants(
  db: Queryable,
  page: { readonly after?: string | undefined; readonly limit: number },
): Promise<readonly TenantRow[]> {
  const { rows } = await db.query<{ tenant_id: string; name: string; opened_at: Date }>({
    name: 'access.tenants',
    text: `select tenant_id, name, opened_at from access.tenants
           where ($1::text is null or tenant_id > $1) order by tenant_id limit $2`,
    values: [page.after ?? null, page.limit],
  })
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    name: row.name,
    openedAtMs: row.opened_at.getTime(),
  }))
}

export interface UserRow {
  readonly tenantId: string
  readonly userId: string
  readonly name: string
  readonly addedAtMs: number
}

/** Users of a tenant in the order of their ids, a page after one. */
export async function listUsers(
  db: Queryable,
  page: {
    readonly tenantId: string
    readonly after?: string | undefined
    readonly limit: number
  },
): Promise<readonly UserRow[]> {
  const { rows } = await db.query<{
    tenant_id: string
    user_id: string
    name: string
    added_at: Date
  }>({
    name: 'access.users',
    text: `select tenant_id, user_id, name, added_at from access.users
           where tenant_id = $1 and ($2::text is null or user_id > $2)
           order by user_id limit $3`,
    values: [page.tenantId, page.after ?? null, page.limit],
  })
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    userId: row.user_id,
    name: row.name,
    addedAtMs: row.added_at.getTime(),
  }))
}

/** Where a tenant is told of something, and which of its secrets that is signed with. */
export interface Webhook {
  readonly url: string
  readonly secretVersion: number
}

/** Those of these tenants that have one. */
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

/** Below what balances count as low, as a query whose columns are `tenant_id`, `currency` and `below`. */
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
