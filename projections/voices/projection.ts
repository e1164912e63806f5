import { uploadStream, type UploadEvent } from '../../src/domain/upload/events.ts'
import { voiceKey, voiceStreams, type VoiceEvent } from '../../src/domain/voice/events.ts'
import { bigint, nullable, text, time, whole } from '../engine/column.ts'
import { fromRows, rowsOf } from '../engine/read-model.ts'
import { table } from '../engine/table.ts'
import type { Projection } from '../engine/types.ts'

const uploads = rowsOf<UploadEvent>()({
  table: table('voices.uploads', {
    columns: {
      file_id: text(),
      tenant_id: text(),
      user_id: text(),
      token_id: text(),
      channel_id: text(),
      upstream_file_id: text(),
      purpose: text(),
      filename: text(),
      size_bytes: whole(),
      uploaded_at: time(),
      expires_at: nullable(time()),
      position: bigint(),
    },
    key: ['file_id'],
  }),
  stream: uploadStream,
  of: ({ data }) => data.fileId,
  begins: 'MediaUploaded',
  sets: { MediaUploaded: ({ data, position }) => ({ ...data, position }) },
})

const voices = rowsOf<VoiceEvent>()({
  table: table('voices.voices', {
    columns: {
      /** Tenant and name: two tenants may use one name. */
      voice_key: text(),
      tenant_id: text(),
      user_id: text(),
      token_id: text(),
      voice_id: text(),
      /** The request that cloned it last; so are all that follow. */
      request_id: text(),
      channel_id: text(),
      upstream_voice_id: text(),
      source_file_id: text(),
      cloned_at: time(),
      position: bigint(),
    },
    key: ['voice_key'],
  }),
  stream: (key) => `${voiceStreams}${key}`,
  of: ({ data }) => voiceKey(data),
  begins: 'VoiceCloned',
  again: true,
  sets: { VoiceCloned: ({ data, position }) => ({ ...data, voiceKey: voiceKey(data), position }) },
})

/** Files that providers keep for tenants, and the voices made of them. */
export const voicesProjection: Projection = {
  name: 'voices',
  version: 2,
  ...fromRows(
    { uploads, voices },
    {
      totals: `select 'uploads' as name, count(*)::text as total from uploads
             union all select 'bytes', coalesce(sum(size_bytes), 0)::text from uploads
             union all select 'voices', count(*)::text from voices`,
    },
  ),
}
