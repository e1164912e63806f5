import { nativeIdOf, sourceOf } from '../../../projections/timeline/owner.ts'
import { taskStream } from '../../domain/task/events.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { isPlatformId } from '../../kernel/ids.ts'
import { progress } from '../output.ts'
import { createOwnership } from './ownership.ts'
import { isWithin, MAX_EVENTS_OF_ID, type ReplaySource, type TimeRange } from './source.ts'

/** How far the log's clock is trusted to step back: past the range by more, nothing of it follows. */
const CLOCK_SLACK_MS = 600_000

/**
 * Finds events in the log itself, whatever Postgres holds: a platform id names its stream, all else
 * is looked for from the start of the log on.
 */
export function fromLog(log: EventLog, range: TimeRange): ReplaySource {
  return {
    ofId: async (id, tenant) => {
      const found = isPlatformId(id) ? await log.readStream(taskStream(id)) : await search(id)
      return tenant === undefined ? found : found.filter(createOwnership(tenant))
    },
    ofTenant: async function* (tenant, within) {
      const owns = createOwnership(tenant)
      for await (const event of readUntil(within.toMs))
        if (owns(event) && isWithin(event, within)) yield event
    },
    caveat: () => undefined,
  }

  async function* readUntil(toMs: number | undefined): AsyncGenerator<RecordedEvent> {
    const shown = progress('events read')
    let read = 0
    for await (const event of log.readAll()) {
      shown.update((read += 1), `at position ${event.position}`)
      if (toMs !== undefined && event.recordedAt.getTime() >= toMs + CLOCK_SLACK_MS) break
      yield event
    }
    shown.end()
  }

  /** By native id, by call or token, and by request: what a request began is all of it. */
  async function search(id: string): Promise<readonly RecordedEvent[]> {
    const found = new Map<bigint, RecordedEvent>()
    const tasks = new Set<string>()
    for await (const event of readUntil(range.toMs)) {
      const source = sourceOf(event)
      const caused = event.metadata.correlationId === id
      if (nativeIdOf(event) === id || (caused && event.type === 'TaskRequested'))
        tasks.add(source ?? '')
      else if (caused || source === id) found.set(event.position, event)
      if (found.size >= MAX_EVENTS_OF_ID) break
    }
    for (const platformId of tasks)
      for (const event of await log.readStream(taskStream(platformId)))
        found.set(event.position, event)
    return [...found.values()].sort((a, b) => (a.position < b.position ? -1 : 1))
  }
}
