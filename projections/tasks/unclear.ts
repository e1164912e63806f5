import type { Queryable } from '../engine/queryable.ts'
import { awaitsUsageSql } from './tables.ts'

/** Tasks whose end an operator may have to decide, because the provider does not say it. */

/** A task of which something is not known. */
export interface UnclearTask {
  readonly platformId: string
  readonly tenantId: string
  readonly family: string
  readonly model: string
  readonly channelId: string
  /** Unix milliseconds. */
  readonly requestedAtMs: number
  /** Time at which it expires unless its end is seen before, Unix milliseconds. */
  readonly expiresAtMs: number
}

/** The outcome of the submission is not known; or the result is made, and its usage is not known. */
const conditions = {
  submission: `exists (select from tasks.polls p where p.platform_id = t.platform_id
    and p.kind in ('reconcile', 'finish')) and submission in ('uncertain', 'lost')`,
  usage: awaitsUsageSql,
} as const

/** Open tasks of which this is not known, the first to expire first. */
export async function unclearTasks(
  db: Queryable,
  unknown: keyof typeof conditions,
  limit: number,
): Promise<readonly UnclearTask[]> {
  const { rows } = await db.query<{
    platform_id: string
    tenant_id: string
    family: string
    model: string
    channel_id: string
    requested_at_ms: string
    expires_at_ms: string
  }>({
    name: `tasks.unclear.${unknown}`,
    text: `select platform_id, tenant_id, family, model, channel_id, requested_at_ms, expires_at_ms
           from tasks.tasks t where status in ('queued', 'running') and ${conditions[unknown]}
           order by expires_at_ms, platform_id limit $1`,
    values: [limit],
  })
  return rows.map((row) => ({
    platformId: row.platform_id,
    tenantId: row.tenant_id,
    family: row.family,
    model: row.model,
    channelId: row.channel_id,
    requestedAtMs: Number(row.requested_at_ms),
    expiresAtMs: Number(row.expires_at_ms),
  }))
}
