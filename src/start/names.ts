import type { SearchDeps } from '../app/support/search.ts'
import { keyHashOf } from '../app/tasks/task-keys.ts'
import { families } from '../families/index.ts'
import { responseIdsOf } from '../families/module.ts'

/** Reads the names that callers have of their requests, of which some need the secret of the replicas. */
export function readersOfNames(
  markerSecret: string,
): Pick<SearchDeps, 'keyHash' | 'callOfResponse'> {
  return {
    keyHash: (key) => keyHashOf(markerSecret, key),
    callOfResponse: responseIdsOf(families, markerSecret),
  }
}
