import type { LibraryRecord } from './library-record.ts'
import type { LoggedLibrary } from './library-log.ts'
import type { Shown } from './lists.ts'
import { AssetWitness } from './witness.ts'

/** All that is compared of the asset library. */
export interface AssetFindings {
  readonly upstream: LibraryRecord
  readonly logged: LoggedLibrary
  /** What each tenant's lists show. */
  readonly shown: ReadonlyMap<string, Shown>
  readonly witness: AssetWitness
  /** Tasks of the log that were asked for with an asset. */
  readonly uses: readonly { readonly requestId: string; readonly assetId: string }[]
  /** Whether nothing may be open any more. */
  readonly isOver: boolean
}

/** Of a run that kept nothing. */
export function nothingKept(): AssetFindings {
  return {
    upstream: { assets: [], groups: [], verifications: [] },
    logged: { assets: new Map(), groups: new Map(), verifications: new Map() },
    shown: new Map(),
    witness: new AssetWitness(),
    uses: [],
    isOver: true,
  }
}
