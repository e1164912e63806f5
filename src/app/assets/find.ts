import type { AssetEventData } from '../../domain/asset/events.ts'
import type { AssetGroupEventData } from '../../domain/asset-group/events.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import type { LibraryPage, Listed, SeenGroup } from '../ports/assets.ts'
import { callOptions } from '../channels/call-upstream.ts'
import { callPaced } from '../channels/paced-calls.ts'
import type { CallOptions, Channel } from '../ports/provider.ts'
import { policyContext, POLICY_CORRELATION } from './actor.ts'
import type { AssetDeps } from './deps.ts'
import { type AssetCommandContext, onAsset, onGroup } from './streams.ts'

/** Searches upstream by their unique names for objects that it may have accepted, and records them. */

/** A name is unique: another object of that name is not ours. */
const PAGE = { pageNumber: 1, pageSize: 10 } as const
type LibraryScope = Pick<AssetEventData<'AssetCreated'>, 'tenantId' | 'groupType' | 'projectName'>

/** A request to a library. */
export interface LibraryCall {
  readonly channel: Channel
  /** Ends the wait for a turn, and the request. */
  readonly signal: AbortSignal
  /** The request of a caller that led to it, if any. */
  readonly requestId?: string
}

/** Records and returns upstream's id of a group, if listed. @throws ProviderError, log codes */
export function findGroup(
  deps: AssetDeps,
  group: LibraryScope & Pick<AssetGroupEventData<'AssetGroupCreated'>, 'groupId'>,
  call: LibraryCall,
): Promise<string | undefined> {
  return find(
    deps,
    { ...group, ...call, name: group.groupId },
    {
      list: (page, options) => deps.provider.listGroups(call.channel, page, options),
      accept: (command, context) => onGroup(deps, group.groupId, command, context),
    },
  )
}

/** Finds an asset in the same way. */
export function findAsset(
  deps: AssetDeps,
  asset: LibraryScope & Pick<AssetEventData<'AssetCreated'>, 'assetId'>,
  call: LibraryCall,
): Promise<string | undefined> {
  return find(
    deps,
    { ...asset, ...call, name: asset.assetId },
    {
      list: (page, options) => deps.provider.listAssets(call.channel, page, options),
      accept: (command, context) => onAsset(deps, asset.assetId, command, context),
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
  readonly accept: (command: Accepting, context: AssetCommandContext) => Promise<unknown>
}

async function find(
  deps: AssetDeps,
  wanted: LibraryScope & LibraryCall & { readonly name: string },
  { list, accept }: Finding,
): Promise<string | undefined> {
  const { name, groupType, projectName, tenantId, channel, signal, requestId } = wanted
  const page = { groupType, projectName, name, ...PAGE }
  const options = callOptions(requestId ?? POLICY_CORRELATION, signal)
  const { items } = await callPaced(deps, channel, 'list', signal, () => list(page, options))
  const nativeId = items.find((item) => item.name === name)?.nativeId
  if (nativeId === undefined) return undefined
  deps.crashPoint('asset.before-adopt')
  const at = toTimestamp(deps.clock.nowMs())
  const command = { kind: 'accept', nativeId, learntFrom: 'list', at } as const
  await accept(command, policyContext(deps, tenantId, requestId))
  return nativeId
}
