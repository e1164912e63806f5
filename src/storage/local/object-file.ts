/**
 * The file of one object: its bytes, then the CRC-32 of each block of them, then the CRC-32 over the
 * name, the size and those sums (big-endian, four bytes each). Its name ends with `~1`, which no key
 * does; a file whose name is the key alone is of an earlier release and has no sums.
 *
 * A disk may return other bytes than it was given. The sums are compared at each read, so that a
 * damaged object is refused and never served.
 */

import { type FileHandle, open, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { invariant } from '../../kernel/assert.ts'
import { storageUnavailable } from '../errors.ts'
import { codeOf, onDisk, diskErrorOf } from './disk.ts'

export const WITH_SUMS = '~1'

const BLOCK_BYTES = 64 * 1024
/** The size of one read: more than a socket accepts before it reports that it is full. */
const CHUNK_BYTES = 4 * BLOCK_BYTES
const SUM_BYTES = 4

/** Path of an object, and its size without its checksums. */
export interface FoundFile {
  readonly path: string
  readonly sizeBytes: number
  readonly hasSums: boolean
}

/** The bytes from `start` on, of an object. */
interface Span {
  readonly start: number
  readonly sizeBytes: number
}

/** The bytes after those of the object. */
function sumsBytesOf(sizeBytes: number): number {
  return (Math.ceil(sizeBytes / BLOCK_BYTES) + 1) * SUM_BYTES
}

/** The size of the object in a file with sums; less than 0: the file was cut. */
export function objectBytesIn(fileBytes: number): number {
  const rest = fileBytes - SUM_BYTES
  return rest - Math.ceil(rest / (BLOCK_BYTES + SUM_BYTES)) * SUM_BYTES
}

function sumOfSums(path: string, sizeBytes: number, sums: Uint8Array): number {
  const name = basename(path, WITH_SUMS)
  return crc32(sums, crc32(`${name} ${sizeBytes} `))
}

/** The bytes of an object as they arrive, and then its sums. `path`: of its file. */
export async function* withSums(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  const sums: number[] = []
  let sizeBytes = 0
  let sum = 0
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      const missing = BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)
      const part = chunk.subarray(at, at + missing)
      sum = crc32(part, sum)
      sizeBytes += part.length
      at += part.length
      if (part.length === missing) {
        sums.push(sum)
        sum = 0
      }
    }
    yield chunk
  }
  if (sizeBytes % BLOCK_BYTES > 0) sums.push(sum)
  const table = Buffer.alloc((sums.length + 1) * SUM_BYTES)
  for (const [index, each] of sums.entries()) table.writeUInt32BE(each, index * SUM_BYTES)
  const end = sums.length * SUM_BYTES
  table.writeUInt32BE(sumOfSums(path, sizeBytes, table.subarray(0, end)), end)
  yield table
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path)
    return found.isFile() ? found.size : undefined
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw diskErrorOf(error)
  }
}

/**
 * The file of the object whose key leads to this path; undefined: there is none.
 *
 * @throws DomainError `storage_unavailable`, also for one that was cut
 */
export async function findFile(keyPath: string): Promise<FoundFile | undefined> {
  const path = keyPath + WITH_SUMS
  const fileBytes = await sizeOf(path)
  if (fileBytes !== undefined) {
    const sizeBytes = objectBytesIn(fileBytes)
    if (sizeBytes < 0) throw damaged(path, 'it is too short')
    return { path, sizeBytes, hasSums: true }
  }
  const bytes = await sizeOf(keyPath)
  return bytes === undefined ? undefined : { path: keyPath, sizeBytes: bytes, hasSums: false }
}

function damaged(path: string, what: string): Error {
  return storageUnavailable('damaged', new Error(`${path} is not as it was written: ${what}`))
}

/**
 * Bytes of an object; fails with `storage_unavailable` where they are not as they were written.
 *
 * With `forOneSocket` two buffers are used alternately, because new memory for every chunk costs
 * more than everything else: then they may only be piped to a socket. Every chunk between the first
 * and the last has full size, so the socket reports that it is full after it; when it asks for the
 * next chunk, it has sent the one before, whose buffer is then filled again.
 */
export class ObjectBytes extends Readable {
  readonly #found: FoundFile
  readonly #forOneSocket: boolean
  readonly #buffers: Buffer[] = []
  #chunks = 0
  /** The position of the next read. */
  #position: number
  readonly #end: number
  #file: FileHandle | undefined
  #sums: Buffer | undefined

  constructor(found: FoundFile, span: Span, { forOneSocket = false } = {}) {
    super({ highWaterMark: CHUNK_BYTES })
    this.#found = found
    this.#forOneSocket = forOneSocket
    this.#position = span.start
    this.#end = span.start + span.sizeBytes
  }

  override _construct(done: (error?: Error | null) => void): void {
    this.#open().then(() => done(), done)
  }

  override _read(): void {
    this.#next().then(
      (chunk) => this.push(chunk),
      (error: Error) => this.destroy(error),
    )
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // Waits for a read that is under way.
    const closed = this.#file?.close() ?? Promise.resolve()
    closed.then(() => done(error), done)
  }

  async #open(): Promise<void> {
    const { path, sizeBytes, hasSums } = this.#found
    this.#file = await onDisk(open(path))
    if (!hasSums) return
    const table = Buffer.allocUnsafe(sumsBytesOf(sizeBytes))
    await this.#fill(table, sizeBytes)
    const end = table.length - SUM_BYTES
    this.#sums = table.subarray(0, end)
    if (table.readUInt32BE(end) !== sumOfSums(path, sizeBytes, this.#sums))
      throw damaged(path, 'its checksums')
  }

  /** The next chunk; null at the end. Whole blocks are read, because each has one sum. */
  async #next(): Promise<Buffer | null> {
    const from = this.#position
    if (from >= this.#end) return null
    const start = from - (from % BLOCK_BYTES)
    const blocksEnd = Math.ceil(this.#end / BLOCK_BYTES) * BLOCK_BYTES
    const end = Math.min(start + CHUNK_BYTES, blocksEnd, this.#found.sizeBytes)
    const buffer = this.#bufferOf(end - start)
    await this.#fill(buffer, start)
    this.#check(buffer, start)
    this.#chunks += 1
    this.#position = Math.min(end, this.#end)
    return buffer.subarray(from - start, this.#position - start)
  }

  #bufferOf(sizeBytes: number): Buffer {
    if (!this.#forOneSocket) return Buffer.allocUnsafeSlow(sizeBytes)
    // No later chunk is larger than the first two.
    const place = this.#chunks % 2
    const buffer = (this.#buffers[place] ??= Buffer.allocUnsafeSlow(sizeBytes))
    return buffer.subarray(0, sizeBytes)
  }

  async #fill(buffer: Buffer, position: number): Promise<void> {
    invariant(this.#file, 'nothing is read before the file is open')
    for (let filled = 0; filled < buffer.length;) {
      const rest = buffer.length - filled
      const { bytesRead } = await onDisk(this.#file.read(buffer, filled, rest, position + filled))
      if (bytesRead === 0) throw damaged(this.#found.path, 'it has become shorter')
      filled += bytesRead
    }
  }

  #check(blocks: Buffer, start: number): void {
    if (this.#sums === undefined) return
    for (let at = 0; at < blocks.length; at += BLOCK_BYTES) {
      const sum = this.#sums.readUInt32BE(((start + at) / BLOCK_BYTES) * SUM_BYTES)
      if (crc32(blocks.subarray(at, at + BLOCK_BYTES)) !== sum)
        throw damaged(this.#found.path, `the ${BLOCK_BYTES} bytes from ${start + at} on`)
    }
  }
}
