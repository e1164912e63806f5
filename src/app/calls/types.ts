import type { Measurement, Settlement } from '../../domain/pricing/settlement.ts'
import type { Principal } from '../access/principal.ts'
import type { CallClaim, KeyedRequest } from './claims/types.ts'

/** What every synchronous call comes with and ends with, whatever its family; no HTTP here. */

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

/** A call that goes over the road: under an `Idempotency-Key` it has the claim to it. */
export type Claimed<Input extends CallInput> = Input & { readonly claim?: CallClaim }

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
