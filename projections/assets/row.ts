import type { AssetGroupType, AssetType } from '../../src/domain/asset/events.ts'
import type { AssetState, GroupState } from './state.ts'

interface KeptRow {
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  readonly requestId: string
  readonly groupId: string
  readonly groupType: AssetGroupType
  readonly region: 'domestic' | 'overseas'
  readonly projectName: string
  readonly channelId: string
  /** As its tenant calls it. */
  readonly name: string
  /** What upstream calls it; null while nobody knows whether it has it. */
  readonly nativeId: string | null
  /** Unix milliseconds. */
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** Of the last event that changed it. */
  readonly position: bigint
}

/** An asset as the read model knows it. */
export interface AssetRow extends KeptRow {
  readonly assetId: string
  readonly assetType: AssetType
  readonly state: AssetState
  /** Why it failed or was refused. */
  readonly errorCode: string | null
  readonly errorMessage: string | null
}

/** A group as the read model knows it. */
export interface GroupRow extends KeptRow {
  readonly description: string
  /** Of a person: how it came to be. */
  readonly verificationId: string | null
  readonly state: GroupState
}

interface KeptRecord {
  readonly tenant_id: string
  readonly user_id: string
  readonly token_id: string
  readonly request_id: string
  readonly group_id: string
  readonly group_type: AssetGroupType
  readonly region: 'domestic' | 'overseas'
  readonly project_name: string
  readonly channel_id: string
  readonly name: string
  readonly native_id: string | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly position: string
}

/** A row of `assets.assets`. */
export interface AssetRecord extends KeptRecord {
  readonly asset_id: string
  readonly asset_type: AssetType
  readonly state: AssetState
  readonly error_code: string | null
  readonly error_message: string | null
}

/** A row of `assets.groups`. */
export interface GroupRecord extends KeptRecord {
  readonly description: string
  readonly verification_id: string | null
  readonly state: GroupState
}

function toKept(record: KeptRecord): KeptRow {
  return {
    tenantId: record.tenant_id,
    userId: record.user_id,
    tokenId: record.token_id,
    requestId: record.request_id,
    groupId: record.group_id,
    groupType: record.group_type,
    region: record.region,
    projectName: record.project_name,
    channelId: record.channel_id,
    name: record.name,
    nativeId: record.native_id,
    createdAtMs: record.created_at.getTime(),
    updatedAtMs: record.updated_at.getTime(),
    position: BigInt(record.position),
  }
}

/** Reads a row. */
export function toAssetRow(record: AssetRecord): AssetRow {
  return {
    assetId: record.asset_id,
    ...toKept(record),
    assetType: record.asset_type,
    state: record.state,
    errorCode: record.error_code,
    errorMessage: record.error_message,
  }
}

/** Reads a row. */
export function toGroupRow(record: GroupRecord): GroupRow {
  return {
    ...toKept(record),
    description: record.description,
    verificationId: record.verification_id,
    state: record.state,
  }
}
