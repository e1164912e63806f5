import { canonicalTime } from '../../../projections/engine/audited-rows.ts'
import { assetEvents, type AssetEvent } from '../../../src/domain/asset/events.ts'
import { assetGroupEvents, type AssetGroupEvent } from '../../../src/domain/asset-group/events.ts'
import {
  verificationEvents,
  type VerificationEvent,
} from '../../../src/domain/verification/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { type Expected } from '../../../src/app/audit/compare.ts'

/** The auditor's own computation of what asset library events leave in the read model. */

type Beginning = Extract<
  AssetEvent | AssetGroupEvent | VerificationEvent,
  { readonly type: 'AssetCreated' | 'AssetGroupCreated' | 'VerificationStarted' }
>
type Fault = { readonly code: string; readonly message: string }

const isOfAsset = (event: RecordedEvent): event is RecordedEvent<AssetEvent> =>
  event.type in assetEvents
const isOfGroup = (event: RecordedEvent): event is RecordedEvent<AssetGroupEvent> =>
  event.type in assetGroupEvents
const isOfVerification = (event: RecordedEvent): event is RecordedEvent<VerificationEvent> =>
  event.type in verificationEvents

/** The columns that every stream's first event sets. */
function begun({ data }: Beginning): Expected {
  return {
    tenant_id: data.tenantId,
    user_id: data.userId,
    token_id: data.tokenId,
    request_id: data.requestId,
    region: data.region,
    project_name: data.projectName,
    channel_id: data.channelId,
    group_id: data.groupId,
  }
}

const errorOf = ({ code, message }: Fault): Expected => ({
  error_code: code,
  error_message: message,
})

/** The row of an asset after an event of its stream; a use does not change it. */
export function assetAfter(row: Expected | undefined, event: RecordedEvent): Expected | undefined {
  if (!isOfAsset(event)) return row
  const changed = (at: string, changes: Expected): Expected => ({
    ...row,
    ...changes,
    updated_at: canonicalTime(at),
    position: event.position,
  })
  switch (event.type) {
    case 'AssetCreated': {
      const { assetId, groupType, assetType, name, createdAt } = event.data
      const what = { asset_id: assetId, group_type: groupType, asset_type: assetType, name }
      const nothing = { native_id: null, error_code: null, error_message: null }
      const first = { ...begun(event), ...what, ...nothing, created_at: canonicalTime(createdAt) }
      return changed(createdAt, { ...first, state: 'created' })
    }
    case 'AssetAccepted': {
      const state = row?.['state'] === 'created' ? 'processing' : row?.['state']
      return changed(event.data.acceptedAt, { native_id: event.data.nativeId, state })
    }
    case 'AssetRefused':
      return changed(event.data.refusedAt, { state: 'refused', ...errorOf(event.data) })
    case 'AssetActivated':
      return changed(event.data.activatedAt, {
        state: 'active',
        error_code: null,
        error_message: null,
      })
    case 'AssetFailed':
      return changed(event.data.failedAt, { state: 'failed', ...errorOf(event.data) })
    case 'AssetUsed':
      return row
    case 'AssetUpdated':
      return changed(event.data.updatedAt, { name: event.data.name })
    case 'AssetWithdrawn':
      return changed(event.data.withdrawnAt, { state: 'withdrawn' })
    case 'AssetDeleted':
      return changed(event.data.deletedAt, { state: 'deleted' })
  }
}

/** The row of a group after an event of its stream. */
export function groupAfter(row: Expected | undefined, event: RecordedEvent): Expected | undefined {
  if (!isOfGroup(event)) return row
  const changed = (at: string, changes: Expected): Expected => ({
    ...row,
    ...changes,
    updated_at: canonicalTime(at),
    position: event.position,
  })
  switch (event.type) {
    case 'AssetGroupCreated': {
      const { groupType, name, description, verificationId = null, createdAt } = event.data
      const what = { group_type: groupType, name, description, verification_id: verificationId }
      const first = {
        ...begun(event),
        ...what,
        native_id: null,
        created_at: canonicalTime(createdAt),
      }
      return changed(createdAt, { ...first, state: 'created' })
    }
    case 'AssetGroupAccepted':
      return changed(event.data.acceptedAt, { native_id: event.data.nativeId, state: 'accepted' })
    case 'AssetGroupRefused':
      return changed(event.data.refusedAt, { state: 'refused' })
    case 'AssetGroupUpdated': {
      const { name, description, updatedAt } = event.data
      return changed(updatedAt, { name, description })
    }
    case 'AssetGroupWithdrawn':
      return changed(event.data.withdrawnAt, { state: 'withdrawn' })
    case 'AssetGroupDeleted':
      return changed(event.data.deletedAt, { state: 'deleted' })
  }
}

/** The row of a verification after an event of its stream. */
export function verificationAfter(
  row: Expected | undefined,
  event: RecordedEvent,
): Expected | undefined {
  if (!isOfVerification(event)) return row
  const { position } = event
  switch (event.type) {
    case 'VerificationStarted': {
      const { verificationId, startedAt, expiresAt } = event.data
      const times = { started_at: canonicalTime(startedAt), expires_at: canonicalTime(expiresAt) }
      const first = { ...begun(event), verification_id: verificationId, native_group_id: null }
      return {
        ...first,
        ...times,
        state: 'started',
        updated_at: canonicalTime(startedAt),
        position,
      }
    }
    case 'VerificationConfirmed': {
      const { nativeGroupId, confirmedAt } = event.data
      const updated = { updated_at: canonicalTime(confirmedAt), position }
      return { ...row, state: 'confirmed', native_group_id: nativeGroupId, ...updated }
    }
    case 'VerificationExpired':
      return { ...row, state: 'expired', updated_at: canonicalTime(event.data.expiredAt), position }
  }
}
