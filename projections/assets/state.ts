/** State of an asset, a group or a verification after its events. */

export const assetStates = [
  'created',
  'processing',
  'active',
  'failed',
  'refused',
  'withdrawn',
  'deleted',
] as const
export type AssetState = (typeof assetStates)[number]

export const groupStates = ['created', 'accepted', 'refused', 'withdrawn', 'deleted'] as const
export type GroupState = (typeof groupStates)[number]

export const verificationStates = ['started', 'confirmed', 'expired'] as const
export type VerificationState = (typeof verificationStates)[number]

/** Statuses of an asset that callers see. */
export const assetStatuses = ['Processing', 'Active', 'Failed'] as const
export type AssetStatus = (typeof assetStatuses)[number]

/** The states behind each status; callers do not see deleted assets. */
export const statesOf: Readonly<Record<AssetStatus, readonly AssetState[]>> = {
  Processing: ['created', 'processing'],
  Active: ['active'],
  Failed: ['failed', 'refused', 'withdrawn'],
}

/** Groups that callers are shown. */
export const shownGroupStates: readonly GroupState[] = ['created', 'accepted', 'withdrawn']

/** The status that callers see for this state; undefined for a deleted asset. */
export function statusOf(state: string): AssetStatus | undefined {
  return assetStatuses.find((status) => statesOf[status].some((each) => each === state))
}

/** States as a list of SQL. */
export function statesSql(states: readonly string[]): string {
  return states.map((state) => `'${state}'`).join(', ')
}
