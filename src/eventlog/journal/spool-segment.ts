import { open, type FileHandle } from 'node:fs/promises'
import {
  decodeRecord,
  encodeRecord,
  type Extent,
  LINE_FEED,
  type PlacedBatch,
  scanRecords,
} from './spool-record.ts'

const OWNER_ONLY = 0o600

/**
 * A write failed and could not be undone: the batch may be on disk, and then the next process with
 * this directory appends it at its place. It must never be appended elsewhere.
 */
export class SpoolUncertainError extends Error {
  override readonly name = 'SpoolUncertainError'
}

/** The records that wait in a file. */
export interface SegmentState {
  readonly batches: number
  readonly records: number
  /** The size of the file, including drained batches that are not cut off yet. */
  readonly sizeBytes: number
  /** Time at which the oldest batch was spooled; undefined when there is none. */
  readonly oldestAtMs: number | undefined
}

/** One append-only file of durable batches; the oldest are removed first. */
export interface SpoolSegment {
  readonly path: string
  readonly state: () => SegmentState
  /** False after a failed write that could not be undone: nothing more is written to this file. */
  readonly writable: () => boolean
  /**
   * Resolves once the batch is on disk. Rejects when it is not and never will be.
   * @throws SpoolUncertainError when that is unknown
   */
  readonly append: (batch: PlacedBatch, atMs: number) => Promise<void>
  /** The oldest batches within that many bytes, at least one. */
  readonly oldest: (maxBytes: number) => Promise<readonly PlacedBatch[]>
  /** Removes the oldest batches; the file shrinks once it is empty. */
  readonly drop: (count: number) => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * Saves a part of a file that is not a complete record before it is cut off or skipped. The last
 * part was begun by a process that died, or is a record that the disk damaged.
 */
export type KeepDamaged = (bytes: Buffer, isLast: boolean) => Promise<void>

interface ReadRecord {
  readonly bytes: Buffer
  readonly record: ReturnType<typeof decodeRecord>
}

interface IndexEntry extends Extent {
  readonly records: number
  readonly spooledAtMs: number
}

async function readExactly(file: FileHandle, extent: Extent): Promise<Buffer> {
  const bytes = Buffer.alloc(extent.length)
  let done = 0
  while (done < extent.length) {
    const { bytesRead } = await file.read(bytes, done, extent.length - done, extent.offset + done)
    if (bytesRead === 0) throw new Error('the spool file is shorter than it was')
    done += bytesRead
  }
  return bytes
}

async function writeFully(file: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  let done = 0
  while (done < bytes.length) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, offset + done)
    done += bytesWritten
  }
}

/** Opens or creates a file of the spool and finds the whole records in it. */
export async function openSegment(path: string, keep: KeepDamaged): Promise<SpoolSegment> {
  const handle = await open(path, 'a+', OWNER_ONLY).then(async (created) => {
    // Appending mode ignores offsets. The gateway writes at an offset, so that it can cut off a
    // failed write.
    await created.close()
    return open(path, 'r+')
  })
  const { size, mtimeMs } = await handle.stat()
  const bytes = await readExactly(handle, { offset: 0, length: size })
  const { records, damaged } = scanRecords(bytes)
  const index = records.map(({ offset, length, record: { batch, spooledAtMs = mtimeMs } }) => {
    return { offset, length, records: batch.events.length, spooledAtMs }
  })
  const isEnded = size === 0 || bytes.at(-1) === LINE_FEED
  const isCut = ({ offset, length }: Extent) => !isEnded && offset + length === size
  for (const part of damaged) {
    const isKept = await keep(partOf(bytes, part), isCut(part)).catch(() => false)
    // A part that could not be kept is not cut off: the next process finds all of it again.
    if (isKept === false) return createSegment(path, { handle, keep, endOffset: size }, index, true)
  }
  const endOffset = damaged.find(isCut)?.offset ?? (await endLine(handle, size, isEnded))
  await handle.truncate(endOffset)
  return createSegment(path, { handle, keep, endOffset }, index)
}

function partOf(bytes: Buffer, { offset, length }: Extent): Buffer {
  return bytes.subarray(offset, offset + length)
}

/** Gives a last whole record its line feed, which the disk or a dead process left out. */
async function endLine(handle: FileHandle, size: number, isEnded: boolean): Promise<number> {
  if (isEnded) return size
  await writeFully(handle, Buffer.of(LINE_FEED), size)
  return size + 1
}

/** Writes a record durably, or leaves the file as it was. @throws SpoolUncertainError where it cannot */
async function writeOrUndo(handle: FileHandle, record: Buffer, offset: number): Promise<void> {
  try {
    await writeFully(handle, record, offset)
    await handle.datasync()
  } catch (error) {
    // A partial record must not be read as a whole one later.
    try {
      await handle.truncate(offset)
      await handle.datasync()
    } catch {
      throw new SpoolUncertainError('a batch may be in the spool', { cause: error })
    }
    throw error
  }
}

interface OpenedFile {
  readonly handle: FileHandle
  readonly keep: KeepDamaged
  /** The offset of the next record. */
  readonly endOffset: number
}

function createSegment(
  path: string,
  file: OpenedFile,
  index: IndexEntry[],
  isBroken = false,
): SpoolSegment {
  const { handle } = file
  let { endOffset } = file
  let records = index.reduce((total, entry) => total + entry.records, 0)
  let broken = isBroken
  let chain: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(action: () => Promise<T>): Promise<T> => {
    const turn = chain.then(action)
    chain = turn.catch(() => undefined)
    return turn
  }
  const write = async (batch: PlacedBatch, spooledAtMs: number) => {
    if (broken) throw new Error('the spool file cannot be written')
    const record = encodeRecord(batch, spooledAtMs)
    await writeOrUndo(handle, record, endOffset).catch((error: unknown) => {
      broken = error instanceof SpoolUncertainError
      throw error
    })
    const entry = { offset: endOffset, length: record.length - 1, spooledAtMs }
    index.push({ ...entry, records: batch.events.length })
    records += batch.events.length
    endOffset += record.length
  }
  /** A record that was whole when the file was opened, and has changed since. */
  const passOver = async (bytes: Buffer): Promise<void> => {
    await file.keep(bytes, false)
    records -= index.shift()?.records ?? 0
  }
  return {
    path,
    state: () => ({
      batches: index.length,
      records,
      sizeBytes: endOffset,
      oldestAtMs: index[0]?.spooledAtMs,
    }),
    writable: () => !broken,
    append: (batch, atMs) => inTurn(() => write(batch, atMs)),
    oldest: async (maxBytes) => firstWhole(await readOldest(handle, index, maxBytes), passOver),
    drop: (count) =>
      inTurn(async () => {
        for (const taken of index.splice(0, count)) records -= taken.records
        // Anything else in a broken file is left to the next process.
        if (index.length > 0 || broken) return
        await handle.truncate(0)
        await handle.datasync()
        endOffset = 0
      }),
    close: () => inTurn(() => handle.close()),
  }
}

/** The batches before the first damaged record, or those behind it, once it was passed over. */
async function firstWhole(
  read: readonly ReadRecord[],
  passOver: (bytes: Buffer) => Promise<void>,
): Promise<readonly PlacedBatch[]> {
  const whole: PlacedBatch[] = []
  for (const { bytes, record } of read) {
    if (record !== undefined) whole.push(record.batch)
    else if (whole.length > 0) break
    else await passOver(bytes)
  }
  return whole
}

/** One read for all batches: a read for each small batch would cost more. */
async function readOldest(
  handle: FileHandle,
  index: readonly IndexEntry[],
  maxBytes: number,
): Promise<readonly ReadRecord[]> {
  const [first] = index
  if (first === undefined) return []
  const beyond = index.findIndex(({ offset, length }) => offset + length - first.offset > maxBytes)
  const wanted = index.slice(0, beyond === -1 ? index.length : Math.max(1, beyond))
  const { offset, length } = wanted.at(-1) ?? first
  const span = await readExactly(handle, {
    offset: first.offset,
    length: offset + length - first.offset,
  })
  return wanted.map((entry) => {
    const bytes = partOf(span, { ...entry, offset: entry.offset - first.offset })
    return { bytes, record: decodeRecord(bytes) }
  })
}
