import { toTimestamp } from '../../../src/kernel/clock.ts'
import type { FamilyKit } from '../family.ts'
import { ending } from '../tasks/record.ts'
import {
  type AssetRecord,
  assetState,
  type AssetStatus,
  type AssetType,
  groupExists,
  type GroupRecord,
  type GroupType,
  type LibraryRecord,
  type SessionRecord,
  sessionStatus,
  statusOf,
} from './record.ts'

/** What was accepted, as a test compares it with what it has itself. */

interface View {
  readonly seq: number
  readonly id: string
  readonly region: string
  readonly project: string
  /** Of `[[client=…]]`, else the name it was given. */
  readonly client_marker: string | null
  readonly client_request_id: string | null
  /** Which account made it: the start of the hash of its access key's id. */
  readonly credential: string
  readonly accepted_at: string
}

interface KeptView extends View {
  /** What it is called now. */
  readonly name: string
  readonly group_type: GroupType
  readonly deleted: boolean
}

/** An accepted asset as `GET /__sandbox/assets` lists it. */
export interface AcceptedAsset extends KeptView {
  readonly group_id: string
  readonly asset_type: AssetType
  /** What a query would report now; for a deleted one, at its deletion. */
  readonly status: AssetStatus
  /** What it ends in, already or later; `never`: it is processed for ever. */
  readonly outcome: 'Active' | 'Failed' | 'never'
  readonly ends_at: string | null
  readonly fail_code: string | null
  /** Queries no longer find it, although nobody deleted it. */
  readonly gone: boolean
}

/** An accepted group as `GET /__sandbox/asset-groups` lists it. */
export interface AcceptedGroup extends KeptView {
  readonly description: string
  /** False for one of a person whose result is not known yet. */
  readonly exists: boolean
}

/** A verification that was begun, as `GET /__sandbox/verifications` lists it. */
export interface AcceptedVerification extends View {
  readonly callback_url: string
  readonly status: 'pending' | 'passed' | 'failed' | 'expired'
  /** What was chosen on the page; null: nothing yet. */
  readonly page: 'pass' | 'fail' | null
  /** Of the person, once there is one. */
  readonly group_id: string | null
  readonly expires_at: string
}

function viewOf(record: LibraryRecord): View {
  return {
    seq: record.seq,
    id: record.id,
    region: record.region,
    project: record.projectName,
    client_marker: record.clientMarker,
    client_request_id: record.clientRequestId,
    credential: record.credential,
    accepted_at: toTimestamp(record.acceptedAtMs),
  }
}

/** Renders one asset as of a moment. */
export function assetView(asset: AssetRecord, nowMs: number): AcceptedAsset {
  const state = assetState(asset, nowMs)
  const end = ending(asset)
  const outcome = end === null ? 'never' : end.phase === 'succeeded' ? 'Active' : 'Failed'
  return {
    ...viewOf(asset),
    name: asset.name,
    group_type: asset.groupType,
    group_id: asset.groupId,
    asset_type: asset.assetType,
    status: statusOf(state),
    outcome,
    ends_at: end === null ? null : toTimestamp(end.atMs),
    fail_code: outcome === 'Failed' ? asset.plan.failCode : null,
    deleted: asset.deletedAtMs !== null,
    gone: !state.visible && asset.deletedAtMs === null,
  }
}

/** Renders one group as of a moment. */
export function groupView(group: GroupRecord, nowMs: number): AcceptedGroup {
  return {
    ...viewOf(group),
    name: group.name,
    description: group.description,
    group_type: group.groupType,
    deleted: group.deletedAtMs !== null,
    exists: groupExists(group, nowMs),
  }
}

/** Renders one verification as of a moment. */
export function verificationView(session: SessionRecord, nowMs: number): AcceptedVerification {
  const { submission } = session
  return {
    ...viewOf(session),
    callback_url: session.callbackUrl,
    status: sessionStatus(session, nowMs),
    page: submission === null ? null : submission.passed ? 'pass' : 'fail',
    group_id: submission?.groupId ?? null,
    expires_at: toTimestamp(session.expiresAtMs),
  }
}

/** What narrows a list of what was accepted; absent or null members match everything. */
export interface LibraryFilter {
  readonly region?: string | null
  readonly client_marker?: string | null
  readonly client_request_id?: string | null
}

function fits(view: View, filter: LibraryFilter): boolean {
  const same = (wanted: string | null | undefined, value: string | null): boolean =>
    wanted === undefined || wanted === null || wanted === value
  return (
    same(filter.region, view.region) &&
    same(filter.client_marker, view.client_marker) &&
    same(filter.client_request_id, view.client_request_id)
  )
}

/** Everything that was accepted, of each kind, oldest first. */
export interface LibraryViews {
  readonly assets: (filter?: LibraryFilter) => readonly AcceptedAsset[]
  readonly assetGroups: (filter?: LibraryFilter) => readonly AcceptedGroup[]
  readonly verifications: (filter?: LibraryFilter) => readonly AcceptedVerification[]
}

/** Reads the record of a sandbox. */
export function libraryViews({ assets, clock }: Pick<FamilyKit, 'assets' | 'clock'>): LibraryViews {
  const views = <Kind extends LibraryRecord, Shown extends View>(
    all: () => readonly Kind[],
    show: (record: Kind, nowMs: number) => Shown,
  ) => {
    return (filter: LibraryFilter = {}): readonly Shown[] =>
      all()
        .map((record) => show(record, clock.nowMs()))
        .filter((view) => fits(view, filter))
  }
  return {
    assets: views(() => assets.assets(), assetView),
    assetGroups: views(() => assets.groups(), groupView),
    verifications: views(() => assets.sessions(), verificationView),
  }
}
