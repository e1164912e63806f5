import { unreachable } from '../../kernel/assert.ts'
import { DomainError } from '../../kernel/errors.ts'
import { type AssetActor, type AssetFault, isOwn } from '../asset/decider.ts'
import type { Decider } from '../decider.ts'
import type { AssetGroupEvent, AssetGroupEventData } from './events.ts'

type Created = AssetGroupEventData<'AssetGroupCreated'>

/** A group as far as its events say. */
export interface KnownGroup {
  readonly group: Created
  readonly name: string
  readonly description: string
  /** Id upstream; undefined while it is unknown whether upstream has it. */
  readonly nativeId: string | undefined
  /** Time of the last change. */
  readonly updatedAt: string
  /** Actor who withdrew it; undefined until then. */
  readonly withdrawnBy: Omit<AssetActor, 'at'> | undefined
}

export type AssetGroupState =
  | { readonly phase: 'none' }
  | ({
      readonly phase: 'created' | 'accepted' | 'refused' | 'withdrawn' | 'deleted'
    } & KnownGroup)

/** A group that is or was. */
export type RecordedGroup = Exclude<AssetGroupState, { readonly phase: 'none' }>

/** `at` is RFC 3339. */
export type AssetGroupCommand =
  /** `nativeId` is present if upstream made the group before this command. */
  | { readonly kind: 'create'; readonly group: Created; readonly nativeId?: string }
  | {
      readonly kind: 'accept'
      readonly nativeId: string
      readonly learntFrom: AssetGroupEventData<'AssetGroupAccepted'>['learntFrom']
      readonly at: string
    }
  | { readonly kind: 'refuse'; readonly fault: AssetFault; readonly at: string }
  | {
      readonly kind: 'update'
      readonly by: AssetActor
      /** An undefined value is unchanged. */
      readonly name: string | undefined
      readonly description: string | undefined
    }
  | { readonly kind: 'withdraw'; readonly by: AssetActor }
  | { readonly kind: 'confirmDeleted'; readonly at: string }

/**
 * A repeated or late observation of upstream decides to no event.
 *
 * @throws DomainError `asset_group_not_found`
 */
export const assetGroupDecider: Decider<AssetGroupState, AssetGroupCommand, AssetGroupEvent> = {
  initial: { phase: 'none' },

  decide(command, state) {
    switch (command.kind) {
      case 'create':
        return state.phase === 'none' ? created(command) : []
      case 'accept': {
        if (state.phase !== 'created') return []
        const { nativeId, learntFrom, at: acceptedAt } = command
        const { groupId } = state.group
        return [{ type: 'AssetGroupAccepted', data: { groupId, nativeId, learntFrom, acceptedAt } }]
      }
      case 'refuse': {
        if (state.phase !== 'created') return []
        const { groupId } = state.group
        const { fault, at: refusedAt } = command
        return [{ type: 'AssetGroupRefused', data: { groupId, ...fault, refusedAt } }]
      }
      case 'update': {
        const known = ownGroup(state, command.by)
        const { name = known.name, description = known.description } = command
        if (known.phase === 'withdrawn') return []
        if (name === known.name && description === known.description) return []
        const { at: updatedAt, ...by } = command.by
        const { groupId } = known.group
        return [
          { type: 'AssetGroupUpdated', data: { groupId, ...by, name, description, updatedAt } },
        ]
      }
      case 'withdraw': {
        const { phase, group } = ownGroup(state, command.by)
        if (phase === 'withdrawn') return []
        const { at: withdrawnAt, ...by } = command.by
        const { groupId } = group
        return [{ type: 'AssetGroupWithdrawn', data: { groupId, ...by, withdrawnAt } }]
      }
      case 'confirmDeleted': {
        if (state.phase !== 'withdrawn') return []
        const { groupId } = state.group
        return [{ type: 'AssetGroupDeleted', data: { groupId, deletedAt: command.at } }]
      }
      default:
        return unreachable(command)
    }
  },

  evolve(state, event) {
    if (event.type === 'AssetGroupCreated') {
      const { name, description, createdAt: updatedAt } = event.data
      const known = { name, description, updatedAt, nativeId: undefined, withdrawnBy: undefined }
      return { phase: 'created', group: event.data, ...known }
    }
    // The first event of the stream is always the creation.
    if (state.phase === 'none') return state
    switch (event.type) {
      case 'AssetGroupAccepted': {
        const { nativeId, acceptedAt: updatedAt } = event.data
        return { ...state, phase: 'accepted', nativeId, updatedAt }
      }
      case 'AssetGroupRefused':
        return { ...state, phase: 'refused', updatedAt: event.data.refusedAt }
      case 'AssetGroupUpdated': {
        const { name, description, updatedAt } = event.data
        return { ...state, name, description, updatedAt }
      }
      case 'AssetGroupWithdrawn': {
        const { groupId: _groupId, withdrawnAt: updatedAt, ...withdrawnBy } = event.data
        return { ...state, phase: 'withdrawn', updatedAt, withdrawnBy }
      }
      case 'AssetGroupDeleted':
        return { ...state, phase: 'deleted', updatedAt: event.data.deletedAt }
      default:
        return unreachable(event)
    }
  },
}

function created({
  group,
  nativeId,
}: Extract<AssetGroupCommand, { kind: 'create' }>): readonly AssetGroupEvent[] {
  const { groupId, createdAt: acceptedAt } = group
  const first = { type: 'AssetGroupCreated', data: group } as const
  if (nativeId === undefined) return [first]
  const data = { groupId, nativeId, learntFrom: 'answer', acceptedAt } as const
  return [first, { type: 'AssetGroupAccepted', data }]
}

/**
 * The group, if it is the caller's and not deleted. A group of another tenant, and one that
 * upstream never accepted, reads exactly like a missing one (P8).
 * @throws DomainError `asset_group_not_found`
 */
export function ownGroup(
  state: AssetGroupState,
  by: Pick<AssetActor, 'tenantId' | 'userId'>,
): RecordedGroup {
  const isThere = state.phase === 'created' || state.phase === 'accepted'
  if ((isThere || state.phase === 'withdrawn') && isOwn(state.group, by)) return state
  throw new DomainError('asset_group_not_found', 'the asset group does not exist', {})
}
