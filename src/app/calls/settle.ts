import { type Served, factsOf, metadataOf } from './facts.ts'
import type { CallEventData } from '../../domain/call/events.ts'
import type { RatedCall } from '../../domain/catalog/call-rules.ts'
import type { Measurement, Settlement } from '../../domain/pricing/settlement.ts'
import { monotonicClock, toTimestamp } from '../../kernel/clock.ts'
import { type DomainError, isDomainError } from '../../kernel/errors.ts'
import { parseAmount } from '../../kernel/money.ts'
import { ProviderError } from '../ports/provider.ts'
import { refusalOf } from '../ports/refusal.ts'
import type { AdmittedCall } from './answer-call.ts'
import type { CallDeps } from './deps.ts'
import { failureOf, noteFailure, withCallId, withheldResult } from './failure.ts'

type CallOutcome = CallEventData<'CallSettled'>['outcome']

/**
 * Writes `CallSettled` and returns once it is durable: only then may a result be delivered (P3).
 *
 * @throws the journal's `log_unavailable` or `log_outcome_unknown`, those of `CallClaim.settling`,
 *   and `upstream_malformed` for a result that says too little to settle on, with the call's id:
 *   nothing may be delivered then
 */
export async function settleCall<Seen>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  served: Served,
  ended: { readonly seen: Seen; readonly outcome: CallOutcome },
): Promise<{ readonly settlement: Settlement; readonly measurement: Measurement }> {
  const rated = call.terms.settle(ended.seen)
  if (rated === undefined) throw unmeasured(deps, call, served, ended.seen)
  const startedMs = monotonicClock.nowMs()
  await claimSettlement(deps, call, served, ended.seen)
  deps.crashPoint('call.before-append')
  await record(deps, call, served, { rated, outcome: ended.outcome })
  deps.crashPoint('call.after-append')
  deps.metrics.settleSeconds.observe((monotonicClock.nowMs() - startedMs) / 1_000)
  const { settlement, measurement } = rated
  const { family } = call.input
  deps.metrics.ended.inc({ family, outcome: ended.outcome })
  const { answeredOtherwise: other = {} } = rated
  if (other.model !== undefined) deps.metrics.answeredOtherwise.inc({ family, what: 'model' })
  if (other.serviceTier !== undefined)
    deps.metrics.answeredOtherwise.inc({ family, what: 'service_tier' })
  if (measurement === 'estimated') deps.metrics.estimated.inc({ family, why: ended.outcome })
  return { settlement, measurement }
}

/** Nothing is settled under a key that is not ours any more: then another call may be settled under it. */
async function claimSettlement<Seen>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  served: Served,
  seen: Seen,
): Promise<void> {
  try {
    await call.claim?.settling()
  } catch (error) {
    const code = isDomainError(error) ? error.code : 'internal'
    noteFailure(deps, call, served, withheldResult(code, seen))
    throw isDomainError(error) ? withCallId(error, call.callId) : error
  }
}

async function record<Seen>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  served: Served,
  { rated, outcome }: { readonly rated: RatedCall; readonly outcome: CallOutcome },
): Promise<void> {
  const { usage, settlement, answeredOtherwise, limitedTokens: tokens } = rated
  const amountPico = parseAmount(settlement.amount)
  try {
    const { position } = await deps.journal.record(
      {
        type: 'CallSettled',
        data: {
          ...factsOf(call, served),
          outcome,
          usage: { ...usage },
          settlement,
          ...(answeredOtherwise === undefined ? {} : { answeredOtherwise }),
          settledAt: toTimestamp(deps.clock.nowMs()),
        },
      },
      metadataOf(call),
    )
    call.claim?.settled()
    call.held.commit({ amountPico, tokens, position })
  } catch (error) {
    // It may be in the log all the same.
    if (isDomainError(error, 'log_outcome_unknown'))
      call.held.commit({ amountPico, tokens, position: undefined })
    else call.held.release('failed')
    if (isDomainError(error) && error.code !== 'log_outcome_unknown') call.claim?.unsettled()
    throw isDomainError(error) ? withCallId(error, call.callId) : error
  }
}

/** A result nobody can be billed for is none: it is noted as our cost. */
function unmeasured<Seen>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  served: Served,
  seen: Seen,
): DomainError {
  const error = new ProviderError(
    'malformed',
    'certain',
    'The model service did not say what its answer used.',
  )
  noteFailure(deps, call, served, failureOf(error, seen))
  return refusalOf(error, call.callId)
}

/** A settlement of nothing, for results that are failures. */
export function freeOfCharge<Seen>({ terms }: AdmittedCall<Seen>): Settlement {
  const { priceBookVersion, currency } = terms
  return { priceBookVersion, currency, amount: '0', lines: [] }
}
