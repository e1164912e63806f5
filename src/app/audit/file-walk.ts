import { fileTables } from '../../../projections/files/query.ts'
import { voiceTables } from '../../../projections/voices/query.ts'
import { fileStream } from '../../domain/file/events.ts'
import { uploadStream } from '../../domain/upload/events.ts'
import { voiceKey, voiceStreams } from '../../domain/voice/events.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { sources, type Told, unnamedUpstream, type WalkDeps } from './access-walk.ts'
import { timeCell, type Expected } from './compare.ts'
import { type OfStreams, type RowOfStream, walkRows } from './row-walk.ts'

export const files: Told = { table: fileTables.files, by: 'file_id' }
export const uploads: Told = { table: voiceTables.uploads, by: 'file_id' }
export const voices: Told = { table: voiceTables.voices, by: 'voice_key' }

/** The rest of its row was compared with the log. */
const source: RowOfStream = { told: sources, model: 'timeline', after: () => unnamedUpstream }

const walked: readonly OfStreams[] = [
  { stream: fileStream, rows: [{ told: files, model: 'files', after: fileAfter }, source] },
  { stream: uploadStream, rows: [{ told: uploads, model: 'voices', after: uploadAfter }, source] },
  {
    stream: (key) => `${voiceStreams}${key}`,
    rows: [{ told: voices, model: 'voices', after: voiceAfter }],
  },
]

function fileAfter(row: Expected | undefined, event: RecordedEvent): Expected | undefined {
  if (event.type === 'FileDeleted') return { ...row, deleted_at: timeCell(event.data.deletedAt) }
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
    uploaded_at: timeCell(data.uploadedAt),
    deleted_at: null,
    expires_at: expiryCell(data.expiresAt),
    position,
  }
}

/** Uploads recorded before they had an expiry have none. */
function expiryCell(expiresAt: string | undefined) {
  return expiresAt === undefined ? null : timeCell(expiresAt)
}

function uploadAfter(row: Expected | undefined, event: RecordedEvent): Expected | undefined {
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
    uploaded_at: timeCell(data.uploadedAt),
    expires_at: expiryCell(data.expiresAt),
    position,
  }
}

function voiceAfter(row: Expected | undefined, event: RecordedEvent): Expected | undefined {
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
    cloned_at: timeCell(data.clonedAt),
    position,
  }
}

/** Compares files, uploads and voices with their streams; the log pass finds missing rows. */
export async function walkFiles(deps: WalkDeps): Promise<{
  readonly files: number
  readonly uploads: number
  readonly voices: number
}> {
  const [files = 0, uploads = 0, voices = 0] = await Promise.all(
    walked.map((each) => walkRows(deps, each)),
  )
  return { files, uploads, voices }
}
