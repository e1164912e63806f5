import type { Queryable } from '../engine/queryable.ts'

/** Lists and reports show these names with ids. */

/** Names of tokens and last four characters of their secrets by id; one without a row is not in it. */
export async function tokenLabels(db: Queryable, tokenIds: readonly string[]) {
  const { rows } = await db.query<{ token_id: string; name: string; last_four: string }>({
    name: 'access.token.labels',
    text: 'select token_id, name, last_four from access.tokens where token_id = any($1::text[])',
    values: [tokenIds],
  })
  return new Map(rows.map((row) => [row.token_id, { name: row.name, lastFour: row.last_four }]))
}

/** Current names of tenants by id; unknown ones are absent. */
export async function tenantNames(
  db: Queryable,
  tenantIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.query<{ tenant_id: string; name: string }>({
    name: 'access.tenant.names',
    text: 'select tenant_id, name from access.tenants where tenant_id = any($1::text[])',
    values: [tenantIds],
  })
  return new Map(rows.map((row) => [row.tenant_id, row.name]))
}

/** A user of a tenant: users of several tenants may have one id. */
interface TenantUser {
  readonly tenantId: string
  readonly userId: string
}

/** The key of a user in a map of names. */
export const userKey = ({ tenantId, userId }: TenantUser): string =>
  JSON.stringify([tenantId, userId])

/** Current names of users by their `userKey`; unknown ones are absent. */
export async function userNames(
  db: Queryable,
  users: readonly TenantUser[],
): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Map(users.map((user) => [userKey(user), user])).values()]
  const { rows } = await db.query<{ tenant_id: string; user_id: string; name: string }>({
    name: 'access.user.names',
    text: `select u.tenant_id, u.user_id, u.name
           from unnest($1::text[], $2::text[]) as w (tenant_id, user_id)
           join access.users u on u.tenant_id = w.tenant_id and u.user_id = w.user_id`,
    values: [wanted.map(({ tenantId }) => tenantId), wanted.map(({ userId }) => userId)],
  })
  return new Map(
    rows.map((row) => [userKey({ tenantId: row.tenant_id, userId: row.user_id }), row.name]),
  )
}

/** Users of tokens by the id of the token; unknown ones are absent. */
export async function tokenUsers(
  db: Queryable,
  tokenIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.query<{ token_id: string; user_id: string }>({
    name: 'access.token.users',
    text: 'select token_id, user_id from access.tokens where token_id = any($1::text[])',
    values: [tokenIds],
  })
  return new Map(rows.map((row) => [row.token_id, row.user_id]))
}

/** Tokens by their id, by the id of their user or by its name, of one tenant or of all, in the order of their ids. */
export async function tokensOfPerson(
  db: Queryable,
  {
    name,
    tenantId,
    limit,
  }: {
    readonly name: string
    readonly tenantId: string | undefined
    readonly limit: number
  },
): Promise<readonly string[]> {
  const { rows } = await db.query<{ token_id: string }>({
    name: 'access.tokens.of_person',
    text: `select token_id from access.tokens t
           where ($2::text is null or t.tenant_id = $2)
             and (t.token_id = $1 or t.user_id = $1
                  or (t.tenant_id, t.user_id) in
                     (select u.tenant_id, u.user_id from access.users u where u.name = $1))
           order by token_id limit $3`,
    values: [name, tenantId ?? null, limit],
  })
  return rows.map(({ token_id: tokenId }) => tokenId)
}

/** Names of the owners of tokens: the token, its user and its tenant, by the id of the token. */
export async function tokenOwners(
  db: Queryable,
  tokenIds: readonly string[],
): Promise<
  ReadonlyMap<
    string,
    {
      readonly name: string
      readonly tenantId: string
      readonly userId: string
      readonly userName: string | null
    }
  >
> {
  const { rows } = await db.query<{
    token_id: string
    name: string
    tenant_id: string
    user_id: string
    user_name: string | null
  }>({
    name: 'access.token.owners',
    text: `select t.token_id, t.name, t.tenant_id, t.user_id, u.name as user_name
           from access.tokens t left join access.users u
             on u.tenant_id = t.tenant_id and u.user_id = t.user_id
           where t.token_id = any($1::text[])`,
    values: [tokenIds],
  })
  return new Map(
    rows.map((row) => [
      row.token_id,
      { name: row.name, tenantId: row.tenant_id, userId: row.user_id, userName: row.user_name },
    ]),
  )
}

/** Whether there is a user of that id, of one tenant or of any. */
export async function hasUser(
  db: Queryable,
  { userId, tenantId }: { readonly userId: string; readonly tenantId: string | undefined },
): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>({
    name: 'access.user.has',
    text: `select exists (select from access.users
             where user_id = $1 and ($2::text is null or tenant_id = $2)) as found`,
    values: [userId, tenantId ?? null],
  })
  return rows[0]?.found === true
}

/** Whether there is a tenant of that id. */
export async function hasTenant(db: Queryable, tenantId: string): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>({
    name: 'access.tenant.has',
    text: 'select exists (select from access.tenants where tenant_id = $1) as found',
    values: [tenantId],
  })
  return rows[0]?.found === true
}

/** Tokens of one subject that are looked at, of each tenant and scope. */
const MOST_OF_SUBJECT = 10
/** Tokens of one subject that are looked at in all. */
const MOST_OF_ALL = 100

/** A token that a subject signs in with. */
export interface SubjectToken {
  readonly tokenId: string
  readonly tenantId: string
  readonly spansTenants: boolean
  /** The value of a claim that gives the subject its role; null: an invitation. */
  readonly claim: string | null
  readonly secretHash: string
}

/**
 * A subject's tokens that are not disabled, the newest first. Each tenant has its share, so that the
 * administrators of one displace no token of another, and none that spans tenants. Tables of earlier versions have no
 * column of subjects, and no token is found in them.
 */
export async function tokensOfSubject(
  db: Queryable,
  subject: string,
): Promise<readonly SubjectToken[]> {
  const { rows } = await db.query<SubjectToken>({
    name: 'access.tokens.of_subject',
    text: `select t.token_id as "tokenId", t.tenant_id as "tenantId",
             t.spans_tenants as "spansTenants", t.claim, s.secret_hash as "secretHash"
           from (values (null::text, null::text)) as none (subject, claim)
           cross join lateral (
             select o.*, row_number() over (partition by tenant_id, spans_tenants, claim is null
                                            order by issued_at desc, token_id desc) as nth
             from (select token_id, tenant_id, issued_at, claim,
                     coalesce(scope->>'level' = 'all_tenants', kind = 'admin') as spans_tenants
                   from access.tokens where subject = $1 and disabled_at is null) as o) as t
           join access.secrets s on s.token_id = t.token_id and s.valid_until is null
           where t.nth <= ${MOST_OF_SUBJECT}
           order by t.issued_at desc, t.token_id desc limit ${MOST_OF_ALL}`,
    values: [subject],
  })
  return rows
}
