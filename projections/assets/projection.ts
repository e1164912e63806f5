import { allSettledOrThrow } from '../../src/kernel/all-settled.ts'
import { fromTables, foldRows } from '../engine/read-model.ts'
import type { Projection } from '../engine/types.ts'
import { writeAssetCounts } from './counts.ts'
import { assetRows, groupRows, verificationRows } from './fold.ts'
import { assets, assetCounts, groups, verifications } from './tables.ts'

/** One row per asset, group and verification, counts for lists, and open work. */
export const assetsProjection: Projection = {
  name: 'assets',
  version: 2,
  ...fromTables(
    { assets, groups, verifications, counts: assetCounts },
    {
      totals: `select 'assets ' || state as name, count(*)::text as total from assets group by state
       union all select 'groups ' || state, count(*)::text from groups group by state
       union all select 'verifications ' || state, count(*)::text from verifications group by state
       order by 1`,
    },
  ),
  handles: new Set([...assetRows.types, ...groupRows.types, ...verificationRows.types]),
  streamTables: [assetRows.audit, groupRows.audit, verificationRows.audit],
  apply: async (client, batch) => {
    const [ofAssets, ofGroups, ofVerifications] = await allSettledOrThrow([
      foldRows(client, assetRows, batch),
      foldRows(client, groupRows, batch),
      foldRows(client, verificationRows, batch),
    ])
    await allSettledOrThrow([
      assets.upsert(client, afterOf(ofAssets)),
      groups.upsert(client, afterOf(ofGroups)),
      verifications.upsert(client, afterOf(ofVerifications)),
      writeAssetCounts(client, ofAssets, ofGroups),
    ])
  },
}

function afterOf<Row>(changes: readonly { readonly after: Row }[]): readonly Row[] {
  return changes.map(({ after }) => after)
}
