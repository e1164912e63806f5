import type { Queryable } from '../engine/queryable.ts'

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
