import type { CallTerms } from '../../domain/catalog/call-rules.ts'
import type { PriceBook } from '../../domain/pricing/price-book.ts'
import type { DomainError } from '../../kernel/errors.ts'
import type { ChannelWish } from '../channels/directory.ts'
import type { AnswerStream, CallOptions, Channel, ProviderError } from '../ports/provider.ts'
import type { Measurement, Settlement } from '../../domain/pricing/settlement.ts'
import type { Principal } from '../access/principal.ts'
import type { Reservation } from '../spending/reservation.ts'
import type { CallClaim, KeyedRequest } from './claims/types.ts'

/** What every synchronous call comes with, whatever its family; no HTTP here. */
export interface CallInput {
  readonly principal: Principal
  /** The upstream interface that serves it: the `family` of its channels. */
  readonly family: string
  /** The interface the caller used, e.g. `v1.chat`; written into the settlement. */
  readonly surface: string
  readonly requestId: string
  /** External model name. */
  readonly model: string
  /** Aborts when the caller goes away. */
  readonly callerGone: CallerGone
  /** Asked for under an `Idempotency-Key`: it is made once for it. */
  readonly keyed?: KeyedRequest
}

/** A call as it is priced without being made: no caller waits for it. */
export type Unmade<Input> = Omit<Input, 'callerGone'>

/** Whether the caller has gone, as a signal says it. */
export type CallerGone = Pick<AbortSignal, 'aborted' | 'addEventListener'>

/** A call that is over, and settled where it cost something. */
export interface CompletedCall<Body> {
  readonly callId: string
  readonly body: Body
  readonly settlement: Settlement
  readonly measurement: Measurement
}

export interface StreamedCall<Frame> {
  readonly callId: string
  /**
   * Frames as they come; terminal ones only after `CallSettled` is durable (P3). A failure after the
   * first frame is thrown as a `DomainError` for the surface to shape into a frame of its own.
   */
  readonly frames: AsyncIterable<Frame>
  /** What it was settled at once that is durable; undefined before, and of what failed. */
  readonly settlement: () => Settlement | undefined
}

/**
 * What a synchronous family says of its calls: everything else of a call is
 * the same for all of them: `answer-call.ts`, `stream.ts`, `settle.ts`.
 *
 * @typeParam Input what the API hands over
 * @typeParam Request what is sent upstream, but for what depends on the channel
 * @typeParam Seen what was seen of an answer, to settle on
 * @typeParam Body what the caller gets
 */
export interface CallFamily<Input extends CallInput, Request, Seen, Body> {
  /**
   * Looks up what the input names, as one of the calls in flight, before anything of it is judged.
   * @throws DomainError, which the caller gets
   */
  readonly ready?: <Asked extends Unmade<Input>>(input: Asked) => Promise<Asked>
  /**
   * What a call needs before it is admitted. `serving`: every channel of its model.
   * @throws DomainError for what cannot be asked
   */
  readonly resolve: (
    input: Unmade<Input>,
    serving: readonly Channel[],
  ) => ResolvedCall<Request, Seen>
  /**
   * Gets what is sent, once the call is admitted and before a channel is held for it: fetching it
   * may be long. @throws DomainError, which the caller gets
   */
  readonly prepare?: (request: Request, options: CallOptions) => Promise<void>
  /** Asks one channel, once, for a whole answer. @throws ProviderError */
  readonly ask: (
    input: Input,
    channel: Channel,
    request: Request,
    options: CallOptions,
  ) => Promise<WholeAnswer<Seen, Body>>
  /** A provider's failure as callers are told of it: `refusalOf`, and exceptions. */
  readonly refusal: (error: ProviderError, callId: string) => DomainError
}

/** What a family that streams says of its streams beside that; carrying them is `pump.ts`. */
export interface StreamFamily<Input extends CallInput, Request, Seen, Chunk, Frame> {
  /** Asks one channel, once; resolves when it has begun to answer. @throws ProviderError */
  readonly open: (
    input: Input,
    channel: Channel,
    request: Request,
    options: CallOptions,
  ) => Promise<AnswerStream<Chunk, Seen>>
  /** Where they are not those of every stream (`limits.ts`). */
  readonly boundsOf?: (channel: Channel) => Partial<StreamBounds>
  /** A piece as its caller gets it. */
  readonly frameOf: (chunk: Chunk) => Frame
}

/** Bounds of one stream (P10). */
export interface StreamBounds {
  /** How long and how far it is read on after its caller has gone. */
  readonly drainTimeoutMs: number
  readonly drainMaxBytes: number
  /** UTF-16 units held back until it is settled. */
  readonly maxWithheldBytes: number
}

/** A call that may be made, if it can be paid for. */
export interface ResolvedCall<Request, Seen> {
  readonly request: Request
  /** Which channels may serve it. */
  readonly wish: ChannelWish
  /** Tokens it counts towards a limit a minute until it ends; only asked where there is one. */
  readonly expectedTokens: () => number
  /** @throws DomainError `price_not_configured` */
  readonly price: (book: PriceBook) => CallTerms<Seen>
}

/** What came of an attempt that was answered. */
export interface WholeAnswer<Seen, Body> {
  /**
   * Makes what the caller gets, once, before it is settled: what is left to do may be long, such as
   * keeping what a URL will lead to. What it throws is told to the caller, who is billed nothing.
   */
  readonly body: () => Body | Promise<Body>
  readonly upstreamRequestId: string | undefined
  /** Upstream wants no further call of this model for so long: its limit is used up. */
  readonly restMs: number | undefined
  readonly seen: Seen
  /** What is settled once the body is made, where not all that was seen could be delivered. */
  readonly delivered?: () => Seen
  /** Set where the answer is a failure: its code. Delivered as it is, and never billed. */
  readonly failed: string | undefined
  /** Told to the caller in place of the body: an answer that is settled may be a refusal all the same. */
  readonly refusal?: DomainError
}

/** A call that was admitted: priced, its money and places reserved, nothing sent yet. */
export interface AdmittedCall<Seen> {
  readonly callId: string
  /** Nothing of the request itself: a stream outlives what began it, and that may be large. */
  readonly input: CallInput
  /** Of a call under an `Idempotency-Key`. */
  readonly claim: CallClaim | undefined
  /** Which channels may serve it. */
  readonly wish: ChannelWish
  readonly streamed: boolean
  readonly startedAtMs: number
  readonly terms: CallTerms<Seen>
  /** All that was reserved for it: requests, tokens, a place, budgets and funds. */
  readonly held: Reservation
}
