import { closeSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Which test file runs when: a list, from which several processes each take the next file that no other has taken. So
 * none of them runs on alone at the end, and each loads the product once for many files.
 */

/** What the process that runs files gets. */
export interface Order {
  /** All files of its list. */
  readonly paths: readonly string[]
  /** The one to begin with, which is taken for it. */
  readonly first: number
  /** Bound of each file. */
  readonly timeoutMs: number
  /** A file that is taken has its number here as a name. */
  readonly taken: string
  /** Where it writes what each file took, a line of JSON each. */
  readonly usageFile: string
}

/** What takes longest, longest first: whole products that start, are killed and start again; then many requests. */
const long = [
  'test/faults/kills',
  'test/faults/clock-steps',
  'test/faults/media',
  'test/faults/assets',
  'test/e2e/foreign-members',
  'test/faults/text/',
  'test/faults/',
  'test/app/audit/',
  'test/fuzz/',
  'test/cli/',
  'test/app/calls/crash',
  'test/projections/engine/',
  'test/e2e/',
  'test/app/',
]

/**
 * What waits most of its time, for leases, held requests and heartbeats that the product measures in seconds: one
 * process runs these beside those that compute.
 */
const waiting = [
  'test/api/admin/slow-close',
  'test/app/calls/claims/presence',
  'test/app/calls/endings',
  'test/app/tasks/watch/held-polls',
  'test/app/tasks/watch/reconcile',
]

/** Of those of `test/faults`, the rules that judge them, which start nothing. */
const PURE = 'test/faults/driver/'

function turnOf(path: string): number {
  const found = path.startsWith(PURE) ? -1 : long.findIndex((prefix) => path.startsWith(prefix))
  return found === -1 ? long.length : found
}

function isWaiting(path: string): boolean {
  return waiting.some((prefix) => path.startsWith(prefix))
}

/** The files in the order they begin in: what takes longest first, and by their paths. */
function inTurn(files: readonly string[]): readonly string[] {
  return [...files].sort((a, b) => turnOf(a) - turnOf(b) || (a < b ? -1 : 1))
}

/** The files that compute and those that wait, each in the order they begin in. */
export function lists(
  files: readonly string[],
): Readonly<Record<'computing' | 'waiting', readonly string[]>> {
  return {
    computing: inTurn(files.filter((path) => !isWaiting(path))),
    waiting: inTurn(files.filter(isWaiting)),
  }
}

/** Takes the next file of so many; undefined when all are taken. */
export function take(taken: string, count: number): number | undefined {
  for (let turn = readdirSync(taken).length; turn < count; turn += 1)
    if (isMine(join(taken, String(turn)))) return turn
  return undefined
}

/** Whether this is the first to ask for it. */
function isMine(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx'))
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}
