import type { AssetGroupType, AssetType } from '../../src/domain/asset/events.ts'
import {
  bigint,
  constrained,
  nullable,
  operational,
  reader,
  text,
  time,
  type StoredRow,
} from '../engine/column.ts'
import { table } from '../engine/table.ts'
import {
  shownGroupStates,
  statesSql,
  type AssetState,
  type GroupState,
  type VerificationState,
} from './state.ts'

/** Pages are read from indexes alone where the table was vacuumed: sooner than Postgres would by itself. */
const vacuumed = `fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_insert_scale_factor = 0.05`

const runForToken = {
  tenant_id: text(),
  user_id: text(),
  token_id: text(),
  request_id: text(),
}
const keptAt = {
  region: text<'domestic' | 'overseas'>(),
  project_name: text(),
  channel_id: text(),
}
const changed = {
  created_at: time(),
  updated_at: time(),
  /** The position of the last event that changed it. */
  position: bigint(),
}

/** The columns that lists show of each table. */
export const shownSql = {
  assets: `state <> 'deleted'`,
  groups: `state in (${statesSql(shownGroupStates)})`,
} as const

/**
 * The lists of each type of group have separate indexes: groups of persons belong to one user each.
 */
const lists = [
  { type: 'AIGC', owner: 'tenant_id' },
  { type: 'LivenessFace', owner: 'tenant_id, user_id' },
] as const

/** The columns by which lists are filtered; less selective ones come first. */
const asked = ['name', 'region', 'project_name', 'state', 'group_id']

/**
 * Indexes for three orders, each with the filter columns, so that a page is found without reading
 * the rows; then indexes that find few rows among many, by facts or by name. No indexed value may
 * be longer than a few hundred characters: names are bounded on input.
 */
function listIndexes(
  table: keyof typeof shownSql,
  id: 'asset_id' | 'group_id',
): Readonly<Record<string, string>> {
  const indexes = lists.flatMap(({ type, owner }) => {
    const where = `where group_type = '${type}' and ${shownSql[table]}`
    const order = (column: string): string => {
      const keys = [...new Set([column, id])]
      const others = asked.filter((each) => !keys.includes(each))
      return `(${owner}, ${keys.join(', ')}) include (${others.join(', ')}) ${where}`
    }
    const name = type.toLowerCase()
    return [
      [`${name}_created`, order('created_at')],
      [`${name}_updated`, order('updated_at')],
      [`${name}_group`, order('group_id')],
      [`${name}_facts`, `(${owner}, state, region, project_name) ${where}`],
      [`${name}_name`, `(${owner}, state, name text_pattern_ops) ${where}`],
    ] as const
  })
  return Object.fromEntries(indexes)
}

export const assets = table('assets.assets', {
  columns: {
    asset_id: text(),
    ...runForToken,
    group_id: text(),
    group_type: text<AssetGroupType>(),
    ...keptAt,
    asset_type: text<AssetType>(),
    /** Name given by its tenant. */
    name: text(),
    /** Id upstream; null while it is not known whether upstream has it. */
    native_id: nullable(text()),
    state: text<AssetState>(),
    /** Why it failed or was refused. */
    error_code: nullable(text()),
    error_message: nullable(text()),
    ...changed,
  },
  key: ['asset_id'],
  storage: vacuumed,
  indexes: {
    ...listIndexes('assets', 'asset_id'),
    // Indexes for support's look-ups and for open work.
    tenant: '(tenant_id, asset_id)',
    user: '(user_id, asset_id)',
    group: '(group_id, asset_id)',
    native: '(native_id) where native_id is not null',
    open: `(updated_at, asset_id) where state in ('created', 'processing', 'withdrawn')`,
  },
})

export const groups = table('assets.groups', {
  columns: {
    group_id: text(),
    ...runForToken,
    group_type: text<AssetGroupType>(),
    ...keptAt,
    name: text(),
    description: text(),
    native_id: nullable(text()),
    /** The verification that created the group of a person. */
    verification_id: nullable(text()),
    state: text<GroupState>(),
    ...changed,
  },
  key: ['group_id'],
  storage: vacuumed,
  indexes: {
    ...listIndexes('groups', 'group_id'),
    tenant: '(tenant_id, group_id)',
    user: '(user_id, group_id)',
    native: '(native_id) where native_id is not null',
    open: `(updated_at, group_id) where state in ('created', 'withdrawn')`,
  },
})

export const verifications = table('assets.verifications', {
  columns: {
    verification_id: text(),
    ...runForToken,
    ...keptAt,
    group_id: text(),
    native_group_id: nullable(text()),
    state: text<VerificationState>(),
    started_at: time(),
    expires_at: time(),
    updated_at: time(),
    position: bigint(),
  },
  key: ['verification_id'],
  storage: 'fillfactor = 80',
  indexes: {
    open: `(expires_at, verification_id) where state = 'started'`,
    confirmed: `(updated_at) where state = 'confirmed'`,
  },
})

/**
 * Counts for lists: assets by status, over all groups (group_id '') and by group; and groups.
 * user_id is '' except for assets of a person, which are listed only for the user who had the
 * person verified.
 */
export const assetCounts = table('assets.counts', {
  columns: {
    tenant_id: text(),
    group_type: text(),
    user_id: text(),
    kind: constrained(text<'asset' | 'group'>(), `check (kind in ('asset', 'group'))`),
    group_id: text(),
    region: text(),
    project_name: text(),
    status: text(),
    n: bigint(),
    /**
     * Time of the last change of the counted rows, even if the count stayed equal: it depends on
     * the batches, so that no rebuild compares it.
     */
    position: operational(bigint()),
  },
  key: [
    'tenant_id',
    'group_type',
    'user_id',
    'kind',
    'group_id',
    'region',
    'project_name',
    'status',
  ],
  storage: 'fillfactor = 60',
  onConflict: { n: 'add', position: 'greatest' },
  compared: 'n <> 0',
})

/** An asset as the read model knows it. */
export type AssetRow = StoredRow<typeof assets.record.columns>
/** A group as the read model knows it. */
export type GroupRow = StoredRow<typeof groups.record.columns>

export const toAssetRow = reader(assets.record.columns, null)
export const toGroupRow = reader(groups.record.columns, null)
