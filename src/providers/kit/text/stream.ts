import { StringDecoder } from 'node:string_decoder'
import { ProviderError, type TextChunk, type TextStream } from '../../../app/ports.ts'
import { ExchangeError } from '../http/exchange-error.ts'
import { createFrameParser, type Frame, FrameTooLargeError } from './frames.ts'
import { malformed } from '../http/failures.ts'
import type { OpenedStream } from '../http/open-stream.ts'
import type { FrameReader } from './wire.ts'

/** No frame is larger; inline images of native streams are the largest there are. */
const MAX_FRAME_LENGTH = 16 * 1024 * 1024
/** Once the result is whole, only figures are missing: upstream gets this long for them. */
const FINISHED_IDLE_MS = 10_000

/** Frames of a begun answer as chunks for the caller. */
export function createTextStream(
  opened: OpenedStream,
  reader: FrameReader,
  head: Pick<TextStream, 'upstreamRequestId' | 'restMs'>,
): TextStream {
  const decoder = new StringDecoder('utf8')
  const parser = createFrameParser(MAX_FRAME_LENGTH)
  let failed: unknown
  let ended = false
  let hurried = false

  /** Stops at the first frame that fails: those before it are still delivered. */
  const readAll = (frames: readonly Frame[], chunks: TextChunk[]): void => {
    for (const frame of frames) {
      try {
        const chunk = reader.read(frame)
        if (chunk !== undefined) chunks.push(chunk)
      } catch (error) {
        failed = error
        opened.cancel()
        return
      }
      if (reader.over()) {
        ended = true
        opened.discard()
        return
      }
    }
  }
  /** A frame without its blank line counts if it can be read; half a frame does not. */
  const readRest = (chunks: TextChunk[]): void => {
    ended = true
    const rest = parser.end()
    if (rest === undefined) return
    try {
      const chunk = reader.read(rest)
      if (chunk !== undefined) chunks.push(chunk)
    } catch (error) {
      if (reader.tally().failure !== undefined) failed = error
    }
  }
  const pull = async (chunks: TextChunk[]): Promise<void> => {
    const pieces = await opened.read()
    if (pieces === undefined) return readRest(chunks)
    for (const piece of pieces) {
      readAll(parser.feed(decoder.write(piece)), chunks)
      if (ended || failed !== undefined) break
    }
    if (!hurried && reader.tally().finished) {
      hurried = true
      opened.hurry(FINISHED_IDLE_MS)
    }
  }

  return {
    ...head,
    read: async () => {
      const chunks: TextChunk[] = []
      for (;;) {
        if (chunks.length > 0) return chunks
        if (failed !== undefined) throw asProviderError(failed)
        if (ended) return undefined
        try {
          await pull(chunks)
        } catch (error) {
          failed = error
          opened.cancel()
        }
      }
    },
    tally: () => reader.tally(),
    receivedBytes: () => opened.receivedBytes(),
    cancel: () => opened.cancel(),
  }
}

/** Whatever breaks a stream off does so after upstream accepted the call. */
function asProviderError(error: unknown): unknown {
  if (error instanceof FrameTooLargeError) return malformed(error)
  if (!(error instanceof ExchangeError)) return error
  const cause = { cause: error }
  return error.reason === 'timeout'
    ? new ProviderError('timeout', 'certain', 'The model service fell silent.', cause)
    : new ProviderError('unavailable', 'certain', 'The model service broke off its answer.', cause)
}
