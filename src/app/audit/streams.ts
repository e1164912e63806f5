import { readPages } from '../../eventlog/log/pages.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'

/** Streams read in parallel. */
const CONCURRENT_READS = 16

/** Runs a read for each item, several in parallel. */
export async function readEach<T>(of: Iterable<T>, read: (one: T) => Promise<void>): Promise<void> {
  const waiting = [...of]
  const work = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await read(next)
  }
  await Promise.all(Array.from({ length: CONCURRENT_READS }, work))
}

/** Reads a stream of any length, up to and including a position. */
export async function* readTo(
  log: EventLog,
  stream: string,
  position: bigint,
): AsyncGenerator<RecordedEvent> {
  for await (const event of readPages(log, stream)) {
    if (event.position > position) return
    yield event
  }
}
