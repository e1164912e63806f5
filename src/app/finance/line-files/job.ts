import { open, rm } from 'node:fs/promises'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { type Cells, exportLines } from '../../../../projections/ledger/query.ts'
import { lineFileColumns } from './columns.ts'
import { TooManyRowsError, writeParquet } from './parquet.ts'

/** A file of Parquet that is written in a child process of the gateway. */

type Filter = Parameters<typeof exportLines>[1]

export interface LinesJob {
  readonly filter: Filter
  /** The file begins behind this line, and has at most so many. */
  readonly after?: string | undefined
  readonly limit?: number | undefined
  /** More lines than this are not written. */
  readonly mostRows: number
  /** A file that is not there yet. */
  readonly path: string
}

/** The size of the file; undefined where there were more lines than a file may have. */
export type LinesFile = { readonly rows: number; readonly sizeBytes: number } | undefined

async function* until(
  withdrawn: AbortSignal,
  pages: AsyncIterable<readonly Cells[]>,
): AsyncGenerator<readonly Cells[]> {
  for await (const page of pages) {
    withdrawn.throwIfAborted()
    yield page
  }
}

/**
 * Writes the file of a job, for this account alone. A file that is not whole is removed.
 *
 * @throws DomainError `invalid_cursor`, the reason of the signal, and what Postgres and the disk throw
 */
export async function writeLines(
  db: Queryable,
  { filter, after, limit, mostRows, path }: LinesJob,
  withdrawn: AbortSignal,
): Promise<LinesFile> {
  // The child that was killed in this job left its beginning.
  await rm(path, { force: true })
  const file = await open(path, 'wx', 0o600)
  try {
    const pages = until(withdrawn, exportLines(db, filter, { after, limit }))
    const write = (bytes: Uint8Array) => file.writeFile(bytes)
    return await writeParquet(write, lineFileColumns, pages, mostRows)
  } catch (error) {
    await rm(path, { force: true })
    if (error instanceof TooManyRowsError) return undefined
    throw error
  } finally {
    await file.close()
  }
}
