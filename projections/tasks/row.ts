import type { Usage } from '../../src/domain/pricing/usage.ts'
import type { Submission, TaskStatus } from './fold.ts'

type Scalars = Readonly<Record<string, string | number | boolean | null>>

/** A task as the read model knows it. */
export interface TaskRow {
  readonly platformId: string
  /** Null while the submission has no known outcome. */
  readonly nativeId: string | null
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  readonly family: string
  readonly surface: string
  readonly requestId: string
  readonly model: string
  readonly channelId: string
  readonly region: 'domestic' | 'overseas'
  readonly submission: Submission
  readonly status: TaskStatus
  /** Deleted by its tenant. */
  readonly hidden: boolean
  readonly settled: boolean
  /** The caller's own settings by wire name. */
  readonly settings: Scalars
  /** Actual specs by wire name, once succeeded. */
  readonly output: Scalars | null
  readonly usage: Usage | null
  readonly error: { readonly code: string; readonly message: string } | null
  readonly marker: string
  readonly markerIsOurs: boolean
  readonly requestedAtMs: number
  readonly updatedAtMs: number
  /** When upstream was last asked, by event or by poll; null before. */
  readonly observedAtMs: number | null
  readonly expiresAtMs: number
  readonly revision: bigint
  readonly position: bigint
}

/** A row of `taskColumns`. */
export interface TaskRecord {
  readonly platform_id: string
  readonly native_id: string | null
  readonly tenant_id: string
  readonly user_id: string
  readonly token_id: string
  readonly family: string
  readonly surface: string
  readonly request_id: string
  readonly model: string
  readonly channel_id: string
  readonly region: 'domestic' | 'overseas'
  readonly submission: Submission
  readonly status: TaskStatus
  readonly hidden: boolean
  readonly settled: boolean
  readonly settings: Scalars
  readonly output: Scalars | null
  readonly usage: Usage | null
  readonly error: { readonly code: string; readonly message: string } | null
  readonly marker: string
  readonly marker_is_ours: boolean
  readonly requested_at_ms: string
  readonly updated_at_ms: string
  readonly observed_at_ms: string | null
  readonly expires_at_ms: string
  readonly revision: string
  readonly position: string
}

/** Columns of a task `t` with the poll `p` of it, which knows the latest observation. */
export const taskColumns = `t.platform_id, t.native_id, t.tenant_id, t.user_id, t.token_id,
  t.family, t.surface, t.request_id, t.model, t.channel_id, t.region, t.submission, t.status,
  t.hidden, t.settled, t.settings, t.output, t.usage, t.error, t.marker,
  t.marker_is_ours, t.requested_at_ms, t.updated_at_ms, greatest(t.observed_at_ms, p.observed_at_ms) as observed_at_ms,
  t.expires_at_ms, t.revision, t.position`

/** The same without a poll, for lists. */
export const listColumns = taskColumns.replace(
  'greatest(t.observed_at_ms, p.observed_at_ms) as observed_at_ms',
  't.observed_at_ms',
)

/** Reads a row. */
export function toTaskRow(record: TaskRecord): TaskRow {
  return {
    platformId: record.platform_id,
    nativeId: record.native_id,
    tenantId: record.tenant_id,
    userId: record.user_id,
    tokenId: record.token_id,
    family: record.family,
    surface: record.surface,
    requestId: record.request_id,
    model: record.model,
    channelId: record.channel_id,
    region: record.region,
    submission: record.submission,
    status: record.status,
    hidden: record.hidden,
    settled: record.settled,
    settings: record.settings,
    output: record.output,
    usage: record.usage,
    error: record.error,
    marker: record.marker,
    markerIsOurs: record.marker_is_ours,
    requestedAtMs: Number(record.requested_at_ms),
    updatedAtMs: Number(record.updated_at_ms),
    observedAtMs: record.observed_at_ms === null ? null : Number(record.observed_at_ms),
    expiresAtMs: Number(record.expires_at_ms),
    revision: BigInt(record.revision),
    position: BigInt(record.position),
  }
}
