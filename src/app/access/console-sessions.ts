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

/** A session for those who may end it. Times are unix milliseconds. */
export interface ListedSession {
  /** The hash of its id, which names it and opens nothing. */
  readonly idHash: string
  readonly tokenId: string
  /** The name of the token; null while the read model does not have it. */
  readonly tokenName: string | null
  readonly openedAtMs: number
  readonly seenAtMs: number
  /** The address and the browser that opened it; empty for one of an earlier version. */
  readonly address: string
  readonly browser: string
}

/** Whose sessions: of one token, of a tenant's tokens, or of all. */
export type SessionsOf =
  | { readonly tokenId: string }
  | { readonly tenantId: string }
  | { readonly all: true }

/** Sessions that are listed at most, the last used first. */
export const MOST_LISTED = 200
const MAX_BROWSER_LENGTH = 200

export interface ConsoleSessions {
  /**
   * Opens a session, and deletes some that have ended, and the oldest beyond the bound of its token; its id
   * is returned once and kept nowhere.
   */
  readonly open: (session: {
    readonly secretHash: string
    readonly tokenId: string
    readonly address?: string
    readonly browser?: string | undefined
  }) => Promise<string>
  /** Finds a session; undefined if it has ended. */
  readonly find: (id: string) => Promise<OpenSession | undefined>
  /** Notes that a reason was given for looking at a tenant, until the session ends. */
  readonly viewed: (id: string, tenantId: string) => Promise<void>
  readonly end: (id: string) => Promise<void>
  /** The sessions that have not ended. */
  readonly list: (of: SessionsOf) => Promise<readonly ListedSession[]>
  /** Ends a session by the hash of its id, if it is one of these; false where there is none. */
  readonly endListed: (of: SessionsOf, idHash: string) => Promise<boolean>
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

interface ListedTimes {
  readonly opened_at: Date
  readonly last_seen_at: Date
}

/** Narrows `s` to the sessions of a token ($1), of a tenant's tokens ($2), or to none of both. */
const ARE_THOSE = `($1::text is null or s.token_id = $1) and ($2::text is null or exists (
  select from access.tokens t where t.token_id = s.token_id and t.tenant_id = $2))`

const whose = (of: SessionsOf): (string | null)[] => [
  'tokenId' in of ? of.tokenId : null,
  'tenantId' in of ? of.tenantId : null,
]

/** Lists sessions, and ends those of a list. @throws errors of Postgres */
function listOfSessions(db: Queryable): Pick<ConsoleSessions, 'list' | 'endListed'> {
  return {
    list: async (of) => {
      const { rows } = await db.query<Omit<ListedSession, 'openedAtMs' | 'seenAtMs'> & ListedTimes>(
        {
          name: 'console-session-list',
          text: `select s.id_hash as "idHash", s.token_id as "tokenId", s.opened_at, s.last_seen_at,
                 s.address, s.browser, n.name as "tokenName"
               from ops.console_sessions s left join access.tokens n using (token_id)
               where ${ARE_THOSE} and not ${IS_IDLE} and not ${IS_TOO_OLD}
               order by s.last_seen_at desc, s.id_hash limit ${MOST_LISTED}`,
          values: whose(of),
        },
      )
      return rows.map(({ opened_at, last_seen_at, ...row }) => ({
        ...row,
        openedAtMs: opened_at.getTime(),
        seenAtMs: last_seen_at.getTime(),
      }))
    },
    endListed: async (of, idHash) => {
      const { rowCount } = await db.query({
        name: 'console-session-end-listed',
        text: `delete from ops.console_sessions s where ${ARE_THOSE} and id_hash = $3`,
        values: [...whose(of), idHash],
      })
      return rowCount === 1
    },
  }
}

/** @throws errors of Postgres */
export function createConsoleSessions(db: Queryable): ConsoleSessions {
  return {
    ...listOfSessions(db),
    open: async ({ secretHash, tokenId, address = '', browser = '' }) => {
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
        text: `insert into ops.console_sessions (id_hash, secret_hash, token_id, address, browser)
               values ($1, $2, $3, $4, $5)`,
        values: [sha256Hex(id), secretHash, tokenId, address, browser.slice(0, MAX_BROWSER_LENGTH)],
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
    `
alter table ops.console_sessions add column address text not null default '';
alter table ops.console_sessions add column browser text not null default '';
`,
  ],
}
