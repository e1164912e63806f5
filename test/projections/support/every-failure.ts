import type { FailureFilter } from '../../../projections/timeline/query.ts'

/** Finds all failures up to a position. */
export const everyFailure = (asOf: bigint): FailureFilter => ({
  tenantId: undefined,
  userIds: undefined,
  tokenId: undefined,
  model: undefined,
  channelId: undefined,
  surface: undefined,
  code: undefined,
  status: undefined,
  requestId: undefined,
  fromMs: undefined,
  toMs: undefined,
  asOf,
})
