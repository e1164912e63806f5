import type { Queryable } from '../../../projections/engine/queryable.ts'
import { newSecret, sha256Hex } from '../../kernel/ids.ts'
import type { Migrations } from '../../storage/postgres/migrate.ts'

/**
 * Sessions of the console. A session stands for one secret of a token, by the hash that tokens are found
 * by: neither the secret nor the id of the session is kept. Each request asks for the token again, so a
 * token that is disabled, expired or rotated ends its sessions on every replica.
 */

/** A session without a request for this long has ended. */
export const SESSION_IDLE_MS = 30 * 60_000
/** No session lasts longer. */
export const SESSION_MAX_MS = 12 * 3_600_000
/** The time of the last request is written again only after this. */
const SEEN_EVERY_MS = 60_000
/** Sessions of one token at once; the oldest are ended for a new one. */
export const SESSIONS_PER_TOKEN = 100
/** Ended sessions that one sign-in deletes at most, of each kind of end. */
const PURGE_LIMIT = 100
/** The beginning of the id of a session. */
export const SESSION_PREFIX = 'tcs-'

export interface ConsoleSession {
  /** The hash of the token's secret. */
  readonly secretHash: string
  /** Tenants that its holder, from outside of them, has given a reason to view. */
  readonly viewedTenants: readonly string[]
}

/** A session that is open. */
interface OpenSession extends ConsoleSession {
  /** Time since it was opened, in milliseconds. */
  readonly ageMs: number
}

export interface ConsoleSessions {
  /**
   * Opens a session, and deletes some that have ended, and the oldest beyond the bound of its token; its id
   * is returned once and kept nowhere.
   */
  readonly open: (session: {
    readonly secretHash: string
    readonly tokenId: string
  }) => Promise<string>
  /** Finds a session; undefined if it has ended. */
  readonly find: (id: string) => Promise<OpenSession | undefined>
  /** Notes that a reason was given for looking at a tenant, until the session ends. */
  readonly viewed: (id: string, tenantId: string) => Promise<void>
  readonly end: (id: string) => Promise<void>
}

const IS_IDLE = `last_seen_at <= clock_timestamp() - ${SESSION_IDLE_MS} * interval '1 ms'`
const IS_TOO_OLD = `opened_at <= clock_timestamp() - ${SESSION_MAX_MS} * interval '1 ms'`

/** Deletes the rows of a query by their key; rows that another sign-in is deleting are left to it. */
const deletionOf = (which: string): string =>
  `delete from ops.console_sessions where id_hash = any(array(
     select id_hash from ops.console_sessions ${which} for update skip locked))`

/** Each goes through an index, and is bounded. */
const PURGES = [
  ['console-session-purge-idle', `where ${IS_IDLE} order by last_seen_at limit ${PURGE_LIMIT}`],
  ['console-session-purge-old', `where ${IS_TOO_OLD} order by opened_at limit ${PURGE_LIMIT}`],
] as const

/** @throws errors of Postgres */
export function createConsoleSessions(db: Queryable): ConsoleSessions {
  return {
    open: async ({ secretHash, tokenId }) => {
      const id = newSecret(SESSION_PREFIX)
      for (const [name, which] of PURGES) await db.query({ name, text: deletionOf(which) })
      await db.query({
        name: 'console-session-displace',
        text: deletionOf(
          `where token_id = $1 order by opened_at desc offset ${SESSIONS_PER_TOKEN - 1}`,
        ),
        values: [tokenId],
      })
      await db.query({
        name: 'console-session-open',
        text: 'insert into ops.console_sessions (id_hash, secret_hash, token_id) values ($1, $2, $3)',
        values: [sha256Hex(id), secretHash, tokenId],
      })
      return id
    },
    find: async (id) => {
      if (!id.startsWith(SESSION_PREFIX)) return undefined
      const { rows } = await db.query<OpenSession & { is_due: boolean }>({
        name: 'console-session-find',
        text: `select secret_hash as "secretHash", viewed_tenants as "viewedTenants",
                 (extract(epoch from clock_timestamp() - opened_at) * 1000)::float8 as "ageMs",
                 last_seen_at < clock_timestamp() - ${SEEN_EVERY_MS} * interval '1 ms' as is_due
               from ops.console_sessions where id_hash = $1 and not ${IS_IDLE} and not ${IS_TOO_OLD}`,
        values: [sha256Hex(id)],
      })
      const [row] = rows
      if (row?.is_due === true)
        await db.query({
          name: 'console-session-seen',
          text: 'update ops.console_sessions set last_seen_at = clock_timestamp() where id_hash = $1',
          values: [sha256Hex(id)],
        })
      return row
    },
    viewed: async (id, tenantId) => {
      await db.query({
        name: 'console-session-viewed',
        text: `update ops.console_sessions set viewed_tenants = viewed_tenants || $2::text
               where id_hash = $1 and not $2 = any(viewed_tenants)`,
        values: [sha256Hex(id), tenantId],
      })
    },
    end: async (id) => {
      await db.query({
        name: 'console-session-end',
        text: 'delete from ops.console_sessions where id_hash = $1',
        values: [sha256Hex(id)],
      })
    },
  }
}

export const consoleSessionMigrations: Migrations = {
  owner: 'console-sessions',
  steps: [
    `
create table ops.console_sessions (
  id_hash text primary key,
  secret_hash text not null,
  token_id text not null,
  opened_at timestamptz not null default clock_timestamp(),
  last_seen_at timestamptz not null default clock_timestamp()
);
create index console_sessions_seen on ops.console_sessions (last_seen_at);
`,
    `alter table ops.console_sessions add column viewed_tenants text[] not null default '{}'`,
    `
create index console_sessions_opened on ops.console_sessions (opened_at);
create index console_sessions_token on ops.console_sessions (token_id, opened_at);
`,
  ],
}
