import type { Projection } from '../../../projections/engine/types.ts'
import { ledgerSummedEvery } from '../../../projections/ledger/projection.ts'
import { allProjections } from '../../../projections/registry.ts'

/** Every read model, the ledger with its sums by time added to each time that so many lines are not in them. */
export function summedEvery(lines: number): readonly Projection[] {
  return allProjections.map((projection) =>
    projection.name === 'ledger' ? ledgerSummedEvery(lines) : projection,
  )
}

/** Each line is in the sums by time at once: tests that change the sums find rows in them. */
export const summedAtOnce = summedEvery(1)
