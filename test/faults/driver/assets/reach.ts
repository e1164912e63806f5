import type { Answer, Tenant } from '../caller.ts'
import type { Check } from '../reach.ts'
import { statusOf } from './oracle.ts'
import { act, type LoggedLibrary, resultOf } from './library.ts'
import type { AssetWitness } from './witness.ts'

/** Whether every asset and group a caller was given is found, says what the log says, and is nobody else's. */
export function assetChecks(
  tenants: readonly Tenant[],
  { assets, groups }: AssetWitness,
  logged: LoggedLibrary,
): readonly Check[] {
  const look =
    (action: 'GetAsset' | 'GetAssetGroup', id: string, owner: string, should: string): Check =>
    async () => {
      for (const { tenantId, call } of tenants) {
        const shown = shownAs(await act(call, action, { Id: id }))
        const wanted = tenantId === owner ? should : '404'
        if (shown !== wanted)
          return { code: 'out_of_reach', subject: id, message: `${shown}, not ${wanted}` }
      }
      return undefined
    }
  const ofAssets = [...assets.values()].map(({ id, group }) => {
    const asset = logged.assets.get(id)
    return look('GetAsset', id, group.tenantId, (asset && statusOf(asset)) ?? '404')
  })
  const ofGroups = [...groups.values()].map(({ id, tenantId }) => {
    const phase = logged.groups.get(id)?.phase ?? 'deleted'
    const isThere = phase !== 'deleted' && phase !== 'refused'
    return look('GetAssetGroup', id, tenantId, isThere ? THERE : '404')
  })
  return [...ofAssets, ...ofGroups]
}

/** A group has no status. */
const THERE = 'there'

function shownAs(answer: Answer | undefined): string {
  if (answer === undefined) return 'no answer'
  if (answer.status !== 200) return String(answer.status)
  const { Status: status } = resultOf(answer)
  return typeof status === 'string' ? status : THERE
}
