/**
 * Whether a command may be written: expected revision and idempotency exactly as EventStoreDB
 * decides them (its `IndexWriter.CheckCommit`).
 */

import type { StreamHead } from './heads.ts'
import { isSoftDeleted } from './heads.ts'
import type { ExpectedRevision } from './types.ts'

/** Place at which an id was seen. */
export interface SeenEvent {
  readonly stream: string
  readonly revision: number
  readonly position: number
}

/** State that a decision may read. */
export interface StreamView {
  readonly stream: string
  readonly head: StreamHead
  /** Whether the stream has metadata even if it has no events. */
  readonly hasMetadata: () => Promise<boolean>
  /** An id among the recent ones: best effort, it forgets. */
  readonly recent: (id: string) => SeenEvent | undefined
  /** The event at a revision of this stream: never forgets. */
  readonly at: (revision: number) => Promise<{ id: string; position: number } | undefined>
}

type Decision =
  | { readonly kind: 'write' }
  | { readonly kind: 'already_written'; readonly revision: number; readonly position: number }
  | { readonly kind: 'wrong_expected_revision' }
  | { readonly kind: 'stream_deleted' }

const WRITE: Decision = { kind: 'write' }
const WRONG: Decision = { kind: 'wrong_expected_revision' }
const DELETED: Decision = { kind: 'stream_deleted' }

/** Decides on writing events with these ids to the stream. */
export async function decide(
  view: StreamView,
  expected: ExpectedRevision,
  ids: readonly string[],
): Promise<Decision> {
  if (view.head.tombstoned) return DELETED
  switch (expected.kind) {
    case 'any':
      return decideByRecentIds(view, ids)
    case 'stream_exists':
      if (isSoftDeleted(view.head)) return DELETED
      if (view.head.last < 0 && !(await view.hasMetadata())) return WRONG
      return decideByRecentIds(view, ids)
    case 'no_stream':
      return decideByRevision(view, -1, ids)
    case 'revision':
      return decideByRevision(view, expected.revision, ids)
  }
}

function decideByRecentIds(view: StreamView, ids: readonly string[]): Decision {
  let last: SeenEvent | undefined
  for (const id of ids) {
    const seen = view.recent(id)
    if (seen === undefined || seen.stream !== view.stream) {
      // The first id decides alone: a known one followed by an unknown one is a partial overlap.
      return last === undefined ? WRITE : WRONG
    }
    last = seen
  }
  if (last === undefined) return WRITE
  return { kind: 'already_written', revision: last.revision, position: last.position }
}

async function decideByRevision(
  view: StreamView,
  expected: number,
  ids: readonly string[],
): Promise<Decision> {
  if (expected > view.head.last) return WRONG
  // At the expected revision EventStoreDB does not compare ids: it writes the same ids again.
  if (expected === view.head.last) return WRITE
  let last: { id: string; position: number } | undefined
  for (const [index, id] of ids.entries()) {
    const stored = await view.at(expected + 1 + index)
    if (stored?.id !== id) {
      if (index === 0 && expected === -1 && isSoftDeleted(view.head)) return WRITE
      return WRONG
    }
    last = stored
  }
  if (last === undefined) return WRONG
  return { kind: 'already_written', revision: expected + ids.length, position: last.position }
}
