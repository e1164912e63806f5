import { StringDecoder } from 'node:string_decoder'
import { type AnswerStream, ProviderError, type StreamBound } from '../../../app/ports/provider.ts'
import { createTurnBudget } from '../../../kernel/turns.ts'
import { type OpenedStream, ExchangeError } from './open-stream.ts'
import { BoundError, createFrameParser, type Frame, type FrameParser } from './frame-parser.ts'
import { afterAcceptance, malformed } from './refusals.ts'

/** The bounds of a stream, which are above all that its request can yield (P10). */
export interface FrameBounds<Tally> {
  /** UTF-16 units of one frame; strings longer than `LONGEST_KEPT` are passed over in a larger one. */
  readonly maxFrameLength: number
  /** Bytes of the whole stream. */
  readonly maxBytes: number
  /** Whether the result so far is larger than any that the request allows. */
  readonly isBeyond?: (tally: Tally) => boolean
}

/**
 * Frames that are read from all streams together in one turn of the event loop: many streams must
 * not block other callers.
 */
const turns = createTurnBudget(200)
/** Bytes that are read in one step, and bytes that count as much as a frame. */
const SLICE_BYTES = 16 * 1024
const BYTES_AS_FRAME = 4 * 1024
/** Once the result is complete, upstream has this long to send the missing usage. */
const FINISHED_IDLE_MS = 10_000
/** Once usage has come too, it has this long to complete it or to say that the stream is over. */
const REPORTED_IDLE_MS = 1_000

/** State of the stream so far. */
interface FrameTally {
  /** Upstream reported that the result is complete. */
  readonly finished: boolean
  readonly failure: object | undefined
  /** The usage that upstream reported; undefined before it did. */
  readonly usage?: object | undefined
}

/** Follows one stream frame by frame. */
export interface FrameReader<Chunk, Tally extends FrameTally> {
  /**
   * The frame as the caller gets it; undefined for one that is not for callers.
   * @throws ProviderError for an error that upstream wrote into the stream, and for an unreadable
   * frame
   */
  readonly read: (frame: Frame) => Chunk | undefined
  /**
   * Reads a frame that is longer than its bound and has lost its long strings; undefined where the
   * caller cannot do without them. Absent: always undefined. Its figures are read in any case.
   */
  readonly readCut?: (frame: Frame) => Chunk | undefined
  readonly tally: () => Tally
  /** The body ended as it should; absent: that says nothing about the result. */
  readonly bodyEnded?: () => void
  /** Upstream's id of the answer, from its frames; used where no header names one. */
  readonly upstreamId?: () => string | undefined
  /** Whatever follows does not matter. */
  readonly over: () => boolean
}

/**
 * Frames of a begun answer as chunks for the caller. It waits for the first frame: an error that
 * upstream wrote in the place of an answer is a refusal like any other, so that its status reaches
 * the caller and another channel may be asked. @throws ProviderError
 */
export async function beginFrameStream<Chunk, Tally extends FrameTally>(
  opened: OpenedStream,
  reader: FrameReader<Chunk, Tally>,
  head: Pick<AnswerStream<Chunk, Tally>, 'upstreamRequestId' | 'restMs'>,
  bounds: FrameBounds<Tally>,
): Promise<AnswerStream<Chunk, Tally>> {
  const chunks = new Chunks(opened, reader, bounds)
  await chunks.begin()
  return {
    ...head,
    get upstreamRequestId() {
      return head.upstreamRequestId ?? reader.upstreamId?.()
    },
    read: () => chunks.next(),
    tally: () => reader.tally(),
    receivedBytes: () => opened.receivedBytes(),
    endedBy: () => chunks.endedBy(),
    cancel: () => opened.cancel(),
  }
}

class Chunks<Chunk, Tally extends FrameTally> {
  readonly #opened: OpenedStream
  readonly #reader: FrameReader<Chunk, Tally>
  readonly #parser: FrameParser
  readonly #decoder = new StringDecoder('utf8')
  #failed: unknown
  #ended = false
  /** Whether a frame was read: then upstream had accepted the call. */
  #begun = false
  /** Chunks that arrived with the first frame, until they are asked for. */
  #first: Chunk[] = []
  /** The silence that a finished stream may have; undefined before its end. */
  #lastIdleMs: number | undefined

  readonly #bounds: FrameBounds<Tally>
  /** Frames that have arrived and are not read yet. */
  #unread: Buffer[] = []

  constructor(opened: OpenedStream, reader: FrameReader<Chunk, Tally>, bounds: FrameBounds<Tally>) {
    this.#opened = opened
    this.#reader = reader
    this.#parser = createFrameParser(bounds.maxFrameLength)
    this.#bounds = bounds
  }

  endedBy(): StreamBound | undefined {
    if (this.#failed instanceof BoundError) return this.#failed.bound
    return this.#failed instanceof ExchangeError && this.#opened.wasHeldBack() ? 'pause' : undefined
  }

  /** Reads the first frame. @throws ProviderError if it is an error that names its status */
  async begin(): Promise<void> {
    while (!this.#begun && this.#failed === undefined && !this.#ended)
      await this.#pullOrFail(this.#first)
    // Any other failure, such as a timeout, ends the stream that has begun.
    if (!this.#begun && this.#failed instanceof ProviderError && this.#failed.status !== undefined)
      throw this.#failed
  }

  /** The frames that arrived since the last call; undefined at the end. @throws ProviderError */
  async next(): Promise<readonly Chunk[] | undefined> {
    const chunks = this.#first
    this.#first = []
    for (;;) {
      if (chunks.length > 0) return chunks
      if (this.#failed !== undefined) throw asProviderError(this.#failed)
      if (this.#ended) return undefined
      await this.#pullOrFail(chunks)
    }
  }

  async #pullOrFail(chunks: Chunk[]): Promise<void> {
    try {
      await this.#pull(chunks)
    } catch (error) {
      this.#failed = error
      this.#opened.cancel()
    }
  }

  async #pull(chunks: Chunk[]): Promise<void> {
    if (this.#unread.length === 0) {
      const pieces = await this.#opened.read()
      if (pieces === undefined) return this.#readRest(chunks)
      this.#unread = [...pieces]
    }
    if (this.#opened.receivedBytes() > this.#bounds.maxBytes) throw new BoundError('length')
    for (let room = turns.room(); room !== undefined; room = turns.room()) await room
    const slice = this.#nextSlice()
    const frames = this.#parser.feed(this.#decoder.write(slice))
    turns.take(frames.length + slice.length / BYTES_AS_FRAME)
    this.#readAll(frames, chunks)
    this.#checkTally()
  }

  /**
   * Ends a stream that has gone beyond its request, and shortens the wait for the end of a complete
   * result: callers wait for its last frames, which come with its settlement.
   */
  #checkTally(): void {
    if (this.#lastIdleMs === REPORTED_IDLE_MS) return
    const tally = this.#reader.tally()
    const { finished, usage } = tally
    if (!finished) {
      if (this.#bounds.isBeyond?.(tally) === true) throw new BoundError('length')
      return
    }
    const idleMs = usage === undefined ? FINISHED_IDLE_MS : REPORTED_IDLE_MS
    if (idleMs === this.#lastIdleMs) return
    this.#lastIdleMs = idleMs
    this.#opened.hurry(idleMs)
  }

  #nextSlice(): Buffer {
    const [first = Buffer.alloc(0)] = this.#unread
    if (first.length <= SLICE_BYTES) {
      this.#unread.shift()
      return first
    }
    this.#unread[0] = first.subarray(SLICE_BYTES)
    return first.subarray(0, SLICE_BYTES)
  }

  /** Stops at the first frame that fails: those before it are still delivered. */
  #readAll(frames: readonly Frame[], chunks: Chunk[]): void {
    for (const frame of frames) {
      try {
        const chunk = frame.isCut === true ? this.#readCut(frame) : this.#reader.read(frame)
        if (chunk !== undefined) chunks.push(chunk)
      } catch (error) {
        this.#failed =
          this.#begun && error instanceof ProviderError ? afterAcceptance(error) : error
        this.#opened.cancel()
        return
      }
      this.#begun = true
      if (this.#reader.over()) {
        this.#ended = true
        this.#opened.discard()
        return
      }
    }
  }

  /** @throws BoundError unless the caller can do without the skipped part */
  #readCut(frame: Frame): Chunk {
    let chunk: Chunk | undefined
    try {
      chunk = (this.#reader.readCut ?? this.#reader.read)(frame)
    } catch {
      // The readable part of it is in the tally.
    }
    if (chunk === undefined || this.#reader.readCut === undefined) throw new BoundError('frame')
    return chunk
  }

  /** A frame without its blank line counts if it can be read; half a frame does not. */
  #readRest(chunks: Chunk[]): void {
    this.#ended = true
    const rest = this.#parser.end()
    try {
      const chunk = rest && this.#reader.read(rest)
      if (chunk !== undefined) chunks.push(chunk)
      this.#reader.bodyEnded?.()
    } catch (error) {
      if (this.#reader.tally().failure !== undefined) this.#failed = error
    }
  }
}

/** A stream can only break off after upstream accepted the call. */
function asProviderError(error: unknown): unknown {
  if (error instanceof BoundError) return malformed(error, true)
  if (!(error instanceof ExchangeError)) return error
  const cause = { cause: error, endedByGateway: error.reason === 'aborted' }
  return error.reason === 'timeout'
    ? new ProviderError('timeout', 'certain', 'The model service fell silent.', cause)
    : new ProviderError('unavailable', 'certain', 'The model service broke off its answer.', cause)
}
