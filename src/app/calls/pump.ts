import type { Settlement } from '../../domain/pricing/settlement.ts'
import { monotonicClock } from '../../kernel/clock.ts'
import { type DomainError, isDomainError } from '../../kernel/errors.ts'
import { sharerOf } from '../../domain/token/sharer.ts'
import type { ChannelLease } from '../channels/directory.ts'
import { type AnswerStream, ProviderError } from '../ports/provider.ts'
import type { AdmittedCall } from './family.ts'
import { endCallAttempt } from './attempt.ts'
import type { CallDeps } from './deps.ts'
import type { DrainPlace } from './drains.ts'
import type { AnsweringChannel } from './event-facts.ts'
import { failedResult, callFailureOf, zeroSettlement, noteFailure, settle } from './settle.ts'
import type { StreamBounds } from './family.ts'
import {
  asProviderError,
  endedEarly,
  endedHere,
  type PumpedChunk,
  type StreamEnd,
  Withheld,
} from './stream-ends.ts'

/** The received part of a stream, as far as its end needs it. */
export interface PumpedTally {
  /** Upstream reported the result as complete. */
  readonly finished: boolean
  /** Why a delivered result counts as a failure. */
  readonly failure: { readonly code: string; readonly error?: ProviderError } | undefined
}

/** A stream that has begun upstream, with everything needed to end it properly. */
interface OpenCall<Chunk extends PumpedChunk, Seen extends PumpedTally, Frame> {
  readonly call: AdmittedCall<Seen>
  readonly served: AnsweringChannel
  readonly lease: ChannelLease
  readonly source: Omit<AnswerStream<Chunk, Seen>, 'upstreamRequestId' | 'restMs'>
  readonly bounds: StreamBounds
  /** A chunk as its caller gets it. */
  readonly frameOf: (chunk: Chunk) => Frame
  readonly refusal: (error: ProviderError, callId: string) => DomainError
}

const OVER = { done: true, value: undefined } as const

/**
 * Carries one stream from its provider to its caller, frame by frame, only as fast as the caller
 * reads them. Terminal frames, and all frames of a complete result, are withheld until
 * `CallSettled` is durable (P3). When the caller disconnects, the pump reads the rest within a
 * bound, and settles all the same.
 *
 * A complete result is settled, and so is a stream that delivered a part before a bound of the
 * gateway or the caller ended it. Every other end is a failure, even an error that the provider
 * wrote into a properly ended stream: the caller pays nothing, and the operator's probable cost is
 * recorded (P5).
 *
 * @see docs/money.md, "How a stream ends", which names every end
 */
export class Pump<Chunk extends PumpedChunk, Seen extends PumpedTally, Frame> {
  /** Settles when all work for this call is done. */
  readonly done: Promise<void>
  #finish: () => void = () => undefined
  #ready: readonly Chunk[] = []
  #readyAt = 0
  readonly #withheld: Withheld<Chunk>
  /** `flowing` until the source has ended; after that it is not read any more. */
  #state: 'flowing' | 'ending' | 'over' = 'flowing'
  #abandoned = false
  /** Milliseconds from the request to the first frame that the caller got; undefined: none yet. */
  #firstByteMs: number | undefined
  /** Reason why reading ended, if it was not the provider. */
  #endedBy: StreamEnd | undefined
  /** The end of a stream that ends while its caller reads nothing. */
  #ending: Promise<void> | undefined
  /** Place at which a drain waits for its turn. */
  #place: DrainPlace | undefined
  #reading: Promise<readonly Chunk[] | undefined> | undefined
  /** Thrown to the caller after the frames before it. */
  #error: unknown
  #settlement: Settlement | undefined
  /** Time since which the caller has not requested the next frame; undefined while it waits. */
  #idleSinceMs: number | undefined = monotonicClock.nowMs()
  readonly #deps: CallDeps
  readonly #open: OpenCall<Chunk, Seen, Frame>

  constructor(deps: CallDeps, open: OpenCall<Chunk, Seen, Frame>) {
    this.#deps = deps
    this.#open = open
    this.#withheld = new Withheld(() => open.source.tally().finished)
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
    if (this.#abandoned || this.#ending !== undefined || this.#state !== 'flowing') return
    this.#abandoned = true
    void this.#drain()
  }

  /** Ends the stream now, whether or not its caller is reading. */
  end(by: StreamEnd): void {
    if (this.#state !== 'flowing') return
    this.#stopReading(by)
    // A drain and a caller who waits for a frame notice it by themselves.
    if (!this.#abandoned && this.#idleSinceMs !== undefined) this.#ending ??= this.#readBuffered()
  }

  #stopReading(by: StreamEnd): void {
    this.#endedBy ??= by
    this.#open.source.cancel()
    this.#place?.stopWaiting()
  }

  async #next(): Promise<IteratorResult<Frame, undefined>> {
    for (;;) {
      if (this.#ending !== undefined) await this.#ending
      if (this.#abandoned) return OVER
      const chunk = this.#ready[this.#readyAt]
      if (chunk !== undefined) {
        this.#readyAt += 1
        this.#firstByteMs ??= this.#deps.clock.nowMs() - this.#open.call.startedAtMs
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
      this.#ready = this.#withheld.sort(chunks)
      this.#readyAt = 0
      if (this.#withheld.sizeUnits <= this.#open.bounds.maxWithheldBytes) return
      this.#stopReading('withheld')
    }
    await this.#conclude(broken)
  }

  /** Reads frames that arrived before the source was cancelled, for a caller who still reads. */
  async #readBuffered(): Promise<void> {
    let broken: unknown
    try {
      for (;;) {
        const chunks = await this.#open.source.read()
        if (chunks === undefined) break
        this.#ready = [...this.#ready.slice(this.#readyAt), ...this.#withheld.sort(chunks)]
        this.#readyAt = 0
      }
    } catch (error) {
      broken = error
    }
    await this.#conclude(broken)
    this.#ending = undefined
  }

  /** Ends the call; frames that its caller has not taken come before those that were withheld. */
  async #conclude(broken: unknown): Promise<void> {
    this.#state = 'ending'
    try {
      this.#error = await this.#end(broken)
      this.#ready = [...this.#ready.slice(this.#readyAt), ...this.#withheld.take()]
    } catch (error) {
      // Not settled, so the withheld frames are never delivered.
      this.#ready = []
      this.#error = error
      if (this.#abandoned)
        this.#deps.logger.error(
          { err: error, callId: this.#open.call.callId },
          'a call that its caller abandoned could not be settled',
        )
      this.#countEnd(isDomainError(error) ? error.code : 'internal')
    }
    this.#readyAt = 0
    this.#over()
  }

  /** Reads on only for the usage figures, as long and as far as the channel allows. */
  async #drain(): Promise<void> {
    const { source, bounds, call } = this.#open
    const maxBytes = source.receivedBytes() + bounds.drainMaxBytes
    const timer = setTimeout(() => this.#stopReading('drain'), bounds.drainTimeoutMs)
    const place = this.#deps.drains.enter(sharerOf(call.input.principal))
    this.#place = place
    let broken: unknown
    try {
      await place.ready
      if (this.#reading !== undefined) await this.#reading
      while ((await source.read()) !== undefined)
        if (source.receivedBytes() > maxBytes) {
          this.#stopReading('drain')
          break
        }
    } catch (error) {
      broken = error
    }
    clearTimeout(timer)
    place.leave()
    await this.#conclude(broken)
  }

  /**
   * Settles the call or records its failure; returns the error that its caller gets after all
   * frames.
   * @throws the journal's errors
   */
  async #end(broken: unknown): Promise<DomainError | undefined> {
    const { call, lease, source } = this.#open
    const served = { ...this.#open.served, firstByteMs: this.#firstByteMs }
    const deps = this.#deps
    deps.crashPoint('call.after-provider')
    const tally = source.tally()
    const isCut = !tally.finished
    const endedBy = this.#endedBy ?? (broken === undefined ? undefined : source.endedBy())
    const cause = isCut && broken === undefined ? endedEarly() : broken
    const failed = tally.failure && (cause ?? tally.failure.error)
    if (endedBy !== undefined) lease.release('neutral')
    else endCallAttempt(deps, call, lease, isCut ? cause : failed)
    // A frame that was left out may have been the only one.
    const isWhole = !isCut && endedBy !== 'frame'
    const isOwed =
      isWhole || (endedBy !== undefined && (this.#firstByteMs !== undefined || this.#abandoned))
    if (tally.failure === undefined && isOwed) {
      const outcome = this.#abandoned || !isWhole ? 'disconnected' : 'completed'
      const ended = { seen: tally, outcome, endedBy: isWhole ? undefined : endedBy } as const
      this.#settlement = (await settle(deps, call, served, ended)).settlement
      return isWhole || endedBy === undefined
        ? undefined
        : this.#open.refusal(endedHere(endedBy), call.callId)
    }
    this.#countEnd('failed')
    if (tally.failure !== undefined && !(cause instanceof ProviderError)) {
      noteFailure(deps, call, served, failedResult(tally.failure.code, tally))
      this.#settlement = zeroSettlement(call)
      return undefined
    }
    const error = asProviderError(cause)
    noteFailure(deps, call, served, callFailureOf(error, tally))
    this.#withheld.take()
    return this.#open.refusal(error, call.callId)
  }

  /** Counts a failure; `settle` counts settlements. */
  #countEnd(outcome: string): void {
    this.#deps.metrics.ended.inc({ family: this.#open.call.input.family, outcome })
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
