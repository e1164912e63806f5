import type { Pool } from 'pg'
import { LogOlderError, requireHeld } from '../../../projections/engine/older-log.ts'
import type { Projection } from '../../../projections/engine/types.ts'
import {
  type InstallationCommand,
  installationDecider,
  type InstallationState,
} from '../../domain/installation/decider.ts'
import { installationStream } from '../../domain/installation/events.ts'
import { executeCommand } from '../../eventlog/log/execute.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { type Clock, toTimestamp } from '../../kernel/clock.ts'
import { newId, newUuid } from '../../kernel/ids.ts'
import { pause } from '../../kernel/pause.ts'
import type { Migrations } from '../../storage/postgres/migrate.ts'

/**
 * A log belongs to one database. With another log, calls would be missing in the ledger; with a
 * second database on the log, balances and limits would be decided twice. So the log names its
 * database, the database records the log, and the log must have every event that was applied to the
 * read models.
 */

/** The log and the database do not belong together. */
export class NotBelongingError extends Error {
  override readonly name = 'NotBelongingError'
}

interface Stores {
  readonly pool: Pool
  readonly log: EventLog
  /** Every read model. */
  readonly projections: readonly Pick<Projection, 'name'>[]
  readonly clock: Clock
}

/** A node that was cut off may show less of the log until it notices: it is asked again after this. */
const ASK_AGAIN_AFTER_MS = 2_000

const ADVICE =
  'Give every replica the same EVENTSTORE_URL, EVENTSTORE_NAMESPACE and DATABASE_URL. Only if this ' +
  'database is to take the place of the other one, stop all replicas and run tollgate database adopt'

/** Postgres keeps which database it is, and which log it belongs to. */
interface Noted {
  readonly databaseId: string
  /** Undefined before the first log. */
  readonly logId: string | undefined
}

/** The first start names the database. */
async function nameDatabase(pool: Pool): Promise<void> {
  await pool.query(
    'insert into ops.installation (database_id) values ($1) on conflict do nothing',
    [newUuid()],
  )
}

async function readNoted(pool: Pool): Promise<Noted> {
  const { rows } = await pool.query<{ databaseId: string; logId: string | null }>(
    'select database_id as "databaseId", log_id as "logId" from ops.installation',
  )
  const [{ databaseId, logId } = { databaseId: '', logId: null }] = rows
  return { databaseId, logId: logId ?? undefined }
}

/** Reads which database the log names; undefined where it names none. */
async function readNamed({ log }: Pick<Stores, 'log'>): Promise<InstallationState> {
  const [last] = (await log.readStream(installationStream)).slice(-1)
  return last?.type === 'DatabaseAdopted' ? last.data : undefined
}

/** Whether none of the gateway's events is in the log. */
async function isEmpty({ log }: Pick<Stores, 'log'>): Promise<boolean> {
  for await (const _event of log.readAll({ limit: 1 })) return false
  return true
}

/**
 * Records the database in the log; returns the database that it names if another start was first.
 */
async function name(
  { log, clock }: Stores,
  { databaseId, logId }: Noted,
  kind: InstallationCommand['kind'],
  actor: string,
): Promise<NonNullable<InstallationState>> {
  const nowMs = clock.nowMs()
  // A log that replaces another one gets a name that the other does not have.
  const named = kind === 'adopt' ? undefined : logId
  const command = { kind, databaseId, logId: named ?? newUuid(), at: toTimestamp(nowMs) }
  const { state } = await executeCommand({
    log,
    stream: installationStream,
    decider: installationDecider,
    command,
    commandId: newId('cmd', nowMs),
    metadata: { correlationId: 'installation', actor },
  })
  return state ?? { databaseId, logId: command.logId, adoptedAt: command.at }
}

/** @throws NotBelongingError */
function requireSame(noted: Noted, named: NonNullable<InstallationState>): void {
  if (named.databaseId !== noted.databaseId)
    throw new NotBelongingError(
      `the event log belongs to another database since ${named.adoptedAt}, and two databases would both decide ` +
        `about its balances and limits. ${ADVICE}`,
    )
  if (noted.logId !== undefined && named.logId !== noted.logId)
    throw new NotBelongingError(`this database belongs to another event log. ${ADVICE}`)
}

/**
 * Compares the log with the database; changes neither.
 * @throws LogOlderError, NotBelongingError, and what the stores throw
 */
export async function checkBelonging(stores: Stores): Promise<void> {
  const noted = await readNoted(stores.pool)
  await requireHeld(stores.log, stores.pool, stores.projections)
  const named = await readNamed(stores)
  if (named === undefined)
    throw new NotBelongingError(
      `the event log names no database any more, although it did before. ${ADVICE}`,
    )
  requireSame(noted, named)
}

/**
 * Compares the log with the database if a start has brought them together; changes neither.
 * @throws as `checkBelonging`
 */
export async function checkIfAdopted(stores: Stores): Promise<void> {
  if ((await readNoted(stores.pool)).logId !== undefined) await checkBelonging(stores)
}

/**
 * What a failed comparison shows about the log, in words that follow its name; undefined if it
 * shows nothing.
 */
export function notBelonging(error: unknown): string | undefined {
  if (error instanceof LogOlderError) return `is older than the database: ${error.message}`
  if (error instanceof NotBelongingError) return `is another one: ${error.message}`
  return undefined
}

/**
 * Makes sure, before anything is written, that the log and the database belong together. A log
 * without a database adopts this one if it has no event yet, or has the events that were applied
 * here.
 * @param adopts whether the log adopts the database in any case
 * @throws LogOlderError, NotBelongingError, and what the stores throw
 */
export async function requireBelonging(
  stores: Stores,
  { adopts, actor }: { readonly adopts: boolean; readonly actor: string },
): Promise<{ readonly databaseId: string; readonly adoptedAt: string }> {
  await nameDatabase(stores.pool)
  const noted = await readNoted(stores.pool)
  const isFollowed = await requireHeldAtLast(stores)
  const mayAdopt = adopts || isFollowed || (noted.logId === undefined && (await isEmpty(stores)))
  // Read after it was found empty: another start may have been first.
  let named = await readNamed(stores)
  if (adopts) named = await name(stores, noted, 'adopt', actor)
  else if (named === undefined && mayAdopt) named = await name(stores, noted, 'adopt-first', actor)
  if (named === undefined)
    throw new NotBelongingError(
      noted.logId === undefined
        ? `the event log has events, but none of them was applied to this database. ${ADVICE}`
        : `the event log names no database, and this one belongs to another event log. ${ADVICE}`,
    )
  await noteLog(stores.pool, named.logId, adopts)
  requireSame(await readNoted(stores.pool), named)
  return named
}

async function requireHeldAtLast({ log, pool, projections }: Stores): Promise<boolean> {
  const look = (): Promise<boolean> => requireHeld(log, pool, projections)
  return look().catch(async (error: unknown) => {
    if (!(error instanceof LogOlderError)) throw error
    await pause(ASK_AGAIN_AFTER_MS)
    return look()
  })
}

async function noteLog(pool: Pool, logId: string, adopts: boolean): Promise<void> {
  await pool.query('update ops.installation set log_id = $1 where log_id is null or $2', [
    logId,
    adopts,
  ])
}

export const installationMigrations: Migrations = {
  owner: 'installation',
  steps: [
    `
create table if not exists ops.installation (
  sole boolean primary key default true check (sole),
  database_id text not null,
  -- Null until a log named this database.
  log_id text
);
`,
  ],
}
