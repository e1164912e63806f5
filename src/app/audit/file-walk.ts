import { nextKeys, rowsByKey } from '../../../projections/engine/standing.ts'
import { fileTables } from '../../../projections/files/query.ts'
import { voiceTables } from '../../../projections/voices/query.ts'
import { fileStream } from '../../domain/file/events.ts'
import { uploadStream } from '../../domain/upload/events.ts'
import { voiceKey, voiceStreams } from '../../domain/voice/events.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { judge, type Told, type WalkDeps } from './access-walk.ts'
import { timeCell, type Expected } from './compare.ts'
import { inSnapshot } from './snapshot.ts'
import { readTo } from './streams.ts'

/** Rows looked at in one snapshot. */
const PAGE_KEYS = 200

export const files: Told = { table: fileTables.files, by: 'file_id' }
export const uploads: Told = { table: voiceTables.uploads, by: 'file_id' }
export const voices: Told = { table: voiceTables.voices, by: 'voice_key' }

/** A table with a row for each stream of a kind. */
interface OfStreams {
  readonly told: Told
  readonly model: string
  /** The stream of a row. */
  readonly stream: (key: string) => string
  /** What an event leaves of the row there was. */
  readonly after: (row: Expected | undefined, event: RecordedEvent) => Expected | undefined
}

const walked: readonly OfStreams[] = [
  { told: files, model: 'files', stream: fileStream, after: fileAfter },
  { told: uploads, model: 'voices', stream: uploadStream, after: uploadAfter },
  { told: voices, model: 'voices', stream: (key) => `${voiceStreams}${key}`, after: voiceAfter },
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
    position,
  }
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

/** Compares the rows of files, uploads and voices with their streams; those that are gone were found in the log. */
export async function walkFiles(deps: WalkDeps): Promise<{
  readonly files: number
  readonly uploads: number
  readonly voices: number
}> {
  const [files = 0, uploads = 0, voices = 0] = await Promise.all(
    walked.map((each) => walk(deps, each)),
  )
  return { files, uploads, voices }
}

async function walk(
  { pool, log, findings }: WalkDeps,
  { told, model, stream, after: rowAfter }: OfStreams,
): Promise<number> {
  const { table, by } = told
  let compared = 0
  for (let after: string | undefined = ''; after !== undefined;) {
    const from = after
    const page = await inSnapshot(pool, async ({ db, position }) => {
      const columns = [{ table: table.name, column: by }]
      const keys = await nextKeys(db, columns, { after: from, limit: PAGE_KEYS })
      return { keys, rows: await rowsByKey(db, table, by, keys), position: position(model) }
    })
    for (const row of page.rows) {
      const id = String(row[by])
      let says: Expected | undefined
      for await (const event of readTo(log, stream(id), page.position)) says = rowAfter(says, event)
      judge(findings, told, new Map(says ? [[id, says]] : []), [row], id)
    }
    compared += page.rows.length
    after = page.keys.length < PAGE_KEYS ? undefined : page.keys.at(-1)
  }
  return compared
}
