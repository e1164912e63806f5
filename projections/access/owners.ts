import type { PoolClient } from 'pg'
import {
  accountStream,
  type AccountEvent,
  type AccountEventData,
} from '../../src/domain/account/events.ts'
import { searchForm } from '../../src/kernel/characters.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { bigint, constrained, int, json, nullable, text, time, type Row } from '../engine/column.ts'
import { expectInOrder } from '../engine/passed-over.ts'
import { rowsOf } from '../engine/read-model.ts'
import { table } from '../engine/table.ts'
import { userKey } from './names.ts'

/** Tenants and their users. */

type StatusTerms = AccountEventData<'TenantStatusSet'>

type TenantEvent = Extract<
  AccountEvent,
  { readonly type: 'TenantOpened' | 'TenantNamed' | 'TenantStatusSet' | 'BalanceAlertsSet' }
>

export const tenants = rowsOf<TenantEvent>()({
  table: table('access.tenants', {
    columns: {
      tenant_id: text(),
      name: text(),
      /** The name as searches compare it. */
      search_name: text(),
      opened_at: time(),
      status: constrained(text<StatusTerms['status']>(), `default 'open'`),
      /** [{userId, reason}] */
      suspended_users: constrained(json<StatusTerms['suspendedUsers']>(), `default '[]'`),
      /** Thresholds of its low balances, [{currency, below}], and the webhook that is notified. */
      balance_thresholds: constrained(json(), `default '[]'`),
      webhook_url: nullable(text()),
      webhook_secret_version: constrained(int(), 'default 1'),
      position: bigint(),
    },
    key: ['tenant_id'],
    earlyIndexes: { thresholds: `(tenant_id) where balance_thresholds <> '[]'` },
  }),
  stream: accountStream,
  of: ({ data }) => data.tenantId,
  begins: 'TenantOpened',
  sets: {
    TenantOpened: ({ data, position }) => {
      return {
        ...data,
        searchName: searchForm(data.name),
        status: 'open',
        suspendedUsers: [],
        balanceThresholds: [],
        webhookSecretVersion: 1,
        position,
      }
    },
    TenantNamed: ({ data: { name } }) => ({ name, searchName: searchForm(name) }),
    TenantStatusSet: ({ data: { status, suspendedUsers } }) => ({ status, suspendedUsers }),
    BalanceAlertsSet: ({ data }) => ({
      balanceThresholds: data.thresholds,
      webhookUrl: data.webhookUrl,
      webhookSecretVersion: data.secretVersion,
    }),
  },
})

type UserEvent = Extract<AccountEvent, { readonly type: 'UserAdded' | 'UserRenamed' }>

export const users = rowsOf<UserEvent>()({
  table: table('access.users', {
    columns: {
      tenant_id: text(),
      user_id: text(),
      name: text(),
      search_name: text(),
      added_at: time(),
      position: bigint(),
    },
    key: ['tenant_id', 'user_id'],
    once: true,
  }),
  stream: accountStream,
  of: ({ data }) => data.userId,
  begins: 'UserAdded',
  sets: {
    UserAdded: ({ data, position }) => {
      return { ...data, searchName: searchForm(data.name), position }
    },
    UserRenamed: ({ data: { name } }) => ({ name, searchName: searchForm(name) }),
  },
})

type UserRecord = Row<typeof users.table.record.columns>
const renameUsers = users.table.merging('rename', ['name', 'search_name'])

/** Applies the events of users: their key has two columns, so a new name changes a stored row. */
export async function applyUsers(
  client: PoolClient,
  batch: readonly RecordedEvent[],
): Promise<void> {
  const added = new Map<string, UserRecord>()
  const renamed = new Map<string, Pick<UserRecord, 'tenantId' | 'userId' | 'name' | 'searchName'>>()
  for (const event of batch) {
    if (event.type !== 'UserAdded' && event.type !== 'UserRenamed') continue
    const { tenantId, userId, name } = event.data
    const named = { name, searchName: searchForm(name) }
    const key = userKey({ tenantId, userId })
    const row = added.get(key)
    if (event.type === 'UserAdded') {
      expectInOrder(row === undefined && !renamed.has(key), `${userId} was added late or twice`)
      added.set(key, users.sets.UserAdded(event, undefined))
    } else if (row === undefined) renamed.set(key, { tenantId, userId, ...named })
    else added.set(key, { ...row, ...named })
  }
  await users.table.insert(client, [...added.values()])
  const found = await renameUsers(client, [...renamed.values()])
  expectInOrder(found === renamed.size, 'a user was renamed who was never added')
}
