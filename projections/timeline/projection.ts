import type { PoolClient } from 'pg'
import { allSettledOrThrow } from '../../src/kernel/all-settled.ts'
import {
  isFirstOfSource,
  eventSchemas,
  nativeIdOf,
  sourceOf,
  type AnyEventType,
} from '../../src/domain/any-event.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import type { EventTable, Owner, StreamTable } from '../engine/audited-rows.ts'
import type { Row } from '../engine/column.ts'
import { storable, textColumn } from '../engine/array-literals.ts'
import { expectInOrder } from '../engine/passed-over.ts'
import { fromTables } from '../engine/read-model.ts'
import type { Projection } from '../engine/types.ts'
import { events, sources, timelineTables } from './tables.ts'

/** The price book, the database and the issuer of statements are of every tenant: they are in no tenant's timeline. */
const ofNoTenant: ReadonlySet<AnyEventType> = new Set([
  'PriceBookPublished',
  'DatabaseAdopted',
  'IssuerProfileSet',
  'StatementKeyPublished',
])
const handles = new Set(
  (Object.keys(eventSchemas) as AnyEventType[]).filter((type) => !ofNoTenant.has(type)),
)

/** The owner, where the event names it. */
function namedOwner({ data }: RecordedEvent): Owner | undefined {
  if (!('tenantId' in data)) return undefined
  return { tenantId: data.tenantId, userId: 'userId' in data ? data.userId : undefined }
}

/** The keyed hash of the `Idempotency-Key` of a request, where the event names it. */
function keyHashIn({ data }: RecordedEvent): string | undefined {
  return 'idempotency' in data ? data.idempotency?.keyHash : undefined
}

type EventRow = Row<typeof events.record.columns>

async function loadOwners(
  client: PoolClient,
  sourceIds: readonly string[],
): Promise<Map<string, Owner>> {
  if (sourceIds.length === 0) return new Map()
  const { rows } = await client.query<{
    source_id: string
    tenant_id: string
    user_id: string | null
  }>({
    name: 'timeline.owners',
    text: `select source_id, tenant_id, user_id from sources where source_id = any($1::text[])`,
    values: [textColumn(sourceIds)],
  })
  return new Map(
    rows.map((row) => [
      row.source_id,
      { tenantId: row.tenant_id, userId: row.user_id ?? undefined },
    ]),
  )
}

interface SourceChange extends Owner {
  readonly position: bigint
  nativeId: string | undefined
}

/** The row of an event, given the owner of its source, where the event does not name it. */
function eventRow(event: RecordedEvent, known: Owner | undefined): EventRow {
  const sourceId = sourceOf(event)
  const owner = namedOwner(event) ?? known
  expectInOrder(owner, `${event.type} of ${sourceId ?? 'no source'}, which never began`)
  return {
    position: event.position,
    tenantId: owner.tenantId,
    userId: owner.userId,
    sourceId,
    keyHash: keyHashIn(event),
    type: event.type,
    eventId: event.id,
    stream: event.stream,
    revision: event.revision,
    at: event.recordedAt.getTime(),
    data: event.data,
    metadata: event.metadata,
  }
}

/**
 * Names the owner of every event, and gathers the changes of sources. A later event may name another user
 * of the tenant: it is that user's event, and the source stays with the user who began it.
 */
function place(
  batch: readonly RecordedEvent[],
  owners: Map<string, Owner>,
): { readonly placed: readonly EventRow[]; readonly changes: ReadonlyMap<string, SourceChange> } {
  const changes = new Map<string, SourceChange>()
  const placed = batch.map((event): EventRow => {
    const sourceId = sourceOf(event)
    const row = eventRow(event, sourceId === undefined ? undefined : owners.get(sourceId))
    if (sourceId === undefined) return row
    const { tenantId, userId, position } = row
    if (isFirstOfSource(event)) owners.set(sourceId, { tenantId, userId: userId ?? undefined })
    const nativeId = nativeIdOf(event)
    if (isFirstOfSource(event) || nativeId !== undefined) {
      const change = changes.get(sourceId) ?? {
        tenantId,
        userId: userId ?? undefined,
        position,
        nativeId: undefined,
      }
      if (nativeId !== undefined) change.nativeId = storable(nativeId)
      changes.set(sourceId, change)
    }
    return row
  })
  return { placed, changes }
}

async function apply(client: PoolClient, batch: readonly RecordedEvent[]): Promise<void> {
  const begun = new Set<string>()
  const asked = new Set<string>()
  for (const event of batch) {
    const sourceId = sourceOf(event)
    if (sourceId === undefined || begun.has(sourceId)) continue
    if (isFirstOfSource(event)) begun.add(sourceId)
    else if (!namedOwner(event)) asked.add(sourceId)
  }
  const { placed, changes } = place(batch, await loadOwners(client, [...asked]))
  const learnt = [...changes].map(([sourceId, change]) => ({ sourceId, ...change }))
  await allSettledOrThrow([sources.upsert(client, learnt), events.insert(client, placed)])
}

/** Whether it belongs to no tenant. */
function isOfEveryTenant({ type }: RecordedEvent): boolean {
  return ofNoTenant.has(type)
}

const ofEvents: EventTable = {
  table: timelineTables.events,
  key: 'event_id',
  unique: false,
  nameOf: (row) => `${String(row['type'])} ${String(row['stream'])}@${String(row['revision'])}`,
  row: (event, owner) =>
    isOfEveryTenant(event) ? undefined : events.canonical(eventRow(event, owner)),
}

const ofSources: EventTable = {
  table: timelineTables.sources,
  key: 'source_id',
  unique: true,
  excluded: ['native_id'],
  row: (event, owner) => {
    const sourceId = sourceOf(event)
    if (sourceId === undefined || isOfEveryTenant(event) || !isFirstOfSource(event))
      return undefined
    const { tenantId, userId, position } = eventRow(event, owner)
    return sources.canonical({ sourceId, tenantId, userId, position }, new Set(ofSources.excluded))
  },
}

/** Upstream's id of a source: later events of its stream have it. */
const namesOfSources: StreamTable = {
  table: timelineTables.sources,
  stream: undefined,
  owner: 'source_id',
  key: 'source_id',
  types: new Set(),
  rows: (history) => {
    const { changes } = place(history, new Map())
    const rows = [...changes].map(
      ([id, { nativeId }]) => [id, { native_id: nativeId ?? null }] as const,
    )
    return new Map(rows)
  },
  mayLack: () => true,
}

/** Every event of a tenant in the order of the log, for replays by support. */
export const timelineProjection: Projection = {
  name: 'timeline',
  ownGroup: true,
  version: 10,
  ...fromTables(
    { sources, events },
    {
      totals: `select 'events' as name, count(*)::text as total from events
       union all select 'sources', count(*)::text from sources`,
    },
  ),
  handles,
  apply,
  eventTables: [ofEvents, ofSources],
  streamTables: [namesOfSources],
}
