import type { Queryable } from './queryable.ts'

/** Namespace of the advisory locks of this program's projections ("toll"). */
export const LOCK_CLASS = 0x746f6c6c

/** Waits for a named lock that lasts until the transaction ends. */
export async function lockUntilCommit(client: Queryable, name: string): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1, hashtext($2))', [LOCK_CLASS, name])
}
