import type { Pool } from 'pg'
import type { Migrations } from '../../../storage/postgres/migrate.ts'

/**
 * The statements of claims. Only the clock of Postgres counts, so replicas need not agree on the
 * time. The tables have no caller data in the clear: keys and bodies are keyed hashes, answers are
 * sealed.
 */

/** A claim that is not renewed for this long is free, even if its process is present. */
export const LEASE_MS = 60_000
/** A process that takes a key may have been removed before: it is present again within this. */
const PRESENT_AGAIN_MS = 10_000
/** Lifetime of a key from its first request on. */
const KEY_LIFE_MS = 24 * 3_600_000
const PURGE_LIMIT = 5_000

const after = (parameter: string): string =>
  `clock_timestamp() + ${parameter}::float8 * interval '1 millisecond'`

const ahead = (time: string, fromMs: number, toMs: number): string =>
  `${time} between clock_timestamp() + ${fromMs} * interval '1 millisecond'
     and clock_timestamp() + ${toMs} * interval '1 millisecond'`

/**
 * Whether a claim is held: its lease has not ended and its process is present (`ops.workers`, a row
 * that the process renews every second and that the others remove after 5 s of silence). A process
 * that was only suspended, or disconnected, may find its claim taken when it resumes: then its call
 * is not settled.
 *
 * A lease that ends too far ahead was written before the clock was set back: its holder renews it,
 * and no request waits for a dead process. The bound is two leases, because a clock may be adjusted
 * a little at any time.
 */
const isLeased = (claim: string): string =>
  `(${ahead(`${claim}.lease_until`, 0, 2 * LEASE_MS)}
     and (${claim}.owner is null
          or exists (select from ops.workers w where w.owner = ${claim}.owner)
          or ${ahead(`${claim}.expires_at`, KEY_LIFE_MS - PRESENT_AGAIN_MS, KEY_LIFE_MS + PRESENT_AGAIN_MS)}))`

/** Names a claim, and the one call that is made under it. */
export interface ClaimName {
  readonly claimKey: string
  readonly callId: string
}

/** A claim with a present or past holder. */
export interface FoundClaim {
  readonly callId: string
  readonly bodyHash: string
  readonly mayBeSettled: boolean
  readonly isLeased: boolean
  readonly answer: Buffer | undefined
}

/**
 * Takes a key that is new, that has expired, or whose holder died before its call may have been
 * settled. All three are one statement, so of several requests only one succeeds.
 */
export async function takeClaim(
  db: Pool,
  {
    claimKey,
    callId,
    bodyHash,
    owner,
  }: ClaimName & { readonly bodyHash: string; readonly owner: string },
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: 'call-claim-take',
    text: `insert into ops.call_claims as c
             (claim_key, call_id, body_hash, owner, lease_until, expires_at)
           values ($1, $2, $3, $6, ${after('$4')}, ${after('$5')})
           on conflict (claim_key) do update set
             call_id = excluded.call_id, body_hash = excluded.body_hash, may_be_settled = false,
             owner = excluded.owner,
             lease_until = excluded.lease_until, expires_at = excluded.expires_at, answer = null
           where not (${isLeased('c')})
             and (not c.may_be_settled or c.expires_at < clock_timestamp())`,
    values: [claimKey, callId, bodyHash, LEASE_MS, KEY_LIFE_MS, owner],
  })
  return rowCount === 1
}

export async function findClaim(db: Pool, claimKey: string): Promise<FoundClaim | undefined> {
  const { rows } = await db.query<{
    call_id: string
    body_hash: string
    may_be_settled: boolean
    is_leased: boolean
    answer: Buffer | null
  }>({
    name: 'call-claim-find',
    text: `select c.call_id, c.body_hash, c.may_be_settled, c.answer, ${isLeased('c')} as is_leased
           from ops.call_claims c where c.claim_key = $1`,
    values: [claimKey],
  })
  const [row] = rows
  return (
    row && {
      callId: row.call_id,
      bodyHash: row.body_hash,
      mayBeSettled: row.may_be_settled,
      isLeased: row.is_leased,
      answer: row.answer ?? undefined,
    }
  )
}

/** False: another process has taken the key since, or it is deleted. */
export async function markSettling(db: Pool, { claimKey, callId }: ClaimName): Promise<boolean> {
  const { rowCount } = await db.query({
    name: 'call-claim-settling',
    text: `update ops.call_claims set may_be_settled = true, lease_until = ${after('$3')}
           where claim_key = $1 and call_id = $2`,
    values: [claimKey, callId, LEASE_MS],
  })
  return rowCount === 1
}

/** The total size of a tenant's kept answers, and the tenant of this one. */
export interface KeptBound {
  /** Keyed hash of the tenant. */
  readonly tenantKey: string
  readonly maxBytes: number
}

/** Rows that a tenant's bytes of one hour are spread over, so that its answers rarely wait. */
const KEPT_SHARDS = 8
/** Keys and their answers are gone by then. */
const KEPT_HOURS = KEY_LIFE_MS / 3_600_000 + 1

/**
 * Ends a claim whose call is settled; without an answer a retry has nothing to repeat. An answer
 * beyond the tenant's bound is not kept; answers that end at the same time may exceed it together.
 * Returns whether it is kept.
 */
export async function endClaim(
  db: Pool,
  { claimKey, callId }: ClaimName,
  answer: Uint8Array | undefined,
  { tenantKey, maxBytes }: KeptBound,
): Promise<boolean> {
  const { rows } = await db.query<{ is_kept: boolean }>({
    name: 'call-claim-end',
    text: `with counted as (
             insert into ops.kept_answers as k (tenant_key, hour, shard, size_bytes)
             select $4, date_trunc('hour', clock_timestamp()), hashtext($1) & ${KEPT_SHARDS - 1}, $5
             where $5::bigint > 0 and $5::bigint + (
               select coalesce(sum(size_bytes), 0) from ops.kept_answers
               where tenant_key = $4 and hour > clock_timestamp() - interval '${KEPT_HOURS} hours'
             ) <= $6::bigint
             on conflict (tenant_key, hour, shard) do update
               set size_bytes = k.size_bytes + excluded.size_bytes
             returning true)
           update ops.call_claims
           set answer = case when exists (select from counted) then $3::bytea end,
               lease_until = '-infinity'
           where claim_key = $1 and call_id = $2
           returning answer is not null as is_kept`,
    values: [claimKey, callId, answer ?? null, tenantKey, answer?.length ?? 0, maxBytes],
  })
  return rows[0]?.is_kept === true
}

export async function removeClaim(db: Pool, { claimKey, callId }: ClaimName): Promise<void> {
  await db.query({
    name: 'call-claim-remove',
    text: 'delete from ops.call_claims where claim_key = $1 and call_id = $2',
    values: [claimKey, callId],
  })
}

export async function renewClaims(db: Pool, names: readonly ClaimName[]): Promise<void> {
  await db.query({
    name: 'call-claim-renew',
    // All renew in the order of the keys, so that replicas do not deadlock.
    text: `update ops.call_claims c set lease_until = ${after('$3')}
           from (select c.claim_key from ops.call_claims c
                 join unnest($1::text[], $2::text[]) as held (claim_key, call_id)
                   using (claim_key, call_id)
                 order by c.claim_key for update of c) as mine
           where c.claim_key = mine.claim_key`,
    values: [names.map(({ claimKey }) => claimKey), names.map(({ callId }) => callId), LEASE_MS],
  })
}

const IS_EXPIRED = `c.expires_at < clock_timestamp() and not (${isLeased('c')})`
const IS_TOO_OLD = `abs(extract(epoch from clock_timestamp() - hour)) > ${KEPT_HOURS} * 3600`

/** Each has a row where there is one to purge. */
export const expiredClaimsSql = `select from ops.call_claims c where ${IS_EXPIRED}`
export const oldAnswersSql = `select from ops.kept_answers where ${IS_TOO_OLD}`

/** Deletes expired keys with their answers, a bounded number at a time. */
export async function purgeCallClaims(db: Pool): Promise<void> {
  await db.query({
    name: 'call-claims-purge',
    text: `delete from ops.call_claims where claim_key in (
             select c.claim_key from ops.call_claims c
             where ${IS_EXPIRED} limit $1)`,
    values: [PURGE_LIMIT],
  })
  await db.query({
    name: 'kept-answers-purge',
    text: `delete from ops.kept_answers where ${IS_TOO_OLD}`,
  })
}

export const callClaimMigrations: Migrations = {
  owner: 'call-claims',
  steps: [
    `
create table ops.call_claims (
  claim_key text primary key,
  body_hash text not null,
  call_id text not null,
  may_be_settled boolean not null default false,
  lease_until timestamptz not null,
  expires_at timestamptz not null,
  answer bytea
);
-- Answers are ciphertext: trying to compress them only costs time.
alter table ops.call_claims alter column answer set storage external;
create index call_claims_expiry on ops.call_claims (expires_at);
`,
    // A claim of a process from before this column has only its lease.
    `alter table ops.call_claims add column owner text`,
    `
-- Bytes of the answers that a tenant kept within an hour; what was kept before this table is not counted.
create table ops.kept_answers (
  tenant_key text not null,
  hour timestamptz not null,
  shard smallint not null,
  size_bytes bigint not null,
  primary key (tenant_key, hour, shard)
)`,
  ],
}
