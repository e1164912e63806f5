import { ProviderError, type StreamBound } from '../ports/provider.ts'

/**
 * Reason why the reading of a stream ended before the provider ended it: a bound of the gateway, or
 * the caller. It is not a fault of the provider, so the delivered part is settled.
 *
 * - drain: the bound on reading on after the caller disconnected
 * - withheld: more than `maxWithheldBytes` came after the end of the result
 * - stop: this process stops
 * - token: the caller's token has ended
 */
export type StreamEnd = StreamBound | 'drain' | 'withheld' | 'stop' | 'token'

/** Upstream closed properly, but before its result was complete. */
export function endedEarly(): ProviderError {
  return new ProviderError('unavailable', 'certain', 'The model service broke off its answer.')
}

const endings: Readonly<Record<StreamEnd, string>> = {
  frame: 'A part of the answer is larger than its request allows and was left out.',
  pause: 'The model service closed the connection while the answer was not being read.',
  drain: 'The answer was ended.',
  withheld: 'The answer is longer than its request allows and was ended.',
  length: 'The answer is longer than its request allows and was ended.',
  stop: 'The gateway is stopping and ended the answer.',
  token: 'The token is no longer valid, so the answer was ended.',
}

/** The error for a connected caller whose stream is settled although its end is missing. */
export function endedHere(by: StreamEnd): ProviderError {
  return new ProviderError(
    'unavailable',
    'certain',
    `${endings[by]} The delivered part is charged.`,
  )
}

export function asProviderError(cause: unknown): ProviderError {
  return cause instanceof ProviderError ? cause : endedEarly()
}

/** A piece of a stream, as the pump sees it. */
export interface PumpedChunk {
  readonly data: string
  /** Whether the frame ends the result, or one of several alternatives: withheld until settled (P3). */
  readonly terminal: boolean
}

/**
 * Pieces that wait for the settlement: those that end a result, and all pieces once the result is
 * complete. If one of several alternatives ends, the others continue.
 */
export class Withheld<Chunk extends PumpedChunk> {
  /** UTF-16 units of their data. */
  sizeUnits = 0
  #chunks: Chunk[] = []
  #isComplete = false
  readonly #finished: () => boolean

  /** @param finished whether the whole result has come */
  constructor(finished: () => boolean) {
    this.#finished = finished
  }

  /** Keeps the withheld pieces; returns the rest. */
  sort(chunks: readonly Chunk[]): readonly Chunk[] {
    if (!this.#isComplete && !chunks.some(({ terminal }) => terminal)) return chunks
    const passing: Chunk[] = []
    for (const chunk of chunks) {
      if (!chunk.terminal && !this.#isComplete) {
        passing.push(chunk)
        continue
      }
      this.#chunks.push(chunk)
      this.sizeUnits += chunk.data.length
    }
    this.#isComplete ||= this.#finished()
    return passing
  }

  /** All of them, once. */
  take(): readonly Chunk[] {
    const chunks = this.#chunks
    this.#chunks = []
    return chunks
  }
}
