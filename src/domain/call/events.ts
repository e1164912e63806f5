import { Type, type Static } from '@sinclair/typebox'
import { failureWords, settlementWords, type FactsOf } from '../event-facts.ts'
import { CurrencySchema, DecimalSchema, SettlementSchema } from '../pricing/settlement.ts'
import { UsageSchema } from '../pricing/usage.ts'
import { attemptsMember, idempotencyMember, repeatFactMembers } from '../repeat-facts.ts'
import { reportingLabelMembers } from '../reporting-labels.ts'

/** Synchronous calls of every tenant, written by one process into its own journal stream. */

const callMembers = {
  callId: Type.String(),
  surface: Type.String(),
  tenantId: Type.String(),
  userId: Type.String(),
  tokenId: Type.String(),
  requestId: Type.String(),
  model: Type.String(),
  /** The channel that answered it, or failed last. */
  channelId: Type.String(),
  upstreamModel: Type.String(),
  /** Absent where upstream named none. */
  upstreamRequestId: Type.Optional(Type.String()),
  stream: Type.Boolean(),
  ...reportingLabelMembers,
  startedAt: Type.String(),
}

/** Members of the events that the gateway writes about its own calls. */
const ownCallMembers = {
  ...callMembers,
  ...repeatFactMembers,
  ...idempotencyMember,
  ...attemptsMember,
  /**
   * Milliseconds from the request to the first frame that its caller got of a stream. Absent for a
   * whole answer, for a stream of which nothing came before its end, and in older events.
   */
  firstByteMs: Type.Optional(Type.Integer({ minimum: 0 })),
} as const

export const callEvents = {
  CallSettled: Type.Object({
    ...ownCallMembers,
    /**
     * How the call ended for the caller; a caller who disconnected still pays for what the provider
     * produced.
     */
    outcome: Type.Union([Type.Literal('completed'), Type.Literal('disconnected')]),
    /**
     * Reason that ended a stream before its result was complete: a bound of the gateway, or the
     * caller. Absent for a complete result, and where a caller who had disconnected is billed for
     * one.
     */
    endedBy: Type.Optional(Type.String()),
    /** Usage from which the settlement was computed, e.g. `input`, `cached-input`, `output`. */
    usage: UsageSchema,
    /**
     * The figures of upstream's report under its own names, if the settlement does not use them
     * directly: they were not plausible, incomplete, or in an unusual place.
     */
    reported: Type.Optional(UsageSchema),
    settlement: SettlementSchema,
    /** Model and service tier that upstream reports, if they differ from the request. */
    answeredOtherwise: Type.Optional(
      Type.Object({
        model: Type.Optional(Type.String()),
        serviceTier: Type.Optional(Type.String()),
      }),
    ),
    settledAt: Type.String(),
  }),
  CallFailed: Type.Object({
    ...ownCallMembers,
    code: Type.String(),
    message: Type.String(),
    /**
     * The operator's cost, never the caller's (P5); absent if the provider certainly did nothing.
     * It is the usage at the caller's prices, because the gateway does not know what the provider
     * charges. It is not a settlement: no ledger line follows from it.
     */
    absorbed: Type.Optional(Type.Object({ usage: UsageSchema, settlement: SettlementSchema })),
    /**
     * Refused calls of the token that this event represents, including this one; absent means one.
     */
    count: Type.Optional(Type.Integer({ minimum: 2 })),
    failedAt: Type.String(),
  }),
} as const

/** Events that operators write about calls; no process writes them into its journal. */
export const writeOffEvents = {
  /**
   * An operator gives up an event that the log refused for good. It moves no money: the call was
   * not billed, and never will be.
   */
  CallWrittenOff: Type.Object({
    ...callMembers,
    /** The event that was refused. */
    refused: Type.Object({
      eventId: Type.String(),
      type: Type.Union([Type.Literal('CallSettled'), Type.Literal('CallFailed')]),
    }),
    /** Amount that the tenant would have paid, a decimal; absent if the call had failed. */
    unbilled: Type.Optional(Type.Object({ currency: Type.String(), amount: Type.String() })),
    reason: Type.String(),
    writtenOffAt: Type.String(),
  }),
} as const

/** Events that the gateway writes about spools of replicas that never returned. */
export const spoolEvents = {
  /**
   * Settlements of the tenant that waited in a spool count no longer against its balance, because no
   * process opened the spool for a week. It moves no money: they were not billed. If the spool is
   * opened later, they are.
   */
  SpoolGivenUp: Type.Object({
    tenantId: Type.String(),
    currency: CurrencySchema,
    /** Decimal string: settlements not yet in the log, as last reported by its replica. */
    amount: DecimalSchema,
    spool: Type.String(),
    replica: Type.String(),
    /** Time of the last report of the replica. */
    reportedAt: Type.String(),
    givenUpAt: Type.String(),
  }),
} as const

const ofCall = (data: { readonly callId: string }): string => data.callId

/** No event begins a call: each names the tenant and the user itself. */
export const callFacts: FactsOf<typeof callEvents & typeof writeOffEvents & typeof spoolEvents> = {
  CallSettled: {
    source: ofCall,
    at: (d) => d.settledAt,
    moves: (d) => [{ kind: 'settled', sourceId: d.callId, nativeId: null, settled: d }],
    words: ({ model, outcome, settlement }) =>
      `${model}, ${outcome}: ${settlementWords(settlement) || 'nothing to pay'}`,
  },
  // A failed call moves no money: the operator bears the cost.
  CallFailed: {
    source: ofCall,
    at: (d) => d.failedAt,
    words: (d) =>
      `${d.model}, ${failureWords(d)}${d.count === undefined ? '' : `, the last of ${d.count} refused calls of the token`}`,
  },
  // A call that is written off moves no money: it was never billed.
  CallWrittenOff: {
    source: ofCall,
    at: (d) => d.writtenOffAt,
    words: ({ model, unbilled, reason }) =>
      `${model}, ${unbilled ? `${unbilled.amount} ${unbilled.currency} never billed` : 'nothing to bill'}: ${reason}`,
  },
  // The event moves no money: the calls that it names were never billed.
  SpoolGivenUp: {
    source: () => undefined,
    at: (d) => d.givenUpAt,
    words: ({ amount, currency, spool }) =>
      `${amount} ${currency} in the lost spool ${spool} count no longer`,
  },
}

export type SpoolEvent = {
  readonly type: 'SpoolGivenUp'
  readonly data: Static<(typeof spoolEvents)['SpoolGivenUp']>
}

export type WriteOffEvent = {
  readonly type: 'CallWrittenOff'
  readonly data: Static<(typeof writeOffEvents)['CallWrittenOff']>
}

type CallEventType = keyof typeof callEvents
export type CallEventData<T extends CallEventType> = Static<(typeof callEvents)[T]>
export type CallEvent = {
  readonly [T in CallEventType]: { readonly type: T; readonly data: CallEventData<T> }
}[CallEventType]

/** Prefix of the names of these streams. */
export const journalStreams = 'journal-'

/**
 * Name of the n-th journal of a process. It has one writer, so the writer knows its revisions. An
 * event whose place in its journal was lost or refused, or which is given up, goes to journal 0 of
 * the event's own id.
 */
export function journalStream(instanceId: string, n: number): string {
  return `${journalStreams}${instanceId}-${n}`
}
