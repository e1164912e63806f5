import type { EventLog, RecordedEvent } from './types.ts'

/** Events of a stream per read. */
const PAGE_EVENTS = 500

/** Events of a stream of any length from a revision on, the oldest first. @throws what the log throws */
export async function* readPages(
  log: Pick<EventLog, 'readStream'>,
  stream: string,
  first = 0n,
): AsyncGenerator<RecordedEvent, void> {
  for (let from = first; ;) {
    const page = await log.readStream(stream, { from, limit: PAGE_EVENTS })
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_EVENTS) return
    from = last.revision + 1n
  }
}
