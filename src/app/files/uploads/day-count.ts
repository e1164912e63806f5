import type { PoolClient } from 'pg'
import { DomainError } from '../../../kernel/errors.ts'
import type { Migrations } from '../../../storage/postgres/migrate.ts'

/**
 * Uploads that a tenant begins within a day, including deleted ones, because they have left events
 * in the log.
 */

const DAY_MS = 86_400_000

/** Counts an upload of a tenant, under the lock of that tenant. @throws DomainError `upload_quota_reached` */
export async function countOfDay(
  client: PoolClient,
  tenantId: string,
  maxPerDay: number,
): Promise<void> {
  const { rowCount } = await client.query({
    name: 'uploads.of-day',
    text: `with swept as (
             delete from ops.upload_counts
             where tenant_id = $1
               and abs(extract(epoch from clock_timestamp() - hour)) > ${DAY_MS / 1_000} + 3600)
           insert into ops.upload_counts as c (tenant_id, hour, uploads)
           select $1, date_trunc('hour', clock_timestamp()), 1
           where (select coalesce(sum(uploads), 0) from ops.upload_counts
                  where tenant_id = $1
                    and hour > clock_timestamp() - ${DAY_MS} * interval '1 millisecond') < $2
           on conflict (tenant_id, hour) do update set uploads = c.uploads + 1`,
    values: [tenantId, maxPerDay],
  })
  if (rowCount === 0) throw quotaReached('day', maxPerDay)
}

/** The bound of uploads that a tenant is at. */
const quotaWords = {
  files: (limit: number) => `${limit} uploads; delete files, or wait until some expire`,
  bytes: (limit: number) => `${limit} bytes of uploads; delete files, or wait until some expire`,
  day: (limit: number) =>
    `${limit} uploads per day, including deleted ones; wait until some are older than a day`,
}

/** The refusal of an upload at one of the bounds of its tenant. */
export function quotaReached(limitedBy: keyof typeof quotaWords, limit: number): DomainError {
  return new DomainError(
    'upload_quota_reached',
    `The tenant is at its limit of ${quotaWords[limitedBy](limit)}`,
    { limitedBy, limit },
  )
}

export const uploadDayMigrations: Migrations = {
  owner: 'upload-days',
  steps: [
    `
-- Uploads that a tenant began within an hour: what is deleted again has left its events in the log.
create table ops.upload_counts (
  tenant_id text not null,
  hour timestamptz not null,
  uploads bigint not null,
  primary key (tenant_id, hour)
)`,
  ],
}
