import type { PoolClient } from 'pg'
import { allOver } from '../../src/kernel/all-over.ts'
import { invariant } from '../../src/kernel/assert.ts'
import {
  begins,
  eventSchemas,
  nativeIdOf,
  sourceOf,
  type AnyEventType,
} from '../../src/domain/any-event.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { plainColumn, storable, storableJson, textColumn } from '../engine/columns.ts'
import { digestTables, namedTotals } from '../engine/digest.ts'
import type { Projection } from '../engine/types.ts'
import { indexesSql, tablesSql } from './tables.ts'

/** The price book is everybody's: it belongs to no tenant's timeline. */
const handles = new Set(
  (Object.keys(eventSchemas) as AnyEventType[]).filter((type) => type !== 'PriceBookPublished'),
)

/** Whose an event is. */
interface Owner {
  readonly tenantId: string
  readonly userId: string | undefined
}

/** The owner, where the event names it. */
function namedOwner({ data }: RecordedEvent): Owner | undefined {
  if (!('tenantId' in data)) return undefined
  return { tenantId: data.tenantId, userId: 'userId' in data ? data.userId : undefined }
}

interface Placed {
  readonly event: RecordedEvent
  readonly owner: Owner
  readonly sourceId: string | undefined
}

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

interface SourceChange {
  readonly owner: Owner
  readonly position: bigint
  nativeId: string | undefined
}

async function writeSources(
  client: PoolClient,
  changes: ReadonlyMap<string, SourceChange>,
): Promise<void> {
  if (changes.size === 0) return
  const rows = [...changes]
  await client.query({
    name: 'timeline.sources',
    text: `insert into sources as s (source_id, tenant_id, user_id, native_id, position)
           select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
           on conflict (source_id) do update
           set native_id = coalesce(excluded.native_id, s.native_id)`,
    values: [
      textColumn(rows.map(([sourceId]) => sourceId)),
      textColumn(rows.map(([, { owner }]) => owner.tenantId)),
      textColumn(rows.map(([, { owner }]) => owner.userId)),
      textColumn(rows.map(([, { nativeId }]) => nativeId)),
      plainColumn(rows.map(([, { position }]) => position)),
    ],
  })
}

async function insertEvents(client: PoolClient, placed: readonly Placed[]): Promise<void> {
  await client.query({
    name: 'timeline.events',
    // JSON documents go as one array each: nothing has to be quoted for an array literal.
    text: `insert into events (position, tenant_id, user_id, source_id, type, event_id, stream,
                               revision, at, data, metadata)
           select position, tenant_id, user_id, source_id, type, event_id, stream, revision,
                  to_timestamp(at_ms / 1000.0), data, metadata
           from rows from (
             unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::uuid[],
                    $7::text[], $8::bigint[], $9::bigint[]),
             json_array_elements($10::json), json_array_elements($11::json))
             as e (position, tenant_id, user_id, source_id, type, event_id, stream, revision,
                   at_ms, data, metadata)`,
    values: [
      plainColumn(placed.map(({ event }) => event.position)),
      textColumn(placed.map(({ owner }) => owner.tenantId)),
      textColumn(placed.map(({ owner }) => owner.userId)),
      textColumn(placed.map(({ sourceId }) => sourceId)),
      textColumn(placed.map(({ event }) => event.type)),
      textColumn(placed.map(({ event }) => event.id)),
      textColumn(placed.map(({ event }) => event.stream)),
      plainColumn(placed.map(({ event }) => event.revision)),
      plainColumn(placed.map(({ event }) => event.recordedAt.getTime())),
      `[${placed.map(({ event }) => storableJson(event.data)).join(',')}]`,
      `[${placed.map(({ event }) => storableJson(event.metadata)).join(',')}]`,
    ],
  })
}

/**
 * Names the owner of every event, and gathers the changes of sources. A later event may name another user
 * of the tenant: it is that user's event, and the source stays with the user who began it.
 */
function place(
  batch: readonly RecordedEvent[],
  owners: Map<string, Owner>,
): { readonly placed: readonly Placed[]; readonly changes: ReadonlyMap<string, SourceChange> } {
  const changes = new Map<string, SourceChange>()
  const placed = batch.map((event): Placed => {
    const sourceId = sourceOf(event)
    const owner = namedOwner(event) ?? (sourceId && owners.get(sourceId))
    invariant(owner, `${event.type} of ${sourceId ?? 'nobody'}, which never began`)
    if (sourceId === undefined) return { event, owner, sourceId }
    if (begins(event)) owners.set(sourceId, owner)
    const nativeId = nativeIdOf(event)
    if (begins(event) || nativeId !== undefined) {
      const { position } = event
      const change = changes.get(sourceId) ?? { owner, position, nativeId: undefined }
      if (nativeId !== undefined) change.nativeId = storable(nativeId)
      changes.set(sourceId, change)
    }
    return { event, owner, sourceId }
  })
  return { placed, changes }
}

async function apply(client: PoolClient, batch: readonly RecordedEvent[]): Promise<void> {
  const begun = new Set<string>()
  const asked = new Set<string>()
  for (const event of batch) {
    const sourceId = sourceOf(event)
    if (sourceId === undefined || begun.has(sourceId)) continue
    if (begins(event)) begun.add(sourceId)
    else if (!namedOwner(event)) asked.add(sourceId)
  }
  const { placed, changes } = place(batch, await loadOwners(client, [...asked]))
  await allOver([writeSources(client, changes), insertEvents(client, placed)])
}

/** Every event of a tenant in the order of the log: what support replays. */
export const timelineProjection: Projection = {
  name: 'timeline',
  apart: true,
  version: 4,
  tablesSql,
  indexesSql,
  handles,
  apply,
  digest: async (client) => ({
    ...(await digestTables(client, {
      sources: 'select * from sources',
      events: 'select * from events',
    })),
    totals: await namedTotals(
      client,
      `select 'events' as name, count(*)::text as total from events
       union all select 'sources', count(*)::text from sources`,
    ),
  }),
}
