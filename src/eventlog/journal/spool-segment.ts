import { open, type FileHandle } from 'node:fs/promises'
import { decodeRecord, encodeRecord, LINE_FEED, type PlacedBatch } from './spool-record.ts'

const SCAN_CHUNK_BYTES = 1 << 20
const OWNER_ONLY = 0o600

/**
 * A write failed and could not be undone: the batch may be on disk, and then the next process with
 * this directory appends it at its place. It must never be appended elsewhere.
 */
export class SpoolUncertainError extends Error {
  override readonly name = 'SpoolUncertainError'
}

/** What waits in a file. */
export interface SegmentState {
  readonly batches: number
  readonly records: number
  /** The size of the file, including drained batches that are not cut off yet. */
  readonly sizeBytes: number
  /** When the oldest batch was spooled; undefined when there is none. */
  readonly oldestAtMs: number | undefined
}

/** One append-only file of durable batches; the oldest are removed first. */
export interface SpoolSegment {
  readonly path: string
  readonly state: () => SegmentState
  /** False after a failed write that could not be undone: nothing more is written here. */
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

/** What a scan found beside whole records. */
interface SegmentDamage {
  /** Bytes of a last record that was being written when the process died; they were cut off. */
  readonly tornBytes: number
  /** Records in the middle that do not match their checksum. */
  readonly corruptRecords: number
}

interface Extent {
  readonly offset: number
  readonly length: number
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

/** Every line's place in the file, and where the last whole line ends. */
async function findLines(file: FileHandle): Promise<{ lines: Extent[]; endOffset: number }> {
  const lines: Extent[] = []
  const chunk = Buffer.alloc(SCAN_CHUNK_BYTES)
  let offset = 0
  let lineOffset = 0
  for (;;) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, offset)
    if (bytesRead === 0) return { lines, endOffset: lineOffset }
    const read = chunk.subarray(0, bytesRead)
    for (let at = read.indexOf(LINE_FEED); at !== -1; at = read.indexOf(LINE_FEED, at + 1)) {
      lines.push({ offset: lineOffset, length: offset + at - lineOffset })
      lineOffset = offset + at + 1
    }
    offset += bytesRead
  }
}

async function recover(file: FileHandle): Promise<{ index: IndexEntry[]; damage: SegmentDamage }> {
  const { size, mtimeMs } = await file.stat()
  const { lines, endOffset } = await findLines(file)
  const index: IndexEntry[] = []
  for (const line of lines) {
    const record = decodeRecord(await readExactly(file, line))
    if (record === undefined) continue
    const { batch, spooledAtMs = mtimeMs } = record
    index.push({ ...line, records: batch.events.length, spooledAtMs })
  }
  const tornBytes = size - endOffset
  if (tornBytes > 0) await file.truncate(endOffset)
  return { index, damage: { tornBytes, corruptRecords: lines.length - index.length } }
}

/** Opens or creates a file of the spool and finds the whole records in it. */
export async function openSegment(
  path: string,
): Promise<{ readonly segment: SpoolSegment; readonly damage: SegmentDamage }> {
  const handle = await open(path, 'a+', OWNER_ONLY).then(async (created) => {
    // Appending mode ignores offsets. The gateway writes at an offset, so that it can cut off a
    // failed write.
    await created.close()
    return open(path, 'r+')
  })
  const { index, damage } = await recover(handle)
  const { size } = await handle.stat()
  return { segment: createSegment(path, handle, index, size), damage }
}

function createSegment(
  path: string,
  handle: FileHandle,
  index: IndexEntry[],
  sizeBytes: number,
): SpoolSegment {
  let endOffset = sizeBytes
  let records = index.reduce((total, entry) => total + entry.records, 0)
  let broken = false
  let chain: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(action: () => Promise<T>): Promise<T> => {
    const turn = chain.then(action)
    chain = turn.catch(() => undefined)
    return turn
  }
  const write = async (batch: PlacedBatch, spooledAtMs: number) => {
    if (broken) throw new Error('the spool file cannot be written')
    const record = encodeRecord(batch, spooledAtMs)
    try {
      await writeFully(handle, record, endOffset)
      await handle.datasync()
    } catch (error) {
      // A partial record must not be read as a whole one later.
      try {
        await handle.truncate(endOffset)
        await handle.datasync()
      } catch {
        broken = true
        throw new SpoolUncertainError('a batch may be in the spool', { cause: error })
      }
      throw error
    }
    const entry = { offset: endOffset, length: record.length - 1, spooledAtMs }
    index.push({ ...entry, records: batch.events.length })
    records += batch.events.length
    endOffset += record.length
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
    oldest: async (maxBytes) => readOldest(handle, index, maxBytes),
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

/** One read for all: small batches would otherwise cost one read each. */
async function readOldest(
  handle: FileHandle,
  index: readonly IndexEntry[],
  maxBytes: number,
): Promise<readonly PlacedBatch[]> {
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
    const from = entry.offset - first.offset
    const record = decodeRecord(span.subarray(from, from + entry.length))
    if (record === undefined) throw new Error('a record of the spool file has changed on disk')
    return record.batch
  })
}
