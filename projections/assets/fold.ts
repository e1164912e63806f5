import { invariant } from '../../src/kernel/assert.ts'
import type { AssetEvent } from '../../src/domain/asset/events.ts'
import type { AssetGroupEvent } from '../../src/domain/asset-group/events.ts'
import type { VerificationEvent } from '../../src/domain/verification/events.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import type { AssetTextRow, GroupTextRow, VerificationTextRow } from './columns.ts'
import type { AssetState, GroupState, VerificationState } from './state.ts'

/** A use changes nothing of an asset: the creation that uses it is a task, which the timeline has. */
export type AssetChange = Exclude<AssetEvent, { readonly type: 'AssetUsed' }>

interface AskedFor {
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  readonly requestId: string
  readonly region: string
  readonly projectName: string
  readonly channelId: string
}

function facts(data: AskedFor) {
  return {
    tenant_id: data.tenantId,
    user_id: data.userId,
    token_id: data.tokenId,
    request_id: data.requestId,
    region: data.region,
    project_name: data.projectName,
    channel_id: data.channelId,
  }
}

/** The row of what exists already. */
function existing<Row>(row: Row | undefined, type: string, id: string): Row {
  invariant(row, `${type} of ${id}, which never began`)
  return row
}

interface Moving {
  readonly state: string
  readonly updated_at: string
  readonly position: string
}

/** A row as an event leaves it that brings it into another state, and may change more. */
function moving<Row extends Moving>(before: Row, position: string) {
  return (state: Row['state'], at: string, more: Partial<Row> = {}): Row => ({
    ...before,
    state,
    ...more,
    updated_at: at,
    position,
  })
}

/** The row of an asset after an event. */
export function assetAfter(
  row: AssetTextRow | undefined,
  event: RecordedEvent<AssetChange>,
): AssetTextRow {
  const { assetId } = event.data
  const position = event.position.toString()
  if (event.type === 'AssetCreated') {
    invariant(row === undefined, `${assetId} created twice`)
    const { data } = event
    return {
      asset_id: assetId,
      ...facts(data),
      group_id: data.groupId,
      group_type: data.groupType,
      asset_type: data.assetType,
      name: data.name,
      native_id: null,
      state: 'created' satisfies AssetState,
      error_code: null,
      error_message: null,
      created_at: data.createdAt,
      updated_at: data.createdAt,
      position,
    }
  }
  const before = existing(row, event.type, assetId)
  const to = moving(before, position)
  switch (event.type) {
    case 'AssetAccepted': {
      const { nativeId, acceptedAt } = event.data
      // One that was withdrawn meanwhile stays so: it is now known what to delete.
      const wasCreated = before.state === 'created'
      const next = to('processing', acceptedAt, { native_id: nativeId })
      return wasCreated ? next : { ...next, state: before.state }
    }
    case 'AssetRefused': {
      const { code, message, refusedAt } = event.data
      return to('refused', refusedAt, { error_code: code, error_message: message })
    }
    case 'AssetActivated':
      return to('active', event.data.activatedAt, { error_code: null, error_message: null })
    case 'AssetFailed': {
      const { code, message, failedAt } = event.data
      return to('failed', failedAt, { error_code: code, error_message: message })
    }
    case 'AssetUpdated': {
      const { name, updatedAt } = event.data
      return { ...before, name, updated_at: updatedAt, position }
    }
    case 'AssetWithdrawn':
      return to('withdrawn', event.data.withdrawnAt)
    case 'AssetDeleted':
      return to('deleted', event.data.deletedAt)
  }
}

/** The row of a group after an event. */
export function groupAfter(
  row: GroupTextRow | undefined,
  event: RecordedEvent<AssetGroupEvent>,
): GroupTextRow {
  const { groupId } = event.data
  const position = event.position.toString()
  if (event.type === 'AssetGroupCreated') {
    invariant(row === undefined, `${groupId} created twice`)
    const { data } = event
    return {
      group_id: groupId,
      ...facts(data),
      group_type: data.groupType,
      name: data.name,
      description: data.description,
      native_id: null,
      verification_id: data.verificationId ?? null,
      state: 'created' satisfies GroupState,
      created_at: data.createdAt,
      updated_at: data.createdAt,
      position,
    }
  }
  const before = existing(row, event.type, groupId)
  const to = moving(before, position)
  switch (event.type) {
    case 'AssetGroupAccepted':
      return to('accepted', event.data.acceptedAt, { native_id: event.data.nativeId })
    case 'AssetGroupRefused':
      return to('refused', event.data.refusedAt)
    case 'AssetGroupUpdated': {
      const { name, description, updatedAt } = event.data
      return { ...before, name, description, updated_at: updatedAt, position }
    }
    case 'AssetGroupWithdrawn':
      return to('withdrawn', event.data.withdrawnAt)
    case 'AssetGroupDeleted':
      return to('deleted', event.data.deletedAt)
  }
}

/** The row of a verification after an event. */
export function verificationAfter(
  row: VerificationTextRow | undefined,
  event: RecordedEvent<VerificationEvent>,
): VerificationTextRow {
  const { verificationId } = event.data
  const position = event.position.toString()
  if (event.type === 'VerificationStarted') {
    invariant(row === undefined, `${verificationId} started twice`)
    const { data } = event
    return {
      verification_id: verificationId,
      ...facts(data),
      group_id: data.groupId,
      native_group_id: null,
      state: 'started' satisfies VerificationState,
      started_at: data.startedAt,
      expires_at: data.expiresAt,
      updated_at: data.startedAt,
      position,
    }
  }
  const before = existing(row, event.type, verificationId)
  const to = moving(before, position)
  switch (event.type) {
    case 'VerificationConfirmed': {
      const { nativeGroupId, confirmedAt } = event.data
      return to('confirmed', confirmedAt, { native_group_id: nativeGroupId })
    }
    case 'VerificationExpired':
      return to('expired', event.data.expiredAt)
  }
}
