import type { PoolClient } from 'pg'
import { uploadEvents, type UploadEvent } from '../../src/domain/upload/events.ts'
import { voiceEvents, voiceKey, type VoiceEvent } from '../../src/domain/voice/events.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { plainColumn, textColumn } from '../engine/columns.ts'
import { digestTables, namedTotals } from '../engine/digest.ts'
import type { Projection } from '../engine/types.ts'
import { tablesSql } from './tables.ts'

type Uploaded = RecordedEvent<UploadEvent> & { readonly type: 'MediaUploaded' }
type Cloned = RecordedEvent<VoiceEvent> & { readonly type: 'VoiceCloned' }

const handles = new Set<Uploaded['type'] | Cloned['type']>([
  ...(Object.keys(uploadEvents) as Uploaded['type'][]),
  ...(Object.keys(voiceEvents) as Cloned['type'][]),
])

async function insertUploads(client: PoolClient, uploaded: readonly Uploaded[]): Promise<void> {
  if (uploaded.length === 0) return
  await client.query({
    name: 'voices.uploads',
    text: `insert into uploads (file_id, tenant_id, user_id, token_id, channel_id,
                                upstream_file_id, purpose, filename, size_bytes, uploaded_at,
                                expires_at, position)
           select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
                                $6::text[], $7::text[], $8::text[], $9::bigint[],
                                $10::timestamptz[], $11::timestamptz[], $12::bigint[])`,
    values: [
      textColumn(uploaded.map(({ data }) => data.fileId)),
      textColumn(uploaded.map(({ data }) => data.tenantId)),
      textColumn(uploaded.map(({ data }) => data.userId)),
      textColumn(uploaded.map(({ data }) => data.tokenId)),
      textColumn(uploaded.map(({ data }) => data.channelId)),
      textColumn(uploaded.map(({ data }) => data.upstreamFileId)),
      textColumn(uploaded.map(({ data }) => data.purpose)),
      textColumn(uploaded.map(({ data }) => data.filename)),
      plainColumn(uploaded.map(({ data }) => data.sizeBytes)),
      textColumn(uploaded.map(({ data }) => data.uploadedAt)),
      textColumn(uploaded.map(({ data }) => data.expiresAt ?? null)),
      plainColumn(uploaded.map(({ position }) => position)),
    ],
  })
}

async function writeVoices(client: PoolClient, cloned: readonly Cloned[]): Promise<void> {
  if (cloned.length === 0) return
  // The last of a name counts, and a statement may not touch a row twice.
  const last = [...new Map(cloned.map((event) => [voiceKey(event.data), event])).values()]
  await client.query({
    name: 'voices.voices',
    text: `insert into voices (voice_key, tenant_id, user_id, token_id, voice_id, request_id,
                               channel_id, upstream_voice_id, source_file_id, cloned_at, position)
           select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
                                $6::text[], $7::text[], $8::text[], $9::text[],
                                $10::timestamptz[], $11::bigint[])
           on conflict (voice_key) do update
           set user_id = excluded.user_id, token_id = excluded.token_id,
               request_id = excluded.request_id, channel_id = excluded.channel_id,
               upstream_voice_id = excluded.upstream_voice_id,
               source_file_id = excluded.source_file_id, cloned_at = excluded.cloned_at,
               position = excluded.position`,
    values: [
      textColumn(last.map(({ data }) => voiceKey(data))),
      textColumn(last.map(({ data }) => data.tenantId)),
      textColumn(last.map(({ data }) => data.userId)),
      textColumn(last.map(({ data }) => data.tokenId)),
      textColumn(last.map(({ data }) => data.voiceId)),
      textColumn(last.map(({ data }) => data.requestId)),
      textColumn(last.map(({ data }) => data.channelId)),
      textColumn(last.map(({ data }) => data.upstreamVoiceId)),
      textColumn(last.map(({ data }) => data.sourceFileId)),
      textColumn(last.map(({ data }) => data.clonedAt)),
      plainColumn(last.map(({ position }) => position)),
    ],
  })
}

/** Files that providers keep for tenants, and the voices made of them. */
export const voicesProjection: Projection = {
  name: 'voices',
  version: 2,
  tablesSql,
  handles,
  apply: async (client, batch) => {
    await insertUploads(
      client,
      batch.filter((event): event is Uploaded => event.type === 'MediaUploaded'),
    )
    await writeVoices(
      client,
      batch.filter((event): event is Cloned => event.type === 'VoiceCloned'),
    )
  },
  digest: async (client) => ({
    ...(await digestTables(client, {
      uploads: 'select * from uploads',
      voices: 'select * from voices',
    })),
    totals: await namedTotals(
      client,
      `select 'uploads' as name, count(*)::text as total from uploads
       union all select 'bytes', coalesce(sum(size_bytes), 0)::text from uploads
       union all select 'voices', count(*)::text from voices`,
    ),
  }),
}
