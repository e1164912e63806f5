import { Type, type Static } from '@sinclair/typebox'
import { failureWords, settlementWords, type FactsOf } from '../event-facts.ts'
import { CurrencySchema, DecimalSchema, SettlementSchema } from '../pricing/settlement.ts'
import { UsageSchema } from '../pricing/usage.ts'

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
  startedAt: Type.String(),
}

export const callEvents = {
  CallSettled: Type.Object({
    ...callMembers,
    /**
     * How the call ended for the caller; a caller who left still pays for what the provider
     * produced.
     */
    outcome: Type.Union([Type.Literal('completed'), Type.Literal('disconnected')]),
    /**
     * What ended a stream before its result was whole: a bound of the gateway or the caller. Absent
     * for a whole result, and where a caller who had disconnected is billed for one.
     */
    endedBy: Type.Optional(Type.String()),
    /** What the settlement was made of, e.g. `input`, `cached-input`, `output`. */
    usage: UsageSchema,
    /**
     * The figures of upstream's report under its own names, where they are not simply what is
     * settled: they were not believed, incomplete, or stand elsewhere than usual.
     */
    reported: Type.Optional(UsageSchema),
    settlement: SettlementSchema,
    /** What upstream reports that it answered with, if that differs from the request. */
    answeredOtherwise: Type.Optional(
      Type.Object({
        model: Type.Optional(Type.String()),
        serviceTier: Type.Optional(Type.String()),
      }),
    ),
    settledAt: Type.String(),
  }),
  CallFailed: Type.Object({
    ...callMembers,
    code: Type.String(),
    message: Type.String(),
    /**
     * The operator's cost, never the caller's (P5); absent if the provider certainly did nothing.
     * It is what was used and what the caller would have paid for it, because the gateway does not
     * know what the provider charges. It is no settlement: no ledger line follows from it.
     */
    absorbed: Type.Optional(Type.Object({ usage: UsageSchema, settlement: SettlementSchema })),
    /** Refused calls of the token that this event stands for, this one included; absent is one. */
    count: Type.Optional(Type.Integer({ minimum: 2 })),
    failedAt: Type.String(),
  }),
} as const

/** What operators write about calls; no process writes it into its journal. */
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
    /** What the tenant would have paid, a decimal; absent where the call had failed. */
    unbilled: Type.Optional(Type.Object({ currency: Type.String(), amount: Type.String() })),
    reason: Type.String(),
    writtenOffAt: Type.String(),
  }),
} as const

/** What the gateway writes about spools of replicas that never came back. */
export const spoolEvents = {
  /**
   * Settlements of the tenant that waited in a spool count no longer against its balance, because no
   * process opened the spool for a week. It moves no money: they were not billed. If the spool is
   * opened later, they are.
   */
  SpoolGivenUp: Type.Object({
    tenantId: Type.String(),
    currency: CurrencySchema,
    /** Decimal string: what its replica last reported as settled and not yet in the log. */
    amount: DecimalSchema,
    spool: Type.String(),
    replica: Type.String(),
    /** When the replica last reported. */
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
  // It moves no money: the operator bears the cost.
  CallFailed: {
    source: ofCall,
    at: (d) => d.failedAt,
    words: (d) =>
      `${d.model}, ${failureWords(d)}${d.count === undefined ? '' : `, the last of ${d.count} refused calls of the token`}`,
  },
  // It moves no money: the call was never billed.
  CallWrittenOff: {
    source: ofCall,
    at: (d) => d.writtenOffAt,
    words: ({ model, unbilled, reason }) =>
      `${model}, ${unbilled ? `${unbilled.amount} ${unbilled.currency} never billed` : 'nothing to bill'}: ${reason}`,
  },
  // It moves no money: what it names was never billed.
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

/** How the names of these streams begin. */
export const journalStreams = 'journal-'

/**
 * Name of the n-th journal of a process. It has one writer, so the writer knows its revisions. An
 * event whose place in its journal was lost or refused, or which is given up, goes to journal 0 of
 * the event's own id.
 */
export function journalStream(instanceId: string, n: number): string {
  return `${journalStreams}${instanceId}-${n}`
}
