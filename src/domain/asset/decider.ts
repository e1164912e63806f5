import { unreachable } from '../../kernel/assert.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { Decider } from '../decider.ts'
import type { AssetEvent, AssetEventData, AssetGroupType } from './events.ts'

type Created = AssetEventData<'AssetCreated'>

/** The actor and its request; `at` is RFC 3339. */
export interface AssetActor {
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  readonly requestId: string
  readonly at: string
}

/** Why upstream does not have it, or failed to process it, as callers see it. */
export interface AssetFault {
  readonly code: string
  readonly message: string
}

/** An asset as far as its events say. */
export interface KnownAsset {
  readonly asset: Created
  /** Current name, given by its tenant. */
  readonly name: string
  /** Id upstream; undefined while it is unknown whether upstream has it. */
  readonly nativeId: string | undefined
  readonly error: AssetFault | undefined
  /** Time of the last change. */
  readonly updatedAt: string
}

export type AssetState =
  | { readonly phase: 'none' }
  | ({
      readonly phase:
        | 'created'
        | 'processing'
        | 'active'
        | 'failed'
        | 'refused'
        | 'withdrawn'
        | 'deleted'
    } & KnownAsset)

/** An asset that is or was. */
export type RecordedAsset = Exclude<AssetState, { readonly phase: 'none' }>

/** `at` is RFC 3339. */
export type AssetCommand =
  | { readonly kind: 'create'; readonly asset: Created }
  | {
      readonly kind: 'accept'
      readonly nativeId: string
      readonly learntFrom: AssetEventData<'AssetAccepted'>['learntFrom']
      readonly at: string
    }
  | { readonly kind: 'refuse'; readonly fault: AssetFault; readonly at: string }
  | {
      readonly kind: 'observe'
      readonly seen: 'active' | { readonly failed: AssetFault }
      readonly at: string
    }
  | { readonly kind: 'use'; readonly by: AssetActor }
  | { readonly kind: 'rename'; readonly by: AssetActor; readonly name: string }
  | { readonly kind: 'withdraw'; readonly by: AssetActor }
  | { readonly kind: 'confirmDeleted'; readonly at: string }

/**
 * A task may use an asset while it is active and not withdrawn. If a use and a withdrawal race, the
 * first in the stream wins. A repeated or late observation of upstream decides to no event.
 *
 * @throws DomainError `asset_not_found`, `asset_not_active`
 */
export const assetDecider: Decider<AssetState, AssetCommand, AssetEvent> = {
  initial: { phase: 'none' },

  decide(command, state) {
    switch (command.kind) {
      case 'create':
        return state.phase === 'none' ? [{ type: 'AssetCreated', data: command.asset }] : []
      case 'accept': {
        if (state.phase !== 'created' && !isUnsaid(state)) return []
        const { nativeId, learntFrom, at: acceptedAt } = command
        const { assetId } = state.asset
        return [{ type: 'AssetAccepted', data: { assetId, nativeId, learntFrom, acceptedAt } }]
      }
      case 'refuse': {
        if (state.phase !== 'created') return []
        const { assetId } = state.asset
        return [
          { type: 'AssetRefused', data: { assetId, ...command.fault, refusedAt: command.at } },
        ]
      }
      case 'observe':
        return observed(state, command)
      case 'use':
        return used(ownAsset(state, command.by), command.by)
      case 'rename': {
        const { phase, name, asset } = ownAsset(state, command.by)
        if (phase === 'withdrawn' || name === command.name) return []
        const { at: updatedAt, ...by } = command.by
        const { assetId } = asset
        return [{ type: 'AssetUpdated', data: { assetId, ...by, name: command.name, updatedAt } }]
      }
      case 'withdraw': {
        const { phase, asset } = ownAsset(state, command.by)
        if (phase === 'withdrawn') return []
        const { at: withdrawnAt, ...by } = command.by
        return [{ type: 'AssetWithdrawn', data: { assetId: asset.assetId, ...by, withdrawnAt } }]
      }
      case 'confirmDeleted': {
        if (state.phase !== 'withdrawn') return []
        const { assetId } = state.asset
        return [{ type: 'AssetDeleted', data: { assetId, deletedAt: command.at } }]
      }
      default:
        return unreachable(command)
    }
  },

  evolve(state, event) {
    if (event.type === 'AssetCreated') {
      const { name, createdAt: updatedAt } = event.data
      const unknown = { nativeId: undefined, error: undefined }
      return { phase: 'created', asset: event.data, name, updatedAt, ...unknown }
    }
    // The first event of the stream is always the creation.
    if (state.phase === 'none') return state
    switch (event.type) {
      case 'AssetAccepted': {
        const phase = state.phase === 'created' ? 'processing' : state.phase
        const { nativeId, acceptedAt: updatedAt } = event.data
        return { ...state, phase, nativeId, updatedAt }
      }
      case 'AssetRefused':
        return {
          ...state,
          phase: 'refused',
          error: faultOf(event.data),
          updatedAt: event.data.refusedAt,
        }
      case 'AssetActivated':
        return { ...state, phase: 'active', updatedAt: event.data.activatedAt }
      case 'AssetFailed':
        return {
          ...state,
          phase: 'failed',
          error: faultOf(event.data),
          updatedAt: event.data.failedAt,
        }
      case 'AssetUsed':
        return state
      case 'AssetUpdated':
        return { ...state, name: event.data.name, updatedAt: event.data.updatedAt }
      case 'AssetWithdrawn':
        return { ...state, phase: 'withdrawn', updatedAt: event.data.withdrawnAt }
      case 'AssetDeleted':
        return { ...state, phase: 'deleted', updatedAt: event.data.deletedAt }
      default:
        return unreachable(event)
    }
  },
}

/** Whether an asset was withdrawn before the gateway knew its id upstream. */
function isUnsaid(state: AssetState): state is RecordedAsset {
  return state.phase === 'withdrawn' && state.nativeId === undefined
}

/** Only an asset that upstream still processes changes; later observations change nothing. */
function observed(
  state: AssetState,
  { seen, at }: Extract<AssetCommand, { kind: 'observe' }>,
): readonly AssetEvent[] {
  if (state.phase !== 'processing') return []
  const { assetId } = state.asset
  return seen === 'active'
    ? [{ type: 'AssetActivated', data: { assetId, activatedAt: at } }]
    : [{ type: 'AssetFailed', data: { assetId, ...seen.failed, failedAt: at } }]
}

function used(state: RecordedAsset, { requestId, at }: AssetActor): readonly AssetEvent[] {
  const { assetId, groupType } = state.asset
  if (state.phase !== 'active') throw assetNotActive(assetId)
  // Assets that can never be deleted need no record of a use.
  return canBeDeleted(groupType)
    ? [{ type: 'AssetUsed', data: { assetId, requestId, usedAt: at } }]
    : []
}

function faultOf({ code, message }: AssetFault): AssetFault {
  return { code, message }
}

/**
 * Assets of the general library never change: only assets of a person can be changed or deleted.
 */
export function canBeDeleted(groupType: AssetGroupType): boolean {
  return groupType === 'LivenessFace'
}

/** Assets of a verified person are visible only to the user who had the person verified. */
export function isOwn(
  thing: Pick<Created, 'tenantId' | 'userId' | 'groupType'>,
  { tenantId, userId }: Pick<AssetActor, 'tenantId' | 'userId'>,
): boolean {
  return (
    thing.tenantId === tenantId && (thing.groupType !== 'LivenessFace' || thing.userId === userId)
  )
}

/**
 * The asset, if it is the caller's and not deleted. Another tenant's reads exactly like a missing
 * one (P8).
 * @throws DomainError `asset_not_found`
 */
export function ownAsset(
  state: AssetState,
  by: Pick<AssetActor, 'tenantId' | 'userId'>,
): RecordedAsset {
  if (state.phase === 'none' || state.phase === 'deleted' || !isOwn(state.asset, by))
    throw new DomainError('asset_not_found', 'the asset does not exist', {})
  return state
}

/** The error for an asset that cannot be used now. */
export function assetNotActive(assetId: string): DomainError {
  return new DomainError(
    'asset_not_active',
    `the asset ${assetId} cannot be used: it is not active yet, has failed, or was withdrawn`,
    { assetId },
  )
}
