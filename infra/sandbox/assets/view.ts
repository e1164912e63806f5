import { toTimestamp } from '../../../src/kernel/clock.ts'
import type { FamilyKit } from '../family.ts'
import { ending } from '../tasks/record.ts'
import {
  type AssetRecord,
  assetState,
  groupExists,
  type GroupRecord,
  type LibraryRecord,
  type SessionRecord,
  sessionStatus,
  statusOf,
} from './store.ts'

/** What was accepted, as a test compares it with what it has itself. */

function viewOf(record: LibraryRecord) {
  return {
    seq: record.seq,
    id: record.id,
    region: record.region,
    project: record.projectName,
    /** The mark of `[[client=…]]`, else the name it was given. */
    client_marker: record.clientMarker,
    client_request_id: record.clientRequestId,
    /** The account that made it: the start of the hash of its access key's id. */
    credential: record.credential,
    accepted_at: toTimestamp(record.acceptedAtMs),
  }
}

/** An accepted asset as of a moment, as `GET /__sandbox/assets` lists it. */
function assetView(asset: AssetRecord, nowMs: number) {
  const state = assetState(asset, nowMs)
  const end = ending(asset)
  const outcome = end === null ? 'never' : end.phase === 'succeeded' ? 'Active' : 'Failed'
  return {
    ...viewOf(asset),
    /** What it is called now. */
    name: asset.name,
    group_type: asset.groupType,
    group_id: asset.groupId,
    asset_type: asset.assetType,
    /** What a query would report now; for a deleted one, at its deletion. */
    status: statusOf(state),
    /** What it ends in, already or later; `never`: it is processed for ever. */
    outcome,
    ends_at: end === null ? null : toTimestamp(end.atMs),
    fail_code: outcome === 'Failed' ? asset.plan.failCode : null,
    deleted: asset.deletedAtMs !== null,
    /** Queries do not find it, although no request deleted it. */
    gone: !state.visible && asset.deletedAtMs === null,
  }
}

/** An accepted group as of a moment, as `GET /__sandbox/asset-groups` lists it. */
function groupView(group: GroupRecord, nowMs: number) {
  return {
    ...viewOf(group),
    name: group.name,
    description: group.description,
    group_type: group.groupType,
    deleted: group.deletedAtMs !== null,
    /** False for one of a person whose result is not known yet. */
    exists: groupExists(group, nowMs),
  }
}

/** A verification that was begun, as `GET /__sandbox/verifications` lists it. */
function verificationView(session: SessionRecord, nowMs: number) {
  const { submission } = session
  return {
    ...viewOf(session),
    callback_url: session.callbackUrl,
    status: sessionStatus(session, nowMs),
    /** What was chosen on the page; null: nothing yet. */
    page: submission === null ? null : submission.passed ? 'pass' : 'fail',
    /** The group of the person, once there is one. */
    group_id: submission?.groupId ?? null,
    expires_at: toTimestamp(session.expiresAtMs),
  }
}

/** What narrows a list of what was accepted; absent or null members match everything. */
type LibraryFilter = {
  readonly [Name in 'region' | 'client_marker' | 'client_request_id']?: string | null
}

/** Everything that was accepted, of each kind, oldest first. */
export type LibraryViews = ReturnType<typeof libraryViews>

/** Reads the record of a sandbox. */
export function libraryViews({ assets, clock }: Pick<FamilyKit, 'assets' | 'clock'>) {
  const views =
    <Kind extends LibraryRecord, Shown extends ReturnType<typeof viewOf>>(
      all: () => readonly Kind[],
      show: (record: Kind, nowMs: number) => Shown,
    ) =>
    ({ region, client_marker, client_request_id }: LibraryFilter = {}): readonly Shown[] =>
      all()
        .map((record) => show(record, clock.nowMs()))
        .filter(
          (view) =>
            (region ?? view.region) === view.region &&
            (client_marker ?? view.client_marker) === view.client_marker &&
            (client_request_id ?? view.client_request_id) === view.client_request_id,
        )
  return {
    assets: views(() => assets.assets(), assetView),
    assetGroups: views(() => assets.groups(), groupView),
    verifications: views(() => assets.sessions(), verificationView),
  }
}
