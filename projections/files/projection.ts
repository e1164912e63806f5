import { fileStream, type FileEvent } from '../../src/domain/file/events.ts'
import { bigint, nullable, text, time, whole } from '../engine/column.ts'
import { fromRows, rowsOf } from '../engine/read-model.ts'
import { table } from '../engine/table.ts'
import type { Projection } from '../engine/types.ts'

/** A deleted file keeps its row, so that a purge can delete its bytes. */
const files = rowsOf<FileEvent>()({
  table: table('files.files', {
    columns: {
      file_id: text(),
      tenant_id: text(),
      user_id: text(),
      token_id: text(),
      purpose: text(),
      filename: text(),
      size_bytes: whole(),
      uploaded_at: time(),
      deleted_at: nullable(time()),
      expires_at: nullable(time()),
      /** The position of its upload: the order of lists. */
      position: bigint(),
    },
    key: ['file_id'],
    indexes: { tenant: '(tenant_id, position)' },
  }),
  stream: fileStream,
  of: ({ data }) => data.fileId,
  begins: 'FileUploaded',
  sets: {
    FileUploaded: ({ data, position }) => ({ ...data, position }),
    FileDeleted: ({ data }) => ({ deletedAt: data.deletedAt }),
  },
})

/** Files of tenants, deleted ones marked. */
export const filesProjection: Projection = {
  name: 'files',
  version: 2,
  ...fromRows(
    { files },
    {
      totals: `select 'files' as name, count(*)::text as total from files where deleted_at is null
             union all select 'bytes', coalesce(sum(size_bytes), 0)::text from files
                              where deleted_at is null`,
    },
  ),
}
