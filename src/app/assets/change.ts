import { canBeDeleted } from '../../domain/asset/decider.ts'
import type { AssetGroupType } from '../../domain/asset/events.ts'
import { DomainError } from '../../kernel/errors.ts'
import { actorOf, callerContext } from './actor.ts'
import type { AssetDeps } from './deps.ts'
import { findOwnAsset, findOwnGroup } from './owned-objects.ts'
import { onAsset, onGroup } from './streams.ts'
import type { AssetUseCases } from './types.ts'

/** Names and descriptions are only stored here: upstream knows an object by our id. */
export function createChanges(deps: AssetDeps): Pick<AssetUseCases, 'updateAsset' | 'updateGroup'> {
  return {
    updateAsset: async (key) => {
      const { asset } = await findOwnAsset(deps, key)
      requireChangeable(asset)
      const command = { kind: 'rename', by: actorOf(deps, key), name: key.name } as const
      await onAsset(deps, asset.assetId, command, callerContext(key))
    },
    updateGroup: async (key) => {
      const { group } = await findOwnGroup(deps, key)
      requireChangeable(group)
      const { name, description } = key
      const command = { kind: 'update', by: actorOf(deps, key), name, description } as const
      await onGroup(deps, group.groupId, command, callerContext(key))
    },
  }
}

/** @throws DomainError `asset_action_not_enabled` for objects in the general library */
export function requireChangeable({ groupType }: { readonly groupType: AssetGroupType }): void {
  if (canBeDeleted(groupType)) return
  throw new DomainError(
    'asset_action_not_enabled',
    'Assets of the general library cannot be changed or deleted',
    {},
  )
}
