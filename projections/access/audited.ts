import type { StandingTable } from '../engine/standing.ts'

/** What of the access an auditor compares with the log: all of it. */
export const accessTables = {
  tenants: {
    name: 'access.tenants',
    columns: {
      tenant_id: 'text',
      name: 'text',
      opened_at: 'time',
      balance_thresholds: 'json',
      webhook_url: 'text',
      webhook_secret_version: 'text',
      position: 'text',
    },
  },
  users: {
    name: 'access.users',
    columns: {
      tenant_id: 'text',
      user_id: 'text',
      name: 'text',
      added_at: 'time',
      position: 'text',
    },
  },
  tokens: {
    name: 'access.tokens',
    columns: {
      token_id: 'text',
      tenant_id: 'text',
      user_id: 'text',
      kind: 'text',
      name: 'text',
      scope: 'json',
      models: 'json',
      addresses: 'json',
      limits: 'json',
      expires_at: 'time',
      issued_at: 'time',
      rotated_at: 'time',
      last_four: 'text',
      disabled_at: 'time',
      disabled_reason: 'text',
      position: 'text',
    },
  },
  secrets: {
    name: 'access.secrets',
    columns: { secret_hash: 'text', token_id: 'text', valid_until: 'time' },
  },
} as const satisfies Readonly<Record<string, StandingTable>>
