import { assetTables } from '../../../projections/assets/query.ts'
import { nativeIdOf } from '../../domain/any-event.ts'
import { assetStream } from '../../domain/asset/events.ts'
import { assetGroupStream } from '../../domain/asset-group/events.ts'
import { verificationStream } from '../../domain/verification/events.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { sources, type Told, type WalkDeps } from './access-walk.ts'
import type { Expected } from './compare.ts'
import { assetAfter, groupAfter, verificationAfter } from './expected-asset.ts'
import { type RowOfStream, walkRows } from './row-walk.ts'

export const assets: Told = { table: assetTables.assets, by: 'asset_id' }
export const assetGroups: Told = { table: assetTables.groups, by: 'group_id' }
export const verifications: Told = { table: assetTables.verifications, by: 'verification_id' }

/** The timeline's row for its upstream name; its other columns were compared with the log. */
const source: RowOfStream = {
  told: sources,
  model: 'timeline',
  after: sourceAfter,
}

function sourceAfter(row: Expected | undefined, event: RecordedEvent): Expected {
  const nativeId = nativeIdOf(event)
  return nativeId === undefined ? (row ?? { native_id: null }) : { native_id: nativeId }
}

/** Compares the rows of assets, groups and verifications with their streams. */
export async function walkAssets(deps: WalkDeps): Promise<{
  readonly assets: number
  readonly assetGroups: number
  readonly verifications: number
}> {
  const model = 'assets'
  return {
    assets: await walkRows(deps, {
      stream: assetStream,
      rows: [{ told: assets, model, after: assetAfter }, source],
    }),
    assetGroups: await walkRows(deps, {
      stream: assetGroupStream,
      rows: [{ told: assetGroups, model, after: groupAfter }, source],
    }),
    verifications: await walkRows(deps, {
      stream: verificationStream,
      rows: [{ told: verifications, model, after: verificationAfter }, source],
    }),
  }
}
