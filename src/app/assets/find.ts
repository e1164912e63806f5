import type { AssetEventData } from '../../domain/asset/events.ts'
import type { AssetGroupEventData } from '../../domain/asset-group/events.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import type { LibraryPage, Listed, SeenGroup } from '../ports/assets.ts'
import { callOptions } from '../channels/call-upstream.ts'
import { askInTurn } from '../channels/in-turn.ts'
import type { CallOptions, Channel } from '../ports/provider.ts'
import { byPolicy, POLICY_CORRELATION } from './actor.ts'
import type { AssetDeps } from './deps.ts'
import { type Doing, onAsset, onGroup } from './streams.ts'

/** Looks for objects that upstream may have accepted by their unique names, and records them. */

/** A name is unique: another object of that name is not ours. */
const PAGE = { pageNumber: 1, pageSize: 10 } as const
type Kept = Pick<AssetEventData<'AssetCreated'>, 'tenantId' | 'groupType' | 'projectName'>

/** Where to look for it. */
export interface Place {
  readonly channel: Channel
  /** Ends the wait for a turn, and the look. */
  readonly signal: AbortSignal
  /** The request behind the look, if any. */
  readonly requestId?: string
}

/** Records and returns upstream's id of a group, if listed. @throws ProviderError, log codes */
export function findGroup(
  deps: AssetDeps,
  group: Kept & Pick<AssetGroupEventData<'AssetGroupCreated'>, 'groupId'>,
  place: Place,
): Promise<string | undefined> {
  return find(
    deps,
    { ...group, ...place, name: group.groupId },
    {
      list: (page, options) => deps.provider.listGroups(place.channel, page, options),
      accept: (command, doing) => onGroup(deps, group.groupId, command, doing),
    },
  )
}

/** The same for an asset. */
export function findAsset(
  deps: AssetDeps,
  asset: Kept & Pick<AssetEventData<'AssetCreated'>, 'assetId'>,
  place: Place,
): Promise<string | undefined> {
  return find(
    deps,
    { ...asset, ...place, name: asset.assetId },
    {
      list: (page, options) => deps.provider.listAssets(place.channel, page, options),
      accept: (command, doing) => onAsset(deps, asset.assetId, command, doing),
    },
  )
}

interface Accepting {
  readonly kind: 'accept'
  readonly nativeId: string
  readonly learntFrom: 'list'
  readonly at: string
}

interface Finding {
  readonly list: (page: LibraryPage, options: CallOptions) => Promise<Listed<SeenGroup>>
  readonly accept: (command: Accepting, doing: Doing) => Promise<unknown>
}

async function find(
  deps: AssetDeps,
  wanted: Kept & Place & { readonly name: string },
  { list, accept }: Finding,
): Promise<string | undefined> {
  const { name, groupType, projectName, tenantId, channel, signal, requestId } = wanted
  const page = { groupType, projectName, name, ...PAGE }
  const options = callOptions(requestId ?? POLICY_CORRELATION, signal)
  const { items } = await askInTurn(deps, channel, 'list', signal, () => list(page, options))
  const nativeId = items.find((item) => item.name === name)?.nativeId
  if (nativeId === undefined) return undefined
  deps.crashPoint('asset.before-adopt')
  const at = toTimestamp(deps.clock.nowMs())
  const command = { kind: 'accept', nativeId, learntFrom: 'list', at } as const
  await accept(command, byPolicy(deps, tenantId, requestId))
  return nativeId
}
