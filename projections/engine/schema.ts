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
