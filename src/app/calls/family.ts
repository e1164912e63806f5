import type { CallTerms } from '../../domain/catalog/call-rules.ts'
import type { PriceBook } from '../../domain/pricing/price-book.ts'
import type { DomainError } from '../../kernel/errors.ts'
import type { ChannelQuery } from '../channels/directory.ts'
import type { AnswerStream, CallOptions, Channel, ProviderError } from '../ports/provider.ts'
import type { Measurement, Settlement } from '../../domain/pricing/settlement.ts'
import type { Principal } from '../access/principal.ts'
import type { RepeatFacts } from '../../domain/repeat-facts.ts'
import type { NamedLabels, ReportingLabels } from '../../domain/reporting-labels.ts'
import type { Reservation } from '../spending/reservation.ts'
import type { CallClaim, KeyedRequest } from './claims/types.ts'

/** Input of every synchronous call, of any family; no HTTP here. */
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
  /** Who or what it is for, as the request names it. */
  readonly labels?: NamedLabels
  /** Whether it was sent before, as far as the request shows. */
  readonly repeat?: RepeatFacts
  /** Set under an `Idempotency-Key`: the call is made once for it. */
  readonly keyed?: KeyedRequest
}

/** A call to be priced without being made: no caller waits for it. */
export type PricingInput<Input> = Omit<Input, 'callerGone'>

/** Whether the caller has disconnected, as a signal. */
export type CallerGone = Pick<AbortSignal, 'aborted' | 'addEventListener'>

/** Facts that a family gets with each try of a call. */
export interface TryOptions extends CallOptions {
  /** Callers see it in the answers of some families. */
  readonly callId: string
}

/** A call that has ended, and was settled if it cost something. */
export interface CompletedCall<Body> {
  readonly callId: string
  readonly body: Body
  readonly settlement: Settlement
  readonly measurement: Measurement
}

export interface StreamedCall<Frame> {
  readonly callId: string
  /**
   * Frames as they arrive; terminal ones only after `CallSettled` is durable (P3). A failure after
   * the first frame is thrown as a `DomainError`, which the surface makes an error frame.
   */
  readonly frames: AsyncIterable<Frame>
  /** The settlement once it is durable; undefined before, and for a failure. */
  readonly settlement: () => Settlement | undefined
}

/**
 * The parts in which one synchronous family differs. Everything else of a call is the same for all
 * families: `answer-call.ts`, `stream.ts`, `settle.ts`.
 *
 * @typeParam Input what the API passes
 * @typeParam Request what is sent upstream, except what depends on the channel
 * @typeParam Seen what was received of an answer, for the settlement
 * @typeParam Body what the caller gets
 */
export interface CallFamily<Input extends CallInput, Request, Seen, Body> {
  /**
   * Looks up the objects that the input names, before it is checked; the call already counts as
   * running.
   * @throws DomainError, which the caller gets
   */
  readonly ready?: <Asked extends PricingInput<Input>>(input: Asked) => Promise<Asked>
  /**
   * Resolves what a call needs before it is admitted. `serving`: every channel of its model.
   * @throws DomainError for an impossible request
   */
  readonly resolve: (
    input: PricingInput<Input>,
    serving: readonly Channel[],
  ) => ResolvedCall<Request, Seen>
  /**
   * Fetches the content to send, after admission and before a channel is held, because it may take
   * long. Returns a function that frees its memory, called when no further attempt is made.
   * @throws DomainError, which the caller gets
   */
  readonly prepare?: (request: Request, options: CallOptions) => Promise<() => void>
  /** Asks one channel, once, for a whole answer. @throws ProviderError */
  readonly ask: (
    input: Input,
    channel: Channel,
    request: Request,
    options: TryOptions,
  ) => Promise<WholeAnswer<Seen, Body>>
  /** Converts a provider's failure for the caller: `refusalOf`, with exceptions. */
  readonly refusal: (error: ProviderError, callId: string) => DomainError
}

/** The parts of a family that streams; `pump.ts` carries its streams. */
export interface StreamFamily<Input extends CallInput, Request, Seen, Chunk, Frame> {
  /** Asks one channel, once; resolves when its answer has begun. @throws ProviderError */
  readonly open: (
    input: Input,
    channel: Channel,
    request: Request,
    options: TryOptions,
  ) => Promise<AnswerStream<Chunk, Seen>>
  /** Bounds that differ from those of every stream (`CallLimits`). */
  readonly boundsOf?: (channel: Channel, request: Request) => Partial<StreamBounds>
  /** A chunk as its caller gets it. */
  readonly frameOf: (chunk: Chunk) => Frame
}

/**
 * Bounds of one stream (P10), in addition to those of its length and its frames, which its adapter
 * has.
 */
export interface StreamBounds {
  /** Bounds of time and bytes for reading it after its caller disconnected. */
  readonly drainTimeoutMs: number
  readonly drainMaxBytes: number
  /** UTF-16 units withheld until it is settled. */
  readonly maxWithheldBytes: number
}

/** A valid call that is not paid for yet. */
export interface ResolvedCall<Request, Seen> {
  readonly request: Request
  /**
   * Refuses a request whose result could not be delivered at the moment; not called for a quote.
   * @throws DomainError, which the caller gets
   */
  readonly checkDelivery?: () => void
  /** The channels that may serve it. */
  readonly channelQuery: ChannelQuery
  /** Tokens it counts towards a limit per minute until it ends; only called when there is one. */
  readonly expectedTokens: () => number
  /** @throws DomainError `price_not_configured` */
  readonly price: (book: PriceBook) => CallTerms<Seen>
}

/** An answered attempt. */
export interface WholeAnswer<Seen, Body> {
  /**
   * Builds the caller's body, once, before the settlement. It may take long, for example to store
   * the result for a URL. If it throws, the caller gets the error and is not billed.
   */
  readonly body: () => Body | Promise<Body>
  readonly upstreamRequestId: string | undefined
  /** Upstream's rate limit for this model is used up for this long. */
  readonly restMs: number | undefined
  readonly seen: Seen
  /**
   * The part to settle once the body is built, if not everything that was received could be
   * delivered.
   */
  readonly delivered?: () => Seen
  /** The failure code when the answer is a failure: delivered unchanged, and never billed. */
  readonly failed: string | undefined
  /** Sent to the caller in place of the body: a settled answer may still be a refusal. */
  readonly refusal?: DomainError
}

/** An admitted call: priced, with its reservations; nothing was sent yet. */
export interface AdmittedCall<Seen> {
  readonly callId: string
  /** The call without the request itself, which may be large: a stream lives longer. */
  readonly input: CallInput
  /** For a call under an `Idempotency-Key`. */
  readonly claim: CallClaim | undefined
  /** The channels that may serve it. */
  readonly channelQuery: ChannelQuery
  readonly streamed: boolean
  readonly startedAtMs: number
  /** Who or what it is for, as far as the tenant declared it. */
  readonly labels: ReportingLabels
  readonly terms: CallTerms<Seen>
  /** Everything reserved for it: requests, tokens, a place, budgets and funds. */
  readonly held: Reservation
}
