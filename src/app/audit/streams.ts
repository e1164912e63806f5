import { taskStream } from '../../domain/task/events.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { isTaskEvent, type TaskHistory } from './expected-task.ts'

/** Streams read at once. */
const CONCURRENT_READS = 16
/** Events of a long stream read at once. */
const PAGE_EVENTS = 500

/** The histories of these tasks, by platform id. */
export async function readTasks(
  log: EventLog,
  platformIds: readonly string[],
): Promise<ReadonlyMap<string, TaskHistory>> {
  const histories = new Map<string, TaskHistory>()
  const waiting = [...platformIds]
  const read = async (): Promise<void> => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop())
      histories.set(id, (await log.readStream(taskStream(id))).filter(isTaskEvent))
  }
  await Promise.all(Array.from({ length: CONCURRENT_READS }, read))
  return histories
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
