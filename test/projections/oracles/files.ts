import { canonicalTime } from '../../../projections/engine/audited-rows.ts'
import { voiceKey } from '../../../src/domain/voice/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import type { Expected } from '../../../src/app/audit/compare.ts'

/** The row of a file after an event of its stream. */
export function fileAfter(row: Expected | undefined, event: RecordedEvent): Expected | undefined {
  if (event.type === 'FileDeleted')
    return { ...row, deleted_at: canonicalTime(event.data.deletedAt) }
  if (event.type !== 'FileUploaded') return row
  const { data, position } = event
  return {
    file_id: data.fileId,
    tenant_id: data.tenantId,
    user_id: data.userId,
    token_id: data.tokenId,
    purpose: data.purpose,
    filename: data.filename,
    size_bytes: data.sizeBytes,
    uploaded_at: canonicalTime(data.uploadedAt),
    deleted_at: null,
    expires_at: expiryCell(data.expiresAt),
    position,
  }
}

/** Uploads recorded before they had an expiry have none. */
function expiryCell(expiresAt: string | undefined) {
  return expiresAt === undefined ? null : canonicalTime(expiresAt)
}

/** The row of an upload after an event of its stream. */
export function uploadAfter(row: Expected | undefined, event: RecordedEvent): Expected | undefined {
  if (event.type !== 'MediaUploaded') return row
  const { data, position } = event
  return {
    file_id: data.fileId,
    tenant_id: data.tenantId,
    user_id: data.userId,
    token_id: data.tokenId,
    channel_id: data.channelId,
    upstream_file_id: data.upstreamFileId,
    purpose: data.purpose,
    filename: data.filename,
    size_bytes: data.sizeBytes,
    uploaded_at: canonicalTime(data.uploadedAt),
    expires_at: expiryCell(data.expiresAt),
    position,
  }
}

/** The row of a voice after an event of its stream. */
export function voiceAfter(row: Expected | undefined, event: RecordedEvent): Expected | undefined {
  if (event.type !== 'VoiceCloned') return row
  const { data, position } = event
  return {
    voice_key: voiceKey(data),
    tenant_id: data.tenantId,
    user_id: data.userId,
    token_id: data.tokenId,
    voice_id: data.voiceId,
    request_id: data.requestId,
    channel_id: data.channelId,
    upstream_voice_id: data.upstreamVoiceId,
    source_file_id: data.sourceFileId,
    cloned_at: canonicalTime(data.clonedAt),
    position,
  }
}
