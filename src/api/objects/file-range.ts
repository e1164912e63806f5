import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { invariant } from '../../kernel/assert.ts'

/** The size of one read: more than a socket accepts before it reports that it is full. */
const CHUNK_BYTES = 256 * 1024

/**
 * Bytes of a file for the one socket they are piped to.
 *
 * Two buffers are used alternately, because new memory for every chunk costs more than everything
 * else. Every chunk but the last has full size, so the socket reports that it is full after each;
 * when it asks for the next chunk, it has sent the one before, whose buffer is then filled again.
 */
export class FileRange extends Readable {
  readonly #path: string
  readonly #buffers: readonly Buffer[]
  #chunks = 0
  /** Of what is read next. */
  #position: number
  readonly #end: number
  #file: FileHandle | undefined

  constructor(path: string, range: { readonly start: number; readonly sizeBytes: number }) {
    super({ highWaterMark: CHUNK_BYTES })
    this.#path = path
    this.#position = range.start
    this.#end = range.start + range.sizeBytes
    const bufferBytes = Math.min(CHUNK_BYTES, range.sizeBytes)
    this.#buffers = [Buffer.allocUnsafeSlow(bufferBytes), Buffer.allocUnsafeSlow(bufferBytes)]
  }

  override _construct(done: (error?: Error | null) => void): void {
    const opened = open(this.#path).then((file) => {
      this.#file = file
    })
    opened.then(() => done(), done)
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

  /** The next chunk; null at the end. @throws if the file has become shorter */
  async #next(): Promise<Buffer | null> {
    const buffer = this.#buffers[this.#chunks % this.#buffers.length]
    invariant(this.#file && buffer, 'nothing is read before the file is open')
    const wanted = Math.min(buffer.length, this.#end - this.#position)
    for (let filled = 0; filled < wanted;) {
      const at = this.#position
      const { bytesRead } = await this.#file.read(buffer, filled, wanted - filled, at)
      if (bytesRead === 0) throw new Error('the file has become shorter')
      filled += bytesRead
      this.#position += bytesRead
    }
    this.#chunks += 1
    return wanted === 0 ? null : buffer.subarray(0, wanted)
  }
}
