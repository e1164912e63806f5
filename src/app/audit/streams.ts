import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'

/** Streams read at once. */
const CONCURRENT_READS = 16
/** Events of a long stream read at once. */
const PAGE_EVENTS = 500

/** Does a read for each, some of them at once. */
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
  let from = 0n
  for (;;) {
    const page = await log.readStream(stream, { from, limit: PAGE_EVENTS })
    for (const event of page) {
      if (event.position > position) return
      yield event
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_EVENTS) return
    from = last.revision + 1n
  }
}
