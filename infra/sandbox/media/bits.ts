/** Writes bit strings as H.264 wants them. */
export class BitWriter {
  readonly #bytes: number[] = []
  #held = 0
  #count = 0

  /** `count` bits of a value, at most 32. */
  bits(value: number, count: number): this {
    for (let i = count - 1; i >= 0; i -= 1) {
      this.#held = (this.#held << 1) | (Math.floor(value / 2 ** i) & 1)
      this.#count += 1
      if (this.#count === 8) this.#flush()
    }
    return this
  }

  /** Unsigned Exp-Golomb. */
  ue(value: number): this {
    const length = Math.floor(Math.log2(value + 1))
    return this.bits(0, length).bits(value + 1, length + 1)
  }

  /** Zero bits up to the next whole byte. */
  align(): this {
    while (this.#count > 0) this.bits(0, 1)
    return this
  }

  /** Whole bytes; call only when aligned. */
  raw(bytes: Iterable<number>): this {
    for (const byte of bytes) this.#bytes.push(byte)
    return this
  }

  /** The stop bit and the bytes. */
  finish(): Buffer {
    this.bits(1, 1).align()
    return Buffer.from(this.#bytes)
  }

  #flush(): void {
    this.#bytes.push(this.#held & 0xff)
    this.#held = 0
    this.#count = 0
  }
}
