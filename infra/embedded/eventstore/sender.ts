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
  #failure: Error | undefined
  #unsentBytes = 0

  constructor(call: ReadCall, structuredIds: boolean) {
    this.#call = call
    this.#frameOf = structuredIds ? recordFrameStructured : recordFrame
    call.on('cancelled', () => this.close())
    call.on('close', () => this.close())
    call.on('error', () => this.close())
  }

  /** Whether the reader is gone or the server is stopping: then no more messages are sent. */
  get isClosed(): boolean {
    return this.#closed || this.#call.cancelled
  }

  /** The error that the reader receives on closing. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** Stops sending and wakes the waiting sender. */
  close(failure?: Error): void {
    this.#failure ??= failure
    this.#closed = true
    this.#wake()
  }

  frameOf(record: Buffer): Buffer {
    return this.#frameOf(record)
  }

  /** Whether the sent messages were passed on: more may be sent without waiting. */
  get isReady(): boolean {
    return this.#unsentBytes <= MAX_UNSENT_BYTES
  }

  async sendRecords(records: readonly Buffer[]): Promise<void> {
    await this.send(records.map((record) => this.#frameOf(record)))
  }

  /** Sends frames in writes of bounded size; resolves when more may be sent. */
  async send(frames: readonly Buffer[]): Promise<void> {
    for (const write of joined(frames)) {
      if (this.isClosed) return
      this.#write(write)
      while (!this.isReady && !this.isClosed) await this.wait()
    }
  }

  /** Sends frames without waiting for those before them. */
  post(frames: readonly Buffer[]): void {
    if (this.isClosed) return
    for (const write of joined(frames)) this.#write(write)
  }

  #write(frames: JoinedFrames): void {
    const bytes = frames.byteLength
    this.#unsentBytes += bytes
    this.#call.write(frames, () => {
      const wasReady = this.isReady
      this.#unsentBytes -= bytes
      if (!wasReady) this.#wake()
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

/** Frames joined into writes of bounded size. */
function* joined(frames: readonly Buffer[]): Generator<JoinedFrames, void, undefined> {
  let first = 0
  while (first < frames.length) {
    let next = first
    let bytes = 0
    do {
      bytes += frames[next]?.length ?? 0
      next += 1
    } while (next < frames.length && bytes + (frames[next]?.length ?? 0) <= WRITE_BYTES)
    yield new JoinedFrames(frames.slice(first, next))
    first = next
  }
}
