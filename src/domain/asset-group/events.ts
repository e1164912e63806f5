import { Type, type Static } from '@sinclair/typebox'
import {
  acceptedWords,
  runForToken,
  AssetGroupTypeSchema,
  keptAt,
  LearntFromSchema,
  IndexedText,
} from '../asset/events.ts'
import { failureWords, noDescription, type FactsOf } from '../event-facts.ts'

/** A group of assets; one of type `LivenessFace` is one person, who was verified. */
export const assetGroupEvents = {
  /** Recorded before upstream is asked to create it; for a person once upstream has made it. */
  AssetGroupCreated: Type.Object({
    /**
     * The gateway's id, `group-<ULID>`; also its name upstream where the gateway may choose that.
     */
    groupId: Type.String(),
    ...runForToken,
    ...keptAt,
    groupType: AssetGroupTypeSchema,
    /** The name that its tenant gave it; may be empty. */
    name: IndexedText,
    description: Type.String(),
    /** The verification that created the group of a person. */
    verificationId: Type.Optional(Type.String()),
    createdAt: Type.String(),
  }),
  AssetGroupAccepted: Type.Object({
    groupId: Type.String(),
    nativeId: IndexedText,
    learntFrom: LearntFromSchema,
    acceptedAt: Type.String(),
  }),
  /** Upstream never took it. */
  AssetGroupRefused: Type.Object({
    groupId: Type.String(),
    code: Type.String(),
    message: Type.String(),
    refusedAt: Type.String(),
  }),
  AssetGroupUpdated: Type.Object({
    groupId: Type.String(),
    ...runForToken,
    name: IndexedText,
    description: Type.String(),
    updatedAt: Type.String(),
  }),
  /**
   * From now on no task uses an asset of the group. The gateway withdraws its assets next, then
   * upstream deletes all.
   */
  AssetGroupWithdrawn: Type.Object({
    groupId: Type.String(),
    ...runForToken,
    withdrawnAt: Type.String(),
  }),
  AssetGroupDeleted: Type.Object({ groupId: Type.String(), deletedAt: Type.String() }),
} as const

const ofGroup = (data: { readonly groupId: string }): string => data.groupId

export const assetGroupFacts: FactsOf<typeof assetGroupEvents> = {
  AssetGroupCreated: {
    source: ofGroup,
    at: (d) => d.createdAt,
    begins: true,
    words: (d) => `${d.groupType} ${d.name}`,
  },
  AssetGroupAccepted: {
    source: ofGroup,
    at: (d) => d.acceptedAt,
    nativeId: (d) => d.nativeId,
    words: acceptedWords,
  },
  AssetGroupRefused: { source: ofGroup, at: (d) => d.refusedAt, words: failureWords },
  AssetGroupUpdated: { source: ofGroup, at: (d) => d.updatedAt, words: (d) => d.name },
  AssetGroupWithdrawn: { source: ofGroup, at: (d) => d.withdrawnAt, words: noDescription },
  AssetGroupDeleted: { source: ofGroup, at: (d) => d.deletedAt, words: noDescription },
}

type AssetGroupEventType = keyof typeof assetGroupEvents
export type AssetGroupEventData<T extends AssetGroupEventType> = Static<
  (typeof assetGroupEvents)[T]
>
export type AssetGroupEvent = {
  readonly [T in AssetGroupEventType]: { readonly type: T; readonly data: AssetGroupEventData<T> }
}[AssetGroupEventType]

/** Prefix of the names of these streams. */
export const assetGroupStreams = 'assetgroup-'

/** Name of the stream of one group. */
export function assetGroupStream(groupId: string): string {
  return `${assetGroupStreams}${groupId}`
}
