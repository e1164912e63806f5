import type { SearchDeps } from '../app/support/search.ts'
import { families } from '../families/index.ts'
import { responseIdsOf } from '../families/module.ts'
import { keyHashOf } from '../kernel/keyed-hash.ts'

/** Reads the names that callers have of their requests, of which some need the secret of the replicas. */
export function readersOfNames(
  markerSecret: string,
): Pick<SearchDeps, 'keyHash' | 'callOfResponse'> {
  return {
    keyHash: (key) => keyHashOf(markerSecret, key),
    callOfResponse: responseIdsOf(families, markerSecret),
  }
}
