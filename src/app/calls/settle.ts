import type { CallEventData } from '../../domain/call/events.ts'
import type { RatedCall } from '../../domain/catalog/call-rules.ts'
import type { Measurement, Settlement } from '../../domain/pricing/settlement.ts'
import { monotonicClock, toTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { parseAmount } from '../../kernel/money.ts'
import { ProviderError } from '../ports/provider.ts'
import { refusalOf } from '../channels/refusal.ts'
import type { AdmittedCall } from './family.ts'
import type { StreamEnd } from './stream-ends.ts'
import { sharerOf } from '../../domain/token/sharer.ts'
import { UNDELIVERED, IMAGES } from '../../domain/catalog/image-rules.ts'
import type { CallDeps } from './deps.ts'
import { type AnsweringChannel, factsOf, metadataOf } from './event-facts.ts'

type CallOutcome = CallEventData<'CallSettled'>['outcome']

/**
 * Writes `CallSettled` and returns once it is durable: only then may a result be delivered (P3).
 *
 * @throws the journal's `log_unavailable` or `log_outcome_unknown`, those of `CallClaim.settling`,
 *   and `upstream_malformed` with the call's id for a result without the figures to settle; nothing
 *   may be delivered then
 */
export async function settle<Seen>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  served: AnsweringChannel,
  ended: SettledEnd<Seen>,
): Promise<{ readonly settlement: Settlement; readonly measurement: Measurement }> {
  const { seen, endedBy } = ended
  const rated = endedBy === undefined ? call.terms.settle(seen) : call.terms.estimate(seen)
  if (rated === undefined) throw unmeasured(deps, call, served, seen)
  const startedMs = monotonicClock.nowMs()
  await claimSettlement(deps, call, served, seen)
  deps.crashPoint('call.before-append')
  await record(deps, call, served, rated, ended)
  deps.crashPoint('call.after-append')
  deps.metrics.settleSeconds.observe((monotonicClock.nowMs() - startedMs) / 1_000)
  const { settlement, measurement, answeredOtherwise: other = {} } = rated
  const { family } = call.input
  const channel = served.channel.id
  absorbUndelivered(deps, call, rated)
  deps.metrics.ended.inc({ family, outcome: ended.outcome })
  if (other.model !== undefined) deps.metrics.answeredOtherwise.inc({ family, what: 'model' })
  if (other.serviceTier !== undefined)
    deps.metrics.answeredOtherwise.inc({ family, what: 'service_tier' })
  for (const { what, why } of rated.doubted?.notes ?? [])
    deps.metrics.reportsDoubted.inc({ family, channel, what, why })
  if (measurement === 'estimated')
    deps.metrics.estimated.inc({ family, channel, why: endedBy ?? ended.outcome })
  return { settlement, measurement }
}

/** Outcome of a settled call. */
interface SettledEnd<Seen> {
  readonly seen: Seen
  readonly outcome: CallOutcome
  /** Set if only a part of the result came, and the provider is not to blame. */
  readonly endedBy?: StreamEnd | undefined
}

/** The longest wait for the claim of a stream at its end. */
const STREAM_PATIENCE_MS = 20_000

/** Does not settle a call that has lost its key: another call may be settled under it. */
async function claimSettlement<Seen>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  served: AnsweringChannel,
  seen: Seen,
): Promise<void> {
  try {
    // A part of a stream was delivered: a database away for a moment must not make it free.
    await call.claim?.settling(call.streamed ? STREAM_PATIENCE_MS : 0)
  } catch (error) {
    const code = isDomainError(error) ? error.code : 'internal'
    noteFailure(deps, call, served, withheldResult(code, seen))
    throw isDomainError(error) ? withCallId(error, call.callId) : error
  }
}

async function record<Seen>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  served: AnsweringChannel,
  { usage, settlement, answeredOtherwise, doubted, limitedTokens: tokens }: RatedCall,
  { outcome, endedBy }: SettledEnd<Seen>,
): Promise<void> {
  const amountPico = parseAmount(settlement.amount)
  try {
    const { position } = await deps.journal.record(
      {
        type: 'CallSettled',
        data: {
          ...factsOf(call, served),
          outcome,
          ...(endedBy === undefined ? {} : { endedBy }),
          usage: { ...usage },
          settlement,
          ...(doubted === undefined ? {} : { reported: { ...doubted.figures } }),
          ...(answeredOtherwise === undefined ? {} : { answeredOtherwise }),
          settledAt: toTimestamp(deps.clock.nowMs()),
        },
      },
      metadataOf(call),
    )
    call.claim?.settled()
    call.held.commit({ amountPico, tokens, position })
  } catch (error) {
    // The log may have it all the same.
    if (isDomainError(error, 'log_outcome_unknown'))
      call.held.commit({ amountPico, tokens, position: undefined })
    else call.held.release('failed')
    if (isDomainError(error) && error.code !== 'log_outcome_unknown') call.claim?.unsettled()
    throw isDomainError(error) ? withCallId(error, call.callId) : error
  }
}

/**
 * A result that cannot be billed to its caller is not delivered: it is recorded as the operator's
 * cost.
 */
function unmeasured<Seen>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  served: AnsweringChannel,
  seen: Seen,
): DomainError {
  const error = new ProviderError(
    'malformed',
    'certain',
    'The model service did not say what its answer used.',
  )
  noteFailure(deps, call, served, callFailureOf(error, seen))
  return refusalOf(error, call.callId)
}

/** A settlement of zero, for results that are failures. */
export function zeroSettlement<Seen>({ terms }: AdmittedCall<Seen>): Settlement {
  const { priceBookVersion, currency } = terms
  return { priceBookVersion, currency, amount: '0', lines: [] }
}

/** Texts for the record of a failure: fixed, because upstream's may quote a prompt (P7). */
interface Failure<Seen> {
  readonly code: string
  readonly message: string
  /** Whether the provider may have worked, and the received part of its answer. */
  readonly cost: 'none' | { readonly seen: Seen | undefined }
}

/** Whether to record a failure: busy or unreachable providers that accepted nothing are not. */
export function isNoteworthy(error: ProviderError): boolean {
  return error.acceptance !== 'ruled_out' || error.kind === 'invalid' || error.kind === 'account'
}

const SAFE_CODE = /^[A-Za-z0-9_.-]{1,80}$/

/** A provider's failure for the record, with the received part of its answer. */
export function callFailureOf<Seen>(error: ProviderError, seen?: Seen): Failure<Seen> {
  const code = error.code !== undefined && SAFE_CODE.test(error.code) ? error.code : error.kind
  return {
    code,
    message: `${error.kind}: the provider gave no result`,
    cost: error.acceptance === 'ruled_out' ? 'none' : { seen },
  }
}

/** A received result that the provider itself calls failed. */
export function failedResult<Seen>(code: string, seen: Seen): Failure<Seen> {
  return { code, message: 'the provider reported a failed result', cost: { seen } }
}

/** A received result that could not be settled, and is therefore not delivered. */
function withheldResult<Seen>(code: string, seen: Seen): Failure<Seen> {
  return { code, message: 'the result could not be settled and is withheld', cost: { seen } }
}

type Absorbed = NonNullable<CallEventData<'CallFailed'>['absorbed']>

/** Counts the probable cost of a failed call for the operator. */
function absorb<Seen>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  { cost }: Failure<Seen>,
): { readonly absorbed?: Absorbed } {
  if (cost === 'none') return {}
  const { usage, settlement } = call.terms.estimate(cost.seen)
  const { amount, currency } = settlement
  deps.metrics.absorbed.inc({ family: call.input.family, currency }, Number(amount))
  deps.throttle.absorbed.add(sharerOf(call.input.principal), amount)
  return { absorbed: { usage: { ...usage }, settlement } }
}

/** Adds the cost of pictures that the provider charges for and did not deliver, at the price of the delivered ones. */
function absorbUndelivered<Seen>(
  deps: CallDeps,
  { input: { principal, family } }: AdmittedCall<Seen>,
  { usage, settlement: { amount, currency } }: RatedCall,
): void {
  if (usage[UNDELIVERED] === undefined) return
  const cost = (Number(amount) * usage[UNDELIVERED]) / Math.max(1, usage[IMAGES] ?? 0)
  deps.metrics.absorbed.inc({ family, currency }, cost)
  deps.throttle.absorbed.add(sharerOf(principal), String(cost))
}

/** Releases the reservations and records a failure for support, without delaying the caller. */
export function noteFailure<Seen>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  served: AnsweringChannel,
  failure: Failure<Seen>,
): void {
  call.held.release('failed')
  const absorbed = absorb(deps, call, failure)
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
      deps.logger.warn({ err: error, callId: call.callId }, 'a failed call was not recorded')
    })
}

/** An error that names its call to the caller. */
export function withCallId({ code, message, details }: DomainError, callId: string): DomainError {
  return new DomainError(code, message, { ...details, callId })
}

/** A refusal of a call that is settled nevertheless: the answer states the cost of the call. */
export class SettledRefusal extends DomainError {
  readonly settlement: Settlement

  constructor(refusal: DomainError, settlement: Settlement) {
    super(refusal.code, refusal.message, refusal.details)
    this.settlement = settlement
  }
}
