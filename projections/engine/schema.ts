import type { PoolClient } from 'pg'
import { schemaIdentifier, useSchema } from './transaction.ts'
import type { Projection } from './types.ts'

/** Schema in which a rebuild of this projection is built. */
export function nextSchema(name: string): string {
  return `${name}_next`
}

/** Whether a schema exists. */
export async function schemaExists(client: PoolClient, schema: string): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(
    'select exists (select from pg_namespace where nspname = $1) as found',
    [schema],
  )
  return rows[0]?.found === true
}

/** Creates the tables of a projection in an empty schema, without its secondary indexes. */
export async function createSchema(
  client: PoolClient,
  projection: Projection,
  schema: string,
): Promise<void> {
  const identifier = schemaIdentifier(schema)
  await client.query(`drop schema if exists ${identifier} cascade`)
  await client.query(`create schema ${identifier}`)
  await useSchema(client, schema)
  await client.query(projection.tablesSql)
}

/**
 * Grants on the tables of one schema what is granted on those of the same names in another: accounts
 * that read a read model, or lease in it, do so after its rebuild as well.
 */
export async function copyRights(client: PoolClient, from: string, to: string): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `with rights as (
       select 'schema ' || quote_ident($2) as target, r.privilege_type, r.grantee
       from pg_namespace n, aclexplode(n.nspacl) r
       where n.nspname = $1 and r.grantee <> n.nspowner
       union all
       select format('table %I.%I', $2, old.relname), r.privilege_type, r.grantee
       from pg_class old
       join pg_namespace n on n.oid = old.relnamespace and n.nspname = $1
       join pg_class new on new.relname = old.relname and new.relkind in ('r', 'v')
       join pg_namespace m on m.oid = new.relnamespace and m.nspname = $2,
       aclexplode(old.relacl) r
       where old.relkind in ('r', 'v') and r.grantee <> old.relowner
     )
     select format('grant %s on %s to %s', privilege_type, target,
       case grantee when 0 then 'public' else grantee::regrole::text end) as statement
     from rights`,
    [from, to],
  )
  for (const { statement } of rows) await client.query(statement)
}

/** Creates the secondary indexes and updates the planner's statistics of the tables. */
export async function createIndexes(
  client: PoolClient,
  projection: Projection,
  schema: string,
): Promise<void> {
  await useSchema(client, schema)
  if (projection.indexesSql !== undefined) await client.query(projection.indexesSql)
  const { rows } = await client.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = $1`,
    [schema],
  )
  for (const { name } of rows) await client.query(`analyze ${schemaIdentifier(schema)}.${name}`)
}

/**
 * Puts the rebuilt schema in the place of the live one inside a transaction. The live one is renamed,
 * not dropped: renaming waits for no reader, and one that is under way finishes on the old tables.
 */
export async function swapSchemas(client: PoolClient, name: string): Promise<void> {
  const live = schemaIdentifier(name)
  const next = schemaIdentifier(nextSchema(name))
  if (await schemaExists(client, name))
    await client.query(`alter schema ${live} rename to ${schemaIdentifier(oldSchema(name))}`)
  await client.query(`alter schema ${next} rename to ${live}`)
}

/**
 * Drops the tables that a rebuild left. Waits for their readers as long as `lock_timeout` allows.
 */
export async function dropOldSchema(client: PoolClient, name: string): Promise<void> {
  await client.query(`drop schema if exists ${schemaIdentifier(oldSchema(name))} cascade`)
}

function oldSchema(name: string): string {
  return `${name}_old`
}
