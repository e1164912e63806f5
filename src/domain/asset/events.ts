import { Type, type Static } from '@sinclair/typebox'
import { failureWords, noDescription, type FactsOf } from '../event-facts.ts'

/** The kinds of assets, by the names of their interface. */
export const assetTypes = ['Image', 'Video', 'Audio'] as const
const AssetTypeSchema = Type.Union(assetTypes.map((one) => Type.Literal(one)))
export type AssetType = (typeof assetTypes)[number]

/** `AIGC`: the general library. `LivenessFace`: of a real person who was verified. */
export const assetGroupTypes = ['AIGC', 'LivenessFace'] as const
export const AssetGroupTypeSchema = Type.Union(assetGroupTypes.map((one) => Type.Literal(one)))
export type AssetGroupType = (typeof assetGroupTypes)[number]

/** Text that a read model has in an index: a longer one would fit into no row of it. */
export const IndexedText = Type.String({ maxLength: 256 })

/** The requesting user and the request. */
export const runForToken = {
  tenantId: Type.String(),
  userId: Type.String(),
  tokenId: Type.String(),
  requestId: Type.String(),
} as const

/** Account and region in which the provider keeps it; it can be used only there. */
export const keptAt = {
  region: Type.Union([Type.Literal('domestic'), Type.Literal('overseas')]),
  /** Name given by its tenant. */
  projectName: IndexedText,
  channelId: Type.String(),
} as const

/** Source of the id upstream: the answer to the creation, or a list. */
export const LearntFromSchema = Type.Union([Type.Literal('answer'), Type.Literal('list')])

/**
 * An asset of a tenant: a picture, a video or a sound that a provider keeps for it. Events never
 * hold its URL, nor the URL at which upstream shows it.
 */
export const assetEvents = {
  /**
   * Recorded before the gateway asks upstream to create it, so that upstream has no unrecorded
   * asset.
   */
  AssetCreated: Type.Object({
    /** The gateway's id, and its name upstream: `asset-<ULID>`. */
    assetId: Type.String(),
    ...runForToken,
    ...keptAt,
    groupId: Type.String(),
    groupType: AssetGroupTypeSchema,
    assetType: AssetTypeSchema,
    /** The name that its tenant gave it; may be empty. */
    name: IndexedText,
    createdAt: Type.String(),
  }),
  /** Upstream has the asset, and processes it. */
  AssetAccepted: Type.Object({
    assetId: Type.String(),
    nativeId: IndexedText,
    learntFrom: LearntFromSchema,
    acceptedAt: Type.String(),
  }),
  /** Upstream never took it. */
  AssetRefused: Type.Object({
    assetId: Type.String(),
    code: Type.String(),
    message: Type.String(),
    refusedAt: Type.String(),
  }),
  AssetActivated: Type.Object({ assetId: Type.String(), activatedAt: Type.String() }),
  AssetFailed: Type.Object({
    assetId: Type.String(),
    code: Type.String(),
    message: Type.String(),
    failedAt: Type.String(),
  }),
  /**
   * A creation uses the asset, and it is not withdrawn. Recorded only for assets that can be
   * deleted.
   */
  AssetUsed: Type.Object({
    assetId: Type.String(),
    /** The request that created it. */
    requestId: Type.String(),
    usedAt: Type.String(),
  }),
  AssetUpdated: Type.Object({
    assetId: Type.String(),
    ...runForToken,
    name: IndexedText,
    updatedAt: Type.String(),
  }),
  /** From now on no task uses it; upstream has not deleted it yet. */
  AssetWithdrawn: Type.Object({
    assetId: Type.String(),
    ...runForToken,
    withdrawnAt: Type.String(),
  }),
  AssetDeleted: Type.Object({ assetId: Type.String(), deletedAt: Type.String() }),
} as const

const ofAsset = (data: { readonly assetId: string }): string => data.assetId

/** Describes the acceptance of an asset or of a group. */
export const acceptedWords = (data: {
  readonly nativeId: string
  readonly learntFrom: Static<typeof LearntFromSchema>
}): string => (data.learntFrom === 'list' ? `${data.nativeId}, found upstream` : data.nativeId)

export const assetFacts: FactsOf<typeof assetEvents> = {
  AssetCreated: {
    source: ofAsset,
    at: (d) => d.createdAt,
    begins: true,
    words: (d) => `${d.assetType} ${d.name}, in ${d.groupId}`,
  },
  AssetAccepted: {
    source: ofAsset,
    at: (d) => d.acceptedAt,
    nativeId: (d) => d.nativeId,
    words: acceptedWords,
  },
  AssetRefused: { source: ofAsset, at: (d) => d.refusedAt, words: failureWords },
  AssetActivated: { source: ofAsset, at: (d) => d.activatedAt, words: noDescription },
  AssetFailed: { source: ofAsset, at: (d) => d.failedAt, words: failureWords },
  AssetUsed: { source: ofAsset, at: (d) => d.usedAt, words: (d) => `by ${d.requestId}` },
  AssetUpdated: { source: ofAsset, at: (d) => d.updatedAt, words: (d) => d.name },
  AssetWithdrawn: { source: ofAsset, at: (d) => d.withdrawnAt, words: noDescription },
  AssetDeleted: { source: ofAsset, at: (d) => d.deletedAt, words: noDescription },
}

type AssetEventType = keyof typeof assetEvents
export type AssetEventData<T extends AssetEventType> = Static<(typeof assetEvents)[T]>
export type AssetEvent = {
  readonly [T in AssetEventType]: { readonly type: T; readonly data: AssetEventData<T> }
}[AssetEventType]

/** Prefix of the names of these streams. */
export const assetStreams = 'asset-'

/** Name of the stream of one asset. */
export function assetStream(assetId: string): string {
  return `${assetStreams}${assetId}`
}
