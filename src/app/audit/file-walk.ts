import { nextKeys, rowsByKey } from '../../../projections/engine/standing.ts'
import { fileTables } from '../../../projections/files/query.ts'
import { fileStream } from '../../domain/file/events.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { judge, type Told, type WalkDeps } from './access-walk.ts'
import { timeCell, type Expected } from './compare.ts'
import { inSnapshot } from './snapshot.ts'
import { readTo } from './streams.ts'

/** Files looked at in one snapshot. */
const PAGE_KEYS = 200

export const files: Told = { table: fileTables.files, by: 'file_id' }

/** What the events of a file leave in its read model. */
async function fileRow(events: AsyncIterable<RecordedEvent>): Promise<Expected | undefined> {
  let row: Expected | undefined
  for await (const event of events) {
    if (event.type === 'FileUploaded') {
      const { data, position } = event
      row = {
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
    } else if (event.type === 'FileDeleted')
      row = { ...row, deleted_at: timeCell(event.data.deletedAt) }
  }
  return row
}

/** Compares the rows of files with their streams; those that are gone were found in the log. */
export async function walkFiles({ pool, log, findings }: WalkDeps): Promise<number> {
  const { table, by } = files
  let compared = 0
  for (let after: string | undefined = ''; after !== undefined;) {
    const from = after
    const page = await inSnapshot(pool, async ({ db, position }) => {
      const columns = [{ table: table.name, column: by }]
      const keys = await nextKeys(db, columns, { after: from, limit: PAGE_KEYS })
      return { keys, rows: await rowsByKey(db, table, by, keys), position: position('files') }
    })
    for (const row of page.rows) {
      const id = String(row[by])
      const says = await fileRow(readTo(log, fileStream(id), page.position))
      judge(findings, files, new Map(says ? [[id, says]] : []), [row], id)
    }
    compared += page.rows.length
    after = page.keys.length < PAGE_KEYS ? undefined : page.keys.at(-1)
  }
  return compared
}
