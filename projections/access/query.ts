import type { QueryScope, TokenKind, TokenLimits } from '../../src/domain/token/events.ts'
import type { Queryable } from '../engine/queryable.ts'

export { accessTables } from './audited.ts'

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
  readonly limits: TokenLimits | null
  readonly expires_at: Date | null
  readonly issued_at: Date
  readonly rotated_at: Date | null
  readonly last_four: string
  readonly disabled_at: Date | null
  readonly disabled_reason: string | null
}

/**
 * `limits` is read so that the tables of version 1, which have no such column, answer too: while
 * they are rebuilt nobody's token must stop working.
 */
const tokenColumns = `t.token_id, t.tenant_id, t.user_id, t.kind, t.name, t.scope, t.models,
  to_jsonb(t) -> 'limits' as limits, t.expires_at, t.issued_at, t.rotated_at, t.last_four,
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

/** Tokens of a tenant, or of all without one, in the order of issue, a page after a token's id. */
export async function listTokens(
  db: Queryable,
  page: {
    readonly tenantId?: string | undefined
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
           order by t.issued_at, t.token_id limit $3`,
    values: [page.tenantId ?? null, page.after ?? null, page.limit],
  })
  return rows.map(toToken)
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
