import { Buffer } from 'node:buffer'

/**
 * A long text of plain ASCII that needs no escape in JSON, such as base64, kept as the bytes it came
 * as: neither decoded on its way in nor encoded on its way out.
 */
export class AsciiText {
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  get length(): number {
    return this.bytes.length
  }

  slice(start: number, end: number): string {
    return new AsciiText(this.bytes.subarray(start, end)).toString()
  }

  toString(): string {
    const { buffer, byteOffset, length } = this.bytes
    return Buffer.from(buffer, byteOffset, length).toString('latin1')
  }
}
