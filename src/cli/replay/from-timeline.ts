import type { Pool } from 'pg'
import {
  historyOf,
  tenantTimeline,
  type TimelineItems,
  type TimelinePage,
} from '../../../projections/timeline/query.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { eventOfItem } from '../../app/read-models/timeline-event.ts'
import { progress } from '../output.ts'
import type { Session } from '../session.ts'
import { MAX_EVENTS_OF_ID, type ReplaySource } from './source.ts'

const PAGE_EVENTS = 1_000

/** Finds events by the indexes of the timeline, which has the owner and the time of each. */
export function fromTimeline({ pool, caughtUp }: Pick<Session, 'pool' | 'caughtUp'>): ReplaySource {
  let behind = false
  return {
    ofId: async (id, tenantId) => {
      const find = async () =>
        collect((page) => historyOf(pool, id, { tenantId, isOperator: true }, page))
      const found = await find()
      if (found.length > 0) return found
      behind = !(await caughtUp('timeline'))
      return find()
    },
    ofTenant: async function* (tenantId, range) {
      behind = !(await caughtUp('timeline'))
      yield* readTenant(pool, { tenantId, ...range })
    },
    caveat: () =>
      behind ? 'the timeline is behind the log: --from-log shows what it lacks' : undefined,
  }
}

async function* readTenant(
  pool: Pool,
  filter: Parameters<typeof tenantTimeline>[1],
): AsyncGenerator<RecordedEvent> {
  const shown = progress('events read')
  let read = 0
  for await (const event of paged((page) => tenantTimeline(pool, filter, page))) {
    shown.update((read += 1), `at position ${event.position}`)
    yield event
  }
  shown.end()
}

type ReadPage = (page: TimelinePage) => Promise<TimelineItems>

async function* paged(read: ReadPage): AsyncGenerator<RecordedEvent> {
  let after: string | undefined
  do {
    const { items, next } = await read({ after, limit: PAGE_EVENTS })
    yield* items.map(eventOfItem)
    after = next
  } while (after !== undefined)
}

async function collect(read: ReadPage): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for await (const event of paged(read)) {
    events.push(event)
    if (events.length >= MAX_EVENTS_OF_ID) break
  }
  return events
}
