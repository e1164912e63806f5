import type { PoolClient } from 'pg'
import { assetEvents } from '../../src/domain/asset/events.ts'
import {
  assetGroupEvents,
  type AssetGroupEvent,
  type AssetGroupEventType,
} from '../../src/domain/asset-group/events.ts'
import {
  verificationEvents,
  type VerificationEvent,
  type VerificationEventType,
} from '../../src/domain/verification/events.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { allOver } from '../../src/kernel/all-over.ts'
import { digestTables, namedTotals } from '../engine/digest.ts'
import type { Projection, ProjectionDigest } from '../engine/types.ts'
import { assetColumns, groupColumns, verificationColumns } from './columns.ts'
import { countsSql, writeCounts } from './counts.ts'
import { assetAfter, groupAfter, verificationAfter, type AssetChange } from './fold.ts'
import { foldRows, writeRows, type KeptTable } from './rows.ts'
import { indexesSql, tablesSql } from './tables.ts'

const facts = [
  'tenant_id',
  'user_id',
  'token_id',
  'request_id',
  'region',
  'project_name',
  'channel_id',
  'group_id',
] as const

const assets: KeptTable<typeof assetColumns, RecordedEvent<AssetChange>> = {
  name: 'assets',
  key: 'asset_id',
  columns: assetColumns,
  fixed: new Set(['asset_id', ...facts, 'group_type', 'asset_type', 'created_at']),
  idOf: ({ data }) => data.assetId,
  after: assetAfter,
}

const groups: KeptTable<typeof groupColumns, RecordedEvent<AssetGroupEvent>> = {
  name: 'groups',
  key: 'group_id',
  columns: groupColumns,
  fixed: new Set([...facts, 'group_type', 'verification_id', 'created_at']),
  idOf: ({ data }) => data.groupId,
  after: groupAfter,
}

const verifications: KeptTable<typeof verificationColumns, RecordedEvent<VerificationEvent>> = {
  name: 'verifications',
  key: 'verification_id',
  columns: verificationColumns,
  fixed: new Set(['verification_id', ...facts, 'started_at', 'expires_at']),
  idOf: ({ data }) => data.verificationId,
  after: verificationAfter,
}

const { AssetUsed: _changesNoRow, ...assetChanges } = assetEvents
const ofAssets: ReadonlySet<string> = new Set(Object.keys(assetChanges))
const ofGroups: ReadonlySet<string> = new Set(Object.keys(assetGroupEvents))
const ofVerifications: ReadonlySet<string> = new Set(Object.keys(verificationEvents))

const handles = new Set([
  ...(Object.keys(assetChanges) as AssetChange['type'][]),
  ...(Object.keys(assetGroupEvents) as AssetGroupEventType[]),
  ...(Object.keys(verificationEvents) as VerificationEventType[]),
])

async function apply(client: PoolClient, batch: readonly RecordedEvent[]): Promise<void> {
  const [ofAsset, ofGroup, ofVerification] = await allOver([
    foldRows(
      client,
      assets,
      batch.filter((event): event is RecordedEvent<AssetChange> => ofAssets.has(event.type)),
    ),
    foldRows(
      client,
      groups,
      batch.filter((event): event is RecordedEvent<AssetGroupEvent> => ofGroups.has(event.type)),
    ),
    foldRows(
      client,
      verifications,
      batch.filter((event): event is RecordedEvent<VerificationEvent> =>
        ofVerifications.has(event.type),
      ),
    ),
  ])
  await allOver([
    writeRows(client, assets, ofAsset),
    writeRows(client, groups, ofGroup),
    writeRows(client, verifications, ofVerification),
    writeCounts(client, ofAsset, ofGroup),
  ])
}

async function digest(client: PoolClient): Promise<ProjectionDigest> {
  return {
    ...(await digestTables(client, {
      assets: 'select * from assets',
      groups: 'select * from groups',
      verifications: 'select * from verifications',
      counts: countsSql,
    })),
    totals: await namedTotals(
      client,
      `select 'assets ' || state as name, count(*)::text as total from assets group by state
       union all select 'groups ' || state, count(*)::text from groups group by state
       union all select 'verifications ' || state, count(*)::text from verifications group by state
       order by 1`,
    ),
  }
}

/** A row per asset, group and verification, counts for lists, what is still open. */
export const assetsProjection: Projection = {
  name: 'assets',
  version: 2,
  tablesSql,
  indexesSql,
  handles,
  apply,
  digest,
}
