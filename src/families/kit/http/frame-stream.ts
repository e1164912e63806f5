import { createParser } from 'eventsource-parser'
import { StringDecoder } from 'node:string_decoder'
import { type AnswerStream, ProviderError } from '../../../app/ports/provider.ts'
import { type OpenedStream, ExchangeError } from './open-stream.ts'
import { malformed } from './refusals.ts'

/** The largest frame; inline images of native streams are the largest ones. */
const MAX_FRAME_LENGTH = 16 * 1024 * 1024
/** Once the result is complete, upstream has this long to send the missing usage. */
const FINISHED_IDLE_MS = 10_000

/** What the stream has shown so far. */
interface FrameTally {
  /** Upstream reported that the result is complete. */
  readonly finished: boolean
  readonly failure: object | undefined
}

/** Follows one stream frame by frame. */
export interface FrameReader<Chunk, Tally extends FrameTally> {
  /**
   * The frame as the caller gets it; undefined for one that is not for callers.
   * @throws ProviderError for an error that upstream wrote into the stream, and for an unreadable
   * frame
   */
  readonly read: (frame: Frame) => Chunk | undefined
  readonly tally: () => Tally
  /** Whatever follows does not matter. */
  readonly over: () => boolean
}

/** Frames of a begun answer as chunks for the caller. */
export function createFrameStream<Chunk, Tally extends FrameTally>(
  opened: OpenedStream,
  reader: FrameReader<Chunk, Tally>,
  head: Pick<AnswerStream<Chunk, Tally>, 'upstreamRequestId' | 'restMs'>,
  maxFrameLength = MAX_FRAME_LENGTH,
): AnswerStream<Chunk, Tally> {
  const chunks = new Chunks(opened, reader, maxFrameLength)
  return {
    ...head,
    read: () => chunks.next(),
    tally: () => reader.tally(),
    receivedBytes: () => opened.receivedBytes(),
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
  #hurried = false

  constructor(opened: OpenedStream, reader: FrameReader<Chunk, Tally>, maxFrameLength: number) {
    this.#opened = opened
    this.#reader = reader
    this.#parser = createFrameParser(maxFrameLength)
  }

  /** The frames that arrived since the last call; undefined at the end. @throws ProviderError */
  async next(): Promise<readonly Chunk[] | undefined> {
    const chunks: Chunk[] = []
    for (;;) {
      if (chunks.length > 0) return chunks
      if (this.#failed !== undefined) throw asProviderError(this.#failed)
      if (this.#ended) return undefined
      try {
        await this.#pull(chunks)
      } catch (error) {
        this.#failed = error
        this.#opened.cancel()
      }
    }
  }

  async #pull(chunks: Chunk[]): Promise<void> {
    const pieces = await this.#opened.read()
    if (pieces === undefined) return this.#readRest(chunks)
    for (const piece of pieces) {
      this.#readAll(this.#parser.feed(this.#decoder.write(piece)), chunks)
      if (this.#ended || this.#failed !== undefined) break
    }
    if (!this.#hurried && this.#reader.tally().finished) {
      this.#hurried = true
      this.#opened.hurry(FINISHED_IDLE_MS)
    }
  }

  /** Stops at the first frame that fails: those before it are still delivered. */
  #readAll(frames: readonly Frame[], chunks: Chunk[]): void {
    for (const frame of frames) {
      try {
        const chunk = this.#reader.read(frame)
        if (chunk !== undefined) chunks.push(chunk)
      } catch (error) {
        this.#failed = error
        this.#opened.cancel()
        return
      }
      if (this.#reader.over()) {
        this.#ended = true
        this.#opened.discard()
        return
      }
    }
  }

  /** A frame without its blank line counts if it can be read; half a frame does not. */
  #readRest(chunks: Chunk[]): void {
    this.#ended = true
    const rest = this.#parser.end()
    if (rest === undefined) return
    try {
      const chunk = this.#reader.read(rest)
      if (chunk !== undefined) chunks.push(chunk)
    } catch (error) {
      if (this.#reader.tally().failure !== undefined) this.#failed = error
    }
  }
}

/** A stream can only break off after upstream accepted the call. */
function asProviderError(error: unknown): unknown {
  if (error instanceof FrameTooLargeError) return malformed(error)
  if (!(error instanceof ExchangeError)) return error
  const cause = { cause: error }
  return error.reason === 'timeout'
    ? new ProviderError('timeout', 'certain', 'The model service fell silent.', cause)
    : new ProviderError('unavailable', 'certain', 'The model service broke off its answer.', cause)
}

/** Server-sent events out of pieces of text, however they are cut. */

export interface Frame {
  /** The `event` field, undefined when there was none. */
  readonly event: string | undefined
  /** The `data` lines, joined by line feeds. */
  readonly data: string
}

/** A frame grew beyond its bound. */
class FrameTooLargeError extends Error {
  override readonly name = 'FrameTooLargeError'
}

interface FrameParser {
  /** Frames that are complete with this text. @throws FrameTooLargeError */
  readonly feed: (text: string) => readonly Frame[]
  /** The unfinished rest at the end: a frame without its blank line, or a part of a frame. */
  readonly end: () => Frame | undefined
}

const BYTE_ORDER_MARK = '\uFEFF'

/**
 * Frames as the standard splits them. A line that begins with `{` where a field should stand is kept:
 * some upstreams write their error as a bare object.
 *
 * @param maxFrameLength in UTF-16 units
 */
export function createFrameParser(maxFrameLength: number): FrameParser {
  let frames: Frame[] = []
  let bare: string | undefined
  /** The prefix to remove from the next text, if it begins with it. */
  let unread = BYTE_ORDER_MARK
  let tooLarge = false

  const takeBare = (): void => {
    if (bare !== undefined) frames.push({ event: undefined, data: bare })
    bare = undefined
  }
  const keepBare = (line: string): void => {
    if (bare === undefined && !line.startsWith('{')) return
    const ends = bare === undefined ? line.endsWith('}') : line === '}'
    bare = bare === undefined ? line : `${bare}\n${line}`
    tooLarge ||= bare.length > maxFrameLength
    // The parser does not report blank lines, so the end of the object ends it.
    if (ends) takeBare()
  }
  const parser = createParser({
    maxBufferSize: maxFrameLength,
    onEvent: ({ event, data }) => {
      takeBare()
      frames.push({ event, data })
    },
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') tooLarge = true
      else if (error.line !== undefined) keepBare(error.line)
    },
  })
  const feed = (text: string): readonly Frame[] => {
    parser.feed(text)
    if (tooLarge) throw new FrameTooLargeError('a frame is too large')
    const complete = frames
    frames = []
    return complete
  }

  return {
    feed: (text) => {
      if (text === '') return []
      const from = text.startsWith(unread) ? unread.length : 0
      // The parser waits for what may follow a last CR; the frame that it ends is complete without.
      unread = text.endsWith('\r') ? '\n' : ''
      return feed(text.slice(from) + unread)
    },
    end: () => {
      const rest = feed('\n\n')
      takeBare()
      return rest[0] ?? frames.shift()
    },
  }
}
