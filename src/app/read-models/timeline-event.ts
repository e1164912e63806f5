import type { TimelineItem } from '../../../projections/timeline/query.ts'
import { recallEvent } from '../../eventlog/log/codec.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'

/** An event of the log, read from its row in the timeline. */
export function eventOfItem(item: TimelineItem): RecordedEvent {
  const { type, data, metadata, stream, revision } = item
  return recallEvent({
    type,
    data,
    id: item.eventId,
    metadata,
    stream,
    revision,
    position: BigInt(item.position),
    recordedAt: new Date(item.atMs),
  })
}
