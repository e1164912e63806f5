import type { AnyEvent } from '../../../src/domain/any-event.ts'
import {
  assetStream,
  type AssetGroupType,
  type AssetType,
} from '../../../src/domain/asset/events.ts'
import { assetGroupStream } from '../../../src/domain/asset-group/events.ts'
import { verificationStream } from '../../../src/domain/verification/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { START_MS, type Recorder } from './history.ts'

/** Hand-made history of the asset library. */

/** Ids that are told by their number and sort by it. */
export function assetId(n: number): string {
  return `asset-01JD${n.toString().padStart(22, '0')}`
}

export function groupId(n: number): string {
  return `group-01JD${n.toString().padStart(22, '0')}`
}

export function verificationId(n: number): string {
  return `v${n.toString().padStart(42, '0')}`
}

function at(n: number, offsetMs: number): string {
  return new Date(START_MS + n * 1_000 + offsetMs).toISOString()
}

export interface LibraryShape {
  readonly n: number
  readonly tenantId?: string
  readonly userId?: string
  readonly groupType?: AssetGroupType
  readonly region?: 'domestic' | 'overseas'
  readonly projectName?: string
  /** Number of the group of an asset. */
  readonly group?: number
  readonly assetType?: AssetType
  readonly name?: string
}

const tenantOf = ({ tenantId = 'tenant_1' }: LibraryShape): string => tenantId

function factsOf(shape: LibraryShape) {
  const { n, userId = 'user_1' } = shape
  const tenantId = tenantOf(shape)
  const { region = 'domestic', projectName = 'default' } = shape
  const by = { tenantId, userId, tokenId: `tok_${tenantId}`, requestId: `req_library_${n}` }
  return { by, kept: { region, projectName, channelId: 'video-a-1' } as const }
}

/** The steps an asset can take, each as one event. */
export function assetSteps(shape: LibraryShape) {
  const { n, groupType = 'AIGC', group = 0, assetType = 'Image', name = `asset ${n}` } = shape
  const { by, kept } = factsOf(shape)
  const id = assetId(n)
  return {
    created: {
      type: 'AssetCreated',
      data: {
        assetId: id,
        ...by,
        ...kept,
        groupId: groupId(group),
        groupType,
        assetType,
        name,
        createdAt: at(n, 0),
      },
    },
    accepted: {
      type: 'AssetAccepted',
      data: {
        assetId: id,
        nativeId: `native-asset-${n}`,
        learntFrom: 'answer',
        acceptedAt: at(n, 200),
      },
    },
    found: {
      type: 'AssetAccepted',
      data: {
        assetId: id,
        nativeId: `native-asset-${n}`,
        learntFrom: 'list',
        acceptedAt: at(n, 60_000),
      },
    },
    refused: {
      type: 'AssetRefused',
      data: { assetId: id, code: 'InvalidURL', message: 'no such host', refusedAt: at(n, 200) },
    },
    activated: { type: 'AssetActivated', data: { assetId: id, activatedAt: at(n, 5_000) } },
    failed: {
      type: 'AssetFailed',
      data: {
        assetId: id,
        code: 'FaceMismatch',
        message: 'another person',
        failedAt: at(n, 5_000),
      },
    },
    used: {
      type: 'AssetUsed',
      data: { assetId: id, requestId: `req_use_${n}`, usedAt: at(n, 6_000) },
    },
    updated: {
      type: 'AssetUpdated',
      data: { assetId: id, ...by, name: `renamed ${n}`, updatedAt: at(n, 7_000) },
    },
    withdrawn: { type: 'AssetWithdrawn', data: { assetId: id, ...by, withdrawnAt: at(n, 8_000) } },
    deleted: { type: 'AssetDeleted', data: { assetId: id, deletedAt: at(n, 90_000) } },
  } as const satisfies Record<string, AnyEvent>
}

/** The steps a group can take. */
export function groupSteps(shape: LibraryShape) {
  const { n, groupType = 'AIGC', name = `group ${n}` } = shape
  const { by, kept } = factsOf(shape)
  const id = groupId(n)
  const ofPerson = groupType === 'LivenessFace' ? { verificationId: verificationId(n) } : {}
  const words = { name, description: `what ${n} is` }
  return {
    created: {
      type: 'AssetGroupCreated',
      data: { groupId: id, ...by, ...kept, groupType, ...words, ...ofPerson, createdAt: at(n, 0) },
    },
    accepted: {
      type: 'AssetGroupAccepted',
      data: {
        groupId: id,
        nativeId: `native-group-${n}`,
        learntFrom: 'answer',
        acceptedAt: at(n, 100),
      },
    },
    refused: {
      type: 'AssetGroupRefused',
      data: { groupId: id, code: 'LimitExceeded', message: 'too many', refusedAt: at(n, 100) },
    },
    updated: {
      type: 'AssetGroupUpdated',
      data: {
        groupId: id,
        ...by,
        name: `renamed ${n}`,
        description: `what ${n} became`,
        updatedAt: at(n, 7_000),
      },
    },
    withdrawn: {
      type: 'AssetGroupWithdrawn',
      data: { groupId: id, ...by, withdrawnAt: at(n, 8_000) },
    },
    deleted: { type: 'AssetGroupDeleted', data: { groupId: id, deletedAt: at(n, 90_000) } },
  } as const satisfies Record<string, AnyEvent>
}

/** The steps the verification of a person can take. */
export function verificationSteps(shape: LibraryShape) {
  const { by, kept } = factsOf(shape)
  const { n } = shape
  const id = verificationId(n)
  return {
    started: {
      type: 'VerificationStarted',
      data: {
        verificationId: id,
        ...by,
        ...kept,
        groupId: groupId(n),
        startedAt: at(n, 0),
        expiresAt: at(n, 1_800_000),
      },
    },
    confirmed: {
      type: 'VerificationConfirmed',
      data: {
        verificationId: id,
        groupId: groupId(n),
        nativeGroupId: `native-group-${n}`,
        confirmedAt: at(n, 50),
      },
    },
    expired: {
      type: 'VerificationExpired',
      data: { verificationId: id, expiredAt: at(n, 1_800_000) },
    },
  } as const satisfies Record<string, AnyEvent>
}

export type AssetStep = keyof ReturnType<typeof assetSteps>
export type GroupStep = keyof ReturnType<typeof groupSteps>
export type VerificationStep = keyof ReturnType<typeof verificationSteps>

/** Ways an asset's life can go; the last of them those of what can be deleted. */
export const assetLives = {
  begun: ['created'],
  processing: ['created', 'accepted'],
  active: ['created', 'accepted', 'activated'],
  activeOnceFound: ['created', 'found', 'activated'],
  failed: ['created', 'accepted', 'failed'],
  refused: ['created', 'refused'],
  used: ['created', 'accepted', 'activated', 'used', 'updated', 'used'],
  withdrawn: ['created', 'accepted', 'activated', 'used', 'withdrawn'],
  deleted: ['created', 'accepted', 'activated', 'withdrawn', 'deleted'],
  withdrawnUnsaid: ['created', 'withdrawn', 'found'],
  deletedUnsaid: ['created', 'withdrawn', 'found', 'deleted'],
} as const satisfies Record<string, readonly AssetStep[]>
export type AssetLife = keyof typeof assetLives

export function recordAsset(
  recorder: Recorder,
  shape: LibraryShape,
  ...steps: readonly AssetStep[]
): readonly RecordedEvent[] {
  const all = assetSteps(shape)
  const stream = assetStream(assetId(shape.n))
  return steps.map((step) => recorder.record(stream, all[step], tenantOf(shape)))
}

export function recordGroup(
  recorder: Recorder,
  shape: LibraryShape,
  ...steps: readonly GroupStep[]
): readonly RecordedEvent[] {
  const all = groupSteps(shape)
  const stream = assetGroupStream(groupId(shape.n))
  return steps.map((step) => recorder.record(stream, all[step], tenantOf(shape)))
}

export function recordVerification(
  recorder: Recorder,
  shape: LibraryShape,
  ...steps: readonly VerificationStep[]
): readonly RecordedEvent[] {
  const all = verificationSteps(shape)
  const stream = verificationStream(verificationId(shape.n))
  return steps.map((step) => recorder.record(stream, all[step], tenantOf(shape)))
}

const lives = Object.keys(assetLives) as AssetLife[]
const ofGeneralLibrary: readonly AssetLife[] = lives.slice(0, lives.indexOf('used'))

/**
 * A library of two tenants: groups of the general library, persons, one verification for each way it can
 * go, and assets of every life. Numbers begin at `from`.
 */
export function libraryHistory(recorder: Recorder, assets = 44, from = 0): RecordedEvent[] {
  const shapeOf = (n: number): LibraryShape => ({
    n: from + n,
    tenantId: `tenant_${n % 2}`,
    userId: `user_${n % 3}`,
    region: n % 4 === 3 ? 'overseas' : 'domestic',
    projectName: n % 5 === 4 ? 'other' : 'default',
  })
  const person = { groupType: 'LivenessFace' } as const
  return [
    ...recordGroup(recorder, shapeOf(0), 'created', 'accepted', 'updated'),
    ...recordGroup(recorder, shapeOf(1), 'created', 'refused'),
    ...recordGroup(recorder, shapeOf(2), 'created'),
    ...recordVerification(recorder, shapeOf(3), 'started', 'confirmed'),
    ...recordGroup(recorder, { ...shapeOf(3), ...person }, 'created', 'accepted'),
    ...recordVerification(recorder, shapeOf(4), 'started', 'expired'),
    ...recordVerification(recorder, shapeOf(5), 'started'),
    ...recordVerification(recorder, shapeOf(6), 'started', 'confirmed'),
    ...recordGroup(recorder, { ...shapeOf(6), ...person }, 'created', 'accepted', 'withdrawn'),
    ...recordVerification(recorder, shapeOf(7), 'started', 'confirmed'),
    ...recordGroup(
      recorder,
      { ...shapeOf(7), ...person },
      ...(['created', 'accepted', 'withdrawn', 'deleted'] as const),
    ),
    ...Array.from({ length: assets }, (_, n) => {
      const isOfPerson = n % 2 === 1
      const possible = isOfPerson ? lives : ofGeneralLibrary
      const life = possible[Math.floor(n / 2) % possible.length] ?? 'begun'
      const group = from + (isOfPerson ? 3 : 0)
      const shape = { ...shapeOf(n), group, ...(isOfPerson ? person : {}) }
      return recordAsset(recorder, shape, ...assetLives[life])
    }).flat(),
  ]
}
