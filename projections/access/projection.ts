import { fromTimestamp } from '../../src/kernel/clock.ts'
import type { PoolClient } from 'pg'
import {
  accountEvents,
  accountStream,
  settingTypes,
  type AccountEvent,
} from '../../src/domain/account/events.ts'
import {
  tokenEvents,
  tokenStream,
  type QueryScope,
  type TokenEvent,
  type TokenKind,
  type TokenLimits,
  type TokenRole,
} from '../../src/domain/token/events.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { searchForm } from '../../src/kernel/characters.ts'
import { allSettledOrThrow } from '../../src/kernel/all-settled.ts'
import type { AuditedRow, StreamTable } from '../engine/audited-rows.ts'
import { bigint, document, json, nullable, text, texts, time, type Row } from '../engine/column.ts'
import { fromTables, rowsOf } from '../engine/read-model.ts'
import { table } from '../engine/table.ts'
import type { Projection } from '../engine/types.ts'
import { applyUsers, tenants, users } from './owners.ts'

/**
 * The events of accounts, without settings that a later event replaced: an account is read from
 * them in one query, however often its settings changed. Rows hold events as they were when they were
 * applied, so a change of their schemas needs a new version of this read model; a test binds both.
 */
export const accounts = table('access.accounts', {
  columns: {
    tenant_id: text(),
    /** The type of an event that sets a setting; another event has its revision in addition. */
    slot: text(),
    revision: bigint(),
    type: text<AccountEvent['type']>(),
    data: document(),
    position: bigint(),
  },
  key: ['tenant_id', 'slot'],
})

const isReplaced: ReadonlySet<string> = new Set(settingTypes)

type AccountRow = Row<typeof accounts.record.columns>

/** The rows after events of accounts, each account's in the order of its stream. */
function accountRows(events: readonly RecordedEvent[]): readonly AccountRow[] {
  const rows = new Map<string, AccountRow>()
  for (const event of events) {
    if (!isAccountEvent(event)) continue
    const { type, data, revision, position } = event
    const slot = isReplaced.has(type) ? type : `${type} ${revision}`
    const { tenantId } = data
    rows.set(`${tenantId} ${slot}`, { tenantId, slot, revision, type, data, position })
  }
  return [...rows.values()]
}

function isAccountEvent(event: RecordedEvent): event is RecordedEvent<AccountEvent> {
  return Object.hasOwn(accountEvents, event.type)
}

const ofAccounts: StreamTable = {
  table: accounts.audited,
  stream: accountStream,
  owner: 'tenant_id',
  key: 'slot',
  types: new Set(Object.keys(accountEvents)),
  rows: (events) => new Map(accountRows(events).map((row) => [row.slot, accounts.canonical(row)])),
}

export const tokens = rowsOf<TokenEvent>()({
  table: table('access.tokens', {
    columns: {
      token_id: text(),
      tenant_id: text(),
      user_id: text(),
      kind: text<TokenKind>(),
      name: text(),
      search_name: text(),
      scope: nullable(json<QueryScope>()),
      /** Narrows a query or an admin token within its scope; null: it may do everything there. */
      role: nullable(text<TokenRole>()),
      /** The person who signs in by name; null: its secret is used. */
      subject: nullable(text()),
      /** The value of a claim that gives the subject its role; null: an invitation. */
      claim: nullable(text()),
      /** External model names it may use; null means all. */
      models: nullable(texts()),
      /** Ranges of addresses (CIDR) it may be used from; null means from anywhere. */
      addresses: nullable(texts()),
      /** The limits set for this token; the operator's defaults apply to the others. */
      limits: nullable(json<TokenLimits>()),
      expires_at: nullable(time()),
      /** The token that issued it; null where a command of an operator did. */
      issued_by: nullable(text()),
      issued_at: time(),
      rotated_at: nullable(time()),
      last_four: text(),
      disabled_at: nullable(time()),
      disabled_reason: nullable(text()),
      position: bigint(),
    },
    key: ['token_id'],
    earlyIndexes: {
      tenant: '(tenant_id, position)',
      issuer: '(issued_by) where issued_by is not null',
      last_four: '(last_four)',
      subject: '(subject) where subject is not null',
    },
  }),
  stream: tokenStream,
  of: ({ data }) => data.tokenId,
  begins: 'TokenIssued',
  sets: {
    TokenIssued: ({ data, position }) => {
      return { ...data, searchName: searchForm(data.name), position }
    },
    TokenRotated: ({ data: { lastFour, rotatedAt }, position }) => {
      return { lastFour, rotatedAt, position }
    },
    TokenLimitsChanged: ({ data: { limits }, position }) => ({ limits, position }),
    TokenUpdated: ({ data: { name, models, addresses, expiresAt }, position }) => {
      return { name, searchName: searchForm(name), models, addresses, expiresAt, position }
    },
    TokenDisabled: ({ data, position }) => {
      return { disabledAt: data.disabledAt, disabledReason: data.reason, position }
    },
  },
})

/** Every secret a token ever had, as SHA-256; rotated ones are valid until a time. */
const secrets = table('access.secrets', {
  columns: { secret_hash: text(), token_id: text(), valid_until: nullable(time()) },
  key: ['secret_hash'],
  once: true,
  earlyIndexes: { token: '(token_id)' },
})

/** Applies the events of secrets one by one: a rotation changes the earlier secrets. */
async function applySecrets(client: PoolClient, batch: readonly RecordedEvent[]): Promise<void> {
  for (const { type, data } of batch) {
    if (type === 'TokenRotated')
      // A secret that was already being phased out keeps its earlier end.
      await client.query(
        'update secrets set valid_until = least(valid_until, $2::timestamptz) where token_id = $1',
        [data.tokenId, data.oldValidUntil],
      )
    if (type === 'TokenIssued' || type === 'TokenRotated') await secrets.insert(client, [data])
  }
}

/** Applies all events of one token, in memory. */
function secretsOf(events: readonly RecordedEvent[]): ReadonlyMap<string, AuditedRow> {
  let rows: readonly Row<typeof secrets.record.columns>[] = []
  for (const { type, data } of events) {
    if (type === 'TokenRotated') {
      const end = data.oldValidUntil
      rows = rows.map(({ validUntil, ...row }) => ({
        ...row,
        validUntil: validUntil && fromTimestamp(validUntil) < fromTimestamp(end) ? validUntil : end,
      }))
    }
    if (type === 'TokenIssued' || type === 'TokenRotated') rows = [...rows, data]
  }
  return new Map(rows.map((row) => [row.secretHash, secrets.canonical(row)]))
}

const ofSecrets: StreamTable = {
  table: secrets.audited,
  stream: tokenStream,
  owner: 'token_id',
  key: 'secret_hash',
  types: new Set(['TokenIssued', 'TokenRotated']),
  rows: secretsOf,
}

/** Tenants, users and tokens (hashes only). */
export const accessProjection: Projection = {
  name: 'access',
  version: 15,
  ...fromTables(
    { tenants: tenants.table, users: users.table, accounts, tokens: tokens.table, secrets },
    {
      totals: `select 'tenants' as name, count(*)::text as total from tenants
             union all select 'users', count(*)::text from users
             union all select 'tokens', count(*)::text from tokens`,
    },
  ),
  streamTables: [tenants.audit, users.audit, ofAccounts, tokens.audit, ofSecrets],
  handles: new Set(
    Object.keys({ ...accountEvents, ...tokenEvents }) as (AccountEvent | TokenEvent)['type'][],
  ),
  apply: async (client, batch) => {
    await allSettledOrThrow([
      tenants.apply(client, batch),
      applyUsers(client, batch),
      accounts.upsert(client, accountRows(batch)),
      tokens.apply(client, batch),
      applySecrets(client, batch),
    ])
  },
}
