import type { AssetGroupType, AssetType } from '../../domain/asset/events.ts'
import type { AssetFault } from '../../domain/asset/decider.ts'
import type { CallOptions, Channel } from './provider.ts'

/** The port between callers' assets and the accounts that store them: channels with a `library`. */

/** An object of the library, by upstream's id. */
export interface NativeKey {
  readonly nativeId: string
  readonly projectName: string
}

/** A group to create upstream. */
interface GroupOrder {
  /** Name upstream: the gateway's id, so that the object can be found again. */
  readonly name: string
  readonly projectName: string
}

/** An asset to create upstream. */
interface AssetOrder extends GroupOrder {
  readonly nativeGroupId: string
  /** Upstream fetches it from there. */
  readonly url: string
  readonly assetType: AssetType
}

/** An asset as upstream reports it. */
export interface SeenAsset {
  readonly nativeId: string
  /** The name it was created under. */
  readonly name: string | undefined
  readonly status: 'processing' | 'active' | 'failed' | 'unknown'
  /** Why it failed, without anything that callers must not see; undefined unless it did. */
  readonly error: AssetFault | undefined
  /** Short-lived: never stored. */
  readonly url: string | undefined
}

/** A group as upstream reports it. */
export interface SeenGroup {
  readonly nativeId: string
  readonly name: string | undefined
}

/** A page of a list. `pageNumber` starts at 1; a page has at most `maxPageSize`. */
export interface LibraryPage {
  readonly groupType: AssetGroupType
  readonly projectName: string
  /** Exact match. */
  readonly name?: string
  readonly pageNumber: number
  readonly pageSize: number
}

/** The readable items, and the number on all pages, if upstream reports it. */
export interface Listed<Item> {
  readonly items: readonly Item[]
  readonly total: number | undefined
}

/** A verification that upstream began. Both are one-time credentials: never stored or logged. */
interface StartedVerification {
  readonly credential: string
  readonly link: string
}

/** The adapter of asset libraries. All throw ProviderError. */
export interface AssetProvider {
  /** Longest page of a list. */
  readonly maxPageSize: number
  /** Maximum reach of a list: page number times page size. */
  readonly maxListed: number
  /** In the general library. */
  readonly createGroup: (
    channel: Channel,
    order: GroupOrder,
    options: CallOptions,
  ) => Promise<{ readonly nativeId: string }>
  readonly createAsset: (
    channel: Channel,
    order: AssetOrder,
    options: CallOptions,
  ) => Promise<{ readonly nativeId: string }>
  readonly getAsset: (
    channel: Channel,
    key: NativeKey,
    options: CallOptions,
  ) => Promise<SeenAsset | 'gone'>
  readonly listAssets: (
    channel: Channel,
    page: LibraryPage & {
      /** Assets being processed, newest first; or ended ones, the last to end first. */
      readonly standing?: 'processing' | 'ended'
    },
    options: CallOptions,
  ) => Promise<Listed<SeenAsset>>
  readonly listGroups: (
    channel: Channel,
    page: LibraryPage,
    options: CallOptions,
  ) => Promise<Listed<SeenGroup>>
  /** An object that is gone already counts as deleted. */
  readonly deleteAsset: (channel: Channel, key: NativeKey, options: CallOptions) => Promise<void>
  /** Deletes its assets as well. A group that is gone already counts as deleted. */
  readonly deleteGroup: (channel: Channel, key: NativeKey, options: CallOptions) => Promise<void>
  readonly startVerification: (
    channel: Channel,
    order: { readonly callbackUrl: string; readonly projectName: string },
    options: CallOptions,
  ) => Promise<StartedVerification>
  readonly verificationResult: (
    channel: Channel,
    key: { readonly credential: string; readonly projectName: string },
    options: CallOptions,
  ) => Promise<
    | { readonly kind: 'passed'; readonly nativeGroupId: string }
    | { readonly kind: 'pending' | 'gone' }
  >
}
