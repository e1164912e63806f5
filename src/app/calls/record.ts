import { estimateText } from '../../domain/call/estimate.ts'
import type { CallEventData } from '../../domain/call/events.ts'
import { type TextUsage, totalTokens } from '../../domain/call/usage.ts'
import { settleText, usageByUnit } from '../../domain/families/text/pricing.ts'
import type { Measurement, Settlement } from '../../domain/pricing/settlement.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { parseAmount } from '../../kernel/money.ts'
import { type Channel, ProviderError, type TextFailure, type TextTally } from '../ports.ts'
import type { AdmittedCall } from './call.ts'
import type { CallDeps } from './deps.ts'
import type { TextCallInput } from './types.ts'

/** Where a call was answered. */
export interface Served {
  readonly channel: Channel
  readonly upstreamRequestId: string | undefined
}

export type CallOutcome = CallEventData<'CallSettled'>['outcome']

const MAX_ID_LENGTH = 200

function factsOf(call: AdmittedCall, served: Served) {
  const { input } = call
  const { channel, upstreamRequestId } = served
  return {
    callId: call.callId,
    surface: input.surface,
    tenantId: input.principal.tenantId,
    userId: input.principal.userId,
    tokenId: input.principal.tokenId,
    requestId: input.requestId,
    model: input.model,
    channelId: channel.id,
    upstreamModel: channel.models[input.model] ?? input.model,
    ...(upstreamRequestId === undefined
      ? {}
      : { upstreamRequestId: upstreamRequestId.slice(0, MAX_ID_LENGTH) }),
    stream: call.streamed,
    startedAt: toTimestamp(call.startedAtMs),
  }
}

function metadataOf(call: AdmittedCall) {
  const { principal, requestId } = call.input
  return {
    correlationId: requestId,
    commandId: call.callId,
    tenantId: principal.tenantId,
    tokenId: principal.tokenId,
  }
}

/**
 * What a call used. The figures of a whole result count, also of one that failed; figures that came
 * with only part of a result say at least that much; without figures the bytes seen are counted. An
 * explicit zero is a figure.
 */
export function usageOf(
  tally: TextTally,
  inputSize: TextCallInput['inputSize'],
): { readonly usage: TextUsage; readonly measurement: Measurement } {
  const { usage } = tally
  if (usage !== undefined && tally.finished) return { usage, measurement: 'reported' }
  const estimate = estimateText(inputSize, tally.outputBytes)
  if (usage === undefined) return { usage: estimate, measurement: 'estimated' }
  const output = Math.max(usage.output, estimate.output)
  return { usage: { ...usage, output }, measurement: 'estimated' }
}

/**
 * Writes `CallSettled` and returns once it is durable: only then may a result be delivered (P3).
 *
 * @throws the journal's `log_unavailable` or `log_outcome_unknown`, with the call's id: nothing may
 *   be delivered then
 */
export async function settleCall(
  deps: CallDeps,
  call: AdmittedCall,
  served: Served,
  ended: { readonly tally: TextTally; readonly outcome: CallOutcome },
): Promise<{ readonly settlement: Settlement; readonly measurement: Measurement }> {
  const { usage, measurement } = usageOf(ended.tally, call.input.inputSize)
  call.taken?.settle(totalTokens(usage))
  const settlement = settleText(call.quote, usage, measurement)
  const startedMs = performance.now()
  deps.crashPoint('call.before-append')
  try {
    const { position } = await deps.journal.record(
      {
        type: 'CallSettled',
        data: {
          ...factsOf(call, served),
          outcome: ended.outcome,
          usage: { ...usageByUnit(usage) },
          settlement,
          settledAt: toTimestamp(deps.clock.nowMs()),
        },
      },
      metadataOf(call),
    )
    call.hold.settle(parseAmount(settlement.amount), position)
  } catch (error) {
    call.hold.withdraw()
    throw isDomainError(error)
      ? new DomainError(error.code, error.message, { ...error.details, callId: call.callId })
      : error
  }
  deps.crashPoint('call.after-append')
  deps.metrics.settleSeconds.observe((performance.now() - startedMs) / 1_000)
  const { family } = call.input
  deps.metrics.ended.inc({ family, outcome: ended.outcome })
  if (measurement === 'estimated') deps.metrics.estimated.inc({ family, why: ended.outcome })
  return { settlement, measurement }
}

/** A settlement of nothing, for results that are failures. */
export function freeOfCharge(call: AdmittedCall): Settlement {
  const { priceBookVersion, currency } = call.quote
  return { priceBookVersion, currency, amount: '0', lines: [] }
}

/** What of a failure is written down: fixed words, because upstream's may quote a prompt (P7). */
interface Failure {
  readonly code: string
  readonly message: string
  /** What was seen of the answer; undefined where the provider certainly did nothing. */
  readonly seen: TextTally | undefined
}

/** Of an answer that never came. */
const nothingSeen: TextTally = {
  usage: undefined,
  outputBytes: 0,
  finished: false,
  failure: undefined,
}

/** Whether a provider was reached and had to do with the call; limits and dead lines are not noted. */
export function isNoteworthy(error: unknown): error is ProviderError {
  if (!(error instanceof ProviderError)) return false
  return error.acceptance !== 'ruled_out' || error.kind === 'invalid' || error.kind === 'account'
}

const SAFE_CODE = /^[A-Za-z0-9_.-]{1,80}$/

/** A provider's failure as it is written down, with what was seen of its answer until then. */
export function failureOf(error: ProviderError, seen: TextTally = nothingSeen): Failure {
  const code = error.code !== undefined && SAFE_CODE.test(error.code) ? error.code : error.kind
  return {
    code,
    message: `${error.kind}: the provider gave no result`,
    seen: error.acceptance === 'ruled_out' ? undefined : seen,
  }
}

/** A result that came and that the provider itself calls failed. */
export function failedResult(failure: TextFailure, seen: TextTally): Failure {
  return { code: failure.code, message: 'the provider reported a failed result', seen }
}

type Absorbed = NonNullable<CallEventData<'CallFailed'>['absorbed']>

/** What a failed call probably cost us, counted for whoever watches. */
function absorb(deps: CallDeps, call: AdmittedCall, seen: TextTally): Absorbed {
  const { usage, measurement } = usageOf(seen, call.input.inputSize)
  const settlement = settleText(call.quote, usage, measurement)
  const labels = { family: call.input.family, currency: settlement.currency }
  // A figure to watch, not to account with: that is in the event, exact.
  deps.metrics.absorbed.inc(labels, Number(settlement.amount))
  return { usage: { ...usageByUnit(usage) }, settlement }
}

/** Ends the hold and notes a failure for support, without anybody waiting for it. */
export function noteFailure(
  deps: CallDeps,
  call: AdmittedCall,
  served: Served,
  failure: Failure,
): void {
  call.hold.withdraw()
  const absorbed = failure.seen && absorb(deps, call, failure.seen)
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
          ...(absorbed === undefined ? {} : { absorbed }),
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
