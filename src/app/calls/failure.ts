import type { CallEventData } from '../../domain/call/events.ts'
import type { Settlement } from '../../domain/pricing/settlement.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { ProviderError } from '../ports/provider.ts'
import type { AdmittedCall } from './answer-call.ts'
import type { CallDeps } from './deps.ts'
import { factsOf, metadataOf, type Served } from './facts.ts'

/** What of a failure is written down: fixed words, because upstream's may quote a prompt (P7). */
interface Failure<Seen> {
  readonly code: string
  readonly message: string
  /** Whether the provider may have done something, and what was seen of its answer. */
  readonly cost: 'none' | { readonly seen: Seen | undefined }
}

/** Whether a provider was reached and had to do with the call; limits and dead lines are not noted. */
export function isNoteworthy(error: ProviderError): boolean {
  return error.acceptance !== 'ruled_out' || error.kind === 'invalid' || error.kind === 'account'
}

const SAFE_CODE = /^[A-Za-z0-9_.-]{1,80}$/

/** A provider's failure as it is written down, with what was seen of its answer until then. */
export function failureOf<Seen>(error: ProviderError, seen?: Seen): Failure<Seen> {
  const code = error.code !== undefined && SAFE_CODE.test(error.code) ? error.code : error.kind
  return {
    code,
    message: `${error.kind}: the provider gave no result`,
    cost: error.acceptance === 'ruled_out' ? 'none' : { seen },
  }
}

/** A result that came and that the provider itself calls failed. */
export function failedResult<Seen>(code: string, seen: Seen): Failure<Seen> {
  return { code, message: 'the provider reported a failed result', cost: { seen } }
}

/** A result that came and that could not be settled, so that nobody gets it. */
export function withheldResult<Seen>(code: string, seen: Seen): Failure<Seen> {
  return { code, message: 'the result could not be settled and is withheld', cost: { seen } }
}

type Absorbed = NonNullable<CallEventData<'CallFailed'>['absorbed']>

/** What a failed call probably cost us, counted for whoever watches. */
function absorb<Seen>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  cost: Failure<Seen>['cost'],
): { readonly absorbed?: Absorbed } {
  if (cost === 'none') return {}
  const { usage, settlement } = call.terms.absorbed(cost.seen)
  const labels = { family: call.input.family, currency: settlement.currency }
  // A figure to watch, not to account with: that is in the event, exact.
  deps.metrics.absorbed.inc(labels, Number(settlement.amount))
  return { absorbed: { usage: { ...usage }, settlement } }
}

/** Gives back what was reserved and notes a failure for support; the caller does not wait for the note. */
export function noteFailure<Seen>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  served: Served,
  failure: Failure<Seen>,
): void {
  call.held.release('failed')
  const absorbed = absorb(deps, call, failure.cost)
  if (deps.journal.pending() >= deps.limits.maxPendingFailures) {
    deps.metrics.unrecordedFailures.inc()
    return
  }
  deps.journal
    .record(
      {
        type: 'CallFailed',
        data: {
          ...factsOf(call, served),
          code: failure.code,
          message: failure.message,
          ...absorbed,
          failedAt: toTimestamp(deps.clock.nowMs()),
        },
      },
      metadataOf(call),
    )
    .catch((error: unknown) => {
      deps.metrics.unrecordedFailures.inc()
      deps.logger.warn({ err: error, callId: call.callId }, 'a failed call was not written down')
    })
}

/** An error whose caller learns which call it is of. */
export function withCallId({ code, message, details }: DomainError, callId: string): DomainError {
  return new DomainError(code, message, { ...details, callId })
}

/** A refusal of a call that is settled nevertheless: the answer states what the call cost. */
export class SettledRefusal extends DomainError {
  readonly settlement: Settlement

  constructor(refusal: DomainError, settlement: Settlement) {
    super(refusal.code, refusal.message, refusal.details)
    this.settlement = settlement
  }
}
