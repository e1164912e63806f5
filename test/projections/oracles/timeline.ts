import { canonicalTime, type Owner } from '../../../projections/engine/audited-rows.ts'
import { isFirstOfSource, sourceOf } from '../../../src/domain/any-event.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import type { Expected } from '../../../src/app/audit/compare.ts'

/** What an event must have left in the timeline. */
export interface TimelineEffect {
  readonly event: Expected
  /** The source it begins. */
  readonly source: Expected | undefined
}

/** What an event must have left in the timeline, given its source; undefined for nothing. */
export function timelineEffect(
  event: RecordedEvent,
  known: Owner | undefined,
): TimelineEffect | undefined {
  // The price book belongs to no tenant.
  if (event.type === 'PriceBookPublished') return undefined
  const { data, position } = event
  const sourceId = sourceOf(event)
  const owner = 'tenantId' in data ? data : known
  const whose = {
    tenant_id: owner?.tenantId,
    user_id: owner && 'userId' in owner ? owner.userId : undefined,
  }
  return {
    event: {
      position,
      ...whose,
      source_id: sourceId,
      type: event.type,
      event_id: event.id,
      stream: event.stream,
      revision: event.revision,
      at: canonicalTime(event.recordedAt),
      data,
      metadata: event.metadata,
    },
    source: isFirstOfSource(event) ? { source_id: sourceId, ...whose, position } : undefined,
  }
}
