import type { Migrations } from '../../../storage/postgres/migrate.ts'

export const balanceAlertMigrations: Migrations = {
  owner: 'balance-alerts',
  steps: [
    `
-- Balances that are low, from when it was seen until they are not any more, and how telling it stands.
create table ops.low_balances (
  tenant_id text not null,
  currency text not null,
  -- The same however often it is sent: who receives it twice knows.
  alert_id text not null,
  below numeric(38, 12) not null,
  balance numeric(38, 12) not null,
  -- Log position of the ledger when it was seen.
  position bigint not null,
  seen_at timestamptz not null,
  tries integer not null default 0,
  next_try_at timestamptz not null,
  told_at timestamptz,
  given_up_at timestamptz,
  last_failure text,
  primary key (tenant_id, currency)
);
create index low_balances_due on ops.low_balances (next_try_at)
  where told_at is null and given_up_at is null;
`,
  ],
}
