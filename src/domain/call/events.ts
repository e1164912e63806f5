import { Type, type Static } from '@sinclair/typebox'
import { SettlementSchema } from '../pricing/settlement.ts'

/** Synchronous calls of every tenant, written by one process into its own journal stream. */

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

const callFacts = {
  callId: Type.String(),
  surface: Type.String(),
  tenantId: Type.String(),
  userId: Type.String(),
  tokenId: Type.String(),
  requestId: Type.String(),
  model: Type.String(),
  channelId: Type.Optional(Type.String()),
  upstreamModel: Type.Optional(Type.String()),
  upstreamRequestId: Type.Optional(Type.String()),
  stream: Type.Boolean(),
  startedAt: Type.String(),
}

export const callEvents = {
  CallSettled: Type.Object({
    ...callFacts,
    /** How the call ended for the caller; a disconnected caller still pays what was produced. */
    outcome: Type.Union([
      Type.Literal('completed'),
      Type.Literal('disconnected'),
      Type.Literal('cut'),
    ]),
    /** Normalised counts by billing unit name, zero kept, e.g. `input`, `cached-input`, `output`. */
    usage: Type.Record(Type.String(), Count),
    settlement: SettlementSchema,
    settledAt: Type.String(),
  }),
  CallFailed: Type.Object({
    ...callFacts,
    code: Type.String(),
    message: Type.String(),
    /** What the provider reported for a failed result: our cost, never the caller's (P5). */
    usage: Type.Optional(Type.Record(Type.String(), Count)),
    failedAt: Type.String(),
  }),
} as const

export type CallEventType = keyof typeof callEvents
export type CallEventData<T extends CallEventType> = Static<(typeof callEvents)[T]>
export type CallEvent = {
  readonly [T in CallEventType]: { readonly type: T; readonly data: CallEventData<T> }
}[CallEventType]

/** How the names of these streams begin. */
export const journalStreams = 'journal-'

/** Name of the n-th journal of a process; it has one writer, so its revisions are known. */
export function journalStream(instanceId: string, n: number): string {
  return `${journalStreams}${instanceId}-${n}`
}
