import type { LRUCache } from 'lru-cache'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { waitForPosition } from '../../../../projections/engine/wait.ts'
import { noteDecider, type NotesState } from '../../../domain/note/decider.ts'
import { type Note, noteStream } from '../../../domain/note/events.ts'
import { executeCommand, type StreamState } from '../../../eventlog/log/execute.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import { type Clock, toTimestamp } from '../../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../../kernel/errors.ts'
import { newId } from '../../../kernel/ids.ts'
import { createLru } from '../../../kernel/lru.ts'

/** Tenants whose notes a process remembers, a hash for each note, so that it reads only later ones. */
const MAX_TENANTS = 100
/** The author waits this long to see the note. */
const SHOWN_MS = 3_000

export interface NoteDeps {
  readonly log: EventLog
  readonly pool: Queryable
  readonly clock: Clock
}

/** The author of a note, as the log records it. */
export interface NoteContext {
  /** The request, or the program that ran the command. */
  readonly correlationId: string
  /** A token, or the name of a person at a shell. */
  readonly actor: string
}

/** Posts a note, and says whether it is new; lives that are read from now on have it. */
export type PostNote = (note: Omit<Note, 'postedAt'>, context: NoteContext) => Promise<boolean>

/**
 * Posts notes. @throws DomainError of the decider of notes and of the log; `posting_outcome_unknown`
 * names the id for the retry
 */
export function createPostNote({ log, pool, clock }: NoteDeps): PostNote {
  const known: LRUCache<string, StreamState<NotesState>> = createLru(MAX_TENANTS)
  return async (note, { correlationId, actor }) => {
    const { tenantId, noteId } = note
    const nowMs = clock.nowMs()
    try {
      const { state, revision, events, position } = await executeCommand({
        log,
        stream: noteStream(tenantId),
        readBefore: known.get(tenantId),
        decider: noteDecider,
        command: { kind: 'post', data: { ...note, postedAt: toTimestamp(nowMs) } },
        commandId: newId('cmd', nowMs),
        metadata: { correlationId, actor, tenantId },
      })
      if (revision !== undefined) known.set(tenantId, { state, revision })
      // A life that is settled is read without waiting for the log.
      if (position !== undefined)
        await waitForPosition(pool, 'timeline', position, SHOWN_MS).catch(() => false)
      return events.length > 0
    } catch (error) {
      if (!isDomainError(error, 'log_outcome_unknown')) throw error
      throw new DomainError(
        'posting_outcome_unknown',
        `the event log did not confirm it in time and may have recorded it: send it again as ${noteId}, and it counts once`,
        { param: 'note_id' },
      )
    }
  }
}
