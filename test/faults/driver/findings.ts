import type { AssetFindings } from './assets/oracle.ts'
import type { CallFindings } from './calls/oracle.ts'
import type { LedgerLine } from './bill.ts'
import type { LoggedTask } from './log-reader.ts'
import type { Accepted } from './sandbox.ts'
import type { Witness } from './witness.ts'

/** All that is compared at the end: what upstream, the log, the ledger and the callers say. */

/**
 * `present`: open tasks are allowed by rule. `past-every-absence`: none of which upstream certainly
 * has nothing. `past-every-deadline`: none at all.
 */
export type When = 'present' | 'past-every-absence' | 'past-every-deadline'

export interface Findings {
  readonly accepted: readonly Accepted[]
  readonly tasks: ReadonlyMap<string, LoggedTask>
  /** Of these tasks. */
  readonly lines: readonly LedgerLine[]
  /** The creation each task is, by platform id: as far as an outsider knows. */
  readonly sentAs: ReadonlyMap<string, string>
  /** Calls that are answered at once, and what a worker of ours makes by one. */
  readonly calls: CallFindings
  readonly assets: AssetFindings
  readonly witness: Witness
  readonly when: When
}

/** The creation each task is: by the request upstream was sent, else by who was told its id. */
export function sentAs(
  tasks: ReadonlyMap<string, LoggedTask>,
  markers: ReadonlyMap<string, string>,
  { intended }: Witness,
): ReadonlyMap<string, string> {
  const known = new Map<string, string>()
  for (const { marker, platformIds } of intended.values())
    for (const id of platformIds) known.set(id, marker)
  for (const { platformId, requestId } of tasks.values()) {
    const marker = markers.get(requestId)
    if (marker !== undefined) known.set(platformId, marker)
  }
  return known
}

/** The tasks that were asked for with an asset, by the request that was recorded. */
export function usesOf(
  tasks: ReadonlyMap<string, LoggedTask>,
  sentAs: ReadonlyMap<string, string>,
  { intended }: Witness,
): AssetFindings['uses'] {
  return [...tasks.values()].flatMap(({ platformId, requestId }) => {
    const asset = intended.get(sentAs.get(platformId) ?? '')?.asset
    return asset === undefined ? [] : [{ requestId, assetId: asset.id }]
  })
}
