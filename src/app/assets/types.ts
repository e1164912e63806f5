import type { AssetFault } from '../../domain/asset/decider.ts'
import type { AssetGroupType, AssetType } from '../../domain/asset/events.ts'
import type { Principal } from '../access/principal.ts'
import type { Region } from '../ports/provider.ts'

/** Input and output of the asset library's use cases; no HTTP here. */

export interface LibraryRequest {
  readonly principal: Principal
  readonly requestId: string
}

/**
 * `model` is the caller's name of a model, which decides where it is stored; an undefined
 * `projectName` is `default`.
 */
export interface ModelRequest extends LibraryRequest {
  readonly model: string
  readonly projectName: string | undefined
}

/**
 * One object by our id. If the request names a model or a project, the object must be of that
 * region and project.
 */
export interface ObjectRequest extends LibraryRequest {
  readonly id: string
  readonly model: string | undefined
  readonly projectName: string | undefined
}

export type AssetStatus = 'Processing' | 'Active' | 'Failed'

interface KeptView {
  readonly groupId: string
  readonly groupType: AssetGroupType
  readonly name: string
  readonly region: Region
  readonly projectName: string
  /** Unix milliseconds. */
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

export interface AssetView extends KeptView {
  readonly assetId: string
  readonly assetType: AssetType
  readonly status: AssetStatus
  /** Why it failed; undefined unless it did. */
  readonly error: AssetFault | undefined
  /** A short-lived URL for viewing, if upstream gives one; never in a list. */
  readonly url: string | undefined
}

export interface AssetGroupView extends KeptView {
  readonly description: string
}

export const assetSorts = ['CreateTime', 'UpdateTime', 'GroupId'] as const
type AssetSort = (typeof assetSorts)[number]

/** A page of the caller's objects. `pageNumber` starts at 1. */
export interface AssetGroupListing extends LibraryRequest {
  /** Undefined: every region. */
  readonly model: string | undefined
  readonly projectName: string | undefined
  readonly groupType: AssetGroupType
  readonly groupIds: readonly string[] | undefined
  /** Prefix of the name. */
  readonly name: string | undefined
  readonly pageNumber: number
  readonly pageSize: number
  readonly sortBy: AssetSort
  readonly sortOrder: 'Asc' | 'Desc'
}

export interface AssetListing extends AssetGroupListing {
  readonly statuses: readonly AssetStatus[] | undefined
}

export interface AssetPage<View> {
  readonly items: readonly View[]
  readonly total: number
}

/** A started verification as its caller gets it: the gateway stores none of it. */
interface VerificationTicket {
  /** The one-time credential that queries its result. */
  readonly credential: string
  /** The page that the person opens. */
  readonly link: string
}

/**
 * The asset library. Codes of all: those of the log and the read models, `rate_limited`; for a
 * named model: `unknown_model`, `model_not_allowed`, `channel_not_available`; for a named object:
 * `asset_not_found` or `asset_group_not_found` (also for another tenant's),
 * `asset_region_mismatch`.
 */
export interface AssetUseCases {
  readonly findAssetTypes: FindAssetTypes
  /**
   * For the general library only. A group of unknown upstream outcome counts as created, and the
   * background looks for it. Codes: `submission_refused` (details: kind, upstreamCode,
   * retryAfterMs).
   */
  readonly createGroup: (
    order: ModelRequest & { readonly name: string; readonly description: string },
  ) => Promise<{ readonly groupId: string }>
  /**
   * Deletes a group. Code: `upstream_unavailable` while it is unknown whether upstream has the
   * group.
   */
  readonly createAsset: (
    order: ModelRequest & {
      readonly groupId: string
      /** Public, because upstream fetches it. */
      readonly url: string
      readonly assetType: AssetType
      readonly name: string
    },
  ) => Promise<{ readonly assetId: string }>
  readonly getAsset: (key: ObjectRequest) => Promise<AssetView>
  readonly getGroup: (key: ObjectRequest) => Promise<AssetGroupView>
  readonly listAssets: (listing: AssetListing) => Promise<AssetPage<AssetView>>
  readonly listGroups: (listing: AssetGroupListing) => Promise<AssetPage<AssetGroupView>>
  /** Codes of these four: `asset_action_not_enabled` for objects in the general library. */
  readonly updateAsset: (key: ObjectRequest & { readonly name: string }) => Promise<void>
  readonly updateGroup: (
    key: ObjectRequest & {
      readonly name: string | undefined
      readonly description: string | undefined
    },
  ) => Promise<void>
  /**
   * No new request can use it from the start. If upstream fails, the caller may retry, and the
   * background retries as well. Codes: `upstream_unavailable`.
   */
  readonly deleteAsset: (key: ObjectRequest) => Promise<void>
  /** Deletes all its assets as well. */
  readonly deleteGroup: (key: ObjectRequest) => Promise<void>
  /** Codes: `call_refused`, `upstream_unavailable`. */
  readonly startVerification: (
    order: ModelRequest & { readonly callbackUrl: string },
  ) => Promise<VerificationTicket>
  /**
   * Undefined while the person is not verified. Codes: `verification_not_found` (also expired, and
   * another tenant's), `asset_region_mismatch`, `upstream_unavailable`.
   */
  readonly verificationResult: (
    key: ModelRequest & { readonly credential: string },
  ) => Promise<{ readonly groupId: string | undefined }>
}

/** An asset that a member of a request names. */
export interface WantedAsset {
  readonly assetId: string
  readonly assetType: AssetType
  readonly param: string
}

/** Account and region of the assets of one request. */
export interface AssetLocation {
  /** The only account that has them. */
  readonly channelId: string
  /** Ids upstream by ids of the gateway. */
  readonly nativeIds: ReadonlyMap<string, string>
}

export interface AssetsWanted {
  readonly principal: Principal
  readonly requestId: string
  /** The region of the model. */
  readonly region: Region
  /** Set only when the request names one. */
  readonly projectName: string | undefined
  readonly assets: readonly WantedAsset[]
}

/**
 * Finds the assets that a creation uses, and records the use of those that can be deleted: the log
 * orders a concurrent use and deletion, and the first one wins.
 * @throws DomainError naming the member: `asset_not_found`, `asset_not_active`,
 *   `asset_region_mismatch`, `invalid_request` for one of another type, or in another place than
 *   those before it
 */
export type UseAssets = (wanted: AssetsWanted) => Promise<AssetLocation>

/** Whether a creation could use them, for a price query. @throws DomainError as `UseAssets` */
export type CheckAssets = (wanted: Omit<AssetsWanted, 'requestId'>) => Promise<void>

/**
 * The types of a caller's assets by id, deleted ones included, so that a retry is recognised.
 * @throws DomainError `asset_not_found`
 */
export type FindAssetTypes = (
  principal: Pick<Principal, 'tenantId' | 'userId'>,
  wanted: readonly { readonly assetId: string; readonly param: string }[],
) => Promise<ReadonlyMap<string, AssetType>>
