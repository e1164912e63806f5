/**
 * Sends frames to one reader and waits whenever it is behind.
 */

import type { ServerWritableStream } from '@grpc/grpc-js'
import type streams from '@eventstore/db-client/generated/streams_pb.js'
import { JoinedFrames } from './frames.ts'
import { MAX_UNSENT_BYTES, WRITE_BYTES } from './limits.ts'
import { recordFrame, recordFrameStructured } from './record.ts'

export type ReadCall = ServerWritableStream<streams.ReadReq, JoinedFrames>

export class Sender {
  readonly #call: ReadCall
  readonly #frameOf: (record: Buffer) => Buffer
  #wake: () => void = () => undefined
  #closed = false
  #unsentBytes = 0

  constructor(call: ReadCall, structuredIds: boolean) {
    this.#call = call
    this.#frameOf = structuredIds ? recordFrameStructured : recordFrame
    call.on('cancelled', () => this.close())
    call.on('close', () => this.close())
    call.on('error', () => this.close())
  }

  /** Whether the reader is gone or the server stopping: nothing more will be sent. */
  get isClosed(): boolean {
    return this.#closed || this.#call.cancelled
  }

  /** Stops sending and wakes whoever waits. */
  close(): void {
    this.#closed = true
    this.#wake()
  }

  frameOf(record: Buffer): Buffer {
    return this.#frameOf(record)
  }

  async sendRecords(records: readonly Buffer[]): Promise<void> {
    await this.send(records.map((record) => this.#frameOf(record)))
  }

  /** Sends frames in writes of bounded size; resolves when more may be sent. */
  async send(frames: readonly Buffer[]): Promise<void> {
    let first = 0
    while (first < frames.length && !this.isClosed) {
      let next = first
      let bytes = 0
      do {
        bytes += frames[next]?.length ?? 0
        next += 1
      } while (next < frames.length && bytes + (frames[next]?.length ?? 0) <= WRITE_BYTES)
      this.#write(new JoinedFrames(frames.slice(first, next)), bytes)
      first = next
      while (this.#unsentBytes > MAX_UNSENT_BYTES && !this.isClosed) await this.wait()
    }
  }

  #write(frames: JoinedFrames, bytes: number): void {
    this.#unsentBytes += bytes
    this.#call.write(frames, () => {
      this.#unsentBytes -= bytes
      this.#wake()
    })
  }

  /** Waits for the next wake-up: something was sent, closed, or woken by `wake`. */
  async wait(): Promise<void> {
    await new Promise<void>((resolve) => (this.#wake = resolve))
  }

  wake(): void {
    this.#wake()
  }
}
