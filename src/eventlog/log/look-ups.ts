import { Absences } from '../../kernel/absences.ts'
import type { EventLog } from './types.ts'

/** Reads of streams that a caller named, which may not exist. */
export interface LookUps extends Pick<EventLog, 'readStream'> {
  /** The stream has been begun in this process: it is read again. */
  readonly begun: (stream: string) => void
}

/**
 * Reads streams and remembers for a moment which of them are empty. It is for answers only: a decision
 * reads the log itself, because another writer may have begun the stream.
 */
export function createLookUps(log: Pick<EventLog, 'readStream'>): LookUps {
  const empty = new Absences()
  return {
    readStream: async (stream, options) => {
      if (empty.has(stream)) return []
      const events = await log.readStream(stream, options)
      if (events.length === 0 && options === undefined) empty.add(stream)
      return events
    },
    begun: (stream) => empty.delete(stream),
  }
}
