import type { Pool, PoolClient } from 'pg'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { ReadModels } from '../../read-models/read-models.ts'
import { countOfDay, quotaReached } from './day-count.ts'
import type { Migrations } from '../../../storage/postgres/migrate.ts'

/** Maximum storage of one tenant here and at providers, and its duration (P10). */
export interface UploadLimits {
  readonly maxBytes: number
  readonly maxFiles: number
  /** Uploads that begin within a day, deleted ones too: each leaves events in the log. */
  readonly maxPerDay: number
  /** Lifetime after an upload's end; milliseconds. */
  readonly lifeMs: number
}

const DAY_MS = 86_400_000
export const defaultUploadLimits: UploadLimits = {
  maxBytes: 10 * 1024 ** 3,
  maxFiles: 10_000,
  maxPerDay: 20_000,
  lifeMs: 30 * DAY_MS,
}

/** Current storage of a tenant. */
interface UploadUse {
  readonly files: number
  readonly bytes: number
}

/** The reservation of one upload in its tenant's quota. */
export interface UploadPlace {
  /** Passes the bytes on until the quota is full. @throws as `take` */
  readonly counted: (body: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array, void>
  /** All of it is stored, under this id in the read model that will count it. */
  readonly keep: (uploadId: string) => Promise<void>
  /** The bytes are not stored. */
  readonly release: () => Promise<void>
}

/**
 * Bounds what tenants store: files, uploads sent to a provider, and pictures of waiting tasks.
 * Space is reserved in Postgres before bytes are accepted, under a lock of the tenant: any number
 * of concurrent uploads, in any number of processes, never exceeds the quota.
 */
export interface UploadQuota {
  readonly limits: UploadLimits
  /**
   * Reserves a place for an upload, which counts as one of its day.
   * @throws DomainError `upload_quota_reached`, `storage_full`, `read_model_behind`,
   *   `database_unavailable`
   */
  readonly take: (tenantId: string, uploadId: string) => Promise<UploadPlace>
  /**
   * Reserves space for the objects that a task stores until it ends; it does not count as an upload
   * of the day.
   * @throws as `take`
   */
  readonly takeForTask: (
    tenantId: string,
    uploadId: string,
    sizeBytes: number,
  ) => Promise<UploadPlace>
  /** Frees the place of a deleted upload. */
  readonly free: (uploadId: string) => Promise<void>
  readonly useOf: (tenantId: string) => Promise<UploadUse>
}

interface UploadQuotaDeps {
  readonly pool: Pool
  readonly readModels: Pick<ReadModels, 'requireCurrent'>
  readonly limits: UploadLimits
  /** Refuses while local disk is short. @throws DomainError `storage_full` */
  readonly checkDisk?: (() => Promise<void>) | undefined
}

/** Space is reserved in steps of this size, so that even a long upload queries rarely. */
const STEP_BYTES = 8 * 1024 * 1024
/**
 * A reservation that was not renewed for this long belongs to a dead process; finished uploads are
 * in a read model.
 */
const RESERVED_MS = 3_600_000
/** The longest time that a task may take, so its pictures wait no longer. */
const WAITING_MS = 4 * DAY_MS

const reservedUntil = (ms: number): string => `clock_timestamp() + ${ms} * interval '1 millisecond'`

/** Storage of a tenant, without the upload named by $2. */
const keptSql = `
  with reserved as (
    select upload_id, size_bytes from ops.upload_reservations
    where tenant_id = $1 and upload_id <> $2 and expires_at > clock_timestamp()
  ), kept as (
    select file_id, size_bytes from files.files
    where tenant_id = $1 and deleted_at is null
      and (expires_at is null or expires_at > clock_timestamp())
    union all
    -- What came before uploads had an end is not counted: it could not be deleted.
    select file_id, size_bytes from voices.uploads
    where tenant_id = $1 and expires_at > clock_timestamp()
  )
  select count(*)::float8 as files, coalesce(sum(size_bytes), 0)::float8 as bytes from (
    select size_bytes from reserved
    union all
    select size_bytes from kept k
    where k.file_id <> $2 and not exists (select from reserved r where r.upload_id = k.file_id)
  ) as uploads`

async function readUse(db: Queryable, tenantId: string, without = ''): Promise<UploadUse> {
  const { rows } = await db.query<UploadUse>({
    name: 'uploads.use',
    text: keptSql,
    values: [tenantId, without],
  })
  return rows[0] ?? { files: 0, bytes: 0 }
}

/** The read models that count stored uploads. */
const COUNTED_BY = ['files', 'voices'] as const

/** An upload of a tenant. */
interface UploadKey {
  readonly tenantId: string
  readonly uploadId: string
}

export function createUploadQuota(deps: UploadQuotaDeps): UploadQuota {
  const { pool, limits, checkDisk } = deps
  return {
    limits,
    free: (uploadId) => freeReservation(pool, uploadId),
    useOf: (tenantId) => readUse(pool, tenantId),
    take: (tenantId, uploadId) => take({ tenantId, uploadId }, 0, true),
    takeForTask: (tenantId, uploadId, sizeBytes) => take({ tenantId, uploadId }, sizeBytes, false),
  }

  async function take(
    key: UploadKey,
    expectedBytes: number,
    isOfDay: boolean,
  ): Promise<UploadPlace> {
    const { uploadId } = key
    await checkDisk?.()
    for (const model of COUNTED_BY) await deps.readModels.requireCurrent(model)
    let reservedBytes = await reserve(deps, key, expectedBytes, isOfDay)
    let sizeBytes = expectedBytes
    if (reservedBytes < expectedBytes) {
      await freeReservation(pool, uploadId)
      throw quotaReached('bytes', limits.maxBytes)
    }
    return {
      counted: async function* (body) {
        sizeBytes = 0
        for await (const chunk of body) {
          sizeBytes += chunk.length
          if (sizeBytes > reservedBytes) {
            await checkDisk?.()
            reservedBytes = await reserve(deps, key, sizeBytes + STEP_BYTES)
            if (reservedBytes < sizeBytes) throw quotaReached('bytes', limits.maxBytes)
          }
          yield chunk
        }
      },
      keep: async (keptAs) => {
        await pool.query({
          name: 'uploads.keep',
          text: `update ops.upload_reservations set upload_id = $2, size_bytes = $3,
                     expires_at = ${reservedUntil(RESERVED_MS)}
                   where upload_id = $1`,
          values: [uploadId, keptAs, sizeBytes],
        })
      },
      release: () => freeReservation(pool, uploadId),
    }
  }
}

/** Reserves at most the wanted bytes, as far as there is space; returns how many. */
function reserve(
  { pool, limits }: Pick<UploadQuotaDeps, 'pool' | 'limits'>,
  { tenantId, uploadId }: UploadKey,
  wantedBytes: number,
  isOfDay = false,
): Promise<number> {
  return inTenantLock(pool, tenantId, async (client) => {
    const use = await readUse(client, tenantId, uploadId)
    if (use.files >= limits.maxFiles) throw quotaReached('files', limits.maxFiles)
    const roomBytes = Math.max(0, limits.maxBytes - use.bytes)
    if (roomBytes === 0) throw quotaReached('bytes', limits.maxBytes)
    if (isOfDay) await countOfDay(client, tenantId, limits.maxPerDay)
    const grantedBytes = Math.min(wantedBytes, roomBytes)
    await client.query({
      name: 'uploads.reserve',
      text: `with swept as (
               delete from ops.upload_reservations
               where tenant_id = $2 and upload_id <> $1 and expires_at <= clock_timestamp())
             insert into ops.upload_reservations as r (upload_id, tenant_id, size_bytes, expires_at)
             values ($1, $2, $3, ${reservedUntil(RESERVED_MS)})
             on conflict (upload_id) do update set
               size_bytes = excluded.size_bytes, expires_at = excluded.expires_at`,
      values: [uploadId, tenantId, grantedBytes],
    })
    return grantedBytes
  })
}

async function freeReservation(pool: Pool, uploadId: string): Promise<void> {
  await pool.query({
    name: 'uploads.free',
    text: 'delete from ops.upload_reservations where upload_id = $1',
    values: [uploadId],
  })
}

/** Reserves space for the objects that a task stores until it ends. */
export async function reserveWhileWaiting(
  { pool, quota }: { readonly pool: Pool; readonly quota: UploadQuota },
  { tenantId, uploadId, sizeBytes }: UploadKey & { readonly sizeBytes: number },
): Promise<void> {
  await quota.takeForTask(tenantId, uploadId, sizeBytes)
  await pool.query({
    name: 'uploads.wait',
    text: `update ops.upload_reservations set expires_at = ${reservedUntil(WAITING_MS)}
           where upload_id = $1`,
    values: [uploadId],
  })
}

async function inTenantLock<Result>(
  pool: Pool,
  tenantId: string,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect()
  let failed: unknown
  try {
    await client.query('begin')
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
      `uploads ${tenantId}`,
    ])
    const result = await work(client)
    await client.query('commit')
    return result
  } catch (error) {
    failed = error
    throw error
  } finally {
    if (failed instanceof DomainError) await client.query('rollback').catch(() => undefined)
    client.release(failed !== undefined && !(failed instanceof DomainError))
  }
}

export const uploadMigrations: Migrations = {
  owner: 'uploads',
  steps: [
    `
-- Uploads on their way, those that the read models may not know yet, and pictures of tasks that wait.
-- Everything else that a tenant keeps is counted from the read models.
create table ops.upload_reservations (
  upload_id text primary key,
  tenant_id text not null,
  size_bytes bigint not null,
  -- Of a process that died: nothing is counted any longer than this.
  expires_at timestamptz not null
);
create index upload_reservations_tenant on ops.upload_reservations (tenant_id);
`,
  ],
}
