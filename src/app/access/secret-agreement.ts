import type { Queryable } from '../../../projections/engine/queryable.ts'
import { keyedHash } from '../../kernel/keyed-hash.ts'
import type { Migrations } from '../../storage/postgres/migrate.ts'

/**
 * Makes sure that all replicas have one `MARKER_SECRET`. With two of them, a creation retried on
 * another replica would be another task, its marker would not be found upstream, and ids of
 * responses would open on some replicas only. The first replica to start records a fingerprint, the
 * others compare theirs. Postgres stores it rather than the log, because it is not an event: it
 * decides which replicas may run together now. After a rebuild of the database the next start
 * records it again.
 */

/** The secret of this replica differs from that of the others, or is too short. */
export class MarkerSecretError extends Error {
  override readonly name = 'MarkerSecretError'
}

/**
 * Characters: a short secret could be guessed by everyone who has seen a marker or a response id.
 */
const SHORTEST_SECRET = 32

/** Refuses a secret that is short. @throws MarkerSecretError */
export function requireLongSecret(secret: string): void {
  if (secret.length < SHORTEST_SECRET)
    throw new MarkerSecretError(
      `MARKER_SECRET has ${secret.length} character(s) and needs ${SHORTEST_SECRET}: make one with ` +
        'openssl rand -base64 32, the same for every replica',
    )
}

async function readNoted(db: Queryable) {
  const { rows } = await db.query<{ fingerprint: string; notedAt: Date }>(
    'select fingerprint, noted_at as "notedAt" from ops.marker_secret',
  )
  return rows[0]
}

/** Whether this database was used with a secret; it may not have been prepared yet. */
export async function isSecretNoted(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ is_there: boolean }>(
    `select to_regclass('ops.marker_secret') is not null as is_there`,
  )
  return rows[0]?.is_there === true && (await readNoted(db)) !== undefined
}

function fingerprintOf(secret: string): string {
  return keyedHash(secret, 'fingerprint of the secret itself', []).toString('hex')
}

/**
 * Records the secret if it is the first; one that was recorded by an earlier release may be short.
 * @returns whether it is. @throws MarkerSecretError if another one is recorded, or the first is short
 */
export async function agreeOnSecret(
  db: Queryable,
  secret: string,
): Promise<{ readonly isShort: boolean }> {
  const fingerprint = fingerprintOf(secret)
  if ((await readNoted(db)) === undefined) requireLongSecret(secret)
  await db.query('insert into ops.marker_secret (fingerprint) values ($1) on conflict do nothing', [
    fingerprint,
  ])
  requireSame(await readNoted(db), fingerprint)
  return { isShort: secret.length < SHORTEST_SECRET }
}

/**
 * Compares the secret with the recorded one, and records nothing.
 * @returns whether it is short. @throws MarkerSecretError as the start of a replica would
 */
export async function checkSecret(
  db: Queryable,
  secret: string,
): Promise<{ readonly isShort: boolean }> {
  if (await isSecretNoted(db)) requireSame(await readNoted(db), fingerprintOf(secret))
  else requireLongSecret(secret)
  return { isShort: secret.length < SHORTEST_SECRET }
}

/** @throws MarkerSecretError */
function requireSame(noted: Awaited<ReturnType<typeof readNoted>>, fingerprint: string): void {
  if (noted !== undefined && noted.fingerprint !== fingerprint)
    throw new MarkerSecretError(
      'MARKER_SECRET differs from the one that the replicas on this database have used since ' +
        `${noted.notedAt.toISOString()}: give every replica the same. To change it on purpose, stop ` +
        'all of them, set the new one and run tollgate marker-secret replace',
    )
}

/**
 * Makes this the secret of all replicas; false when it is already. @throws MarkerSecretError if it is
 * short
 */
export async function replaceSecret(db: Queryable, secret: string): Promise<boolean> {
  requireLongSecret(secret)
  const { rowCount } = await db.query(
    `insert into ops.marker_secret as known (fingerprint) values ($1)
     on conflict (sole) do update set fingerprint = excluded.fingerprint, noted_at = now()
     where known.fingerprint <> excluded.fingerprint`,
    [fingerprintOf(secret)],
  )
  return rowCount === 1
}

export const secretMigrations: Migrations = {
  owner: 'secret',
  steps: [
    `
create table if not exists ops.marker_secret (
  sole boolean primary key default true check (sole),
  -- A keyed hash: the secret cannot be read from it.
  fingerprint text not null,
  noted_at timestamptz not null default now()
);
`,
  ],
}
