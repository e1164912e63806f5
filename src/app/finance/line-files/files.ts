import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DomainError } from '../../../kernel/errors.ts'
import { isDiskFull } from '../../../storage/local/disk.ts'
import { makeFolders } from '../../../platform/durable-files.ts'
import { owned } from '../../../platform/owned.ts'
import type { LinesFile, LinesJob } from './job.ts'

/**
 * Files of lines whose end comes last, so that they are whole before their first byte is sent. They are written to a
 * folder of the data directory, and have no name any more once they are open for sending.
 */

/** Files that may be made or sent at the same time: slow readers hold the disk. */
const MAX_FILES = 16
/** Lines of one file: half a minute of work, and some 100 MiB of the disk. */
export const MAX_FILE_LINES = 1_000_000

export interface MadeFile {
  readonly sizeBytes: number
  /** The bytes of the file, which is gone after they were read or the reading was ended. */
  readonly parts: AsyncIterable<Uint8Array>
}

export interface LineFiles {
  /**
   * Makes a file of Parquet; undefined where there are more than `MAX_FILE_LINES` lines.
   * @throws DomainError `overloaded` where too many files are made or sent, `storage_full`, `invalid_cursor`
   */
  readonly parquet: (
    lines: Pick<LinesJob, 'filter' | 'after' | 'limit'>,
    callerGone: AbortSignal,
  ) => Promise<MadeFile | undefined>
}

/** Reads a file until its end, or until the reading is ended. */
async function* partsOf(file: FileHandle, onEnd: () => void): AsyncGenerator<Uint8Array> {
  try {
    const stream = file.createReadStream()
    yield* owned(stream) as AsyncIterable<Uint8Array>
  } finally {
    await file.close()
    onEnd()
  }
}

/** Makes files in a folder that no other process uses; what a former process left there is removed. */
export function createLineFiles({
  directory,
  checkDisk,
  write,
  mostLines = MAX_FILE_LINES,
}: {
  readonly directory: string
  /** Leaves the last of the disk to what must not be lost. @throws DomainError `storage_full` */
  readonly checkDisk: () => Promise<void>
  /** Writes the file of a job in another process. @throws the reason of the signal, and as `writeLines` */
  readonly write: (job: LinesJob, callerGone: AbortSignal) => Promise<LinesFile>
  readonly mostLines?: number
}): LineFiles {
  const swept = rm(directory, { recursive: true, force: true })
  // The first file finds out.
  swept.catch(() => undefined)
  let files = 0
  let lastFile = 0

  const make = async (
    lines: Parameters<LineFiles['parquet']>[0],
    callerGone: AbortSignal,
  ): Promise<{ readonly file: FileHandle; readonly sizeBytes: number } | undefined> => {
    await swept
    await checkDisk()
    await makeFolders(directory, 0o700)
    lastFile += 1
    const path = join(directory, `${lastFile}.parquet`)
    try {
      const made = await write({ ...lines, mostRows: mostLines, path }, callerGone)
      return made && { file: await open(path), sizeBytes: made.sizeBytes }
    } finally {
      await rm(path, { force: true })
    }
  }

  return {
    parquet: async (lines, callerGone) => {
      if (files >= MAX_FILES)
        throw new DomainError(
          'overloaded',
          `${MAX_FILES} files of lines are being made or sent: try again later`,
          {},
        )
      files += 1
      const ended = (): void => void (files -= 1)
      try {
        const made = await make(lines, callerGone)
        if (made !== undefined)
          return { sizeBytes: made.sizeBytes, parts: partsOf(made.file, ended) }
      } catch (error) {
        ended()
        if (!isDiskFull(error)) throw error
        throw new DomainError('storage_full', 'the disk has no room for this file', {})
      }
      ended()
      return undefined
    },
  }
}
