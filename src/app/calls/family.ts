import type { CallTerms } from '../../domain/catalog/call-rules.ts'
import type { PriceBook } from '../../domain/pricing/price-book.ts'
import type { DomainError } from '../../kernel/errors.ts'
import type { ChannelWish } from '../channels/directory.ts'
import type { AnswerStream, CallOptions, Channel, ProviderError } from '../ports/provider.ts'
import type { CallInput, Unmade } from './types.ts'

/**
 * What a synchronous family says of its calls: everything else of a call is the road's, which is
 * the same for all of them: `admit.ts`, `attempt.ts`, `settle.ts`, `failure.ts`, `running.ts`.
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
