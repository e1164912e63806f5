import type { FilePurpose } from '../../src/domain/file/events.ts'
import type { Queryable } from '../engine/queryable.ts'

/** A file that exists. */
interface FileRow {
  readonly fileId: string
  readonly purpose: FilePurpose
  readonly filename: string
  readonly sizeBytes: number
  readonly uploadedAtMs: number
  /** Undefined: it has none. */
  readonly expiresAtMs: number | undefined
}

/** Position of a page: after the file with this id, even if it was deleted meanwhile. */
interface FileFilter {
  readonly tenantId: string
  readonly purpose: FilePurpose | undefined
  readonly order: 'asc' | 'desc'
  readonly after: string | undefined
  readonly limit: number
  readonly nowMs: number
}

interface FileRecord {
  readonly file_id: string
  readonly purpose: FilePurpose
  readonly filename: string
  readonly size_bytes: string
  readonly uploaded_at: Date
  readonly expires_at: Date | null
}

/** Place of a tenant's file in its lists; undefined for one it never had. */
export async function filePlace(
  db: Queryable,
  tenantId: string,
  fileId: string,
): Promise<string | undefined> {
  const { rows } = await db.query<{ position: string }>({
    name: 'files.place',
    text: 'select position from files.files where tenant_id = $1 and file_id = $2',
    values: [tenantId, fileId],
  })
  return rows[0]?.position
}

/** A page of a tenant's files in the order of their uploads; one more than asked for says that there are more. */
export async function listFiles(
  db: Queryable,
  filter: Omit<FileFilter, 'after'> & { readonly afterPlace: string | undefined },
): Promise<readonly FileRow[]> {
  const descending = filter.order === 'desc'
  const { rows } = await db.query<FileRecord>({
    name: `files.list.${filter.order}`,
    text: `select file_id, purpose, filename, size_bytes, uploaded_at, expires_at
           from files.files
           where tenant_id = $1 and deleted_at is null
             and (expires_at is null or expires_at > $5)
             and ($2::text is null or purpose = $2)
             and ($3::bigint is null or position ${descending ? '<' : '>'} $3)
           order by position ${descending ? 'desc' : 'asc'} limit $4`,
    values: [
      filter.tenantId,
      filter.purpose ?? null,
      filter.afterPlace ?? null,
      filter.limit,
      new Date(filter.nowMs),
    ],
  })
  return rows.map((row) => ({
    fileId: row.file_id,
    purpose: row.purpose,
    filename: row.filename,
    sizeBytes: Number(row.size_bytes),
    uploadedAtMs: row.uploaded_at.getTime(),
    expiresAtMs: row.expires_at?.getTime(),
  }))
}

/** Finds those of some files, of any tenant, that exist and have not expired. */
export async function filesThere(
  db: Queryable,
  fileIds: readonly string[],
  nowMs: number,
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ file_id: string }>({
    name: 'files.there',
    text: `select file_id from files.files
           where file_id = any($1::text[]) and deleted_at is null
             and (expires_at is null or expires_at > $2)`,
    values: [fileIds, new Date(nowMs)],
  })
  return new Set(rows.map((row) => row.file_id))
}

/** Finds those of some files, of any tenant, that existed and are deleted. */
export async function filesDeleted(
  db: Queryable,
  fileIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ file_id: string }>({
    name: 'files.deleted',
    text: `select file_id from files.files
           where file_id = any($1::text[]) and deleted_at is not null`,
    values: [fileIds],
  })
  return new Set(rows.map((row) => row.file_id))
}
