import type { AssetGroupType, AssetType } from '../../domain/asset/events.ts'
import type { AssetFault } from '../../domain/asset/decider.ts'
import type { CallOptions, Channel } from './provider.ts'

/** Where callers' assets meet the accounts that keep them: channels that have a `library`. */

/** A thing of the library, by upstream's id. */
export interface NativeKey {
  readonly nativeId: string
  readonly projectName: string
}

/** A group as upstream is asked for it. */
export interface GroupOrder {
  /** What upstream calls it, which it is found again by: our id. */
  readonly name: string
  readonly projectName: string
}

/** An asset as upstream is asked for it. */
export interface AssetOrder extends GroupOrder {
  readonly nativeGroupId: string
  /** Upstream fetches it from there. */
  readonly url: string
  readonly assetType: AssetType
}

/** What upstream says of an asset. */
export interface SeenAsset {
  readonly nativeId: string
  /** What it was asked for as. */
  readonly name: string | undefined
  readonly status: 'processing' | 'active' | 'failed' | 'unknown'
  /** Of one that failed; scrubbed of what callers must not see. */
  readonly error: AssetFault | undefined
  /** Short-lived: never kept. */
  readonly url: string | undefined
}

/** What upstream says of a group. */
export interface SeenGroup {
  readonly nativeId: string
  readonly name: string | undefined
}

/** A page of a list. `pageNumber` begins at 1; a page has at most `maxPageSize`. */
export interface LibraryPage {
  readonly groupType: AssetGroupType
  readonly projectName: string
  /** Exactly so. */
  readonly name?: string
  readonly pageNumber: number
  readonly pageSize: number
}

/** The items that could be read; how many there are on all pages, where upstream says it. */
export interface Listed<Item> {
  readonly items: readonly Item[]
  readonly total: number | undefined
}

/** A verification that upstream has begun. Both are one-time credentials: neither kept nor logged. */
export interface StartedVerification {
  readonly credential: string
  readonly link: string
}

/** The adapter of asset libraries. All throw ProviderError. */
export interface AssetProvider {
  /** Longest page of a list. */
  readonly maxPageSize: number
  /** How far a list reaches: page number times page size. */
  readonly maxListed: number
  /** Of the general library. */
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
      /** What upstream works on, newest first; or what it has ended, made or failed, the last of it first. */
      readonly standing?: 'processing' | 'ended'
    },
    options: CallOptions,
  ) => Promise<Listed<SeenAsset>>
  readonly listGroups: (
    channel: Channel,
    page: LibraryPage,
    options: CallOptions,
  ) => Promise<Listed<SeenGroup>>
  /** What is gone already is deleted. */
  readonly deleteAsset: (channel: Channel, key: NativeKey, options: CallOptions) => Promise<void>
  /** With every asset of it. What is gone already is deleted. */
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
