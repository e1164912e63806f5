import { timelineTables } from '../../../projections/timeline/query.ts'
import { isFirstOfSource, sourceOf } from '../../domain/any-event.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { rowMissing, timeCell, type Expected } from './compare.ts'
import type { Finding, Findings } from './findings.ts'
import {
  type Appended,
  judge,
  type Matched,
  matchStretch,
  nameOf,
  pushInOrder,
  type Look,
} from './match.ts'
import type { KnownSource } from './source-memory.ts'

const events: Appended = {
  table: timelineTables.events,
  key: 'event_id',
  unique: false,
  nameOf: (row) => `${String(row['type'])} ${String(row['stream'])}@${String(row['revision'])}`,
}
const sources: Appended = {
  table: timelineTables.sources,
  key: 'source_id',
  unique: true,
  // It is set later, and compared with the stream.
  untold: ['native_id'],
}
/** What is compared stretch by stretch. */
export const timelineStretches: readonly Appended[] = [events, sources]

/** What an event must have left in the timeline. */
export interface TimelineEffect {
  readonly event: Expected
  /** The source it begins. */
  readonly source: Expected | undefined
}

/** What an event must have left in the timeline, given its source; undefined for nothing. */
export function timelineEffect(
  event: RecordedEvent,
  known: KnownSource | undefined,
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
      at: timeCell(event.recordedAt),
      data,
      metadata: event.metadata,
    },
    source: isFirstOfSource(event) ? { source_id: sourceId, ...whose, position } : undefined,
  }
}

/** The timeline rows that the log requires for a stretch, and the existing ones. */
interface FoundTimeline {
  readonly effects: readonly TimelineEffect[]
  readonly inEvents: Matched
  readonly inSources: Matched
}

/** Compares events and sources of the timeline with the log, stretch by stretch. */
export class TimelineRows {
  compared = 0
  readonly #relocated = new Set<string>()
  readonly #findings: Findings

  constructor(findings: Findings) {
    this.#findings = findings
  }

  /** Reads the rows of a stretch, to be judged. */
  async find(look: Look, effects: readonly TimelineEffect[]): Promise<FoundTimeline> {
    const rows = effects.map(({ event }) => event)
    const begun = effects.flatMap(({ source }) => (source ? [source] : []))
    const [inEvents, inSources] = await allSettledOrThrow([
      matchStretch(look, events, rows, this.#relocated, rows),
      matchStretch(look, sources, begun, this.#relocated, begun),
    ])
    return { effects, inEvents, inSources }
  }

  judge({ effects, inEvents, inSources }: FoundTimeline): void {
    this.compared += inEvents.agreed + inEvents.pairs.length
    const absent = new Set([...inEvents.missing, ...inSources.missing])
    const missing = absent.size === 0 ? [] : effects.flatMap((effect) => missingOf(effect, absent))
    const standing = [...judge(events, inEvents), ...judge(sources, inSources)]
    pushInOrder(this.#findings, [...missing, ...standing])
  }
}

/** Findings about missing rows of an event; one finding when all are missing. */
function missingOf(effect: TimelineEffect, absent: ReadonlySet<Expected>): readonly Finding[] {
  const { event, source } = effect
  const position = event['position']
  if (source && absent.has(event) && absent.has(source))
    return [
      {
        code: 'event_not_applied',
        table: 'timeline',
        key: String(source['source_id']),
        position: String(position),
        message: `the timeline has nothing of this ${String(event['type'])}`,
      },
    ]
  const rows = [
    [events, event],
    [sources, source],
  ] as const
  return rows.flatMap(([of, row]) =>
    row && absent.has(row)
      ? [rowMissing({ table: of.table.name, key: nameOf(of, row), position }, row)]
      : [],
  )
}
