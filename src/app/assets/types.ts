import type { AssetFault } from '../../domain/asset/decider.ts'
import type { AssetGroupType, AssetType } from '../../domain/asset/events.ts'
import type { Principal } from '../access/principal.ts'
import type { Channel } from '../ports/provider.ts'

/** What the API asks of the asset library, and what it gets back; no HTTP here. */

export interface Asking {
  readonly principal: Principal
  readonly requestId: string
}

/** `model` is the caller's name of one, which says where it is kept; undefined in `projectName` is `default`. */
export interface Placing extends Asking {
  readonly model: string
  readonly projectName: string | undefined
}

/** One thing by our id. Where a model or a project is named, the thing must be of that region and project. */
export interface Naming extends Asking {
  readonly id: string
  readonly model: string | undefined
  readonly projectName: string | undefined
}

export type AssetStatus = 'Processing' | 'Active' | 'Failed'

interface KeptView {
  readonly groupId: string
  readonly groupType: AssetGroupType
  readonly name: string
  readonly region: Channel['region']
  readonly projectName: string
  /** Unix milliseconds. */
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

export interface AssetView extends KeptView {
  readonly assetId: string
  readonly assetType: AssetType
  readonly status: AssetStatus
  /** Of one that failed. */
  readonly error: AssetFault | undefined
  /** Where it can be looked at for a short while, if upstream says it; never in a list. */
  readonly url: string | undefined
}

export interface AssetGroupView extends KeptView {
  readonly description: string
}

export const assetSorts = ['CreateTime', 'UpdateTime', 'GroupId'] as const
export type AssetSort = (typeof assetSorts)[number]

/** A page of what a caller has. `pageNumber` begins at 1. */
export interface AssetGroupListing extends Asking {
  /** Undefined: of every region. */
  readonly model: string | undefined
  readonly projectName: string | undefined
  readonly groupType: AssetGroupType
  readonly groupIds: readonly string[] | undefined
  /** What their name begins with. */
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

/** A started verification as its caller gets it: none of it is ever kept. */
export interface VerificationTicket {
  /** The one-time credential that its result is asked for with. */
  readonly credential: string
  /** Where the person goes. */
  readonly link: string
}

/**
 * The asset library. Codes of all: those of the log and the read models, `rate_limited`; what names a
 * model: `unknown_model`, `model_not_allowed`, `channel_not_available`; what names a thing:
 * `asset_not_found` or `asset_group_not_found` (also for another's), `asset_region_mismatch`.
 */
export interface AssetUseCases {
  readonly findAssetTypes: FindAssetTypes
  /**
   * Of the general library alone. One whose outcome upstream is unknown is answered too, and looked
   * for in the background. Codes: `submission_refused` (details: kind, upstreamCode, retryAfterMs).
   */
  readonly createGroup: (
    order: Placing & { readonly name: string; readonly description: string },
  ) => Promise<{ readonly groupId: string }>
  /** Likewise. Code: `upstream_unavailable` while nobody knows whether upstream has the group. */
  readonly createAsset: (
    order: Placing & {
      readonly groupId: string
      /** Public; upstream fetches it. */
      readonly url: string
      readonly assetType: AssetType
      readonly name: string
    },
  ) => Promise<{ readonly assetId: string }>
  readonly getAsset: (key: Naming) => Promise<AssetView>
  readonly getGroup: (key: Naming) => Promise<AssetGroupView>
  readonly listAssets: (listing: AssetListing) => Promise<AssetPage<AssetView>>
  readonly listGroups: (listing: AssetGroupListing) => Promise<AssetPage<AssetGroupView>>
  /** Codes of these four: `asset_action_not_enabled` for the caller's own of the general library. */
  readonly updateAsset: (key: Naming & { readonly name: string }) => Promise<void>
  readonly updateGroup: (
    key: Naming & { readonly name: string | undefined; readonly description: string | undefined },
  ) => Promise<void>
  /**
   * From the first moment nothing uses it. Where upstream fails the same deletion can be asked for
   * again, and is tried in the background. Codes: `upstream_unavailable`.
   */
  readonly deleteAsset: (key: Naming) => Promise<void>
  /** With every asset of it. */
  readonly deleteGroup: (key: Naming) => Promise<void>
  /** Codes: `call_refused`, `upstream_unavailable`. */
  readonly startVerification: (
    order: Placing & { readonly callbackUrl: string },
  ) => Promise<VerificationTicket>
  /**
   * Undefined while the person is not verified yet. Codes: `verification_not_found` (also expired, and
   * another's), `asset_region_mismatch`, `upstream_unavailable`.
   */
  readonly verificationResult: (
    key: Placing & { readonly credential: string },
  ) => Promise<{ readonly groupId: string | undefined }>
}

/** An asset that a member of a request names. */
export interface WantedAsset {
  readonly assetId: string
  readonly assetType: AssetType
  readonly param: string
}

/** Where the assets of one request are. */
export interface AssetsPlace {
  /** The only account that has them. */
  readonly channelId: string
  /** Upstream's ids by ours. */
  readonly nativeIds: ReadonlyMap<string, string>
}

export interface AssetsWanted {
  readonly principal: Principal
  readonly requestId: string
  /** Of the model. */
  readonly region: Channel['region']
  /** Only where the request carries one. */
  readonly projectName: string | undefined
  readonly assets: readonly WantedAsset[]
}

/**
 * Finds the assets that a creation uses, and has it written down of those that can be deleted: of a use
 * and a deletion the log has one first, and that one has won.
 * @throws DomainError naming the member: `asset_not_found`, `asset_not_active`, `asset_region_mismatch`,
 *   `invalid_request` for one of another type, or that is kept elsewhere than those before it
 */
export type UseAssets = (wanted: AssetsWanted) => Promise<AssetsPlace>

/** Whether a creation could use them, for one that is only asked about. @throws DomainError as `UseAssets` */
export type CheckAssets = (wanted: Omit<AssetsWanted, 'requestId'>) => Promise<void>

/**
 * Of which type a caller's assets are or were, by id: what is deleted is told by its type too, so that a
 * repetition is known as one. @throws DomainError `asset_not_found`
 */
export type FindAssetTypes = (
  principal: Pick<Principal, 'tenantId' | 'userId'>,
  wanted: readonly { readonly assetId: string; readonly param: string }[],
) => Promise<ReadonlyMap<string, AssetType>>
