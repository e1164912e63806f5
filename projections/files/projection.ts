import type { PoolClient } from 'pg'
import { fileEvents, type FileEvent } from '../../src/domain/file/events.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { invariant } from '../../src/kernel/assert.ts'
import { plainColumn, textColumn } from '../engine/columns.ts'
import { digestTables, namedTotals } from '../engine/digest.ts'
import type { Projection } from '../engine/types.ts'
import { indexesSql, tablesSql } from './tables.ts'

type Uploaded = RecordedEvent<FileEvent> & { readonly type: 'FileUploaded' }
type Deleted = RecordedEvent<FileEvent> & { readonly type: 'FileDeleted' }

const handles = new Set(Object.keys(fileEvents) as FileEvent['type'][])

async function insert(client: PoolClient, uploaded: readonly Uploaded[]): Promise<void> {
  if (uploaded.length === 0) return
  await client.query({
    name: 'files.insert',
    text: `insert into files (file_id, tenant_id, user_id, token_id, purpose, filename,
                              size_bytes, uploaded_at, expires_at, position)
           select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
                                $6::text[], $7::bigint[], $8::timestamptz[], $9::timestamptz[],
                                $10::bigint[])`,
    values: [
      textColumn(uploaded.map(({ data }) => data.fileId)),
      textColumn(uploaded.map(({ data }) => data.tenantId)),
      textColumn(uploaded.map(({ data }) => data.userId)),
      textColumn(uploaded.map(({ data }) => data.tokenId)),
      textColumn(uploaded.map(({ data }) => data.purpose)),
      textColumn(uploaded.map(({ data }) => data.filename)),
      plainColumn(uploaded.map(({ data }) => data.sizeBytes)),
      textColumn(uploaded.map(({ data }) => data.uploadedAt)),
      textColumn(uploaded.map(({ data }) => data.expiresAt ?? null)),
      plainColumn(uploaded.map(({ position }) => position)),
    ],
  })
}

async function markDeleted(client: PoolClient, deleted: readonly Deleted[]): Promise<void> {
  if (deleted.length === 0) return
  const { rowCount } = await client.query({
    name: 'files.delete',
    text: `update files f set deleted_at = d.deleted_at
           from unnest($1::text[], $2::timestamptz[]) as d (file_id, deleted_at)
           where f.file_id = d.file_id`,
    values: [
      textColumn(deleted.map(({ data }) => data.fileId)),
      textColumn(deleted.map(({ data }) => data.deletedAt)),
    ],
  })
  invariant(rowCount === deleted.length, 'a file was deleted that was never uploaded')
}

/** Files of tenants, deleted ones marked. */
export const filesProjection: Projection = {
  name: 'files',
  version: 2,
  tablesSql,
  indexesSql,
  handles,
  apply: async (client, batch) => {
    await insert(
      client,
      batch.filter((event): event is Uploaded => event.type === 'FileUploaded'),
    )
    // Nothing follows a deletion: in this order a batch means what its events do.
    await markDeleted(
      client,
      batch.filter((event): event is Deleted => event.type === 'FileDeleted'),
    )
  },
  digest: async (client) => ({
    ...(await digestTables(client, { files: 'select * from files' })),
    totals: await namedTotals(
      client,
      `select 'files' as name, count(*)::text as total from files where deleted_at is null
       union all select 'bytes', coalesce(sum(size_bytes), 0)::text from files
                        where deleted_at is null`,
    ),
  }),
}
