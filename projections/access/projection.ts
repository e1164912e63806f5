import type { PoolClient } from 'pg'
import { invariant } from '../../src/kernel/assert.ts'
import { accountEvents, type AccountEvent } from '../../src/domain/account/events.ts'
import { tokenEvents, type TokenEvent } from '../../src/domain/token/events.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { storable, storableJson } from '../engine/columns.ts'
import { digestTables, namedTotals } from '../engine/digest.ts'
import type { Projection } from '../engine/types.ts'
import { tablesSql } from './tables.ts'

type AccessEvent = RecordedEvent<AccountEvent | TokenEvent>

const handles = new Set(Object.keys({ ...accountEvents, ...tokenEvents }) as AccessEvent['type'][])

function isAccessEvent(event: RecordedEvent): event is AccessEvent {
  return (handles as ReadonlySet<string>).has(event.type)
}

/** One statement; a token or tenant that is not there is impossible history. */
async function one(client: PoolClient, text: string, values: readonly unknown[]): Promise<void> {
  const { rowCount } = await client.query(text, [...values])
  invariant(rowCount === 1, 'an event of something that was never opened or issued')
}

async function issue(
  client: PoolClient,
  event: RecordedEvent<TokenEvent> & { readonly type: 'TokenIssued' },
): Promise<void> {
  const { data, position } = event
  await one(
    client,
    `insert into tokens (token_id, tenant_id, user_id, kind, name, scope, models, addresses, limits,
                         expires_at, issued_at, last_four, position)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      data.tokenId,
      data.tenantId,
      data.userId,
      data.kind,
      storable(data.name),
      data.scope === undefined ? null : storableJson(data.scope),
      data.models ?? null,
      data.addresses ?? null,
      data.limits === undefined ? null : storableJson(data.limits),
      data.expiresAt ?? null,
      data.issuedAt,
      data.lastFour,
      position,
    ],
  )
  await one(client, 'insert into secrets (secret_hash, token_id) values ($1, $2)', [
    data.secretHash,
    data.tokenId,
  ])
}

async function rotate(
  client: PoolClient,
  event: RecordedEvent<TokenEvent> & { readonly type: 'TokenRotated' },
): Promise<void> {
  const { data, position } = event
  await one(
    client,
    'update tokens set last_four = $2, rotated_at = $3, position = $4 where token_id = $1',
    [data.tokenId, data.lastFour, data.rotatedAt, position],
  )
  // A secret that was already being phased out keeps its earlier end.
  await client.query(
    'update secrets set valid_until = least(valid_until, $2::timestamptz) where token_id = $1',
    [data.tokenId, data.oldValidUntil],
  )
  await one(client, 'insert into secrets (secret_hash, token_id) values ($1, $2)', [
    data.secretHash,
    data.tokenId,
  ])
}

async function applyEvent(client: PoolClient, event: AccessEvent): Promise<void> {
  switch (event.type) {
    case 'TenantOpened':
      await one(
        client,
        'insert into tenants (tenant_id, name, opened_at, position) values ($1, $2, $3, $4)',
        [event.data.tenantId, storable(event.data.name), event.data.openedAt, event.position],
      )
      break
    case 'UserAdded':
      await one(client, 'insert into users values ($1, $2, $3, $4, $5)', [
        event.data.tenantId,
        event.data.userId,
        storable(event.data.name),
        event.data.addedAt,
        event.position,
      ])
      break
    case 'BalanceAlertsSet': {
      const { tenantId, thresholds, webhookUrl, secretVersion } = event.data
      await one(
        client,
        `update tenants set balance_thresholds = $2, webhook_url = $3, webhook_secret_version = $4
         where tenant_id = $1`,
        [
          tenantId,
          storableJson(thresholds),
          webhookUrl === undefined ? null : storable(webhookUrl),
          secretVersion,
        ],
      )
      break
    }
    // Money is the ledger's.
    case 'CreditGranted':
    case 'AdjustmentPosted':
    case 'CreditLimitSet':
    case 'AccountPricesSet':
    case 'BudgetsSet':
    case 'LimitsSet':
      break
    case 'TokenIssued':
      await issue(client, event)
      break
    case 'TokenRotated':
      await rotate(client, event)
      break
    case 'TokenLimitsChanged':
      await one(client, 'update tokens set limits = $2, position = $3 where token_id = $1', [
        event.data.tokenId,
        storableJson(event.data.limits),
        event.position,
      ])
      break
    case 'TokenUpdated':
      await one(
        client,
        `update tokens set name = $2, models = $3, expires_at = $4, position = $5, addresses = $6
         where token_id = $1`,
        [
          event.data.tokenId,
          storable(event.data.name),
          event.data.models ?? null,
          event.data.expiresAt ?? null,
          event.position,
          event.data.addresses ?? null,
        ],
      )
      break
    case 'TokenDisabled':
      await one(
        client,
        `update tokens set disabled_at = $2, disabled_reason = $3, position = $4
         where token_id = $1`,
        [event.data.tokenId, event.data.disabledAt, storable(event.data.reason), event.position],
      )
      break
  }
}

/** Tenants, users and tokens (hashes only). */
export const accessProjection: Projection = {
  name: 'access',
  version: 5,
  tablesSql,
  handles,
  // These events are rare; one statement each keeps them readable.
  apply: async (client, batch) => {
    for (const event of batch) if (isAccessEvent(event)) await applyEvent(client, event)
  },
  digest: async (client) => ({
    ...(await digestTables(client, {
      tenants: 'select * from tenants',
      users: 'select * from users',
      tokens: 'select * from tokens',
      secrets: 'select * from secrets',
    })),
    totals: await namedTotals(
      client,
      `select 'tenants' as name, count(*)::text as total from tenants
       union all select 'users', count(*)::text from users
       union all select 'tokens', count(*)::text from tokens`,
    ),
  }),
}
