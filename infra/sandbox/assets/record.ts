import { NO_MARKS, stateAt, type TaskPlan, type TaskState } from '../tasks/record.ts'
import type { Region } from './signature.ts'

/** What an asset is. */
export const ASSET_TYPES = ['Image', 'Video', 'Audio'] as const
export type AssetType = (typeof ASSET_TYPES)[number]

/** `AIGC`: the general library. `LivenessFace`: of a person who was verified. */
export const GROUP_TYPES = ['AIGC', 'LivenessFace'] as const
export type GroupType = (typeof GROUP_TYPES)[number]

/** How an asset stands, in the words of this wire. */
export const STATUSES = ['Processing', 'Active', 'Failed'] as const
export type AssetStatus = (typeof STATUSES)[number]

/** What is known of everything a library accepts; it is replaced, never changed. */
export interface Accepted {
  readonly seq: number
  readonly id: string
  readonly region: Region
  readonly projectName: string
  readonly acceptedAtMs: number
  /** A test's own name of the request: of `[[client=…]]`, else what the thing was called. */
  readonly clientMarker: string | null
  /** `x-client-request-id` of the request. */
  readonly clientRequestId: string | null
  /** Start of the hash of the access key's id. */
  readonly credential: string
}

interface Kept extends Accepted {
  readonly groupType: GroupType
  readonly name: string
  readonly updatedAtMs: number
  readonly deletedAtMs: number | null
}

/** An accepted asset; where its media was fetched from is not kept. */
export interface AssetRecord extends Kept {
  readonly kind: 'asset'
  readonly groupId: string
  readonly assetType: AssetType
  readonly plan: TaskPlan
}

/** A group; one of a person exists from `acceptedAtMs` on, which may lie ahead. */
export interface GroupRecord extends Kept {
  readonly kind: 'group'
  readonly description: string
}

/** What the person's page ended in. */
export interface Submission {
  readonly atMs: number
  readonly passed: boolean
  /** When the result is known; null: never. */
  readonly readyAtMs: number | null
  /** The group made for the person; null where there is none. */
  readonly groupId: string | null
}

/** A verification that was begun; its id is no credential, but follows from one. */
export interface SessionRecord extends Accepted {
  readonly kind: 'session'
  readonly callbackUrl: string
  /** The result is known so long after the page was submitted; null: never. */
  readonly resultMs: number | null
  /** Why the result is that nobody was verified, whatever the page said; null: it is as the page said. */
  readonly failCode: string | null
  readonly expiresAtMs: number
  readonly submission: Submission | null
}

export type LibraryRecord = AssetRecord | GroupRecord | SessionRecord

/** Records of assets are kept until they are deleted. */
const FOR_EVER = { taskMs: Infinity, cancelledMs: Infinity }

/** An asset at a moment, as a task: `visible` is whether it can be found. */
export function assetState(asset: AssetRecord, nowMs: number): TaskState {
  return stateAt(asset, { ...NO_MARKS, deletedAtMs: asset.deletedAtMs }, nowMs, FOR_EVER)
}

/** The word of this wire for how a task stands. */
export function statusOf({ phase }: Pick<TaskState, 'phase'>): AssetStatus {
  switch (phase) {
    case 'queued':
    case 'running':
      return 'Processing'
    case 'succeeded':
      return 'Active'
    case 'failed':
    case 'expired':
    case 'cancelled':
      return 'Failed'
  }
}

/** Whether a group can be found at a moment. */
export function groupExists(group: GroupRecord, nowMs: number): boolean {
  return group.deletedAtMs === null && nowMs >= group.acceptedAtMs
}

/** How a verification stands at a moment; its credential is good for nothing once it expired. */
export function sessionStatus(
  session: SessionRecord,
  nowMs: number,
): 'pending' | 'passed' | 'failed' | 'expired' {
  const { submission, failCode } = session
  if (nowMs >= session.expiresAtMs) return 'expired'
  if (submission === null) return 'pending'
  if (!submission.passed) return 'failed'
  if (submission.readyAtMs === null || nowMs < submission.readyAtMs) return 'pending'
  return failCode === null ? 'passed' : 'failed'
}

/** `YYYYMMDDhhmmss` in UTC, as ids of this upstream begin. */
export function stampOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 19).replace(/[-:T]/g, '')
}
