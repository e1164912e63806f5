import type { Static } from 'typebox'
import type {
  AssetRow,
  AssetSearch,
  GroupRow,
  GroupSearch,
} from '../../../projections/assets/query.ts'
import type { Principal } from '../../app/access/principal.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { isAssetGroupId, isAssetId } from '../../kernel/ids.ts'
import { fromCursor, listKeyOf } from '../kit/routes/queries.ts'
import {
  AssetSchema,
  GroupSchema,
  type AssetsQuerySchema,
  type GroupsQuerySchema,
} from './asset-schemas.ts'
import { narrow, visibleTo } from './scope.ts'

type Asset = Static<typeof AssetSchema>
type Group = Static<typeof GroupSchema>
type AssetQuery = Static<typeof AssetsQuerySchema>
type GroupQuery = Static<typeof GroupsQuerySchema>

/** Columns of the CSV, in the order in which the API shows them. */
export const assetColumns = Object.keys(AssetSchema.properties) as readonly (keyof Asset)[]
export const groupColumns = Object.keys(GroupSchema.properties) as readonly (keyof Group)[]

/** Only operators see the accounts upstream and the ids there. */
function isOperator(principal: Principal): boolean {
  return visibleTo(principal).tenantId === undefined
}

function toKept(row: AssetRow | GroupRow, forOperator: boolean) {
  return {
    group_id: row.groupId,
    name: row.name,
    created_at: toTimestamp(row.createdAtMs),
    updated_at: toTimestamp(row.updatedAtMs),
    tenant_id: row.tenantId,
    user_id: row.userId,
    token_id: row.tokenId,
    request_id: row.requestId,
    region: row.region,
    project_name: row.projectName,
    group_type: row.groupType,
    channel_id: forOperator ? row.channelId : null,
    native_id: forOperator ? row.nativeId : null,
  }
}

/** Shows assets to a principal as the API does. */
export function showsAssets(principal: Principal): (row: AssetRow) => Asset {
  const forOperator = isOperator(principal)
  return (row) => ({
    ...toKept(row, forOperator),
    asset_id: row.assetId,
    state: row.state,
    asset_type: row.assetType,
    error_code: row.errorCode,
    error_message: row.errorMessage,
  })
}

/** Shows groups the same way. */
export function showsGroups(principal: Principal): (row: GroupRow) => Group {
  const forOperator = isOperator(principal)
  return (row) => ({
    ...toKept(row, forOperator),
    state: row.state,
    description: row.description,
    verification_id: row.verificationId,
  })
}

/** The search inside the token's scope. @throws DomainError `scope_denied` */
function toSearch(principal: Principal, query: GroupQuery | AssetQuery) {
  const asked = { tenantId: query.tenant_id, userId: query.user_id }
  return {
    ...narrow(visibleTo(principal), asked),
    groupType: query.group_type,
    region: query.region,
    projectName: query.project_name,
    groupId: query.group_id,
    nativeId: query.native_id,
  }
}

/** @throws DomainError `scope_denied` */
export function toAssetSearch(principal: Principal, query: AssetQuery): AssetSearch {
  return { ...toSearch(principal, query), state: query.state, assetId: query.asset_id }
}

/** @throws DomainError `scope_denied` */
export function toGroupSearch(principal: Principal, query: GroupQuery): GroupSearch {
  return { ...toSearch(principal, query), state: query.state }
}

/** Where the page of assets begins. @throws DomainError `invalid_cursor` */
export function assetPlace(principal: Principal, query: AssetQuery) {
  const listKey = listKeyOf(['assets', visibleTo(principal)], query)
  return { listKey, after: fromCursor(query.cursor, listKey, isAssetId), limit: query.limit }
}

/** Where the page of groups begins. @throws DomainError `invalid_cursor` */
export function groupPlace(principal: Principal, query: GroupQuery) {
  const listKey = listKeyOf(['groups', visibleTo(principal)], query)
  return { listKey, after: fromCursor(query.cursor, listKey, isAssetGroupId), limit: query.limit }
}
