import { Type, type Static } from '@sinclair/typebox'
import {
  failureWords,
  noDescription,
  settlementWords,
  sortedMembers,
  type FactsOf,
  type MoneyEffect,
} from '../event-facts.ts'
import { QuoteSchema, SettlementSchema } from '../pricing/settlement.ts'
import { UsageSchema } from '../pricing/usage.ts'
import { attemptsMember, idempotencyMember, repeatFactMembers } from '../repeat-facts.ts'
import { reportingLabelMembers } from '../reporting-labels.ts'

const Timestamp = Type.String()
/** Maximum length of an id that read models index: a longer one would fit into no row. */
const NativeId = Type.String({ maxLength: 256 })
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])

/** The facts of a request that rating and echoes need; never prompt text, media or URLs (P7). */
export const TaskFactsSchema = Type.Object({
  /** Number of items of each kind in the request: text, image, video, audio. */
  inputs: Type.Record(Type.String(), Count),
  /** Tools the model was offered. */
  tools: Type.Array(Type.String()),
  /** The caller's own settings as sent, by wire name: duration, ratio, resolution, priority, … */
  settings: Type.Record(Type.String(), Scalar),
})
export type TaskFacts = Static<typeof TaskFactsSchema>

export const taskEvents = {
  TaskRequested: Type.Object({
    platformId: Type.String(),
    family: Type.String(),
    surface: Type.String(),
    tenantId: Type.String(),
    userId: Type.String(),
    tokenId: Type.String(),
    requestId: Type.String(),
    /** External name of the model; aliases are normalised before. */
    model: Type.String(),
    /** The region of the model; absent if the family's models belong to no region. */
    region: Type.Optional(Type.Union([Type.Literal('domestic'), Type.Literal('overseas')])),
    channelId: Type.String(),
    /**
     * Every channel that a try may have used; absent: not known, so no channel can be ruled out.
     */
    channelIds: Type.Optional(Type.Array(Type.String())),
    upstreamModel: Type.String(),
    facts: TaskFactsSchema,
    /** A gateway worker makes it in one call: upstream has no task to ask for. */
    madeHere: Type.Optional(Type.Literal(true)),
    /**
     * The identifier of the request upstream: the caller's `safety_identifier`, or else the
     * gateway's marker.
     */
    marker: Type.String(),
    markerIsOurs: Type.Boolean(),
    quote: QuoteSchema,
    ...idempotencyMember,
    ...repeatFactMembers,
    /** The body named a URL that the provider calls by itself, which the gateway cannot see. */
    callback: Type.Optional(Type.Literal(true)),
    /** The assets of the library that the body names; absent without any. */
    assetIds: Type.Optional(Type.Array(Type.String())),
    ...reportingLabelMembers,
    requestedAt: Timestamp,
    /** After this the task is expired even if the provider never says so. */
    expiresAt: Timestamp,
  }),
  /** A gateway worker is about to send it: from here on upstream may have accepted it. */
  TaskStarted: Type.Object({
    platformId: Type.String(),
    /** The channel that the request is sent to first. */
    channelId: Type.String(),
    startedAt: Timestamp,
    /** The gateway does not wait for its end after this. */
    expiresAt: Timestamp,
  }),
  TaskSubmitted: Type.Object({
    platformId: Type.String(),
    nativeId: NativeId,
    channelId: Type.String(),
    via: Type.Union([Type.Literal('create'), Type.Literal('reconciliation')]),
    /** The usage, for upstreams that report it when they accept a task and not at its end. */
    usage: Type.Optional(UsageSchema),
    ...attemptsMember,
    submittedAt: Timestamp,
  }),
  TaskSubmissionRefused: Type.Object({
    platformId: Type.String(),
    code: Type.String(),
    message: Type.String(),
    ...attemptsMember,
    refusedAt: Timestamp,
  }),
  TaskSubmissionUncertain: Type.Object({
    platformId: Type.String(),
    reason: Type.String(),
    ...attemptsMember,
    uncertainAt: Timestamp,
  }),
  TaskStatusChanged: Type.Object({
    platformId: Type.String(),
    status: Type.Union([Type.Literal('queued'), Type.Literal('running')]),
    /**
     * A status of the provider that the gateway does not know: shown to support, never a failure
     * (P5).
     */
    upstreamStatus: Type.Optional(Type.String()),
    /**
     * The provider has made the result, but has reported no usage that can be believed: it is asked
     * again until the deadline.
     */
    awaitsUsage: Type.Optional(Type.Literal(true)),
    /** The usage of a success that is withheld, because it is more than the request can cost. */
    reported: Type.Optional(UsageSchema),
    observedAt: Timestamp,
  }),
  TaskSucceeded: Type.Object({
    platformId: Type.String(),
    nativeId: NativeId,
    usage: UsageSchema,
    /** Actual specs by wire name: resolution, ratio, duration, framespersecond, seed, … */
    output: Type.Record(Type.String(), Scalar),
    ...attemptsMember,
    succeededAt: Timestamp,
  }),
  TaskSettled: Type.Object({
    platformId: Type.String(),
    nativeId: NativeId,
    tenantId: Type.String(),
    userId: Type.String(),
    tokenId: Type.String(),
    requestId: Type.String(),
    surface: Type.String(),
    model: Type.String(),
    usage: UsageSchema,
    settlement: SettlementSchema,
    ...reportingLabelMembers,
    settledAt: Timestamp,
  }),
  TaskFailed: Type.Object({
    platformId: Type.String(),
    code: Type.String(),
    message: Type.String(),
    /**
     * Present if upstream certainly never accepted it: the begin of the first and of the last
     * complete list without it.
     */
    absence: Type.Optional(Type.Object({ firstSeenAt: Timestamp, lastSeenAt: Timestamp })),
    /** Upstream may have made a result and may charge the operator. */
    possibleCostLeak: Type.Optional(Type.Literal(true)),
    /** Present if an operator gave it up: the note that says why. */
    givenUp: Type.Optional(Type.Object({ noteId: Type.String() })),
    ...attemptsMember,
    failedAt: Timestamp,
  }),
  /**
   * Upstream has a task that the caller saw as never accepted: the gateway bears the cost and bills
   * no tenant.
   */
  TaskAppearedLate: Type.Object({
    platformId: Type.String(),
    nativeId: NativeId,
    channelId: Type.String(),
    upstreamStatus: Type.String(),
    possibleCostLeak: Type.Literal(true),
    appearedAt: Timestamp,
  }),
  TaskExpired: Type.Object({
    platformId: Type.String(),
    /** `upstream`: the provider reported it. `deadline`: the gateway never saw its end. */
    reason: Type.Union([Type.Literal('upstream'), Type.Literal('deadline')]),
    possibleCostLeak: Type.Boolean(),
    expiredAt: Timestamp,
  }),
  TaskCancelled: Type.Object({
    platformId: Type.String(),
    cancelledAt: Timestamp,
  }),
  TaskDeleted: Type.Object({
    platformId: Type.String(),
    tokenId: Type.String(),
    deletedAt: Timestamp,
  }),
} as const

const ofTask = (data: { readonly platformId: string }): string => data.platformId

const released = (sourceId: string, endedAt: string): readonly MoneyEffect[] => [
  { kind: 'hold_ended', sourceId, state: 'released', endedAt },
]

export const taskFacts: FactsOf<typeof taskEvents> = {
  TaskRequested: {
    source: ofTask,
    at: (d) => d.requestedAt,
    begins: true,
    moves: ({ platformId: sourceId, tenantId, quote, requestedAt: placedAt }) => {
      const { currency, hold: amount } = quote
      return [{ kind: 'hold_placed', sourceId, tenantId, currency, amount, placedAt }]
    },
    words: (d) => d.model,
  },
  TaskStarted: {
    source: ofTask,
    at: (d) => d.startedAt,
    words: (d) => `through ${d.channelId}, until ${d.expiresAt}`,
  },
  TaskSubmitted: {
    source: ofTask,
    at: (d) => d.submittedAt,
    nativeId: (d) => d.nativeId,
    words: (d) => (d.via === 'reconciliation' ? `${d.nativeId}, found upstream` : d.nativeId),
  },
  TaskSubmissionRefused: {
    source: ofTask,
    at: (d) => d.refusedAt,
    moves: (d) => released(d.platformId, d.refusedAt),
    words: failureWords,
  },
  TaskSubmissionUncertain: { source: ofTask, at: (d) => d.uncertainAt, words: (d) => d.reason },
  TaskStatusChanged: {
    source: ofTask,
    at: (d) => d.observedAt,
    words: ({ status, upstreamStatus }) =>
      upstreamStatus === undefined ? status : `${status} (upstream says ${upstreamStatus})`,
  },
  TaskSucceeded: {
    source: ofTask,
    at: (d) => d.succeededAt,
    nativeId: (d) => d.nativeId,
    words: ({ usage }) =>
      sortedMembers(usage)
        .map(([unit, count]) => `${count} ${unit}`)
        .join(', '),
  },
  TaskSettled: {
    source: ofTask,
    at: (d) => d.settledAt,
    moves: (d) => [
      { kind: 'hold_ended', sourceId: d.platformId, state: 'captured', endedAt: d.settledAt },
      { kind: 'settled', sourceId: d.platformId, nativeId: d.nativeId, settled: d },
    ],
    words: (d) => settlementWords(d.settlement),
  },
  TaskFailed: {
    source: ofTask,
    at: (d) => d.failedAt,
    moves: (d) => released(d.platformId, d.failedAt),
    words: failureWords,
  },
  TaskAppearedLate: {
    source: ofTask,
    at: (d) => d.appearedAt,
    nativeId: (d) => d.nativeId,
    words: (d) => `${d.nativeId} is ${d.upstreamStatus} upstream`,
  },
  TaskExpired: {
    source: ofTask,
    at: (d) => d.expiredAt,
    moves: (d) => released(d.platformId, d.expiredAt),
    words: (d) => (d.possibleCostLeak ? `${d.reason}, a possible cost leak` : d.reason),
  },
  TaskCancelled: {
    source: ofTask,
    at: (d) => d.cancelledAt,
    moves: (d) => released(d.platformId, d.cancelledAt),
    words: noDescription,
  },
  TaskDeleted: { source: ofTask, at: (d) => d.deletedAt, words: noDescription },
}

export type TaskEventType = keyof typeof taskEvents
export type TaskEventData<T extends TaskEventType> = Static<(typeof taskEvents)[T]>
export type TaskEvent = {
  readonly [T in TaskEventType]: { readonly type: T; readonly data: TaskEventData<T> }
}[TaskEventType]

/** Prefix of the names of these streams. */
export const taskStreams = 'task-'

/** Name of the stream of one task. */
export function taskStream(platformId: string): string {
  return `${taskStreams}${platformId}`
}
