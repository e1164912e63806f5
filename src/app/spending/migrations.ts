import type { Migrations } from '../../storage/postgres/migrate.ts'

export const spendingMigrations: Migrations = {
  owner: 'spending',
  steps: [
    // Databases from before migrations were numbered have these tables, some without `token_id`.
    `
create table if not exists ops.admissions (
  platform_id text primary key,
  tenant_id text not null,
  currency text not null,
  hold numeric(38, 12) not null,
  -- Log position of the TaskRequested that carries the hold, once it is known.
  position bigint,
  admitted_at timestamptz not null default now()
);
alter table ops.admissions add column if not exists token_id text;
drop index if exists ops.admissions_tenant;
-- What is not projected by a position is found without passing what is.
create index if not exists admissions_unprojected
  on ops.admissions (tenant_id, currency, (coalesce(position, 9223372036854775807)));
create index if not exists admissions_age on ops.admissions (admitted_at) where position is null;

-- What each replica's text calls speak for of a balance: holds in flight, and settlements that the
-- ledger may lack. Reported again about once a second: a crash of Postgres may empty it.
create unlogged table if not exists ops.text_spending (
  tenant_id text not null,
  currency text not null,
  replica text not null,
  held numeric(38, 12) not null,
  settled numeric(38, 12) not null,
  -- Log position of the last of the settlements; null where one of them has none yet.
  position bigint,
  -- A report of a replica may overtake an earlier one: the highest turn counts.
  turn bigint not null,
  told_at timestamptz not null,
  primary key (tenant_id, currency, replica)
) with (fillfactor = 50);
`,
    // The owner of reservations made before this migration is unknown.
    `alter table ops.admissions add column user_id text;`,
    // The table is logged, because only it has the settlements that a replica reported before it
    // died: a crash of Postgres must not empty it.
    `
alter table ops.text_spending set logged;
-- Names the spool where settlements without a position may wait; null where none does.
alter table ops.text_spending add column spool text;
-- Of a replica that fell silent: the end of the log once it had. Means nothing once it reports again.
alter table ops.text_spending add column closed bigint;
`,
  ],
}

export const throttleMigrations: Migrations = {
  owner: 'throttle',
  steps: [
    // Databases from before migrations were numbered have this table.
    `
-- What is used of limits per minute, by all replicas together. Written about once a second and worth
-- nothing two minutes later: a crash of Postgres may empty it.
create unlogged table if not exists ops.rate_use (
  token_id text not null,
  measure text not null,
  per_minute double precision not null,
  used double precision not null,
  at timestamptz not null,
  primary key (token_id, measure)
) with (fillfactor = 50);
`,
    `
-- Users and tenants have limits as well as tokens.
alter table ops.rate_use rename column token_id to holder;

-- Calls that each replica has under way of those whose number is limited. Reported again about once a second:
-- a crash of Postgres may empty it.
create unlogged table ops.calls_under_way (
  holder text not null,
  replica text not null,
  calls integer not null,
  told_at timestamptz not null,
  primary key (holder, replica)
) with (fillfactor = 50);
`,
  ],
}
