import { Buffer } from 'node:buffer'

/** Node 20 cannot free a buffer. */
const canFree = 'transfer' in ArrayBuffer.prototype

/**
 * A long text of plain ASCII that needs no escape in JSON, such as base64, kept as its raw bytes:
 * it is neither decoded on its way in, nor joined, nor encoded on its way out.
 */
export class RawString {
  readonly pieces: readonly Uint8Array[]
  readonly length: number

  constructor(...pieces: readonly Uint8Array[]) {
    this.pieces = pieces
    this.length = pieces.reduce((sum, { length }) => sum + length, 0)
  }

  slice(start: number, end: number): string {
    const parts: string[] = []
    let at = 0
    for (const piece of this.pieces) {
      if (at >= end) break
      if (at + piece.length > start)
        parts.push(latin1(piece.subarray(Math.max(0, start - at), end - at)))
      at += piece.length
    }
    return parts.join('')
  }

  toString(): string {
    return this.pieces.map(latin1).join('')
  }

  /**
   * Frees the memory of its bytes immediately: no reader, not even a socket, may use them any more.
   * Short pieces may be slices of the pool that many buffers share; the collector frees those.
   */
  free(): void {
    if (!canFree) return
    for (const { buffer, length } of this.pieces)
      if (length > Buffer.poolSize >>> 1 && buffer instanceof ArrayBuffer && !buffer.detached)
        buffer.transfer(0)
  }
}

function latin1({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1')
}
