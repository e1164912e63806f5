export { differingAssetCounts, type CountedAssets } from './audited.ts'
export {
  findAssets,
  findGroups,
  type AssetListing,
  type GroupListing,
  type Listed,
  type ListPage,
} from './list.ts'
export type { AssetListFilter, GroupListFilter } from './list-filter.ts'
export type { AssetRow, GroupRow } from './tables.ts'
export { CountedTotals } from './totals.ts'
export {
  assetStates,
  assetStatuses,
  groupStates,
  statusOf,
  verificationStates,
  type AssetState,
  type AssetStatus,
  type GroupState,
  type VerificationState,
} from './state.ts'
export {
  listAssetsFor,
  listGroupsFor,
  type AssetSearch,
  type FoundAssets,
  type GroupSearch,
  type SearchPage,
} from './support-list.ts'
export {
  type AssetWork,
  type AssetWorkKind,
  assetsOfGroup,
  type DueAssetWork,
  channelsWithWork,
  dueAssetWork,
  openVerifications,
} from './work.ts'
