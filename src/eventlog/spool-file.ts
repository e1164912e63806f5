import { open, type FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

/** `<length> <crc32> <json>\n`: JSON has no raw line feed, so a bad record ends at the next one. */
const HEADER = /^(\d{1,8}) ([0-9a-f]{8}) /
const HEADER_MAX_BYTES = 18
const LINE_FEED = 0x0a
const SCAN_CHUNK_BYTES = 1 << 20
const OWNER_ONLY = 0o600

/** One append-only file of durable records, taken off at the front. */
export interface SpoolFile {
  readonly path: string
  readonly pending: () => number
  readonly sizeBytes: () => number
  /** Resolves once the record is on disk. Rejects when it is not, and then it never will be. */
  readonly append: (json: string) => Promise<void>
  /** The oldest record not taken off yet. */
  readonly head: () => Promise<string | undefined>
  /** Takes the oldest record off; the file shrinks once it is empty. */
  readonly shift: () => Promise<void>
  readonly close: () => Promise<void>
}

/** What a scan found beside whole records. */
export interface SpoolDamage {
  /** Bytes of a last record that was being written when the process died; they were cut off. */
  readonly tornBytes: number
  /** Records in the middle that do not match their checksum. */
  readonly corruptRecords: number
}

interface Extent {
  readonly offset: number
  readonly length: number
}

function encodeRecord(json: string): Buffer {
  const body = Buffer.from(json)
  const header = `${body.length} ${crc32(body).toString(16).padStart(8, '0')} `
  return Buffer.concat([Buffer.from(header), body, Buffer.of(LINE_FEED)])
}

/** The JSON of a line without its line feed; undefined when length or checksum disagree. */
function decodeRecord(line: Buffer): string | undefined {
  const header = HEADER.exec(line.subarray(0, HEADER_MAX_BYTES).toString('latin1'))
  if (header === null) return undefined
  const body = line.subarray(header[0].length)
  const intact = body.length === Number(header[1]) && crc32(body) === parseInt(header[2] ?? '', 16)
  return intact ? body.toString('utf8') : undefined
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

async function recover(file: FileHandle): Promise<{ index: Extent[]; damage: SpoolDamage }> {
  const { size } = await file.stat()
  const { lines, endOffset } = await findLines(file)
  const index: Extent[] = []
  for (const line of lines)
    if (decodeRecord(await readExactly(file, line)) !== undefined) index.push(line)
  const tornBytes = size - endOffset
  if (tornBytes > 0) await file.truncate(endOffset)
  return { index, damage: { tornBytes, corruptRecords: lines.length - index.length } }
}

/** Opens or creates a spool file and finds the whole records in it. */
export async function openSpoolFile(
  path: string,
  maxBytes: number,
): Promise<{ readonly file: SpoolFile; readonly damage: SpoolDamage }> {
  const handle = await open(path, 'a+', OWNER_ONLY).then(async (created) => {
    // Appending mode ignores offsets; writes go where we say, so that a failed one can be cut off.
    await created.close()
    return open(path, 'r+')
  })
  const { index, damage } = await recover(handle)
  let endOffset = (await handle.stat()).size
  let broken = false
  let chain: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(action: () => Promise<T>): Promise<T> => {
    const turn = chain.then(action)
    chain = turn.catch(() => undefined)
    return turn
  }
  const write = async (json: string) => {
    if (broken) throw new Error('the spool file cannot be written')
    const record = encodeRecord(json)
    if (endOffset + record.length > maxBytes) throw new Error('the spool is full')
    try {
      await writeFully(handle, record, endOffset)
      await handle.datasync()
    } catch (error) {
      // What may be there of it must not be taken for a record later.
      await handle.truncate(endOffset).then(
        () => handle.datasync(),
        () => (broken = true),
      )
      throw error
    }
    index.push({ offset: endOffset, length: record.length - 1 })
    endOffset += record.length
  }
  const file: SpoolFile = {
    path,
    pending: () => index.length,
    sizeBytes: () => endOffset,
    append: (json) => inTurn(() => write(json)),
    head: async () => {
      const [first] = index
      if (first === undefined) return undefined
      const json = decodeRecord(await readExactly(handle, first))
      if (json === undefined) throw new Error('a record of the spool file has changed on disk')
      return json
    },
    shift: () =>
      inTurn(async () => {
        index.shift()
        if (index.length > 0) return
        await handle.truncate(0)
        await handle.datasync()
        endOffset = 0
      }),
    close: () => inTurn(() => handle.close()),
  }
  return { file, damage }
}

async function writeFully(file: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  let done = 0
  while (done < bytes.length) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, offset + done)
    done += bytesWritten
  }
}
