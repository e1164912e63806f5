import { nativeIdOf, sourceOf } from '../../domain/any-event.ts'
import { assetStream } from '../../domain/asset/events.ts'
import { assetGroupStream } from '../../domain/asset-group/events.ts'
import { noteStream } from '../../domain/note/events.ts'
import { taskStream } from '../../domain/task/events.ts'
import { verificationStream } from '../../domain/verification/events.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { isAssetGroupId, isAssetId, isPlatformId } from '../../kernel/ids.ts'
import { progress } from '../output.ts'
import { isWithin, MAX_EVENTS_OF_ID, type ReplaySource, type TimeRange } from './source.ts'
import { type TokenEvent, tokenEvents } from '../../domain/token/events.ts'

/** How far the log's clock is trusted to step back: past the range by more, nothing of it follows. */
const CLOCK_SLACK_MS = 600_000

/** The stream that one of the gateway's ids names by its shape. */
function streamOf(id: string): string | undefined {
  if (isPlatformId(id)) return taskStream(id)
  if (isAssetId(id)) return assetStream(id)
  return isAssetGroupId(id) ? assetGroupStream(id) : undefined
}

/** Whether a stream begins with this event that is all of one thing, and goes on. */
function beginsStream({ type }: RecordedEvent): boolean {
  return (
    type === 'TaskRequested' ||
    type === 'AssetCreated' ||
    type === 'AssetGroupCreated' ||
    type === 'VerificationStarted'
  )
}

/**
 * Finds events in the log itself, whatever Postgres holds: the gateway's id of a task, an asset, a
 * group or a verification names its stream; any other id is searched for from the start of the log.
 */
export function fromLog(log: EventLog, range: TimeRange): ReplaySource {
  return {
    ofId: async (id, tenant) => {
      const stream = streamOf(id)
      const found = stream === undefined ? await search(id) : await log.readStream(stream)
      const all = inOrder([...found, ...(await notesAbout(found))])
      return tenant === undefined ? all : all.filter(createOwnership(tenant))
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
    // The id of a verification is a hash without a recognisable shape.
    const verification = await log.readStream(verificationStream(id))
    if (verification.length > 0) return verification
    const found = new Map<bigint, RecordedEvent>()
    const streams = new Set<string>()
    for await (const event of readUntil(range.toMs)) {
      const caused = event.metadata.correlationId === id
      if (nativeIdOf(event) === id || (caused && beginsStream(event))) streams.add(event.stream)
      else if (caused || sourceOf(event) === id) found.set(event.position, event)
      if (found.size >= MAX_EVENTS_OF_ID) break
    }
    for (const stream of streams)
      for (const event of await log.readStream(stream)) found.set(event.position, event)
    return [...found.values()]
  }

  /** Notes of support about what the events are of: they have a stream of their own. */
  async function notesAbout(found: readonly RecordedEvent[]): Promise<readonly RecordedEvent[]> {
    const sources = new Set(found.map(sourceOf))
    const tenants = new Set(found.map(tenantOf).filter((tenant) => tenant !== undefined))
    const notes: RecordedEvent[] = []
    for (const tenant of tenants)
      for (const note of await log.readStream(noteStream(tenant)))
        if (sources.has(sourceOf(note))) notes.push(note)
    return notes
  }
}

function tenantOf({ data, metadata }: RecordedEvent): string | undefined {
  return 'tenantId' in data ? data.tenantId : metadata.tenantId
}

/** Events in the order of the log, each once. */
function inOrder(events: readonly RecordedEvent[]): readonly RecordedEvent[] {
  const byPosition = new Map(events.map((event) => [event.position, event]))
  return [...byPosition.values()].toSorted((a, b) => (a.position < b.position ? -1 : 1))
}

/** Whether an event is about this tenant; to be asked in the order of the log. */
export function createOwnership(tenant: string): (event: RecordedEvent) => boolean {
  // Later events of a token name only the token; a tenant has few.
  const tokens = new Set<string>()
  return (event) => {
    if (event.type === 'TokenIssued') {
      if (event.data.tenantId !== tenant) return false
      tokens.add(event.data.tokenId)
      return true
    }
    if (isOfToken(event)) return tokens.has(event.data.tokenId)
    const named = 'tenantId' in event.data ? event.data.tenantId : undefined
    return (event.metadata.tenantId ?? named) === tenant
  }
}

function isOfToken(event: RecordedEvent): event is Extract<RecordedEvent, TokenEvent> {
  return Object.hasOwn(tokenEvents, event.type)
}
