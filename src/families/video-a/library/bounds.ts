import type { AssetStatus } from '../../../app/assets/types.ts'

/** What the members of actions are bounded by, in what is documented as in what is checked. */

export const MAX_NAME_CHARACTERS = 64
export const MAX_DESCRIPTION_CHARACTERS = 300
export const MAX_PROJECT_NAME_CHARACTERS = 64

export const assetStatuses = [
  'Processing',
  'Active',
  'Failed',
] as const satisfies readonly AssetStatus[]

export const DEFAULT_PAGE_SIZE = 10
export const MAX_PAGE_SIZE = 100
/** How far a list reaches: the number of a page times its size. */
export const MAX_LISTED = 20_000
/** Of groups, or of states, that one filter names. */
export const MAX_FILTERED = 100
