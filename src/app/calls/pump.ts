import type { Settlement } from '../../domain/pricing/settlement.ts'
import { monotonicClock } from '../../kernel/clock.ts'
import { type DomainError, isDomainError } from '../../kernel/errors.ts'
import type { ChannelLease } from '../channels/directory.ts'
import { type AnswerStream, ProviderError } from '../ports/provider.ts'
import type { AdmittedCall } from './family.ts'
import { endAttempt } from './attempt.ts'
import type { CallDeps } from './deps.ts'
import {
  failedResult,
  failureOf,
  zeroSettlement,
  noteFailure,
  type AnsweringChannel,
  settle,
} from './settle.ts'
import type { StreamBounds } from './family.ts'

/** A piece of a stream, as the pump sees it. */
export interface PumpedChunk {
  readonly data: string
  /** The result is complete: withheld, with all that follows, until settled (P3). */
  readonly terminal: boolean
}

/** What was received of a stream, as far as its end needs it. */
export interface PumpedTally {
  /** Upstream reported the result as complete. */
  readonly finished: boolean
  /** Why a delivered result counts as a failure. */
  readonly failure: { readonly code: string } | undefined
}

/** A stream that has begun upstream, with everything needed to end it properly. */
interface OpenCall<Chunk extends PumpedChunk, Seen extends PumpedTally, Frame> {
  readonly call: AdmittedCall<Seen>
  readonly served: AnsweringChannel
  readonly lease: ChannelLease
  readonly source: Pick<AnswerStream<Chunk, Seen>, 'read' | 'tally' | 'receivedBytes' | 'cancel'>
  readonly bounds: StreamBounds
  /** A chunk as its caller gets it. */
  readonly frameOf: (chunk: Chunk) => Frame
  readonly refusal: (error: ProviderError, callId: string) => DomainError
}

const OVER = { done: true, value: undefined } as const

/**
 * Carries one stream from its provider to its caller, frame by frame, only as fast as the caller
 * reads them. The terminal frame and all after it are withheld until `CallSettled` is durable (P3).
 * When the caller disconnects, the pump reads the rest within a bound, and settles all the same.
 *
 * A complete result is settled, and so is a stream that the gateway's own bound ended after the
 * caller disconnected. Every other end is a failure, even an error that the provider wrote into a
 * properly ended stream: the caller pays nothing, and the operator's probable cost is recorded
 * (P5).
 *
 * @see docs/money.md, "What a text call costs", which names every end
 */
export class Pump<Chunk extends PumpedChunk, Seen extends PumpedTally, Frame> {
  /** Settles when all work for this call is done. */
  readonly done: Promise<void>
  #finish: () => void = () => undefined
  #ready: readonly Chunk[] = []
  #readyAt = 0
  readonly #withheld: Chunk[] = []
  #withheldBytes = 0
  #withholding = false
  /** `flowing` until the source has ended; after that it is not read any more. */
  #state: 'flowing' | 'ending' | 'over' = 'flowing'
  #abandoned = false
  /** The gateway's bound ended the drain, not the provider. */
  #drainEnded = false
  #reading: Promise<readonly Chunk[] | undefined> | undefined
  /** Thrown to the caller after the frames before it. */
  #error: unknown
  #settlement: Settlement | undefined
  /** When the caller last took a frame without asking for the next; undefined while it waits. */
  #idleSinceMs: number | undefined = monotonicClock.nowMs()
  readonly #deps: CallDeps
  readonly #open: OpenCall<Chunk, Seen, Frame>

  constructor(deps: CallDeps, open: OpenCall<Chunk, Seen, Frame>) {
    this.#deps = deps
    this.#open = open
    this.done = new Promise((resolve) => (this.#finish = resolve))
    const { callerGone } = open.call.input
    if (callerGone.aborted) this.abandon()
    else callerGone.addEventListener('abort', () => this.abandon(), { once: true })
  }

  /** The settlement, once it is durable. */
  settlement(): Settlement | undefined {
    return this.#settlement
  }

  /** Milliseconds since the caller took a frame without asking for the next; 0 while it waits. */
  idleMs(nowMs: number): number {
    return this.#idleSinceMs === undefined ? 0 : nowMs - this.#idleSinceMs
  }

  async next(): Promise<IteratorResult<Frame, undefined>> {
    this.#idleSinceMs = undefined
    try {
      return await this.#next()
    } finally {
      this.#idleSinceMs = monotonicClock.nowMs()
    }
  }

  /** The caller disconnected: the pump reads the rest alone. */
  abandon(): void {
    if (this.#abandoned || this.#state !== 'flowing') return
    this.#abandoned = true
    void this.#drain()
  }

  /** Stops waiting for upstream: the shutdown of this process bounds every stream. */
  cancel(): void {
    if (this.#abandoned) this.#endDrain()
    else this.#open.source.cancel()
  }

  #endDrain(): void {
    this.#drainEnded = true
    this.#open.source.cancel()
  }

  async #next(): Promise<IteratorResult<Frame, undefined>> {
    for (;;) {
      if (this.#abandoned) return OVER
      const chunk = this.#ready[this.#readyAt]
      if (chunk !== undefined) {
        this.#readyAt += 1
        return { done: false, value: this.#open.frameOf(chunk) }
      }
      if (this.#error !== undefined) {
        const error = this.#error
        this.#error = undefined
        throw error
      }
      if (this.#state === 'over') return OVER
      await this.#advance()
    }
  }

  /** Reads once; at the end of the source, it ends the call. */
  async #advance(): Promise<void> {
    let chunks: readonly Chunk[] | undefined
    let broken: unknown
    try {
      this.#reading = this.#open.source.read()
      chunks = await this.#reading
    } catch (error) {
      broken = error
    }
    // The drain waited for the same read and continues from it.
    if (this.#abandoned) return
    this.#reading = undefined
    if (chunks !== undefined) {
      this.#sort(chunks)
      if (!this.#isOverflowing()) return
      this.#open.source.cancel()
      broken = new ProviderError(
        'malformed',
        'certain',
        'The model service does not come to an end.',
      )
    }
    this.#state = 'ending'
    const left = this.#ready.slice(this.#readyAt)
    this.#readyAt = 0
    try {
      this.#error = await this.#end(broken)
      this.#ready = [...left, ...this.#withheld]
    } catch (error) {
      // Not settled, so the withheld frames are never delivered.
      this.#ready = []
      this.#error = error
      this.#countEnd(isDomainError(error) ? error.code : 'internal')
    }
    this.#over()
  }

  /** Withholds the first terminal chunk and everything after it. */
  #sort(chunks: readonly Chunk[]): void {
    const first = this.#withholding ? 0 : chunks.findIndex((chunk) => chunk.terminal)
    this.#readyAt = 0
    if (first === -1) {
      this.#ready = chunks
      return
    }
    this.#withholding = true
    this.#ready = chunks.slice(0, first)
    for (const chunk of chunks.slice(first)) {
      this.#withheld.push(chunk)
      this.#withheldBytes += chunk.data.length
    }
  }

  /** Reads on only for the usage figures, as long and as far as the channel allows. */
  async #drain(): Promise<void> {
    const { source, bounds } = this.#open
    const maxBytes = source.receivedBytes() + bounds.drainMaxBytes
    const timer = setTimeout(() => this.#endDrain(), bounds.drainTimeoutMs)
    let broken: unknown
    try {
      if (this.#reading !== undefined) await this.#reading
      while ((await source.read()) !== undefined)
        if (source.receivedBytes() > maxBytes) {
          this.#endDrain()
          break
        }
    } catch (error) {
      broken = error
    }
    clearTimeout(timer)
    this.#state = 'ending'
    try {
      await this.#end(broken)
    } catch (error) {
      this.#deps.logger.error(
        { err: error, callId: this.#open.call.callId },
        'what a caller left behind could not be settled',
      )
      this.#countEnd(isDomainError(error) ? error.code : 'internal')
    }
    this.#over()
  }

  /**
   * Settles the call or records its failure; returns the error that its caller gets after all
   * frames.
   * @throws the journal's errors
   */
  async #end(broken: unknown): Promise<DomainError | undefined> {
    const { call, served, lease, source } = this.#open
    const deps = this.#deps
    deps.crashPoint('call.after-provider')
    const tally = source.tally()
    const isCut = !tally.finished || this.#isOverflowing()
    const cause = isCut && broken === undefined ? endedEarly() : broken
    if (isCut && this.#drainEnded) lease.release('neutral')
    else endAttempt(deps, call, lease, isCut || tally.failure ? cause : undefined)
    if (tally.failure === undefined && (!isCut || this.#drainEnded)) {
      const outcome = this.#abandoned ? 'disconnected' : 'completed'
      this.#settlement = (await settle(deps, call, served, { seen: tally, outcome })).settlement
      return undefined
    }
    this.#countEnd('failed')
    if (tally.failure !== undefined && !(cause instanceof ProviderError)) {
      noteFailure(deps, call, served, failedResult(tally.failure.code, tally))
      this.#settlement = zeroSettlement(call)
      return undefined
    }
    const error = asProviderError(cause)
    noteFailure(deps, call, served, failureOf(error, tally))
    this.#withheld.length = 0
    return this.#open.refusal(error, call.callId)
  }

  /** Counts a failure; `settle` counts settlements. */
  #countEnd(outcome: string): void {
    this.#deps.metrics.ended.inc({ family: this.#open.call.input.family, outcome })
  }

  #isOverflowing(): boolean {
    return this.#withheldBytes > this.#open.bounds.maxWithheldBytes
  }

  #over(): void {
    this.#state = 'over'
    const { held, claim } = this.#open.call
    held.release('failed')
    // Streams are not stored: a settled one has no answer to repeat, any other may be made again.
    void claim?.keep(undefined)
    void claim?.release()
    this.#finish()
  }
}

/** Upstream closed properly, but before its result was complete. */
function endedEarly(): ProviderError {
  return new ProviderError('unavailable', 'certain', 'The model service broke off its answer.')
}

function asProviderError(cause: unknown): ProviderError {
  return cause instanceof ProviderError ? cause : endedEarly()
}
